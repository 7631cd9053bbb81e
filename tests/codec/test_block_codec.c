/* Blocks of every codec: bytes that Python's own modules and Arrow 26 wrote of one text, too little room, damage at every place, and
 * sizes that nobody told. LZO has its library's own compressor as the other side. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>
#include <lzo/lzo1x.h>

#include "codec/block_front.h"

static const struct {
    lb_codec codec;
    const char *hex;
} cases[] = {
    { LB_CODEC_DEFLATE,
      "6dd2310ac3300043d13da7f01122a9499be3647009246030815ebf5dcbf7faa787506f9f3297f62ef751cbb59f75eabf2214"
      "a304e581b2a0ac284f9417ca46e1004db5c816dd225c948b74d12ee245bda9f76073ea4dbda937f5a6ded49b7a531fea437d"
      "0697a13ed487fa501fea437dfef55f" },
    { LB_CODEC_ZLIB,
      "78da6dd2310ac3300043d13da7f01122a9499be3647009246030815ebf5dcbf7faa787506f9f3297f62ef751cbb59f75eabf"
      "2214a304e581b2a0ac284f9417ca46e1004db5c816dd225c948b74d12ee245bda9f76073ea4dbda937f5a6ded49b7a531fea"
      "437d0697a13ed487fa501fea437dfef55f9a3eed59" },
    { LB_CODEC_GZIP,
      "1f8b08000000000002036dd2310ac3300043d13da7f01122a9499be3647009246030815ebf5dcbf7faa787506f9f3297f62e"
      "f751cbb59f75eabf2214a304e581b2a0ac284f9417ca46e1004db5c816dd225c948b74d12ee245bda9f76073ea4dbda937f5"
      "a6ded49b7a531fea437d0697a13ed487fa501fea437dfef55f09e69ee4ee020000" },
    { LB_CODEC_GZIP,
      "1f8b08000000000002036dce410a80201445d1b9abf84be865992dc78121147c90a0eddbfc3a3da3d3fdb3c5fcb2b7557bca"
      "5d43ff45901512211b648724c801c99093c3499a6bb12dbec5b838571aaa4a51f12c0100001f8b080000000000020365cebb"
      "0980401040c1dc2ab6046f9fdf720c4e048503116cdf585e3ad144dbe3396a5cdb59bbbbbd51e6102da65594bda998d28469"
      "308da6c9e47d7a9fdee33ddee33ddee33ddee33ddee33dfffd078d3cf2e9c2010000" },
    { LB_CODEC_SNAPPY,
      "ee0544726f772030206f6620746865206c616b650a0112003142120000324212000033421200003442120000354212000036"
      "42120000374212000038421200003942120000314ab50046b600003146b700003146b800003146b900003146ba00003146bb"
      "00003146bc00003146bd00003146be00003246be00003246be00003246be00003246be00003246be00003246be00003246be"
      "00003246be00003246be00003246be00003346be00003346be00003346be00003346be00003346be00003346be00003346be"
      "00003346be00003346be00383339206f6620746865206c616b650a" },
    { LB_CODEC_ZSTD,
      "28b52ffd60ee01350400c403726f772030206f6620746865206c616b650a726f772031323334353637383931313131313131"
      "31313232323232323232323233333333333333333333272080a3d203b278d7639ef0ce633df18ec73ce19dc778e29dc77ae2"
      "1d8f79b277413d06d4939fdef9f4584f4f787ab7d3633a3dc9e9014e723333cb7c66368bf966c666b1e6d804" },
    { LB_CODEC_ZSTD,
      "28b52ffd602c006d02006402726f772030206f6620746865206c616b650a726f772031323334353637383931313131313136"
      "0f003df38467deedcc633af324671ee04c7260666016301f98199805cc07660666b1e6d90428b52ffd60c200ed0200b40220"
      "6f6620746865206c616b650a726f772031373839323031323334353637383933303132333435363738391700e010e01df018"
      "f00478073c063c01de018f01af81598077c063c013e01df018f00478073c06bc066601de6dde0c03" },
    { LB_CODEC_ZSTD, /* with a checksum */
      "28b52ffd64ee01bd0200d2c30b10a0edcc16660daa708f7f4ba1d0cf2918ffffffbf6ddbb6ddb66ddb1e53c8107733ba0712"
      "432dd382a95c868cee0527a811f0ebff0680a3d20310fe44087d93120f0af4e73e7be2b993ce9c70909b8a09968b6afd730a"
      "0a" },
    { LB_CODEC_LZ4,
      "f003726f772030206f6620746865206c616b650a12001d3112001d3212001d3312001d3412001d3512001d3612001d371200"
      "1d3812001d3912001f31b500000eb6001e31b7001e31b8001e31b9001e31ba001e31bb001e31bc001e31bd001e31be001e32"
      "be001e32be001e32be001e32be001e32be001e32be001e32be001e32be001e32be001e32be001e33be001e33be001e33be00"
      "1e33be001e33be001e33be001e33be001e33be001e33be001533be00506c616b650a" },
    { LB_CODEC_LZ4_FRAME,
      "04224d18604082b8000000f003726f772030206f6620746865206c616b650a12001d3112001d3212001d3312001d3412001d"
      "3512001d3612001d3712001d3812001d3912001f31b500000eb6001e31b7001e31b8001e31b9001e31ba001e31bb001e31bc"
      "001e31bd001e31be001e32be001e32be001e32be001e32be001e32be001e32be001e32be001e32be001e32be001e32be001e"
      "33be001e33be001e33be001e33be001e33be001e33be001e33be001e33be001e33be001533be00506c616b650a00000000" },
    { LB_CODEC_LZ4_FRAME,
      "04224d1860408258000000f003726f772030206f6620746865206c616b650a12001d3112001d3212001d3312001d3412001d"
      "3512001d3612001d3712001d3812001d3912001f31b500000eb6001e31b7001e31b8001e31b9001b31ba00506f7720313600"
      "00000004224d1860408275000000fe04206f6620746865206c616b650a726f7720313713001e3813001d3913002e32301300"
      "1e3113001e3213001e3313001e3413001e3513001e3613000ebe001e32be001e32be001e33be001e33be001e33be001e33be"
      "001e33be001e33be001e33be001e33be001e33be001533be00506c616b650a00000000" },
    { LB_CODEC_LZ4_HADOOP,
      "000002ee000000b8f003726f772030206f6620746865206c616b650a12001d3112001d3212001d3312001d3412001d351200"
      "1d3612001d3712001d3812001d3912001f31b500000eb6001e31b7001e31b8001e31b9001e31ba001e31bb001e31bc001e31"
      "bd001e31be001e32be001e32be001e32be001e32be001e32be001e32be001e32be001e32be001e32be001e32be001e33be00"
      "1e33be001e33be001e33be001e33be001e33be001e33be001e33be001e33be001533be00506c616b650a" },
    { LB_CODEC_LZ4_HADOOP,
      "f003726f772030206f6620746865206c616b650a12001d3112001d3212001d3312001d3412001d3512001d3612001d371200"
      "1d3812001d3912001f31b500000eb6001e31b7001e31b8001e31b9001e31ba001e31bb001e31bc001e31bd001e31be001e32"
      "be001e32be001e32be001e32be001e32be001e32be001e32be001e32be001e32be001e32be001e33be001e33be001e33be00"
      "1e33be001e33be001e33be001e33be001e33be001e33be001533be00506c616b650a" },
    { LB_CODEC_BROTLI,
      "1bed02000484b6d5298910d9865f4dde59c4829dfb4d2dcc3ca0f0912147078b5ad0f3bdff5cf399ce8077a44ddbf5eea3cf"
      "befaee6751fc63606060606060600042082184104284104208211401" },
    { LB_CODEC_BZIP2,
      "425a68393141592653598bd66fba00013b5980001040007fe0234c94802000841291eaa7ea27feaa27a800152a4ff5486401"
      "e93d4d0147e028c0146af18db7eaf1cf6d6eb955576562aaddddddf8028eeae6499289333051249544924924b6db6db6e9a5"
      "b811811811c08c88fc23608c88c88e423988fe2ee48a70a12117acdf74" },
    { LB_CODEC_XZ,
      "fd377a585a000004e6d6b4460200210116000000742fe5a3e002ed00695d00391bcb50209fad903bec811002f4ff1b2fd47c"
      "6db8266a3d203f2d9f801c568b7d8ff5d41593eb41cc5e17f068dac55b179395331b7b3c990bdd92bbc01e4458c45dc903a4"
      "5811be6d5675199d8ddcf59e334a173ddfafa1a4f14364ef39f0c73d78891e464c89260000000000fee789fe6081f7930001"
      "8501ee050000e68c2380b1c467fb020000000004595a" },
};

