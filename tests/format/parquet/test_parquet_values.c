/* Values of pages: bodies that pyarrow wrote, read whole, cut at every place, and passed over. */
#include "format/parquet/parquet_values.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define BYTES(text) text, sizeof(text) - 1

/* `stored`: values as PLAIN has them; booleans a byte each, arrays of bytes each ended by '|'. */
static const struct {
    lb_parquet_physical physical;
    uint32_t type_length;
    int32_t encoding;
    size_t n;
    const char *page;
    size_t page_size;
    const char *stored;
    size_t stored_size;
} cases[] = {
    /* clang-format off */
    { LB_PARQUET_INT32, 0, LB_PARQUET_PLAIN, 5,
      BYTES("\001\000\000\000\376\377\377\377\003\000\000\000\377\377\377\177\000\000\000\200"),
      BYTES("\001\000\000\000\376\377\377\377\003\000\000\000\377\377\377\177\000\000\000\200") },
    { LB_PARQUET_INT32, 0, LB_PARQUET_DELTA_BINARY_PACKED, 8,
      BYTES("\200\001\004\010\016\003\002\000\000\000\300\077\000\000\000\000\000\000"),
      BYTES("\007\000\000\000\005\000\000\000\003\000\000\000\001\000\000\000\002\000\000\000\003\000\000\000\004"
          "\000\000\000\005\000\000\000") },
    { LB_PARQUET_INT32, 0, LB_PARQUET_DELTA_BINARY_PACKED, 40,
      BYTES("\200\001\004\050\375\240\331\214\001\305\203\252\200\017\040\040\000\000\124\103\057\227\163\330\262"
          "\144\164\127\371\277\043\062\035\305\321\173\230\255\226\223\312\045\147\227\216\163\341\341\116\010"
          "\000\000\000\000\276\353\212\337\042\046\352\330\126\104\101\045\320\027\012\227\277\072\014\124\251"
          "\151\252\241\020\245\244\025\241\357\347\007\005\346\037\126\227\303\320\014\243\054\062\362\204\151"
          "\132\032\056\133\076\352\241\031\076\002\346\367\124\012\110\263\346\202\100\037\351\140\014\302\116"
          "\007\246\305\161\145\031\233\153\263\072\117\361\033\236\122\104\111\301\200\332\266\352\236\256\031"
          "\334\101\154\237\263\270\256\163\266\101\174\155\155\256\271\064\045\236\051\073\216\130\136\012\000"
          "\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000"
          "\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000"
          "\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000"
          "\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000"),
      BYTES("\301\327\064\367\062\332\136\026\302\161\014\003\123\210\000\113\223\171\030\230\201\264\253\315\064"
          "\007\161\173\270\135\372\166\266\376\103\007\323\275\076\217\256\150\304\366\355\115\251\127\140\121"
          "\345\004\115\050\352\043\051\042\361\377\357\112\226\051\034\257\065\307\332\135\030\127\374\002\063"
          "\065\260\205\376\311\160\161\053\104\021\232\200\346\134\264\271\130\032\215\362\342\035\104\102\165"
          "\202\266\043\200\337\224\007\151\010\026\121\370\313\232\275\345\001\365\043\041\130\003\020\305\023"
          "\025\117\226\361\124\044\325\370\262\315\166\361\263\064\236\301\053\336\231\224\054\125\217\036\232"
          "\011\114\140\367\055\017\013\017\207\241") },
    { LB_PARQUET_INT64, 0, LB_PARQUET_DELTA_BINARY_PACKED, 5,
      BYTES("\200\002\004\005\376\377\377\377\377\377\377\377\377\001\377\377\377\377\377\377\377\377\377\001\100"
          "\000\000\000\001\000\000\000\000\000\000\200\000\000\000\000\000\000\000\000\377\377\377\377\377\377"
          "\377\177\002\000\000\000\000\000\000\200\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000"
          "\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000"
          "\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000"
          "\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000"
          "\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000"
          "\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000"
          "\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000"
          "\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000"
          "\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000"
          "\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000"
          "\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000"
          "\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000"
          "\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000"
          "\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000"
          "\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000"
          "\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000"
          "\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000"
          "\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000"
          "\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000"
          "\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000"),
      BYTES("\377\377\377\377\377\377\377\177\000\000\000\000\000\000\000\200\000\000\000\000\000\000\000\000\377"
          "\377\377\377\377\377\377\377\001\000\000\000\000\000\000\000") },
    { LB_PARQUET_INT64, 0, LB_PARQUET_DELTA_BINARY_PACKED, 35,
      BYTES("\200\002\004\043\320\017\002\007\000\000\000\000\001\301\200\120\060\034\020\011\305\202\321\160\074"
          "\040\021\311\204\122\261\134\060\031\315\206\323\361\174\100\041\000\000\000\000\000\000\000\000\000"
          "\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000"),
      BYTES("\350\003\000\000\000\000\000\000\351\003\000\000\000\000\000\000\354\003\000\000\000\000\000\000\361"
          "\003\000\000\000\000\000\000\370\003\000\000\000\000\000\000\001\004\000\000\000\000\000\000\014\004"
          "\000\000\000\000\000\000\031\004\000\000\000\000\000\000\050\004\000\000\000\000\000\000\071\004\000"
          "\000\000\000\000\000\114\004\000\000\000\000\000\000\141\004\000\000\000\000\000\000\170\004\000\000"
          "\000\000\000\000\221\004\000\000\000\000\000\000\254\004\000\000\000\000\000\000\311\004\000\000\000"
          "\000\000\000\350\004\000\000\000\000\000\000\011\005\000\000\000\000\000\000\054\005\000\000\000\000"
          "\000\000\121\005\000\000\000\000\000\000\170\005\000\000\000\000\000\000\241\005\000\000\000\000\000"
          "\000\314\005\000\000\000\000\000\000\371\005\000\000\000\000\000\000\050\006\000\000\000\000\000\000"
          "\131\006\000\000\000\000\000\000\214\006\000\000\000\000\000\000\301\006\000\000\000\000\000\000\370"
          "\006\000\000\000\000\000\000\061\007\000\000\000\000\000\000\154\007\000\000\000\000\000\000\251\007"
          "\000\000\000\000\000\000\350\007\000\000\000\000\000\000\051\010\000\000\000\000\000\000\154\010\000"
          "\000\000\000\000\000") },
    { LB_PARQUET_INT64, 0, LB_PARQUET_DELTA_BINARY_PACKED, 1,
      BYTES("\200\002\004\001\124"),
      BYTES("\052\000\000\000\000\000\000\000") },
    { LB_PARQUET_INT32, 0, LB_PARQUET_BYTE_STREAM_SPLIT, 4,
      BYTES("\001\000\375\160\000\001\377\021\000\000\377\001\000\000\377\000"),
      BYTES("\001\000\000\000\000\001\000\000\375\377\377\377\160\021\001\000") },
    { LB_PARQUET_INT64, 0, LB_PARQUET_BYTE_STREAM_SPLIT, 9,
      BYTES("\001\000\375\000\000\006\007\010\011\000\001\377\000\000\000\000\000\000\000\000\377\000\000\000\000"
          "\000\000\000\000\377\000\000\000\000\000\000\000\000\377\000\000\000\000\000\000\000\000\377\001\000"
          "\000\000\000\000\000\000\377\000\374\000\000\000\000\000\000\377\000\377\000\000\000\000"),
      BYTES("\001\000\000\000\000\000\000\000\000\001\000\000\000\000\000\000\375\377\377\377\377\377\377\377\000"
          "\000\000\000\000\001\000\000\000\000\000\000\000\000\374\377\006\000\000\000\000\000\000\000\007\000"
          "\000\000\000\000\000\000\010\000\000\000\000\000\000\000\011\000\000\000\000\000\000\000") },
    { LB_PARQUET_FLOAT, 0, LB_PARQUET_BYTE_STREAM_SPLIT, 18,
      BYTES("\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000"
          "\000\000\000\000\000\000\000\000\000\000\000\000\300\100\220\300\360\020\050\100\130\160\204\220\234"
          "\250\264\300\314\000\077\100\100\100\100\101\101\101\101\101\101\101\101\101\101\101\101"),
      BYTES("\000\000\000\000\000\000\300\077\000\000\100\100\000\000\220\100\000\000\300\100\000\000\360\100\000"
          "\000\020\101\000\000\050\101\000\000\100\101\000\000\130\101\000\000\160\101\000\000\204\101\000\000"
          "\220\101\000\000\234\101\000\000\250\101\000\000\264\101\000\000\300\101\000\000\314\101") },
    { LB_PARQUET_DOUBLE, 0, LB_PARQUET_BYTE_STREAM_SPLIT, 3,
      BYTES("\232\000\234\231\000\165\231\000\000\231\000\210\231\000\074\231\000\344\271\004\067\077\300\176"),
      BYTES("\232\231\231\231\231\231\271\077\000\000\000\000\000\000\004\300\234\165\000\210\074\344\067\176") },
    { LB_PARQUET_DOUBLE, 0, LB_PARQUET_PLAIN, 3,
      BYTES("\232\231\231\231\231\231\271\077\000\000\000\000\000\000\004\300\234\165\000\210\074\344\067\176"),
      BYTES("\232\231\231\231\231\231\271\077\000\000\000\000\000\000\004\300\234\165\000\210\074\344\067\176") },
    { LB_PARQUET_FIXED, 3, LB_PARQUET_PLAIN, 4,
      BYTES("\141\142\143\000\001\002\170\171\172\170\171\141"),
      BYTES("\141\142\143\000\001\002\170\171\172\170\171\141") },
    { LB_PARQUET_FIXED, 3, LB_PARQUET_BYTE_STREAM_SPLIT, 4,
      BYTES("\141\000\170\170\142\001\171\171\143\002\172\141"),
      BYTES("\141\142\143\000\001\002\170\171\172\170\171\141") },
    { LB_PARQUET_FIXED, 3, LB_PARQUET_DELTA_BYTE_ARRAY, 4,
      BYTES("\200\001\004\004\000\003\003\000\000\000\004\001\000\000\000\000\000\000\000\000\000\000\200\001\004"
          "\004\006\003\003\000\000\000\040\000\000\000\000\000\000\000\000\000\000\000\141\142\143\144\170\171"
          "\172\141"),
      BYTES("\141\142\143\141\142\144\170\171\172\170\171\141") },
    { LB_PARQUET_BYTE_ARRAY, 0, LB_PARQUET_PLAIN, 5,
      BYTES("\005\000\000\000\110\145\154\154\157\005\000\000\000\127\157\162\154\144\000\000\000\000\006\000\000"
          "\000\106\157\157\142\141\162\006\000\000\000\101\102\103\104\105\106"),
      BYTES("\110\145\154\154\157\174\127\157\162\154\144\174\174\106\157\157\142\141\162\174\101\102\103\104\105"
          "\106\174") },
    { LB_PARQUET_BYTE_ARRAY, 0, LB_PARQUET_DELTA_LENGTH_BYTE_ARRAY, 5,
      BYTES("\200\001\004\005\012\011\004\000\000\000\005\133\000\000\000\000\000\000\000\000\000\000\000\000\000"
          "\000\110\145\154\154\157\127\157\162\154\144\106\157\157\142\141\162\101\102\103\104\105\106"),
      BYTES("\110\145\154\154\157\174\127\157\162\154\144\174\174\106\157\157\142\141\162\174\101\102\103\104\105"
          "\106\174") },
    { LB_PARQUET_BYTE_ARRAY, 0, LB_PARQUET_DELTA_BYTE_ARRAY, 6,
      BYTES("\200\001\004\006\000\005\003\000\000\000\215\061\000\000\000\000\000\000\000\000\000\000\200\001\004"
          "\006\010\011\004\000\000\000\223\004\006\000\000\000\000\000\000\000\000\000\000\000\000\000\141\170"
          "\151\163\154\145\142\141\142\142\154\145\171\150\157\157\144\142"),
      BYTES("\141\170\151\163\174\141\170\154\145\174\142\141\142\142\154\145\174\142\141\142\171\150\157\157\144"
          "\174\174\142\174") },
    { LB_PARQUET_BOOLEAN, 0, LB_PARQUET_PLAIN, 19,
      BYTES("\236\246\005"),
      BYTES("\000\001\001\001\001\000\000\001\000\001\001\000\000\001\000\001\001\000\001") },
    { LB_PARQUET_BOOLEAN, 0, LB_PARQUET_RLE, 48,
      BYTES("\010\000\000\000\050\001\024\000\007\117\323\002"),
      BYTES("\001\001\001\001\001\001\001\001\001\001\001\001\001\001\001\001\001\001\001\001\000\000\000\000\000"
          "\000\000\000\000\000\001\001\001\001\000\000\001\000\001\001\000\000\001\000\001\001\000\001") },
    /* clang-format on */
};

