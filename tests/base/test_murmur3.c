/* MurmurHash3 against the Python package mmh3, which gives the hashes of Impala's own lineage records. */
#include "base/murmur3.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/hash.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

typedef struct hash_case {
    size_t size;
    const char *hash;
} hash_case;

/* The letters a to z over and over. */
static const hash_case letters[] = {
    { 0, "00000000000000000000000000000000" },   { 1, "bd984e0b5098a6967d6754c7bfc978b2" },
    { 7, "e92ba7591945c7a0a27424aca158e2a2" },   { 8, "b2ae6d69bca50328fad1d64075ebb1a2" },
    { 9, "2e076773feacc61a4a566fc382d6acce" },   { 255, "475488a9e9d80a08de1bad5d4dfff996" },
    { 256, "c02f11b2091edbf7f8c86ae0ad3257a3" }, { 257, "fb8f144444ebc187d6aa89e0293f021a" },
    { 511, "a4714ee2d11da02aae068ab6dc87be70" }, { 512, "45b745d27ac202b444dd30d62d1d3294" },
    { 513, "7f53a3292265945ad68b1322449ad3de" }, { 2000, "1d62e0f701f72d5916af7770b30371f6" },
};

/* U+1F600 and U+00E9, so many times. */
static const hash_case wide[] = {
    { 1, "034f1a7b9d95c62499449756d947a645" },   { 3, "a181f31adf2855fd0f7ddee669dcd3f0" },
    { 254, "9d8b79b62ff7a5cce55d739571621208" }, { 255, "e47c231dde3619660a40ab88e47e7862" },
    { 256, "6541df512621408275e4b211cab232b9" }, { 257, "95cfe133faae31ea618e180080d9cf06" },
    { 700, "e42ce436eb6d102d6bfdd56c0d122d06" },
};

/* Bytes i % 251 with seed 7. */
static const hash_case bytes[] = {
    { 0, "8fc9dec55ac502f4021c7181f686e52d" },  { 1, "69c40ea89f0f487d9dd8740b07f49a71" },
    { 15, "aea4278b6bea8b684b9eae4193655519" }, { 16, "6f22fd9cf8fbccbd18c3ee5c497a91fe" },
    { 17, "6116ee9601809e770bf73ff069f5de0e" }, { 31, "7ef767be545936041ce159538d409e5a" },
    { 32, "0f2afffada25a63955057298ced61e47" }, { 100, "5994513e73829424209fffcc4b7578a9" },
};

static void check(const uint8_t hash[LB_MURMUR3_SIZE], const char *want)
{
    char text[2 * LB_MURMUR3_SIZE + 1];
    lb_hex(hash, LB_MURMUR3_SIZE, text);
    assert_string_equal(text, want);
}

static void texts_as_utf16(void **state)
{
    static const char pair[] = "\xF0\x9F\x98\x80\xC3\xA9";
    char *text = malloc(8192);
    uint8_t hash[LB_MURMUR3_SIZE];
    (void)state;
    assert_non_null(text);
    for (size_t i = 0; i < COUNT_OF(letters); i++) {
        for (size_t k = 0; k < letters[i].size; k++)
            text[k] = (char)('a' + k % 26);
        lb_murmur3_128_utf16(text, letters[i].size, hash);
        check(hash, letters[i].hash);
    }
    for (size_t i = 0; i < COUNT_OF(wide); i++) {
        for (size_t k = 0; k < wide[i].size; k++)
            memcpy(text + 6 * k, pair, 6);
        lb_murmur3_128_utf16(text, 6 * wide[i].size, hash);
        check(hash, wide[i].hash);
    }
    free(text);
}

static void seeded_bytes(void **state)
{
    uint8_t input[128], hash[LB_MURMUR3_SIZE];
    (void)state;
    for (size_t i = 0; i < sizeof input; i++)
        input[i] = (uint8_t)(i % 251);
    for (size_t i = 0; i < COUNT_OF(bytes); i++) {
        lb_murmur3_128(input, bytes[i].size, 7, hash);
        check(hash, bytes[i].hash);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_as_utf16),
        cmocka_unit_test(seeded_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