#define BLOCK_MOST 4096

/* Forty rows of text, which all cases hold. */
static size_t text_of(char *out, size_t cap)
{
    size_t size = 0;

    for (int i = 0; i < 40; i++)
        size += (size_t)snprintf(out + size, cap - size, "row %d of the lake\n", i);
    return size;
}

static size_t bytes_of(const char *hex, uint8_t *out)
{
    size_t n = strlen(hex) / 2;

    for (size_t i = 0; i < n; i++) {
        char pair[3] = { hex[2 * i], hex[2 * i + 1], '\0' };
        out[i] = (uint8_t)strtoul(pair, NULL, 16);
    }
    return n;
}

/* All ways to the text from one block, with memory of the exact sizes. */
static void all_ways(lb_codec codec, const uint8_t *block, size_t size)
{
    char text[BLOCK_MOST];
    size_t n = text_of(text, sizeof text), got;
    lb_codec_work work = { 0 };
    lb_error err = LB_ERROR_INIT;
    uint8_t *out = malloc(n);

    assert_non_null(out);
    assert_int_equal(LB_OK, lb_codec_decode_exact(codec, &work, block, size, out, n, &err));
    assert_memory_equal(text, out, n);
    assert_int_equal(LB_OK, lb_codec_decode_exact(codec, NULL, block, size, out, n, &err));
    assert_int_equal(LB_CORRUPT, lb_codec_decode_exact(codec, &work, block, size, out, n - 1, &err));
    lb_error_clear(&err);
    assert_int_equal(LB_CORRUPT, lb_codec_decode(codec, &work, block, size, NULL, 0, &got, &err));
    free(out);
    out = malloc(n + 100);
    assert_non_null(out);
    lb_error_clear(&err);
    assert_int_equal(LB_CORRUPT, lb_codec_decode_exact(codec, &work, block, size, out, n + 100, &err));
    lb_error_clear(&err);
    assert_int_equal(LB_OK, lb_codec_decode(codec, &work, block, size, out, n + 100, &got, &err));
    assert_int_equal(n, got);
    free(out);
    lb_buf buf;
    lb_buf_init(&buf, NULL);
    assert_int_equal(LB_OK, lb_codec_decode_append(codec, &work, block, size, n, &buf, &err));
    assert_int_equal(LB_OK, lb_codec_decode_append(codec, &work, block, size, SIZE_MAX, &buf, &err));
    assert_int_equal(LB_CORRUPT, lb_codec_decode_append(codec, &work, block, size, n - 1, &buf, &err));
    assert_int_equal(2 * n, buf.size);
    assert_memory_equal(text, buf.data, n);
    assert_memory_equal(text, buf.data + n, n);
    lb_buf_free(&buf);
    lb_codec_work_free(&work);
}

