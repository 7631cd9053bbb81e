/* The tokenizer: each rule of delimited text as a row of a table; windows and skips compared with slow_reader.h. */
#include "format/delimited/delimited.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "format/delimited/slow_reader.h"

#define RANDOM_TEXTS 6000
#define WRITTEN_TABLES 1000

/* What a case expects is written with `|` between fields and `/` after records; `@` before a field says that it was
 * quoted. A text may hold NUL, so TEXT gives its size. */
#define TEXT(literal) (literal), sizeof(literal) - 1

static const struct {
    const char *says;
    const char *delimiter;
    int quote, escape;
    const char *text;
    size_t size;
    const char *records;
} cases[] = {
    { "nothing", ",", '"', -1, TEXT(""), "" },
    { "one field", ",", '"', -1, TEXT("a"), "a/" },
    { "fields", ",", '"', -1, TEXT("a,b,c\n"), "a|b|c/" },
    { "empty fields", ",", '"', -1, TEXT(",\n,,\n"), "|/||/" },
    { "no final newline after a delimiter", ",", '"', -1, TEXT("a\nb,"), "a/b|/" },
    { "LF, CR LF and CR", ",", '"', -1, TEXT("a\nb\r\nc\rd"), "a/b/c/d/" },
    { "CR CR LF has a blank line", ",", '"', -1, TEXT("a\r\r\nb"), "a/b/" },
    { "LF CR is a blank line", ",", '"', -1, TEXT("a\n\rb"), "a/b/" },
    { "blank lines anywhere", ",", '"', -1, TEXT("\n\r\na\n\n\n\rb\r\n\r\n"), "a/b/" },
    { "blank lines alone", ",", '"', -1, TEXT("\n\r\n\r\r\n"), "" },
    { "a line of blanks is a record", ",", '"', -1, TEXT("a\n  \n\t\nb\n"), "a/  /\t/b/" },
    { "an empty quoted field is a record", ",", '"', -1, TEXT("a\n\"\"\nb\n"), "a/@/b/" },
    { "quoted", ",", '"', -1, TEXT("\"a\",\"b c\"\n"), "@a|@b c/" },
    { "delimiter and line ends in quotes", ",", '"', -1, TEXT("\"a,b\",\"c\nd\",\"e\r\nf\rg\"\nh"),
      "@a,b|@c\nd|@e\r\nf\rg/h/" },
    { "doubled quotes", ",", '"', -1, TEXT("\"a\"\"b\",\"\"\"\",\"\"\"\"\"\"\n"), "@a\"b|@\"|@\"\"/" },
    { "text after the closing quote stays", ",", '"', -1, TEXT("\"a\"b,\"a\" ,\"a\"b\"c\",\"\"x\n"),
      "@ab|@a |@ab\"c\"|@x/" },
    { "a quote inside a field is a byte", ",", '"', -1, TEXT("5\" pipe,a\"b\"c, \"d\"\n2\",x\n"),
      "5\" pipe|a\"b\"c| \"d\"/2\"|x/" },
    { "a delimiter after the closing quote's text ends the field", ",", '"', -1, TEXT("\"a\"\"b\"x\",y\n"),
      "@a\"bx\"|y/" },
    { "unterminated quote", ",", '"', -1, TEXT("a,\"b\nc,d\n"), "a|@b\nc,d\n/" },
    { "a quote alone", ",", '"', -1, TEXT("\""), "@/" },
    { "unterminated after a doubled quote", ",", '"', -1, TEXT("\"a\"\""), "@a\"/" },
    { "a doubled quote is no empty field with a quote behind", ",", '"', -1, TEXT("\"\"\""), "@\"/" },
    { "closing quote as the last byte", ",", '"', -1, TEXT("x,\"y\""), "x|@y/" },
    { "quote none", ",", -1, -1, TEXT("\"a,b\"\n\"\"\n"), "\"a|b\"/\"\"/" },
    { "another quote", ",", '\'', -1, TEXT("'a,b',\"c\n'd''e'\n"), "@a,b|\"c/@d'e/" },
    { "tab", "\t", '"', -1, TEXT("a\tb,c\t\"d\te\"\n"), "a|b,c|@d\te/" },
    { "blank as delimiter", " ", '"', -1, TEXT("a b  c\n"), "a|b||c/" },
    { "two bytes", "||", '"', -1, TEXT("a||b|c||\"d||e\"\n||\n"), "a|b|c|@d||e/|/" },
    { "equal bytes, from the left", "aa", '"', -1, TEXT("xaay\naaa\naaaa\nxa\n"), "x|y/|a/||/xa/" },
    { "a delimiter begun by its own beginning", "ab", '"', -1, TEXT("aab\nabab\naaabb"), "a|/||/aa|b/" },
    { "a tab that is no delimiter", "\t|", '"', -1, TEXT("a\tb\t|c\t\n\t\t|\t"), "a\tb|c\t/\t|\t/" },
    { "a delimiter cut by the end", "||", '"', -1, TEXT("a|"), "a|/" },
    { "a delimiter cut by a line end", "::", '"', -1, TEXT("a:\nb::c:\n:"), "a:/b|c:/:/" },
    { "four bytes", "<|> ", '"', -1, TEXT("a<|> b<|>c<|> \n"), "a|b<|>c|/" },
    { "four bytes of one character", "\xF0\x9F\x98\x80", '"', -1,
      TEXT("a\xF0\x9F\x98\x80"
           "b\xF0\x9F\x98\x81\n"),
      "a|b\xF0\x9F\x98\x81/" },
    { "a quote right behind a long delimiter", "::", '"', -1, TEXT("a::\"b::c\"::d\n"), "a|@b::c|d/" },
    { "escape", ",", '"', '\\', TEXT("a\\,b,\\\"c,d\\\\,\\n\n"), "a,b|\"c|d\\|n/" },
    { "escape in quotes", ",", '"', '\\', TEXT("\"a\\\"b\",\"c\\\\\",\"\\\n\"\n"), "@a\"b|@c\\|@\n/" },
    { "escaped line end", ",", '"', '\\', TEXT("a\\\nb\n\\\r\nc"), "a\nb/\r/c/" },
    { "escape as the last byte", ",", '"', '\\', TEXT("a\\"), "a\\/" },
    { "escape as the last byte in quotes", ",", '"', '\\', TEXT("\"a\\"), "@a\\/" },
    { "escape behind the closing quote", ",", '"', '\\', TEXT("\"a\"\\,b,c\n"), "@a,b|c/" },
    { "doubling with an escape", ",", '"', '\\', TEXT("\"a\"\"b\\\"\"\n"), "@a\"b\"/" },
    { "escape without quotes", ",", -1, '\\', TEXT("\"a\\,b\",c\n"), "\"a,b\"|c/" },
    { "escape of a delimiter's first byte", "aa", -1, '\\', TEXT("\\aaax\n"), "a|x/" },
    { "NUL bytes", ",", '"', -1, TEXT("a\0b,\"c\0\"\n\0\n"), NULL },
    { "a letter as quote", ",", 'q', -1, TEXT("qa,bq,cq\nqqq"), "@a,b|cq/@q/" },
    { "high bytes as delimiter and quote", "\xA7", 0xFF, -1,
      TEXT("a\xA7\xFF"
           "b\xA7\xFF\n"),
      "a|@b\xA7/" },
};

