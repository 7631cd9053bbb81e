"""Arrow's dates, times and decimals as Python's own; what those cannot hold is text that holds it."""

from __future__ import annotations

import datetime
import decimal
import functools
from typing import Any, Union

EPOCH = datetime.datetime(1970, 1, 1)
EPOCH_DAY = datetime.date(1970, 1, 1).toordinal()
Moment = Union[datetime.datetime, str]


def date(days: int) -> datetime.date | str:
    """A day counted from 1970.

    >>> date(0), date(10**9)
    (datetime.date(1970, 1, 1), '1000000000 days since 1970-01-01')
    """
    try:
        return datetime.date.fromordinal(EPOCH_DAY + days)
    except (ValueError, OverflowError):
        return "%d days since 1970-01-01" % days


def _micros(value: int, per_second: int) -> tuple[int, int]:
    """Whole microseconds, and the nanoseconds that are left."""
    if per_second <= 1_000_000:
        return value * (1_000_000 // per_second), 0
    return divmod(value, 1000)


def time(value: int, per_second: int) -> datetime.time | str:
    """A time of day.

    >>> time(3_600_000, 1000), time(1, 10**9)
    (datetime.time(1, 0), '00:00:00.000000001')
    """
    micros, nanos = _micros(value, per_second)
    seconds, micros = divmod(micros, 1_000_000)
    hour, minute, second = seconds // 3600, seconds // 60 % 60, seconds % 60
    if nanos == 0 and 0 <= hour < 24:
        return datetime.time(hour, minute, second, micros)
    return "%02d:%02d:%02d.%09d" % (hour, minute, second, micros * 1000 + nanos)


@functools.lru_cache(maxsize=64)
def zone(name: str) -> datetime.tzinfo | None:
    """The zone of a timestamp column: a name, or hours and minutes from UTC. None: this system does not know it."""
    if name in ("UTC", "Z", "Etc/UTC"):
        return datetime.timezone.utc
    if name[:1] in "+-" and name[1:3].isdigit() and name[-2:].isdigit():
        minutes = int(name[1:3]) * 60 + int(name[-2:])
        return datetime.timezone(datetime.timedelta(minutes=-minutes if name[0] == "-" else minutes))
    try:
        import zoneinfo

        return zoneinfo.ZoneInfo(name)
    except Exception:
        return None


def timestamp(value: int, per_second: int, zone_name: str) -> Moment:
    """A moment, in its zone where it has one.

    >>> timestamp(1, 1, ""), timestamp(1, 10**9, "UTC")
    (datetime.datetime(1970, 1, 1, 0, 0, 1), '1970-01-01T00:00:00.000000001Z')
    """
    micros, nanos = _micros(value, per_second)
    place = zone(zone_name) if zone_name else None
    try:
        moment = EPOCH + datetime.timedelta(microseconds=micros)
        if nanos:
            text = moment.isoformat(timespec="microseconds") + "%03d" % nanos
            return text + "Z" if zone_name else text
        if zone_name:
            moment = moment.replace(tzinfo=datetime.timezone.utc)
            return moment.astimezone(place) if place else moment
        return moment
    except (ValueError, OverflowError):
        return "%d/%d seconds since 1970-01-01" % (value, per_second) + (" UTC" if zone_name else "")


def duration(value: int, per_second: int) -> datetime.timedelta | str:
    """A length of time.

    >>> duration(1500, 1000), duration(1, 10**9)
    (datetime.timedelta(seconds=1, microseconds=500000), '1/1000000000 seconds')
    """
    micros, nanos = _micros(value, per_second)
    try:
        if nanos == 0:
            return datetime.timedelta(microseconds=micros)
    except OverflowError:
        pass
    return "%d/%d seconds" % (value, per_second)


def interval(months: int, days: int, nanos: int) -> tuple[int, int, int]:
    """Months, days and nanoseconds, none of which is a number of the others."""
    return months, days, nanos


def decimal_of(little_endian: bytes, scale: int) -> decimal.Decimal:
    """A decimal, every digit of it.

    >>> decimal_of((-12345).to_bytes(16, "little", signed=True), 2)
    Decimal('-123.45')
    """
    value = int.from_bytes(little_endian, "little", signed=True)
    digits = tuple(int(digit) for digit in str(abs(value)))
    return decimal.Decimal((int(value < 0), digits, -scale))


def of_text(type_words: str, text: str | None) -> Any:
    """A bound of statistics, which the library prints, as the value it is; else the text.

    >>> of_text("int64", "42"), of_text("date", "2024-02-29"), of_text("string", "42"), of_text("int64", None)
    (42, datetime.date(2024, 2, 29), '42', None)
    """
    if text is None:
        return None
    try:
        if type_words.startswith(("int", "uint")):
            return int(text)
        if type_words.startswith("float"):
            return float(text)
        if type_words == "bool":
            return {"true": True, "false": False}[text]
        if type_words.startswith("decimal"):
            return decimal.Decimal(text)
        if type_words.startswith("date"):
            return datetime.date.fromisoformat(text)
        if type_words.startswith("timestamp"):
            return datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))
        if type_words.startswith("time["):
            return datetime.time.fromisoformat(text)
    except (ValueError, KeyError, ArithmeticError):
        pass
    return text