static void blocks_of_others(void **state)
{
    (void)state;
    for (size_t i = 0; i < LB_COUNT_OF(cases); i++) {
        uint8_t block[BLOCK_MOST];
        all_ways(cases[i].codec, block, bytes_of(cases[i].hex, block));
    }
}

static void blocks_of_lzo(void **state)
{
    char text[BLOCK_MOST];
    uint8_t block[BLOCK_MOST] = { 0 };
    lzo_uint size = 0;
    void *work = malloc(LZO1X_1_MEM_COMPRESS);
    size_t n = text_of(text, sizeof text);

    (void)state;
    assert_non_null(work);
    assert_int_equal(LZO_E_OK, lzo1x_1_compress((const uint8_t *)text, n, block + 8, &size, work));
    free(work);
    all_ways(LB_CODEC_LZO, block + 8, size);
    all_ways(LB_CODEC_LZO_HADOOP, block + 8, size);
    block[2] = (uint8_t)(n >> 8);
    block[3] = (uint8_t)n;
    block[6] = (uint8_t)(size >> 8);
    block[7] = (uint8_t)size;
    all_ways(LB_CODEC_LZO_HADOOP, block, size + 8);
}

/* Bytes that turn or are missing give the text, other bytes, or an error, and touch nothing else (sanitizers look). */
static void damage(void **state)
{
    (void)state;
    for (size_t i = 0; i < LB_COUNT_OF(cases); i++) {
        uint8_t block[BLOCK_MOST], out[1024];
        size_t size = bytes_of(cases[i].hex, block), got;
        lb_codec_work work = { 0 };
        for (size_t at = 0; at < size; at++) {
            lb_error err = LB_ERROR_INIT;
            uint8_t *cut = malloc(at == 0 ? 1 : at);
            assert_non_null(cut);
            memcpy(cut, block, at);
            lb_status status = lb_codec_decode(cases[i].codec, &work, cut, at, out, sizeof out, &got, &err);
            assert_true(status == LB_OK || status == LB_CORRUPT);
            free(cut);
            lb_error_clear(&err);
            block[at] ^= 0x55;
            status = lb_codec_decode(cases[i].codec, &work, block, size, out, sizeof out, &got, &err);
            assert_true(status == LB_OK || status == LB_CORRUPT);
            block[at] ^= 0x55;
        }
        lb_codec_work_free(&work);
    }
}

