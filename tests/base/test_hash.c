/* Hashes against the Python packages xxhash and blake3; byte i of an input is i % 251, as in BLAKE3's own vectors. */
#include "base/hash.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static const struct {
    size_t size;
    uint64_t xxh3_64;
    const char *xxh3_128, *blake3;
} cases[] = {
    { 0, UINT64_C(0x2d06800538d394c2), "99aa06d3014798d86001c324468d497f",
      "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262" },
    { 1, UINT64_C(0xc44bdff4074eecdb), "a6cd5e9392000f6ac44bdff4074eecdb",
      "2d3adedff11b61f14c886e35afa036736dcd87a74d27b5c1510225d0f592e213" },
    { 3, UINT64_C(0x5f4299fc161c9cbb), "e3b55f57945a17cf5f4299fc161c9cbb",
      "e1be4d7a8ab5560aa4199eea339849ba8e293d55ca0a81006726d184519e647f" },
    { 63, UINT64_C(0xaaa5f0fb98a36ae8), "bb8d4c458fac1f120302a39b74a9cf52",
      "e9bc37a594daad83be9470df7f7b3798297c3d834ce80ba85d6e207627b7db7b" },
    { 64, UINT64_C(0x6187eb9089b0ed55), "9c6e140a465545e590c1971ddb04ce74",
      "4eed7141ea4a5cd4b788606bd23f46e212af9cacebacdc7d1f4c6dc7f2511b98" },
    { 240, UINT64_C(0x375a384d957fe865), "65b5be86da5540e7c92b68e16f83bbb6",
      "45e1a0dc23dbe51733d7269a3c0f519c2a63b0718835b2b537677eba734db0d8" },
    { 241, UINT64_C(0x02e8cd95421c6d02), "1da1cb61bcb8a2a102e8cd95421c6d02",
      "749b36ae651c22e8567db692a6876e0ca4fd3daeb7aa8fa3ab2f642ccc69a8f6" },
    { 1023, UINT64_C(0xd3d91d80ac495685), "4325711b0ed4d742d3d91d80ac495685",
      "10108970eeda3eb932baac1428c7a2163b0e924c9a9e25b35bba72b28f70bd11" },
    { 1024, UINT64_C(0xe5d78bafa45b2aa5), "d0ac1f7b93bf57b9e5d78bafa45b2aa5",
      "42214739f095a406f3fc83deb889744ac00df831c10daa55189b5d121c855af7" },
    { 1025, UINT64_C(0xe95c42288f28186e), "2882ebca04ec915ce95c42288f28186e",
      "d00278ae47eb27b34faecf67b4fe263f82d5412916c1ffd97c8cb7fb814b8444" },
    { 2048, UINT64_C(0x25339063db861586), "a5141efedfefc1af25339063db861586",
      "e776b6028c7cd22a4d0ba182a8bf62205d2ef576467e838ed6f2529b85fba24a" },
    { 31744, UINT64_C(0x5162bbaf8b257803), "786ea195976b880d5162bbaf8b257803",
      "62b6960e1a44bcc1eb1a611a8d6235b6b4b78f32e7abc4fb4c6cdcce94895c47" },
    { 102400, UINT64_C(0x1428e17f1cac2837), "ecd387d36185351b1428e17f1cac2837",
      "bc3e3d41a1146b069abffad3c0d44860cf664390afce4d9661f7902e7943e085" },
};

static uint8_t input[102400];

static void check_hex(const uint8_t *bytes, size_t size, const char *want)
{
    char text[2 * LB_BLAKE3_SIZE + 1];
    lb_hex(bytes, size, text);
    assert_string_equal(text, want);
}

static void whole_inputs(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        assert_int_equal(lb_xxh3_64(input, cases[i].size), cases[i].xxh3_64);
    assert_int_equal(lb_xxh3_64(NULL, 0), cases[0].xxh3_64);
}

/* In pieces of `step` bytes, with the digest asked in between: it changes nothing. */
static void streams(void **state)
{
    (void)state;
    static const size_t steps[] = { 1, 7, 64, 1000, 102400 };
    lb_xxh3 *x = lb_xxh3_new();
    lb_blake3 *b = lb_blake3_new();
    uint8_t out[LB_BLAKE3_SIZE];
    assert_non_null(x);
    assert_non_null(b);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        for (size_t s = 0; s < COUNT_OF(steps); s++) {
            lb_xxh3_reset(x);
            lb_blake3_reset(b);
            for (size_t at = 0; at < cases[i].size; at += steps[s]) {
                size_t n = cases[i].size - at < steps[s] ? cases[i].size - at : steps[s];
                lb_xxh3_update(x, input + at, n);
                lb_blake3_update(b, input + at, n);
                if (at == 0)
                    lb_xxh3_digest(x, out);
            }
            lb_xxh3_update(x, NULL, 0);
            lb_blake3_update(b, NULL, 0);
            lb_xxh3_digest(x, out);
            check_hex(out, LB_XXH3_SIZE, cases[i].xxh3_128);
            lb_blake3_digest(b, out);
            check_hex(out, LB_BLAKE3_SIZE, cases[i].blake3);
        }
    }
    lb_xxh3_free(x);
    lb_blake3_free(b);
    lb_xxh3_free(NULL);
    lb_blake3_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(whole_inputs), cmocka_unit_test(streams) };
    for (size_t i = 0; i < sizeof input; i++)
        input[i] = (uint8_t)(i % 251);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
