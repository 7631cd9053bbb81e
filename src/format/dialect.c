/* Do an entry's blocks serve a read with these structural options? (lake-map.md 14: only with equal ones.) */
#include "format/format.h"

static bool dialect_bytes_match(const lb_dialect *d, const lb_read_options *o)
{
    if ((o->set & LB_OPT_DELIMITER) != 0 && !lb_str_is(d->delimiter, o->delimiter))
        return false;
    if ((o->set & LB_OPT_QUOTE) != 0 && d->quote != o->quote)
        return false;
    return (o->set & LB_OPT_ESCAPE) == 0 || d->escape == o->escape;
}

/* A workbook's entry knows its header's row; that of delimited text is the first record, or none. */
static bool dialect_header_matches(const lb_dialect *d, const lb_read_options *o)
{
    if ((o->set & LB_OPT_HEADER) == 0)
        return true;
    if (d->has_header != o->has_header)
        return false;
    if (!o->has_header || o->header_row < 0)
        return true;
    return d->header_row == o->header_row || (d->sheet < 0 && o->header_row == 1);
}

/* The byte order of UTF-16 and UTF-32 came from the file's BOM, which the same name would meet again. */
static bool dialect_encoding_matches(lb_str of_entry, unsigned bom_bytes, const lb_read_options *o)
{
    char name[64];
    unsigned ignored;
    if ((o->set & LB_OPT_ENCODING) == 0)
        return true;
    if (lb_text_encoding(NULL, o->encoding, name, &ignored, NULL) != LB_OK)
        return false;
    if (strcmp(name, "UTF-16") != 0 && strcmp(name, "UTF-32") != 0)
        return lb_str_is(of_entry, name);
    if (of_entry.size != 8 || memcmp(of_entry.at, name, 6) != 0)
        return false;
    return bom_bytes != 0 || memcmp(of_entry.at + 6, "LE", 2) == 0;
}

/* A sheet's name is not in the entry, so only its number can be compared. */
static bool dialect_sheet_matches(const lb_dialect *d, const lb_read_options *o)
{
    int64_t number = 0;
    if ((o->set & LB_OPT_SHEET) == 0)
        return true;
    const char *p = o->sheet;
    for (; *p >= '0' && *p <= '9' && number <= INT32_MAX; p++)
        number = number * 10 + (*p - '0');
    return *p == '\0' && p != o->sheet && d->sheet == number;
}

/* Only of MessagePack has a dialect a first row that names the places of the others. */
static bool dialect_has_header_row(const lb_entry *entry)
{
    return entry->has_dialect && entry->dialect.has_header && lb_str_is(entry->format, "msgpack");
}

bool lb_dialect_serves(const lb_entry *entry, const lb_read_options *options)
{
    const lb_dialect *d = &entry->dialect;
    if (options == NULL || options->set == 0)
        return true;
    if ((options->set & LB_OPT_HEADER_ROW) != 0 && options->header_first != dialect_has_header_row(entry))
        return false;
    if (!entry->has_dialect) { /* what has no dialect has no options but, at most, the defaults of these */
        const unsigned others = options->set & ~(unsigned)LB_OPT_HEADER_ROW;
        return others == 0 || (others == LB_OPT_ENCODING && dialect_encoding_matches(LB_STR(""), 0, options));
    }
    if ((options->set & LB_OPT_RAGGED) != 0 && d->ragged_null != options->ragged_null)
        return false;
    return dialect_bytes_match(d, options) && dialect_header_matches(d, options) &&
           dialect_encoding_matches(d->encoding, d->bom_bytes, options) && dialect_sheet_matches(d, options);
}