/* Every front part of a block, in one step and in many, is that of the text; with the last byte comes the check of the rest. */
static void one_front(lb_codec codec, const uint8_t *block, size_t size, size_t step)
{
    char text[BLOCK_MOST];
    const size_t n = text_of(text, sizeof text);
    lb_codec_work work = { 0 };
    lb_codec_front front = { 0 };
    uint8_t *out = malloc(n);

    assert_non_null(out);
    lb_codec_front_begin(&front, codec, &work, block, size, out, n);
    for (size_t least = step; least < n; least += step) {
        assert_int_equal(LB_OK, lb_codec_front_reach(&front, least, NULL));
        assert_in_range(front.got, least, n);
        assert_memory_equal(text, out, front.got);
    }
    assert_int_equal(LB_OK, lb_codec_front_reach(&front, n, NULL));
    assert_int_equal(n, front.got);
    assert_memory_equal(text, out, n);
    lb_codec_front_begin(&front, codec, &work, block, size - 1, out, n);
    assert_true(lb_codec_front_reach(&front, 1, NULL) != LB_OK || lb_codec_front_reach(&front, n, NULL) == LB_CORRUPT);
    lb_codec_front_end(&front);
    lb_codec_work_free(&work);
    free(out);
}

static void fronts(void **state)
{
    (void)state;
    for (size_t i = 0; i < LB_COUNT_OF(cases); i++)
        for (size_t step = 1; step < 800; step += step < 20 ? 1 : 97) {
            uint8_t block[BLOCK_MOST], *exact = block;
            const size_t size = bytes_of(cases[i].hex, block);
            exact = malloc(size);
            assert_non_null(exact);
            memcpy(exact, block, size);
            one_front(cases[i].codec, exact, size, step);
            free(exact);
        }
}

/* Blocks of nothing, as Python's modules and Arrow write them. */
static const struct {
    lb_codec codec;
    const char *hex;
} empties[] = {
    { LB_CODEC_NONE, "" },
    { LB_CODEC_DEFLATE, "0300" },
    { LB_CODEC_ZLIB, "789c030000000001" },
    { LB_CODEC_GZIP, "1f8b080000000000020303000000000000000000" },
    { LB_CODEC_SNAPPY, "00" },
    { LB_CODEC_ZSTD, "28b52ffd2000010000" },
    { LB_CODEC_LZ4, "00" },
    { LB_CODEC_LZ4_FRAME, "04224d1860408200000000" },
    { LB_CODEC_BROTLI, "06" },
    { LB_CODEC_BZIP2, "425a683917724538509000000000" },
    { LB_CODEC_XZ, "fd377a585a000004e6d6b446000000001cdf44211fb6f37d010000000004595a" },
};

/* Where nothing is wanted of a block, it has to be one of nothing; asked twice, it says the same. */
static void fronts_of_nothing(void **state)
{
    (void)state;
    for (size_t i = 0; i < LB_COUNT_OF(empties) + LB_COUNT_OF(cases); i++) {
        const bool empty = i < LB_COUNT_OF(empties);
        const size_t k = empty ? i : i - LB_COUNT_OF(empties);
        const lb_codec codec = empty ? empties[k].codec : cases[k].codec;
        uint8_t block[BLOCK_MOST], nothing = 0x55;
        const size_t size = bytes_of(empty ? empties[k].hex : cases[k].hex, block);
        lb_codec_work work = { 0 };
        lb_codec_front front = { 0 };
        lb_codec_front_begin(&front, codec, &work, block, size, &nothing, 0);
        for (int times = 0; times < 2; times++)
            assert_int_equal(empty ? LB_OK : LB_CORRUPT, lb_codec_front_reach(&front, 0, NULL));
        assert_int_equal(0, front.got);
        assert_int_equal(0x55, nothing);
        for (size_t at = 0; empty && at < size; at++) { /* damaged, and cut */
            block[at] ^= 0x55;
            lb_codec_front_begin(&front, codec, &work, block, size, &nothing, 0);
            assert_int_equal(lb_codec_decode_exact(codec, NULL, block, size, &nothing, 0, NULL),
                             lb_codec_front_reach(&front, 0, NULL));
            block[at] ^= 0x55;
            lb_codec_front_begin(&front, codec, &work, block, at, &nothing, 0);
            assert_int_equal(lb_codec_decode_exact(codec, NULL, block, at, &nothing, 0, NULL),
                             lb_codec_front_reach(&front, 0, NULL));
        }
        lb_codec_front_end(&front);
        lb_codec_work_free(&work);
    }
}