/* A text in heap of its exact size and the padding that a window has, so that sanitizers see a byte read too many. */
typedef struct padded {
    uint8_t *p;
    size_t size;
} padded;

static padded pad(const void *text, size_t size)
{
    padded out = { calloc(size + LB_TEXT_PADDING, 1), size };

    assert_non_null(out.p);
    if (size != 0)
        memcpy(out.p, text, size);
    return out;
}

static delim_dialect dialect_of(const char *delimiter, int quote, int escape)
{
    delim_dialect d = { .delimiter_size = (unsigned)strlen(delimiter), .quote = quote, .escape = escape };

    memcpy(d.delimiter, delimiter, d.delimiter_size);
    return d;
}

static slow_dialect slow_of(const delim_dialect *d)
{
    return (slow_dialect){ d->delimiter, d->delimiter_size, d->quote, d->escape };
}

/* For a failure: the text and where it was cut. */
static const char *show(const uint8_t *p, size_t size)
{
    static char out[4096];
    size_t n = 0;

    for (size_t i = 0; i < size && n + 5 < sizeof out; i++)
        n += (size_t)snprintf(out + n, 5, p[i] > 31 && p[i] < 127 ? "%c" : "\\x%02x", p[i]);
    out[n] = '\0';
    return out;
}

static void value_of(const delim_dialect *d, const delim_field *f, uint8_t *out, size_t *size)
{
    if (f->flags & DELIM_DIRTY) {
        *size = delim_unescape(d, f, SIZE_MAX, out);
        assert_true(*size <= f->size);
        return;
    }
    *size = f->size;
    if (f->size != 0)
        memcpy(out, f->p, f->size);
}

