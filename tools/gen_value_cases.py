#!/usr/bin/env python3
"""Write tests/base/{number,datetime,decimal}_cases.h: values as Python and NumPy see them.

Usage: tools/gen_value_cases.py [FOLDER]     (default: tests/base; needs numpy)

The same Python and NumPy give the same bytes again.
"""

import datetime
import decimal
import os
import random
import struct
import sys

import numpy

decimal.getcontext().prec = 1200
RNG = random.Random(7)
HEAD = "/* Made by tools/gen_value_cases.py from what Python and NumPy say; do not edit. */\n/* clang-format off */\n"


def bits_of(value):
    return struct.unpack("<Q", struct.pack("<d", value))[0]


def double_of(bits):
    return struct.unpack("<d", struct.pack("<Q", bits))[0]


def layout(negative, digits, exponent):
    """Lakebed's form of significant digits, the first of which stands for 10^exponent."""
    if not -5 <= exponent < 16:
        text = digits[0] + ("." + digits[1:] if len(digits) > 1 else "") + "e%d" % exponent
    elif exponent < 0:
        text = "0." + "0" * (-exponent - 1) + digits
    elif exponent >= len(digits) - 1:
        text = digits + "0" * (exponent - len(digits) + 1) + ".0"
    else:
        text = digits[: exponent + 1] + "." + digits[exponent + 1 :]
    return ("-" if negative else "") + text


def shortest(text):
    """The digits of repr() in Lakebed's form."""
    sign, digits, exponent = decimal.Decimal(text).as_tuple()
    digits = "".join(map(str, digits))
    exponent += len(digits) - 1
    return layout(sign, digits.rstrip("0") or "0", exponent if digits.strip("0") else 0)


def finite(value):
    return value == value and abs(value) != float("inf")


def table(name, fields, rows):
    print("\nstatic const struct {\n%s} %s[] = {" % ("".join("    %s;\n" % field for field in fields), name))
    for row in rows:
        line = "    { %s }," % ", ".join(row)
        if len(line) > 110:
            line = "    { %s }," % ",\n      ".join(row)
        print(line)
    print("};")


def quoted(text):
    return "\n      ".join('"%s"' % text[at : at + 100] for at in range(0, len(text), 100))


# ---------------------------------------------------------------- numbers


def doubles():
    values = [0.0, -0.0, 1.0, -1.0, 0.1, 0.3, 1 / 3, 1e15, 1e16, 9999999999999998.0, 1e22, 1e23, 5e-324, 1e-323]
    values += [2.2250738585072014e-308, 2.225073858507201e-308, 1.7976931348623157e308, 1e-5, 9.999e-6, 4.35, 8.41e21]
    values += [2.0**53, 2.0**63, 2.0**64, 9007199254740993.0, 6.02214076e23, 123456789.125]
    values += [double_of(i << 52) for i in range(1, 2047, 9)]
    values += [double_of(1 << i) for i in range(52)]
    values += filter(finite, [double_of(RNG.getrandbits(64)) for _ in range(1000)])
    values += [round(RNG.uniform(-1e6, 1e6), RNG.randrange(7)) for _ in range(400)]
    values += [RNG.randrange(1 << RNG.randrange(1, 64)) * 10.0 ** RNG.randrange(-20, 20) for _ in range(300)]
    return [("0x%016x" % bits_of(v), quoted(shortest(repr(v))), quoted("%.17g" % v)) for v in values]


def floats():
    values = [numpy.float32(x) for x in (0.0, 0.1, 0.3, 1, 16777216, 3.4028235e38, 1e-45, 1.1754944e-38, 1e10, 1e16)]
    patterns = [RNG.getrandbits(32) for _ in range(400)] + [i << 23 for i in range(1, 255, 3)]
    values += [numpy.frombuffer(struct.pack("<I", bits), dtype="<f4")[0] for bits in patterns]
    values = [v for v in values if numpy.isfinite(v)]
    forms = [numpy.format_float_scientific(v, unique=True, trim="-") for v in values]
    patterns = [int.from_bytes(v.tobytes(), "little") for v in values]
    return [("0x%08x" % bits, quoted(shortest(form))) for bits, form in zip(patterns, forms)]


def halves():
    values = [0, 0x8000, 1, 0x3FF, 0x400, 0x3C00, 0xBC00, 0x7BFF, 0xFBFF, 0x3555, 0x8001, 0x7C00, 0xFC00]
    values += [v for v in (RNG.getrandbits(16) for _ in range(40)) if v >> 10 & 31 != 31]
    pairs = [(v, struct.pack("<f", struct.unpack("<e", struct.pack("<H", v))[0])) for v in values]
    return [("0x%04x" % v, "0x%08x" % struct.unpack("<I", single)[0]) for v, single in pairs]


def halfway(bits):
    return (decimal.Decimal(double_of(bits)) + decimal.Decimal(double_of(bits + 1))) / 2