/* A copy of exactly the size, so that a sanitizer sees a step too far. */
static uint8_t *exact(const char *bytes, size_t size)
{
    uint8_t *copy = malloc(size == 0 ? 1 : size);
    assert_non_null(copy);
    memcpy(copy, bytes, size);
    return copy;
}

static lb_status read_strings(lb_parquet_values *v, size_t n, lb_buf *out, lb_error *err)
{
    lb_parquet_strings s;

    lb_parquet_strings_init(&s, NULL);
    lb_status status = lb_parquet_values_strings(v, n, &s, err);
    const int32_t *ends = (const int32_t *)(const void *)s.ends.data;
    for (size_t i = 0; status == LB_OK && i < n; i++) {
        assert_int_equal(lb_buf_append(out, s.data.data + ends[i], (size_t)(ends[i + 1] - ends[i]), NULL), LB_OK);
        assert_int_equal(lb_buf_append(out, "|", 1, NULL), LB_OK);
    }
    lb_parquet_strings_free(&s);
    return status;
}

static lb_status read_bits(lb_parquet_values *v, size_t n, lb_buf *out, lb_error *err)
{
    uint8_t bits[16];

    assert_true(n + 3 <= sizeof bits * 8);
    LB_TRY(lb_parquet_values_bits(v, n, bits, 3, err));
    for (size_t i = 0; i < n; i++)
        lb_buf_putc(out, (char)lb_bits_get(bits, 3 + i));
    return LB_OK;
}