/* The record that s holds, with its window beginning at `base` of the text, is `want`. */
static void same_record(const delim_scanner *s, size_t base, const slow_text *slow, const slow_record *want)
{
    static uint8_t value[65536];
    size_t size;

    assert_int_equal(base + s->start, want->start);
    assert_int_equal(base + s->stop, want->stop);
    assert_int_equal(base + s->after, want->after);
    assert_int_equal(s->n_fields, want->n_fields);
    for (size_t i = 0; i < s->n_fields; i++) {
        const slow_field *f = &slow->fields[want->first_field + i];
        assert_int_equal((s->fields[i].flags & DELIM_QUOTED) != 0, f->quoted);
        value_of(s->dialect, &s->fields[i], value, &size);
        assert_int_equal(size, f->size);
        if (f->value == NULL || memcmp(value, f->value, size) != 0)
            fail_msg("field %zu of the record at %zu has another value", i, want->start);
    }
}

static delim_step next(delim_scanner *s)
{
    lb_error err = LB_ERROR_INIT;
    delim_step step;

    assert_int_equal(delim_next(s, &step, &err), LB_OK);
    return step;
}

/* ---------------------------------------------------------------- the table */

static size_t print_record(const delim_scanner *s, char *out)
{
    size_t n = 0, size;

    for (size_t i = 0; i < s->n_fields; i++) {
        if (i != 0)
            out[n++] = '|';
        if (s->fields[i].flags & DELIM_QUOTED)
            out[n++] = '@';
        value_of(s->dialect, &s->fields[i], (uint8_t *)out + n, &size);
        n += size;
    }
    out[n++] = '/';
    return n;
}

static void token_rules(void **state)
{
    (void)state;
    for (size_t i = 0; i < LB_COUNT_OF(cases); i++) {
        delim_dialect d = dialect_of(cases[i].delimiter, cases[i].quote, cases[i].escape);
        padded text = pad(cases[i].text, cases[i].size);
        delim_scanner s;
        char got[1024];
        size_t n = 0;

        delim_scanner_init(&s, &d, NULL);
        delim_window(&s, text.p, text.size, true, 0);
        while (next(&s) == DELIM_RECORD)
            n += print_record(&s, got + n);
        if (cases[i].records != NULL && (n != strlen(cases[i].records) || memcmp(got, cases[i].records, n) != 0))
            fail_msg("%s: expected %s, got %s", cases[i].says, cases[i].records, show((uint8_t *)got, n));
        delim_scanner_free(&s);
        free(text.p);
    }
}