def hard_texts():
    """What correct rounding is hard for: ties and their neighbours, many digits, the ends of the range."""
    texts = """9007199254740993 9007199254740992.999999999999 9007199254740993.00000000000000000001
        1.00000000000000011102230246251565404236316680908203125 1.00000000000000011102230246251565404236316680908203124
        2.2250738585072011e-308 2.47032822920623272088e-324 2.4703282292062328e-324 2.47e-324 1.7976931348623158e308
        0.000000000000000000000000000000000000001e39 1e0000000000000000000000000000022 123456789012345678901234567890
        0.1e-400 0e99999999999999999999 1e-400 .5 5. 5.e3 .5e-3 8.9884656743115805365666807213050294962762414131e307
        6250000000000000000000000000000000000000e-12 3.518437208883201171875e13 62.5364939768271845828
        8.10109172351e-10 7.3177701707893310e15 1448997445238699 1090544144181609348835077142190""".split()
    texts += ["0." + "0" * 330 + "1e331", "1" + "0" * 330 + "e-330", format(halfway(0x7FEFFFFFFFFFFFFE), "f")]
    for bits in [0, 1, 2, (1 << 52) - 1] + [RNG.randrange(0x7FE << 52) for _ in range(30)]:
        digits, exponent = format(halfway(bits), "E").split("E")
        point = "" if "." in digits else "."
        texts += [digits + "e" + exponent, digits + point + "0000000001e" + exponent]
    for _ in range(100):
        tie = format(halfway(RNG.randrange(1000, 1100) << 52 | RNG.getrandbits(52)), "f")
        texts += [tie, tie + ("1" if "." in tie else ".1")]
    return [text for text in texts if finite(float(text))]


def write_numbers():
    table("double_cases", ("uint64_t bits", "const char *shortest, *general"), doubles())
    table("float_cases", ("uint32_t bits", "const char *shortest"), floats())
    table("half_cases", ("uint16_t half", "uint32_t bits"), halves())
    table("hard_cases", ("const char *text", "uint64_t bits"),
          [(quoted(text), "0x%016x" % bits_of(float(text))) for text in hard_texts()])


# ---------------------------------------------------------------- dates and times

EPOCH = datetime.datetime(1970, 1, 1)


def date_rows():
    days = [1, 2, 60, 365, 366, 719163, 3652059] + [RNG.randrange(1, 3652060) for _ in range(200)]
    return [(str(day - 719163), quoted(datetime.date.fromordinal(day).isoformat())) for day in days]


def stamp_rows():
    for _ in range(150):
        micros = RNG.randrange(-62135596800 * 10**6, 253402300800 * 10**6)
        micros -= micros % RNG.choice((1, 1000, 10**6))
        fraction = "seconds" if micros % 10**6 == 0 else "milliseconds" if micros % 1000 == 0 else "microseconds"
        moment = EPOCH + datetime.timedelta(microseconds=micros)
        yield "INT64_C(%d)" % micros, quoted(moment.isoformat(timespec=fraction))


def zone_rows():
    for _ in range(80):
        micros, form = RNG.randrange(-62000000000 * 10**6, 253000000000 * 10**6), RNG.randrange(3)
        minutes = RNG.randrange(-23, 24) * 60 if form == 2 else RNG.randrange(-1439, 1440)
        moment = EPOCH.replace(tzinfo=datetime.timezone.utc) + datetime.timedelta(microseconds=micros)
        zone = datetime.timezone(datetime.timedelta(minutes=minutes))
        text = moment.astimezone(zone).isoformat(sep=RNG.choice("T "))
        yield quoted((text, text[:-3] + text[-2:], text[:-3])[form]), "INT64_C(%d)" % micros


def edge_rows():
    """Instants around the ends of the years 1 to 9999 in UTC, and whether Python can hold them there."""
    for text in ("0001-01-01T00:00:00", "0001-01-01T01:00:00", "9999-12-31T23:59:59.999999", "9999-12-31T23:00:00"):
        for minutes in (-1439, -61, -60, -59, -1, 0, 1, 59, 60, 61, 1439):
            zone = datetime.timezone(datetime.timedelta(minutes=minutes))
            moment = datetime.datetime.fromisoformat(text).replace(tzinfo=zone)
            try:
                moment.astimezone(datetime.timezone.utc)
                yield quoted(moment.isoformat()), "true"
            except OverflowError:
                yield quoted(moment.isoformat()), "false"


def write_datetimes():
    table("date_cases", ("int64_t days", "const char *text"), date_rows())
    table("stamp_cases", ("int64_t micros", "const char *text"), stamp_rows())
    table("zone_cases", ("const char *text", "int64_t micros"), zone_rows())
    table("edge_cases", ("const char *text", "bool held"), edge_rows())


# ---------------------------------------------------------------- decimals


def decimal_values():
    for precision, scale in ((76, 0), (76, 76), (76, 38), (38, 10), (1, 0), (1, 1)):
        for value in (10**precision - 1, 1 - 10**precision, 0, -1):
            yield value, precision, scale
    for _ in range(200):
        precision = RNG.randrange(1, 77)
        value = RNG.randrange(1 - 10**precision, 10**precision) // 10 ** RNG.randrange(precision)
        yield value, precision, RNG.randrange(precision + 1)


def write_decimals():
    rows = []
    for value, precision, scale in decimal_values():
        words = ["0x%x" % (value >> 64 * i & 2**64 - 1) for i in range(4)]
        text = format(decimal.Decimal(value).scaleb(-scale), "f")
        rows.append((quoted(text), str(precision), str(scale), "{ { %s } }" % ", ".join(words)))
    table("decimal_cases", ("const char *text", "int precision, scale", "lb_i256 value"), rows)


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(__file__), "..", "tests", "base")
    for name, write_all in (("number", write_numbers), ("datetime", write_datetimes), ("decimal", write_decimals)):
        with open(os.path.join(folder, name + "_cases.h"), "w") as out:
            sys.stdout = out
            print(HEAD, end="")
            write_all()
            sys.stdout = sys.__stdout__


if __name__ == "__main__":
    main()
