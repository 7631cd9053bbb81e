/* Directories of ZIP archives: what Python's zipfile wrote and says of them, with bytes in front, as ZIP64, and damaged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "wire/zip.h"

static const char plain[] =
    "504b0304140000000000831822508b7395ac090000000900000005000000612e74787468656c6c6f207a6970504b030414000008"
    "080083182250f0711ac4060000002800000008000000622fc3a42e747874aba8200e0000504b0304140000000000831822500000"
    "0000000000000000000006000000656d7074792f504b01021403140000000000831822508b7395ac090000000900000005000000"
    "0000000000000000800100000000612e747874504b0102140314000008080083182250f0711ac406000000280000000800000000"
    "0000000000000080012c000000622fc3a42e747874504b0102140314000000000083182250000000000000000000000000060000"
    "000000000000000000800158000000656d7074792f504b050600000000030003009d0000007c0000000c007461696c20636f6d6d"
    "656e74";

static const char prefixed[] =
    "23212f62696e2f780a504b0304140000000000831822508b7395ac090000000900000005000000612e74787468656c6c6f207a69"
    "70504b030414000008080083182250f0711ac4060000002800000008000000622fc3a42e747874aba8200e0000504b0304140000"
    "0000008318225000000000000000000000000006000000656d7074792f504b01021403140000000000831822508b7395ac090000"
    "0009000000050000000000000000000000800109000000612e747874504b0102140314000008080083182250f0711ac406000000"
    "28000000080000000000000000000000800135000000622fc3a42e747874504b0102140314000000000083182250000000000000"
    "000000000000060000000000000000000000800161000000656d7074792f504b050600000000030003009d000000850000000000";

static const char zip64[] =
    "504b03042d0000000000831822508b7395acffffffffffffffff05001400612e7478740100100009000000000000000900000000"
    "00000068656c6c6f207a6970504b03042d000008080083182250f0711ac4ffffffffffffffff08001400622fc3a42e7478740100"
    "100028000000000000000600000000000000aba8200e0000504b0304140000000000831822500000000000000000000000000600"
    "0000656d7074792f504b01022d032d0000000000831822508b7395acffffffffffffffff05001400000000000000000080010000"
    "0000612e7478740100100009000000000000000900000000000000504b01022d032d000008080083182250f0711ac4ffffffffff"
    "ffffff08001c0000000000000000008001ffffffff622fc3a42e7478740100180028000000000000000600000000000000400000"
    "0000000000504b01022d032d00000000008318225000000000000000000000000006000c0000000000000000008001ffffffff65"
    "6d7074792f010008008000000000000000504b06062c000000000000002d002d0000000000000000000300000000000000030000"
    "0000000000d900000000000000a400000000000000504b0607000000007d0100000000000001000000504b050600000000030003"
    "00d9000000a40000000000";

#define MOST 1024

/* What zipfile.infolist() says; the same of all three but for `at`. */
static const struct {
    const char *name;
    uint64_t packed, size;
    uint32_t crc;
    uint16_t method, flags;
} entries[] = {
    { "a.txt", 9, 9, 0xac95738b, LB_ZIP_STORED, 0 },
    { "b/\303\244.txt", 6, 40, 0xc41a71f0, LB_ZIP_DEFLATE, 2048 },
    { "empty/", 0, 0, 0, LB_ZIP_STORED, 0 },
};

static const struct {
    const char *hex;
    uint64_t at[3], content_at[3];
} archives[] = {
    { plain, { 0, 44, 88 }, { 35, 82, 124 } },
    { prefixed, { 9, 53, 97 }, { 44, 91, 133 } },
    { zip64, { 0, 64, 128 }, { 55, 122, 164 } },
};

static size_t bytes_of(const char *hex, uint8_t *out)
{
    size_t n = strlen(hex) / 2;

    for (size_t i = 0; i < n; i++) {
        char pair[3] = { hex[2 * i], hex[2 * i + 1], '\0' };
        out[i] = (uint8_t)strtoul(pair, NULL, 16);
    }
    return n;
}

/* As whoever has a file does it. */
static lb_status list(const uint8_t *file, size_t size, lb_arena *arena, lb_zip_entry **out, size_t *n)
{
    lb_zip_end end;

    LB_TRY(lb_zip_find_end(file, size, size, &end, NULL));
    if (end.zip64_at != 0) {
        assert_true(end.zip64_at <= size && size - end.zip64_at >= LB_ZIP64_END);
        LB_TRY(lb_zip_end64(file + end.zip64_at, size, &end, NULL));
    }
    assert_true(end.at <= size && end.size <= size - end.at);
    return lb_zip_list(file + end.at, (size_t)end.size, &end, arena, out, n, NULL);
}