static void token_nul_is_a_byte(void **state)
{
    delim_dialect d = dialect_of(",", '"', -1);
    padded text = pad("a\0b,\"c\0\"\n\0\n", 11);
    delim_scanner s;

    (void)state;
    delim_scanner_init(&s, &d, NULL);
    delim_window(&s, text.p, text.size, true, 0);
    assert_int_equal(next(&s), DELIM_RECORD);
    assert_int_equal(s.n_fields, 2);
    assert_int_equal(s.fields[0].size, 3);
    assert_int_equal(s.fields[1].size, 2);
    assert_int_equal(next(&s), DELIM_RECORD);
    assert_int_equal(s.n_fields, 1);
    assert_int_equal(s.fields[0].size, 1);
    assert_int_equal(next(&s), DELIM_END);
    delim_scanner_free(&s);
    free(text.p);
}

/* A dirty field is one whose bytes are not its value; others must lend theirs. */
static void token_clean_fields_lend(void **state)
{
    static const struct {
        const char *text;
        unsigned flags;
    } fields[] = {
        { "ab\n", 0 },
        { "\"ab\"\n", DELIM_QUOTED },
        { "\"\"\n", DELIM_QUOTED },
        { "\"a\"\"b\"\n", DELIM_QUOTED | DELIM_DIRTY },
        { "\"a\"b\n", DELIM_QUOTED | DELIM_DIRTY },
        { "\"ab\n", DELIM_QUOTED | DELIM_DIRTY | DELIM_UNCLOSED },
        { "\"ab\"", DELIM_QUOTED },
        { "\"", DELIM_QUOTED | DELIM_DIRTY | DELIM_UNCLOSED },
        { "a\"b\n", 0 },
        { "a\\,b\n", DELIM_DIRTY },
        { "\"a\\,b\"\n", DELIM_QUOTED | DELIM_DIRTY },
    };
    delim_dialect d = dialect_of(",", '"', '\\');

    (void)state;
    for (size_t i = 0; i < LB_COUNT_OF(fields); i++) {
        padded text = pad(fields[i].text, strlen(fields[i].text));
        delim_scanner s;
        delim_scanner_init(&s, &d, NULL);
        delim_window(&s, text.p, text.size, true, 0);
        assert_int_equal(next(&s), DELIM_RECORD);
        assert_int_equal(s.fields[0].flags, fields[i].flags);
        delim_scanner_free(&s);
        free(text.p);
    }
}

/* ---------------------------------------------------------------- windows */

/* The text in windows: the first `cut` bytes, then so many more each time a record is not whole. */
static void check_windows(const delim_dialect *d, const uint8_t *text, size_t size, const slow_text *slow, size_t cut,
                          size_t more)
{
    size_t base = 0, end = LB_MIN(cut, size), record = 0;
    padded window = pad(text, end);
    delim_scanner s;

    delim_scanner_init(&s, d, NULL);
    delim_window(&s, window.p, window.size, end == size, 0);
    for (;;) {
        delim_step step = next(&s);
        if (step == DELIM_RECORD) {
            if (record == slow->n_records)
                fail_msg("a record too many in %s", show(text, size));
            same_record(&s, base, slow, &slow->records[record++]);
        } else if (step == DELIM_MORE) {
            assert_true(end < size);
            assert_true(record == slow->n_records || base + s.start <= slow->records[record].start);
            base += s.start;
            end = end + more < size ? end + more : size;
            free(window.p);
            window = pad(text + base, end - base);
            delim_window(&s, window.p, window.size, end == size, 0);
        } else {
            break;
        }
    }
    assert_int_equal(record, slow->n_records);
    assert_int_equal(end, size);
    delim_scanner_free(&s);
    free(window.p);
}