/* Append `n` values in the form of the table. */
static lb_status read_some(lb_parquet_values *v, lb_parquet_physical physical, size_t n, lb_buf *out, lb_error *err)
{
    if (physical == LB_PARQUET_BYTE_ARRAY)
        return read_strings(v, n, out, err);
    assert_int_equal(lb_buf_reserve(out, n * (v->width + 1) + 16, NULL), LB_OK);
    if (physical == LB_PARQUET_BOOLEAN)
        return read_bits(v, n, out, err);
    LB_TRY(lb_parquet_values_fixed(v, n, out->data + out->size, err));
    out->size += n * v->width;
    return LB_OK;
}

static void read_cut(size_t i, const uint8_t *page, size_t cut, bool skip)
{
    const lb_parquet_leaf leaf = { .physical = cases[i].physical, .type_length = cases[i].type_length };
    lb_parquet_values v;
    lb_buf out;
    lb_error err = { .code = LB_OK };

    lb_buf_init(&out, NULL);
    lb_parquet_values_init(&v, NULL);
    assert_int_equal(lb_parquet_values_open(&v, &leaf, cases[i].encoding, page, cases[i].page_size, cases[i].n, &err),
                     LB_OK);
    if (skip)
        assert_int_equal(lb_parquet_values_skip(&v, cut, &err), LB_OK);
    else
        assert_int_equal(read_some(&v, leaf.physical, cut, &out, &err), LB_OK);
    assert_int_equal(read_some(&v, leaf.physical, cases[i].n - cut, &out, &err), LB_OK);
    assert_int_equal(lb_buf_reserve(&out, 1, NULL), LB_OK); /* data is never NULL */
    if (out.size > cases[i].stored_size || (!skip && out.size != cases[i].stored_size) ||
        memcmp(out.data, cases[i].stored + (cases[i].stored_size - out.size), out.size) != 0)
        fail_msg("case %zu cut at %zu", i, cut);
    lb_parquet_values_free(&v);
    lb_buf_free(&out);
}