static lb_status content_at(const uint8_t *file, size_t size, const lb_zip_entry *e, uint64_t *out)
{
    assert_true(e->local_at <= size);
    return lb_zip_content_at(e, file + e->local_at, LB_MIN(size - (size_t)e->local_at, (size_t)LB_ZIP_LOCAL), size, out,
                             NULL);
}

static void check_archive(size_t i, size_t shift)
{
    uint8_t file[MOST] = { 'x' };
    const size_t size = shift + bytes_of(archives[i].hex, file + shift);
    lb_zip_entry *found;
    lb_arena arena;
    size_t n;

    lb_arena_init(&arena, NULL);
    assert_int_equal(list(file, size, &arena, &found, &n), LB_OK);
    assert_int_equal(n, LB_COUNT_OF(entries));
    for (size_t k = 0; k < n; k++) {
        uint64_t at;
        assert_true(lb_str_is(found[k].name, entries[k].name));
        assert_int_equal(found[k].local_at, archives[i].at[k] + shift);
        assert_int_equal(found[k].packed, entries[k].packed);
        assert_int_equal(found[k].size, entries[k].size);
        assert_int_equal(found[k].crc, entries[k].crc);
        assert_int_equal(found[k].method, entries[k].method);
        assert_int_equal(found[k].flags, entries[k].flags);
        assert_int_equal(content_at(file, size, &found[k], &at), LB_OK);
        assert_int_equal(at, archives[i].content_at[k] + shift);
    }
    lb_arena_free(&arena);
}

static void test_archives(void **state)
{
    (void)state;
    for (size_t i = 0; i < LB_COUNT_OF(archives); i++)
        check_archive(i, 0);
}

/* Offsets count from behind whatever stands in front; of ZIP64 the place of the record itself is one of them. */
static void test_bytes_in_front(void **state)
{
    (void)state;
    for (size_t shift = 1; shift < 200; shift += 33)
        check_archive(0, shift);
}

/* A directory that is cut, or any byte of it another one: refused, or entries that lie in the file. */
static void damaged(const uint8_t *file, size_t size)
{
    lb_zip_entry *found;
    lb_arena arena;
    size_t n;

    lb_arena_init(&arena, NULL);
    const lb_status status = list(file, size, &arena, &found, &n);
    assert_true(status == LB_OK || status == LB_CORRUPT || status == LB_UNSUPPORTED);
    for (size_t k = 0; status == LB_OK && k < n; k++) {
        uint64_t at;
        if (found[k].local_at > size || content_at(file, size, &found[k], &at) != LB_OK)
            continue;
        assert_true(at <= size && found[k].packed <= size - at);
    }
    lb_arena_free(&arena);
}

static void test_damage(void **state)
{
    (void)state;
    for (size_t i = 0; i < LB_COUNT_OF(archives); i++) {
        uint8_t file[MOST];
        const size_t size = bytes_of(archives[i].hex, file);
        for (size_t cut = 0; cut < size; cut++)
            damaged(file, cut);
        for (size_t at = 0; at < size; at++)
            for (unsigned bit = 0; bit < 8; bit++) {
                file[at] ^= (uint8_t)(1u << bit);
                damaged(file, size);
                file[at] ^= (uint8_t)(1u << bit);
            }
    }
}

/* What is to be said, and not passed over. */
static const struct {
    size_t at; /* in `plain` */
    uint8_t byte;
    lb_status says;
} refused[] = {
    { 124, 'Q', LB_CORRUPT },        /* the mark of the first entry of the directory */
    { 281 + 10, 9, LB_UNSUPPORTED }, /* how many entries there are, and not all of them here */
    { 281 + 12, 0, LB_CORRUPT },     /* the directory's size */
    { 281 + 16, 0xFF, LB_CORRUPT },  { 281 + 4, 1, LB_UNSUPPORTED }, /* the number of this disk */
};

static void test_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < LB_COUNT_OF(refused); i++) {
        uint8_t file[MOST];
        const size_t size = bytes_of(plain, file);
        lb_zip_entry *found;
        lb_arena arena;
        size_t n;
        file[refused[i].at] = refused[i].byte;
        lb_arena_init(&arena, NULL);
        assert_int_equal(list(file, size, &arena, &found, &n), refused[i].says);
        lb_arena_free(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_archives),
        cmocka_unit_test(test_bytes_in_front),
        cmocka_unit_test(test_damage),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