/* From the record `first` on, pass over `count` and read the next; in one window, or in ones that grow. */
static void check_skip(const delim_dialect *d, const uint8_t *text, size_t size, const slow_text *slow, size_t first,
                       uint64_t count, size_t more)
{
    size_t base = first == 0 ? 0 : slow->records[first - 1].after,
           end = more == 0 || size - base < more ? size : base + more;
    uint64_t left = slow->n_records - first, want = LB_MIN(count, left), passed = 0;
    padded window = pad(text + base, end - base);
    delim_scanner s;

    delim_scanner_init(&s, d, NULL);
    delim_window(&s, window.p, window.size, end == size, 0);
    for (;;) {
        passed += delim_skip(&s, count - passed);
        if (passed == count || end == size)
            break;
        base += s.start;
        end = size - end < more ? size : end + more;
        free(window.p);
        window = pad(text + base, end - base);
        delim_window(&s, window.p, window.size, end == size, 0);
    }
    if (passed != want)
        fail_msg("passed %d of %d records from record %d of %s", (int)passed, (int)want, (int)first, show(text, size));
    if (end == size && passed == left)
        assert_int_equal(next(&s), DELIM_END);
    if (end == size && passed < left) {
        assert_int_equal(next(&s), DELIM_RECORD);
        same_record(&s, base, slow, &slow->records[first + passed]);
    }
    delim_scanner_free(&s);
    free(window.p);
}

/* Reading and passing over in turns, in one window. */
static void check_turns(const delim_dialect *d, const padded *text, const slow_text *slow, uint64_t count)
{
    delim_scanner s;
    uint64_t record = 0;

    delim_scanner_init(&s, d, NULL);
    delim_window(&s, text->p, text->size, true, 0);
    while (record < slow->n_records) {
        assert_int_equal(next(&s), DELIM_RECORD);
        same_record(&s, 0, slow, &slow->records[record++]);
        assert_int_equal(delim_skip(&s, count), LB_MIN(count, slow->n_records - record));
        record += LB_MIN(count, slow->n_records - record);
    }
    assert_int_equal(next(&s), DELIM_END);
    assert_int_equal(delim_skip(&s, 1), 0);
    delim_scanner_free(&s);
}

/* Passing over what fits, and reading what does not, in one window: rows and physical lines come out as in the slow text. */
static void check_fitting(const delim_dialect *d, const padded *text, const slow_text *slow, size_t width, bool fewer,
                          uint64_t most)
{
    size_t record = 0;
    delim_scanner s;

    delim_scanner_init(&s, d, NULL);
    delim_window(&s, text->p, text->size, true, 0);
    for (;;) {
        delim_skip_blank(&s);
        size_t from = s.after, before = record;
        uint64_t n = delim_skip_fitting(&s, most, width, fewer);
        for (; n != 0; n--, record++) {
            assert_true(record < slow->n_records);
            size_t fields = slow->records[record].n_fields;
            assert_true(fields == width || (fewer && fields < width));
        }
        assert_int_equal(s.after, record == before ? from : slow->records[record - 1].after);
        assert_int_equal(s.lines_passed, lb_count_lines(text->p + from, s.after - from, false));
        if (record - before == most)
            continue;
        if (record < slow->n_records && slow->records[record].after < text->size) {
            size_t fields = slow->records[record].n_fields;
            assert_true(s.unfit && fields != width && !(fewer && fields < width));
        }
        if (next(&s) == DELIM_END)
            break;
        same_record(&s, 0, slow, &slow->records[record++]);
    }
    assert_int_equal(record, slow->n_records);
    delim_scanner_free(&s);
}

static void same_cells(const delim_scanner *s, const delim_cells *c, size_t row, const slow_text *slow,
                       const slow_record *want)
{
    static uint8_t value[65536];
    size_t size;

    for (size_t i = 0; i < c->width; i++) {
        const slow_field *f = &slow->fields[want->first_field + i];
        const delim_field field = delim_cell_field(c, row * c->width + i);
        assert_int_equal((field.flags & DELIM_QUOTED) != 0, f->quoted);
        value_of(s->dialect, &field, value, &size);
        assert_int_equal(size, f->size);
        assert_true(size == 0 || memcmp(value, f->value, size) == 0);
    }
}