static void reading(void **state)
{
    (void)state;
    for (size_t i = 0; i < LB_COUNT_OF(cases); i++) {
        uint8_t *page = exact(cases[i].page, cases[i].page_size);
        for (size_t cut = 0; cut <= cases[i].n; cut++) {
            read_cut(i, page, cut, false);
            read_cut(i, page, cut, true);
        }
        free(page);
    }
}

/* More values than there are, or fewer bytes, are refused; nothing is read beyond the end. */
static void cut_short(void **state)
{
    (void)state;
    for (size_t i = 0; i < LB_COUNT_OF(cases); i++) {
        const lb_parquet_leaf leaf = { .physical = cases[i].physical, .type_length = cases[i].type_length };
        for (size_t size = 0; size <= cases[i].page_size; size++) {
            uint8_t *page = exact(cases[i].page, size);
            const bool whole = size == cases[i].page_size;
            lb_parquet_values v;
            lb_buf out;
            lb_error err = { .code = LB_OK };
            lb_buf_init(&out, NULL);
            lb_parquet_values_init(&v, NULL);
            lb_status status = lb_parquet_values_open(&v, &leaf, cases[i].encoding, page, size, cases[i].n + 8, &err);
            /* Bits of a last byte that are no values cannot be told from values. */
            const size_t more = leaf.physical == LB_PARQUET_BOOLEAN ? 8 : 1;
            if (status == LB_OK)
                status = read_some(&v, leaf.physical, cases[i].n + (whole ? more : 0), &out, &err);
            /* The padding of a last part of DELTA_BINARY_PACKED may be missing. */
            if (status == LB_OK && cases[i].encoding < LB_PARQUET_DELTA_BINARY_PACKED)
                fail_msg("case %zu of %zu bytes", i, size);
            assert_int_equal(lb_buf_reserve(&out, 1, NULL), LB_OK);
            if (status == LB_OK)
                assert_memory_equal(out.data, cases[i].stored, LB_MIN(out.size, cases[i].stored_size));
            else
                assert_int_equal(status, LB_CORRUPT);
            lb_parquet_values_free(&v);
            lb_buf_free(&out);
            free(page);
        }
    }
}