/* A damaged block gives in parts what it gives as a whole, or nothing. */
static void fronts_of_damage(void **state)
{
    (void)state;
    for (size_t i = 0; i < LB_COUNT_OF(cases); i++) {
        char text[BLOCK_MOST];
        uint8_t block[BLOCK_MOST], whole[1024], part[1024];
        const size_t size = bytes_of(cases[i].hex, block), n = text_of(text, sizeof text);
        lb_codec_work work = { 0 };
        lb_codec_front front = { 0 };
        for (size_t at = 0; at < size; at++) {
            block[at] ^= 0x55;
            const lb_status want = lb_codec_decode_exact(cases[i].codec, &work, block, size, whole, n, NULL);
            lb_codec_front_begin(&front, cases[i].codec, &work, block, size, part, n);
            lb_status got = LB_OK;
            for (size_t least = 7; got == LB_OK && least < n; least += 31)
                got = lb_codec_front_reach(&front, least, NULL);
            if (got == LB_OK)
                got = lb_codec_front_reach(&front, n, NULL);
            assert_int_equal(want, got);
            if (want == LB_OK)
                assert_memory_equal(whole, part, n);
            block[at] ^= 0x55;
        }
        lb_codec_front_end(&front);
        lb_codec_work_free(&work);
    }
}

/* Snappy's copies of every distance and length, which the format's description makes of bytes one by one; between them literals. */
static size_t snappy_repeat(uint8_t *block, size_t distance, size_t length, uint8_t *want, size_t *n)
{
    size_t size = 2, at = 0;

    block[size++] = (uint8_t)(59 << 2); /* a literal of 60 bytes */
    for (; at < 60; at++)
        want[at] = block[size++] = (uint8_t)(at * 37 + 11);
    for (int times = 0; times < 3; times++) {
        block[size++] = (uint8_t)((length - 1) << 2 | (times == 2 ? 3 : 2));
        block[size++] = (uint8_t)distance;
        block[size++] = 0;
        for (int i = 0; i < 2 * (times == 2); i++)
            block[size++] = 0;
        for (size_t i = 0; i < length; i++, at++)
            want[at] = want[at - distance];
        if (distance < 2048 && length >= 4 && length <= 11) {
            block[size++] = (uint8_t)(distance >> 8 << 5 | (length - 4) << 2 | 1);
            block[size++] = (uint8_t)distance;
            for (size_t i = 0; i < length; i++, at++)
                want[at] = want[at - distance];
        }
    }
    block[size++] = 0;
    want[at++] = block[size++] = 'x';
    block[0] = (uint8_t)(at | 0x80);
    block[1] = (uint8_t)(at >> 7);
    *n = at;
    return size;
}

static void snappy_repeats(void **state)
{
    (void)state;
    for (size_t distance = 1; distance <= 60; distance++)
        for (size_t length = 1; length <= 64; length++) {
            uint8_t block[BLOCK_MOST], want[BLOCK_MOST];
            size_t n;
            const size_t size = snappy_repeat(block, distance, length, want, &n);
            uint8_t *out = malloc(n);
            assert_non_null(out);
            assert_int_equal(LB_OK, lb_codec_decode_exact(LB_CODEC_SNAPPY, NULL, block, size, out, n, NULL));
            assert_memory_equal(want, out, n);
            block[64] = (uint8_t)(distance + 60); /* before the first byte */
            assert_int_equal(LB_CORRUPT, lb_codec_decode_exact(LB_CODEC_SNAPPY, NULL, block, size, out, n, NULL));
            free(out);
        }
}

static void stored_as_they_are(void **state)
{
    uint8_t out[4];
    size_t got;
    lb_error err = LB_ERROR_INIT;

    (void)state;
    assert_int_equal(LB_OK, lb_codec_decode(LB_CODEC_NONE, NULL, "abc", 3, out, 4, &got, &err));
    assert_int_equal(3, got);
    assert_memory_equal("abc", out, 3);
    assert_int_equal(LB_OK, lb_codec_decode(LB_CODEC_NONE, NULL, NULL, 0, NULL, 0, &got, &err));
    assert_int_equal(LB_CORRUPT, lb_codec_decode(LB_CODEC_NONE, NULL, "abcde", 5, out, 4, &got, &err));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_of_others), cmocka_unit_test(blocks_of_lzo),      cmocka_unit_test(damage),
        cmocka_unit_test(fronts),           cmocka_unit_test(fronts_of_nothing),  cmocka_unit_test(fronts_of_damage),
        cmocka_unit_test(snappy_repeats),   cmocka_unit_test(stored_as_they_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