/* Many records at a time, and one by one what is left. */
static void check_cells(const delim_dialect *d, const padded *text, const slow_text *slow, size_t width, uint64_t most)
{
    size_t record = 0;
    delim_scanner s;
    delim_cells c;

    delim_scanner_init(&s, d, NULL);
    assert_int_equal(delim_cells_init(&c, width, NULL, NULL), LB_OK);
    delim_window(&s, text->p, text->size, true, 0);
    for (;;) {
        const size_t before = s.after, n = delim_take_cells(&s, &c, most);
        assert_true(n <= most && n <= slow->n_records - record);
        for (size_t row = 0; row < n; row++, record++) {
            assert_int_equal(slow->records[record].n_fields, width);
            same_cells(&s, &c, row, slow, &slow->records[record]);
        }
        assert_int_equal(s.after, n == 0 ? before : slow->records[record - 1].after);
        if (n == most)
            continue;
        /* What was left does not fit, or no line end closes it. */
        if (record < slow->n_records && slow->records[record].after < text->size && d->delimiter_size == 1 &&
            n < DELIM_CELLS / width)
            assert_true(slow->records[record].n_fields != width);
        if (next(&s) == DELIM_END)
            break;
        same_record(&s, 0, slow, &slow->records[record++]);
    }
    assert_int_equal(record, slow->n_records);
    delim_cells_free(&c);
    delim_scanner_free(&s);
}

/* The index by vectors and the one byte by byte, over the same window. */
static void check_index(const delim_dialect *d, const padded *text, bool marking)
{
    delim_scanner fast, slow;

    delim_scanner_init(&fast, d, NULL);
    delim_window(&fast, text->p, text->size, true, 0);
    fast.marking = marking;
    slow = fast;
    for (size_t at = 0; at < text->size; at += fast.n_blocks * LB_FIND_BLOCK) {
        fast.base = slow.base = at;
        delim_index(&fast);
        delim_index_slow(&slow);
        assert_int_equal(fast.n_blocks, slow.n_blocks);
        assert_memory_equal(fast.separators, slow.separators, sizeof fast.separators);
        assert_memory_equal(fast.breaks, slow.breaks, sizeof fast.breaks);
        assert_memory_equal(fast.ends, slow.ends, sizeof fast.ends);
        assert_memory_equal(fast.lines, slow.lines, sizeof fast.lines);
        assert_true(fast.dirty_to >= slow.dirty_to);
        if (!marking)
            continue;
        assert_memory_equal(fast.opens, slow.opens, fast.n_blocks * sizeof *fast.opens);
        assert_memory_equal(fast.closes, slow.closes, fast.n_blocks * sizeof *fast.closes);
        assert_memory_equal(fast.marks, slow.marks, fast.n_blocks * sizeof *fast.marks);
    }
    assert_int_equal(fast.carry.quoted, slow.carry.quoted);
}

static void check_text(const delim_dialect *d, const uint8_t *bytes, size_t size, size_t cut_step)
{
    padded text = pad(bytes, size);
    slow_dialect sd = slow_of(d);
    slow_text slow = slow_read(&sd, text.p, size, 0);

    for (size_t cut = 0; cut <= size; cut += cut_step)
        check_windows(d, text.p, size, &slow, cut, size + 1);
    check_windows(d, text.p, size, &slow, 0, 1 + cut_step / 8);
    for (size_t first = 0; first <= slow.n_records; first += 1 + slow.n_records / 4) {
        for (size_t n = 0; n <= slow.n_records + 1; n += 1 + slow.n_records / 8) {
            check_skip(d, text.p, size, &slow, first, n, 0);
            check_skip(d, text.p, size, &slow, first, n, 1 + n * 7 % 70);
        }
        check_skip(d, text.p, size, &slow, first, UINT64_MAX, 1 + first);
    }
    for (uint64_t n = 0; n < 4; n++)
        check_turns(d, &text, &slow, n);
    for (uint64_t most = 1; most < 80; most = most * 3 + 1) {
        check_fitting(d, &text, &slow, slow.n_records == 0 ? 1 : slow.records[0].n_fields, false, most);
        check_fitting(d, &text, &slow, 2, true, most);
        check_cells(d, &text, &slow, slow.n_records == 0 ? 1 : slow.records[0].n_fields, most);
    }
    check_cells(d, &text, &slow, 1 + slow.n_records % 3, 1000);
    check_index(d, &text, false);
    check_index(d, &text, true);
    slow_free(&slow);
    free(text.p);
}

