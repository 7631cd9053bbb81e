/* Names of encodings: one spelling for each, its byte order settled by the file, none with shift states. */
#include "io/text.h"

#include <errno.h>
#include <stdio.h>

#define ENCODING_MAX 64

/* What people and other programs write → what iconv calls it. Names are compared upper-case with `-`
 * for `_` and blank. */
static const struct {
    const char *written, *name;
} encoding_aliases[] = {
    { "UTF8", "" },
    { "UTF-8", "" },
    { "UTF-8-SIG", "" },
    { "UTF8-SIG", "" },
    { "U8", "" },
    { "ASCII", "" },
    { "US-ASCII", "" },
    { "646", "" },
    { "UTF16", "UTF-16" },
    { "U16", "UTF-16" },
    { "UCS2", "UTF-16" },
    { "UCS-2", "UTF-16" },
    { "UNICODE", "UTF-16" },
    { "UTF32", "UTF-32" },
    { "U32", "UTF-32" },
    { "UTF16LE", "UTF-16LE" },
    { "UTF-16-LE", "UTF-16LE" },
    { "UCS-2LE", "UTF-16LE" },
    { "UNICODELITTLE", "UTF-16LE" },
    { "UTF16BE", "UTF-16BE" },
    { "UTF-16-BE", "UTF-16BE" },
    { "UCS-2BE", "UTF-16BE" },
    { "UNICODEBIG", "UTF-16BE" },
    { "UTF32LE", "UTF-32LE" },
    { "UTF-32-LE", "UTF-32LE" },
    { "UCS-4LE", "UTF-32LE" },
    { "UTF32BE", "UTF-32BE" },
    { "UTF-32-BE", "UTF-32BE" },
    { "UCS-4BE", "UTF-32BE" },
    { "LATIN1", "ISO-8859-1" },
    { "LATIN-1", "ISO-8859-1" },
    { "L1", "ISO-8859-1" },
    { "8859", "ISO-8859-1" },
    { "CP819", "ISO-8859-1" },
    { "LATIN2", "ISO-8859-2" },
    { "LATIN-2", "ISO-8859-2" },
    { "L2", "ISO-8859-2" },
    { "LATIN5", "ISO-8859-9" },
    { "LATIN-5", "ISO-8859-9" },
    { "L5", "ISO-8859-9" },
    { "LATIN9", "ISO-8859-15" },
    { "LATIN-9", "ISO-8859-15" },
    { "L9", "ISO-8859-15" },
    { "SJIS", "SHIFT_JIS" },
    { "SHIFT-JIS", "SHIFT_JIS" },
    { "SHIFTJIS", "SHIFT_JIS" },
    { "MS-KANJI", "SHIFT_JIS" },
    { "MS932", "CP932" },
    { "WINDOWS-31J", "CP932" },
    { "UJIS", "EUC-JP" },
    { "EUCJP", "EUC-JP" },
    { "EUCKR", "EUC-KR" },
    { "KS-C-5601-1987", "EUC-KR" },
    { "UHC", "CP949" },
    { "MS949", "CP949" },
    { "GB2312", "GB2312" },
    { "EUC-CN", "GB2312" },
    { "EUCCN", "GB2312" },
    { "CP936", "GBK" },
    { "MS936", "GBK" },
    { "GB18030-2000", "GB18030" },
    { "BIG-5", "BIG5" },
    { "BIG5-TW", "BIG5" },
    { "BIG5HKSCS", "BIG5-HKSCS" },
    { "MACROMAN", "MACINTOSH" },
    { "MAC-ROMAN", "MACINTOSH" },
    { "KOI8R", "KOI8-R" },
    { "KOI8U", "KOI8-U" },
};

/* Encodings that iconv knows and whose bytes mean different things after a shift: a prefix of the name. */
static const char *const encoding_stateful[] = {
    "ISO-2022", "ISO2022",  "CSISO2022", "UTF-7",  "UTF7",     "UNICODE-1-1-UTF-7",
    "HZ",       "IBM-930",  "IBM930",    "CP930",  "IBM-933",  "IBM933",
    "CP933",    "IBM-935",  "IBM935",    "CP935",  "IBM-937",  "IBM937",
    "CP937",    "IBM-939",  "IBM939",    "CP939",  "IBM-1364", "IBM1364",
    "CP1364",   "IBM-1371", "IBM1371",   "CP1371", "IBM-1388", "IBM1388",
    "CP1388",   "IBM-1390", "IBM1390",   "CP1390", "IBM-1399", "IBM1399",
    "CP1399",   "BOCU",     "SCSU",
};

