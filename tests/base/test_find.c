/* Finding bytes in blocks of 64: every body that the processor can run says what the plain one says. */
#include "base/find.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static uint64_t random_next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* Each byte value at each place, alone in a block of its opposite; the block ends where its memory does. */
static bool every_byte_agrees(lb_find_fn find)
{
    uint8_t block[LB_FIND_BLOCK];
    uint64_t found;

    for (unsigned value = 0; value < 256; value++) {
        const uint8_t wanted = (uint8_t)value;
        memset(block, wanted ^ 0xff, sizeof block);
        find(block, 1, &wanted, 1, &found, 1);
        if (found != 0)
            return false;
        for (unsigned i = 0; i < LB_FIND_BLOCK; i++) {
            block[i] = wanted;
            find(block, 1, &wanted, 1, &found, 1);
            if (found != (uint64_t)1 << i)
                return false;
            block[i] = (uint8_t)(wanted + 1); /* a neighbour in value is another byte */
            find(block, 1, &wanted, 1, &found, 1);
            if (found != 0)
                return false;
            block[i] = wanted ^ 0xff;
        }
        memset(block, wanted, sizeof block);
        find(block, 1, &wanted, 1, &found, 1);
        if (found != UINT64_MAX)
            return false;
    }
    return true;
}

#define UNTOUCHED UINT64_C(0xaaaaaaaaaaaaaaaa)

/* The definition, written here once more; what lies between the words of two values is left as it was. */
static bool words_are_right(const uint8_t *bytes, size_t blocks, const uint8_t *values, unsigned n,
                            const uint64_t *words, size_t stride)
{
    for (size_t b = 0; b < blocks; b++)
        for (unsigned v = 0; v < n; v++) {
            uint64_t want = 0;
            for (unsigned i = 0; i < LB_FIND_BLOCK; i++)
                want |= (uint64_t)(bytes[b * LB_FIND_BLOCK + i] == values[v]) << i;
            if (words[v * stride + b] != want)
                return false;
        }
    for (unsigned v = 0; v < n; v++)
        for (size_t b = blocks; b < stride; b++)
            if (words[v * stride + b] != UNTOUCHED)
                return false;
    return true;
}

/* Random runs of blocks at every alignment, for 1 to 6 values. */
static bool random_blocks_agree(lb_find_fn find)
{
    enum { MOST = 5 };
    uint64_t random = 42, words[(MOST + 3) * LB_FIND_VALUES];

    for (int turn = 0; turn < 20000; turn++) {
        size_t at = random_next(&random) % 64, blocks = random_next(&random) % (MOST + 1),
               size = at + blocks * LB_FIND_BLOCK;
        unsigned n = 1 + (unsigned)(random_next(&random) % LB_FIND_VALUES);
        size_t stride = blocks + random_next(&random) % 4;
        uint8_t range = (uint8_t)(random_next(&random) % 255 + 1), values[LB_FIND_VALUES], *bytes = malloc(size + 1);
        if (bytes == NULL)
            return false;
        for (size_t i = 0; i < size; i++)
            bytes[i] = (uint8_t)(random_next(&random) % range + 256 - range);
        for (size_t k = 0; k < LB_FIND_VALUES; k++)
            values[k] = (uint8_t)(random_next(&random) % range + 256 - range);
        memset(words, 0xaa, sizeof words);
        find(bytes + at, blocks, values, n, words, stride);
        bool right = words_are_right(bytes + at, blocks, values, n, words, stride);
        free(bytes);
        if (!right)
            return false;
    }
    return true;
}

/* Words of few bits and of many, whose places stand one behind the other. */
static bool random_bits_are_spread(lb_spread_fn spread)
{
    enum { MOST = 70 };
    uint64_t random = 4711, words[MOST];

    for (int turn = 0; turn < 20000; turn++) {
        const size_t n = random_next(&random) % (MOST + 1), density = random_next(&random) % 5;
        const uint32_t at = (uint32_t)random_next(&random) >> 4;
        size_t bits = 0, k = 0;
        for (size_t w = 0; w < n; w++) {
            words[w] = random_next(&random) ^ random_next(&random) << 32;
            for (size_t i = 0; i < density; i++)
                words[w] &= random_next(&random) ^ random_next(&random) << 32;
            if (random_next(&random) % 20 == 0)
                words[w] = random_next(&random) % 2 == 0 ? 0 : UINT64_MAX;
            bits += (size_t)__builtin_popcountll(words[w]);
        }
        uint32_t *out = malloc((bits + LB_FIND_BLOCK) * sizeof *out);
        if (out == NULL)
            return false;
        spread(words, n, at, out);
        for (size_t i = 0; i < n * LB_FIND_BLOCK; i++)
            if ((words[i / LB_FIND_BLOCK] >> i % LB_FIND_BLOCK & 1) != 0 && out[k++] != at + i)
                k = SIZE_MAX / 2;
        free(out);
        if (k != bits)
            return false;
    }
    return true;
}

static void find_plain(void **state)
{
    (void)state;
    assert_true(every_byte_agrees(lb_find_scalar));
    assert_true(random_blocks_agree(lb_find_scalar));
    assert_true(random_bits_are_spread(lb_spread_scalar));
}

/* The choice is made once a process, so each one has a process of its own. */
static void find_on_each_processor(void **state)
{
    static const char *const disabled[] = { "", "vbmi2", "avx512", "avx2,avx512", "neon", "avx2,avx512,neon" };

    (void)state;
    for (size_t i = 0; i < sizeof disabled / sizeof disabled[0]; i++) {
        int status = 0;
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            bool good = setenv("LB_DISABLE_CPU", disabled[i], 1) == 0;
            good = good && every_byte_agrees(lb_find_values()) && random_blocks_agree(lb_find_values());
            _exit(good && random_bits_are_spread(lb_spread_bits()) ? 0 : 1);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
            fail_msg("without \"%s\" other bytes or bits are found", disabled[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(find_plain),
        cmocka_unit_test(find_on_each_processor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