/* The example of Encodings.md: three floats in four streams. */
static void split_example(void **state)
{
    static const uint8_t page[] = { 0xAA, 0x00, 0xA3, 0xBB, 0x11, 0xB4, 0xCC, 0x22, 0xC5, 0xDD, 0x33, 0xD6 };
    static const uint8_t want[] = { 0xAA, 0xBB, 0xCC, 0xDD, 0x00, 0x11, 0x22, 0x33, 0xA3, 0xB4, 0xC5, 0xD6 };
    const lb_parquet_leaf leaf = { .physical = LB_PARQUET_FLOAT };
    lb_parquet_values v;
    uint8_t out[12];

    (void)state;
    lb_parquet_values_init(&v, NULL);
    assert_int_equal(lb_parquet_values_open(&v, &leaf, LB_PARQUET_BYTE_STREAM_SPLIT, page, 12, 3, NULL), LB_OK);
    assert_int_equal(lb_parquet_values_fixed(&v, 3, out, NULL), LB_OK);
    assert_memory_equal(out, want, 12);
    lb_parquet_values_free(&v);
}

/* A page of parquet-mr before 1.8.0 goes on from the last value of the page before (PARQUET-246). */
static void prefix_of_last_page(void **state)
{
    /* prefixes 0, 4; lengths 6, 2; then prefixes 4; lengths 1 */
    static const char first[] = "\x80\x01\x04\x02\x00\x08\x00\x00\x00\x00"
                                "\x80\x01\x04\x02\x0C\x07\x00\x00\x00\x00"
                                "abcdefgh";
    static const char second[] = "\x80\x01\x04\x01\x08\x80\x01\x04\x01\x02z";
    const lb_parquet_leaf leaf = { .physical = LB_PARQUET_BYTE_ARRAY };
    lb_parquet_values v;
    lb_buf out;
    lb_error err = { .code = LB_OK };

    (void)state;
    lb_buf_init(&out, NULL);
    lb_parquet_values_init(&v, NULL);
    assert_int_equal(lb_parquet_values_open(&v, &leaf, LB_PARQUET_DELTA_BYTE_ARRAY, (const uint8_t *)first,
                                            sizeof first - 1, 2, &err),
                     LB_OK);
    assert_int_equal(read_strings(&v, 2, &out, &err), LB_OK);
    assert_int_equal(lb_parquet_values_open(&v, &leaf, LB_PARQUET_DELTA_BYTE_ARRAY, (const uint8_t *)second,
                                            sizeof second - 1, 1, &err),
                     LB_OK);
    assert_int_equal(read_strings(&v, 1, &out, &err), LB_OK);
    assert_string_equal(lb_buf_text(&out), "abcdef|abcdgh|abcdz|");
    lb_parquet_values_free(&v);
    lb_buf_free(&out);
}