/* Names of iconv that mean "whatever this machine does", or no text encoding at all. */
static const char *const encoding_refused[] = { "CHAR", "WCHAR-T", "INTERNAL", "JAVA" };

static const struct {
    const char *name, *settled; /* a BOM settles `name`; an equal or generic name has it skipped */
    unsigned size;
    char bom[5];
} encoding_boms[] = {
    { "", "", 3, "\xEF\xBB\xBF" },
    { "UTF-16", "UTF-16LE", 2, "\xFF\xFE" },
    { "UTF-16", "UTF-16BE", 2, "\xFE\xFF" },
    { "UTF-32", "UTF-32LE", 4, "\xFF\xFE\0" },
    { "UTF-32", "UTF-32BE", 4, "\0\0\xFE\xFF" },
    { "GB18030", "GB18030", 4, "\x84\x31\x95\x33" },
};

static lb_status encoding_unknown(const char *name, lb_error *err)
{
    char shown[ENCODING_MAX];
    lb_copy_text(shown, sizeof shown, name, strlen(name));
    lb_fail(err, LB_USAGE, LB_NOWHERE, "no encoding is called \"%s\"", shown);
    lb_fail_hint(err, "`iconv -l` lists the names; common ones: UTF-16, ISO-8859-1, WINDOWS-1252, CP932, GB18030");
    return LB_USAGE;
}

/* Upper-case, with `-` for `_` and blank. False: characters that no name has. */
static bool encoding_spell(const char *name, char out[ENCODING_MAX])
{
    size_t n = strlen(name);
    if (n >= ENCODING_MAX)
        return false;
    for (size_t i = 0; i <= n; i++) {
        char c = name[i];
        bool letter = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
        if (!letter && c != '\0' && strchr("-_ .:+()", c) == NULL)
            return false;
        out[i] = c == '_' || c == ' ' ? '-' : c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c;
    }
    return true;
}

static bool encoding_has_prefix(const char *name, const char *const *prefixes, size_t count, bool whole)
{
    for (size_t i = 0; i < count; i++) {
        size_t n = strlen(prefixes[i]);
        if (strncmp(name, prefixes[i], n) == 0 && (!whole || name[n] == '\0'))
            return true;
    }
    return false;
}

/* Does writing a character of some script leave a shift behind that iconv has to undo at the end? */
static bool encoding_shifts(const char *name)
{
    static const char *const probes[] = { "\xC3\xA9", "\xE4\xB8\x80", "\xE3\x81\x82", "\xEA\xB0\x80" };
    iconv_t cd = iconv_open(name, "UTF-8");
    bool shifts = false;
    if (cd == (iconv_t)-1)
        return false;
    for (size_t i = 0; i < LB_COUNT_OF(probes) && !shifts; i++) {
        char text[8], out[64], *in = text, *to = out;
        size_t in_left = strlen(probes[i]), out_left = sizeof out;
        memcpy(text, probes[i], in_left + 1);
        (void)iconv(cd, NULL, NULL, NULL, NULL);
        if (iconv(cd, &in, &in_left, &to, &out_left) == (size_t)-1)
            continue;
        size_t before = out_left;
        shifts = iconv(cd, NULL, NULL, &to, &out_left) == (size_t)-1 || out_left != before;
    }
    (void)iconv_close(cd);
    return shifts;
}

static bool encoding_known(const char *name)
{
    iconv_t cd = iconv_open("UTF-8", name);
    if (cd == (iconv_t)-1)
        return false;
    (void)iconv_close(cd);
    return true;
}

/* Some names have a `_` in iconv's list (`ISO_6937`), which encoding_spell turned into `-`. */
static bool encoding_known_underscored(char name[ENCODING_MAX])
{
    char other[ENCODING_MAX];
    memcpy(other, name, ENCODING_MAX);
    for (char *p = other; *p != '\0'; p++)
        if (*p == '-')
            *p = '_';
    if (!encoding_known(other))
        return false;
    memcpy(name, other, ENCODING_MAX);
    return true;
}