static void token_windows_of_the_table(void **state)
{
    (void)state;
    for (size_t i = 0; i < LB_COUNT_OF(cases); i++) {
        delim_dialect d = dialect_of(cases[i].delimiter, cases[i].quote, cases[i].escape);
        check_text(&d, (const uint8_t *)cases[i].text, cases[i].size, 1);
    }
}

/* ---------------------------------------------------------------- random texts */

static uint64_t random_state = 88172645463325252u;

static uint64_t random_below(uint64_t n)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (random_state >> 11) % n;
}

static const char *const delimiters[] = { ",", ";", "\t", "||", "aa", "ab", "\t|", "a,a", "::::", "aaab", "\xC2\xA6" };

static delim_dialect random_dialect(void)
{
    static const int quotes[] = { '"', '"', '\'', -1, 0 }, escapes[] = { -1, -1, '\\', 'x' };

    return dialect_of(delimiters[random_below(LB_COUNT_OF(delimiters))], quotes[random_below(LB_COUNT_OF(quotes))],
                      escapes[random_below(LB_COUNT_OF(escapes))]);
}

/* Mostly bytes that mean something, and now and then a run of others as long as a block or two. */
static size_t random_text(const delim_dialect *d, uint8_t *out, size_t cap)
{
    size_t size = 0, want = random_below(random_below(8) == 0 ? cap - 160 : 120);
    unsigned runs = (unsigned)random_below(30), breaks = 2 + (unsigned)random_below(8);

    while (size < want) {
        uint64_t kind = random_below(12 + runs);
        if (kind < 2 && d->quote >= 0)
            out[size++] = (uint8_t)d->quote;
        else if (kind < 4)
            out[size++] = d->delimiter[random_below(d->delimiter_size)];
        else if (kind < 6)
            for (unsigned k = 0; k < d->delimiter_size; k++)
                out[size++] = d->delimiter[k];
        else if (kind == 6 && d->escape >= 0)
            out[size++] = (uint8_t)d->escape;
        else if (kind < 9 && random_below(breaks) < 2)
            out[size++] = "\n\r"[random_below(2)];
        else if (kind < 12)
            out[size++] = (uint8_t) "ab \0"[random_below(4)];
        else
            for (uint64_t n = random_below(6) == 0 ? random_below(140) : random_below(8); n > 0; n--)
                out[size++] = 'z';
    }
    return size;
}

static void token_random_texts(void **state)
{
    static uint8_t text[1200];

    (void)state;
    for (int i = 0; i < RANDOM_TEXTS; i++) {
        delim_dialect d = random_dialect();
        size_t size = random_text(&d, text, sizeof text);
        check_text(&d, text, size, 1 + size / 24);
    }
}

/* A field as a writer writes it: bare, or in quotes with delimiters, line ends and doubled quotes. */
static size_t written_field(const delim_dialect *d, uint8_t *out, uint64_t longest, uint64_t quoting)
{
    const bool quoted = d->quote >= 0 && random_below(8) < quoting;
    size_t size = 0;

    if (quoted)
        out[size++] = (uint8_t)d->quote;
    for (uint64_t n = random_below(longest); n > 0; n--) {
        const uint64_t kind = quoted ? random_below(12) : 12;
        if (kind == 0)
            out[size++] = (uint8_t)d->quote;
        out[size++] = kind == 0 ? (uint8_t)d->quote : kind == 1 ? d->delimiter[0] : kind == 2 ? '\n' : 'z';
    }
    if (quoted)
        out[size++] = (uint8_t)d->quote;
    return size;
}

/* What written_table writes: so many fields a record, of so many bytes; some spoiled places, blank lines, CR LF. */
typedef struct written {
    size_t width, cap;
    uint64_t longest, quoting, spoil;
    bool cr, blank;
} written;