static void refused(void **state)
{
    static const struct {
        lb_parquet_physical physical;
        int32_t encoding;
        const char *page;
        size_t size;
        lb_status status;
        const char *says;
    } bad[] = {
        { LB_PARQUET_INT32, LB_PARQUET_RLE, BYTES("\0\0\0\0"), LB_UNSUPPORTED, "INT32 in RLE" },
        { LB_PARQUET_INT96, LB_PARQUET_BYTE_STREAM_SPLIT, BYTES(""), LB_UNSUPPORTED, "BYTE_STREAM_SPLIT" },
        { LB_PARQUET_INT32, 77, BYTES(""), LB_UNSUPPORTED, "encoding 77" },
        { LB_PARQUET_INT32, LB_PARQUET_RLE_DICTIONARY, BYTES("\x21\x02"), LB_CORRUPT, "33 bits" },
        { LB_PARQUET_BOOLEAN, LB_PARQUET_RLE, BYTES("\xFF\0\0\0\x02\x01"), LB_CORRUPT, "too early" },
        { LB_PARQUET_DOUBLE, LB_PARQUET_BYTE_STREAM_SPLIT, BYTES("123456789"), LB_CORRUPT, "no whole values" },
        /* no parts of a block; a part of 4 numbers; more numbers than the page has values */
        { LB_PARQUET_INT64, LB_PARQUET_DELTA_BINARY_PACKED, BYTES("\x80\x01\x00\x01\x00"), LB_CORRUPT, "too early" },
        { LB_PARQUET_INT64, LB_PARQUET_DELTA_BINARY_PACKED, BYTES("\x10\x04\x01\x00"), LB_CORRUPT, "too early" },
        { LB_PARQUET_INT64, LB_PARQUET_DELTA_BINARY_PACKED, BYTES("\x80\x01\x04\x65\x00"), LB_CORRUPT, "too early" },
    };
    (void)state;
    for (size_t i = 0; i < LB_COUNT_OF(bad); i++) {
        const lb_parquet_leaf leaf = { .physical = bad[i].physical };
        lb_parquet_values v;
        lb_error err = { .code = LB_OK };
        lb_parquet_values_init(&v, NULL);
        assert_int_equal(
            lb_parquet_values_open(&v, &leaf, bad[i].encoding, (const uint8_t *)bad[i].page, bad[i].size, 100, &err),
            bad[i].status);
        if (strstr(err.message, bad[i].says) == NULL)
            fail_msg("case %zu: %s", i, err.message);
        lb_parquet_values_free(&v);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reading),       cmocka_unit_test(cut_short),
        cmocka_unit_test(split_example), cmocka_unit_test(prefix_of_last_page),
        cmocka_unit_test(refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