/* `CP1250` … `CP1258`, also written WINDOWS-125x, 125x (Python) or WIN-125x: one name for each. */
static bool encoding_windows(char name[ENCODING_MAX])
{
    static const char *const before[] = { "CP", "CP-", "WINDOWS-", "WINDOWS", "WIN-", "WIN", "MS-", "" };
    size_t n = strlen(name);
    if (n < 4 || memcmp(name + n - 4, "125", 3) != 0 || name[n - 1] < '0' || name[n - 1] > '8')
        return false;
    for (size_t i = 0; i < LB_COUNT_OF(before); i++) {
        if (strlen(before[i]) == n - 4 && memcmp(name, before[i], n - 4) == 0) {
            char digit = name[n - 1];
            (void)snprintf(name, ENCODING_MAX, "WINDOWS-125%c", digit);
            return true;
        }
    }
    return false;
}

/* ISO-8859-N from `ISO8859-N`, `ISO88591`, `8859-N`. */
static bool encoding_latin(char name[ENCODING_MAX])
{
    const char *p = name;
    p += strncmp(p, "ISO", 3) == 0 ? 3 : 0;
    p += *p == '-';
    if (strncmp(p, "8859", 4) != 0)
        return false;
    p += 4;
    p += *p == '-';
    size_t n = strlen(p);
    if (n < 1 || n > 2 || strspn(p, "0123456789") != n || p[0] == '0')
        return false;
    char part[3] = { p[0], p[1], '\0' };
    (void)snprintf(name, ENCODING_MAX, "ISO-8859-%s", part);
    return encoding_known(name);
}

static bool encoding_alias(char name[ENCODING_MAX])
{
    for (size_t i = 0; i < LB_COUNT_OF(encoding_aliases); i++) {
        if (strcmp(name, encoding_aliases[i].written) == 0) {
            (void)snprintf(name, ENCODING_MAX, "%s", encoding_aliases[i].name);
            return true;
        }
    }
    return false;
}

/* The one spelling, byte order still open for UTF-16 and UTF-32. */
static lb_status encoding_name(const char *written, char name[ENCODING_MAX], lb_error *err)
{
    if (!encoding_spell(written, name))
        return encoding_unknown(written, err);
    if (name[0] == '\0' || encoding_alias(name) || encoding_windows(name) || encoding_latin(name))
        return LB_OK;
    if (encoding_has_prefix(name, encoding_refused, LB_COUNT_OF(encoding_refused), true))
        return encoding_unknown(written, err);
    bool stateful = encoding_has_prefix(name, encoding_stateful, LB_COUNT_OF(encoding_stateful), false);
    bool known = encoding_known(name) || encoding_known_underscored(name);
    if (!stateful && !known)
        return encoding_unknown(written, err);
    if (!stateful && !encoding_shifts(name))
        return LB_OK;
    lb_fail(err, LB_UNSUPPORTED, LB_NOWHERE, "%s has shift states, so that no row in it can be reached alone", name);
    lb_fail_hint(err, "convert the file first: iconv -f %s -t UTF-8", name);
    return LB_UNSUPPORTED;
}

static bool encoding_is_generic(const char *name)
{
    return strcmp(name, "UTF-16") == 0 || strcmp(name, "UTF-32") == 0;
}

lb_status lb_text_encoding(lb_store *store, const char *name, char out[64], unsigned *bom_bytes, lb_error *err)
{
    uint8_t head[4];
    size_t got = 0;
    *bom_bytes = 0;
    LB_TRY(encoding_name(name == NULL ? "" : name, out, err));
    if (store == NULL)
        return LB_OK;
    LB_TRY(lb_store_read(store, 0, head, sizeof head, &got, err));
    for (size_t i = 0; i < LB_COUNT_OF(encoding_boms); i++) {
        bool mine = strcmp(out, encoding_boms[i].name) == 0 || strcmp(out, encoding_boms[i].settled) == 0;
        if (mine && got >= encoding_boms[i].size && memcmp(head, encoding_boms[i].bom, encoding_boms[i].size) == 0) {
            (void)snprintf(out, ENCODING_MAX, "%s", encoding_boms[i].settled);
            *bom_bytes = encoding_boms[i].size;
            return LB_OK;
        }
    }
    if (encoding_is_generic(out))
        memcpy(out + 6, "LE", 3);
    return LB_OK;
}