static size_t written_table(const delim_dialect *d, const written *w, uint8_t *out)
{
    size_t size = 0;

    while (size < w->cap) {
        const size_t width = random_below(10000) < w->spoil ? 1 + random_below(w->width + 2) : w->width;
        for (size_t i = 0; i < width; i++) {
            if (i != 0)
                out[size++] = d->delimiter[0];
            size += written_field(d, out + size, w->longest, w->quoting);
            if (d->quote >= 0 && random_below(10000) < w->spoil)
                out[size++] = (uint8_t)d->quote;
        }
        if (w->cr)
            out[size++] = '\r';
        out[size++] = '\n';
        if (w->blank && random_below(20) == 0)
            out[size++] = '\n';
    }
    return size;
}

/* Tables of many blocks, most of whose records are alike. */
static void token_written_tables(void **state)
{
    enum { CAP = 20000, ROOM = 2 * CAP + 100000 };
    static const size_t widths[] = { 1, 1, 2, 3, 5, 9, 31, 63, 64, 65, 130, 400 };
    uint8_t *bytes = malloc(ROOM);

    (void)state;
    assert_non_null(bytes);
    for (int i = 0; i < WRITTEN_TABLES; i++) {
        const delim_dialect d = dialect_of(random_below(4) == 0 ? "\t" : ",", random_below(6) == 0 ? -1 : '"', -1);
        const written w = { .width = widths[random_below(LB_COUNT_OF(widths))],
                            .cap = random_below(CAP),
                            .longest = 1 + random_below(random_below(8) == 0 ? 120 : 12),
                            .quoting = random_below(9),
                            .spoil = random_below(3) == 0 ? random_below(100) : 0,
                            .cr = random_below(4) == 0,
                            .blank = random_below(4) == 0 };
        const size_t size = written_table(&d, &w, bytes);
        padded text = pad(bytes, size);
        slow_dialect sd = slow_of(&d);
        slow_text slow = slow_read(&sd, text.p, size, 0);
        check_index(&d, &text, false);
        check_index(&d, &text, true);
        check_fitting(&d, &text, &slow, w.width, false, SIZE_MAX);
        check_fitting(&d, &text, &slow, w.width, false, 1 + random_below(slow.n_records + 1));
        check_fitting(&d, &text, &slow, w.width, random_below(2) == 0, 1 + random_below(7));
        check_cells(&d, &text, &slow, w.width, 1 + random_below(slow.n_records + 1));
        slow_free(&slow);
        free(text.p);
    }
    free(bytes);
}

/* Records longer than the scanner's first room for fields, and a budget that refuses more. */
static void token_many_fields(void **state)
{
    delim_dialect d = dialect_of(",", '"', -1);
    lb_budget budget = { .limit = 200 * sizeof(delim_field) };
    lb_error err = LB_ERROR_INIT;
    padded text = { calloc(5000 + LB_TEXT_PADDING, 1), 5000 };
    delim_scanner s;
    delim_step step;

    (void)state;
    memset(text.p, ',', text.size);
    delim_scanner_init(&s, &d, NULL);
    delim_window(&s, text.p, text.size, true, 0);
    assert_int_equal(next(&s), DELIM_RECORD);
    assert_int_equal(s.n_fields, 5001);
    delim_scanner_free(&s);
    delim_scanner_init(&s, &d, &budget);
    delim_window(&s, text.p, text.size, true, 0);
    assert_int_equal(delim_next(&s, &step, &err), LB_BUDGET);
    assert_non_null(strstr(err.message, "128 fields"));
    delim_scanner_free(&s);
    assert_int_equal(budget.used, 0);
    free(text.p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(token_rules),
        cmocka_unit_test(token_nul_is_a_byte),
        cmocka_unit_test(token_clean_fields_lend),
        cmocka_unit_test(token_windows_of_the_table),
        cmocka_unit_test(token_random_texts),
        cmocka_unit_test(token_written_tables),
        cmocka_unit_test(token_many_fields),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
