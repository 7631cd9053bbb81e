/* Finding bytes in a block of 64: every body that the processor can run says what the plain one says. */
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

static void find_fills_a_set(void **state)
{
    static const uint8_t bytes[] = { 'a', 'b', 'c', 'd', 'e', 'f', 'g' };
    lb_byte_set one = lb_byte_set_of(bytes, 1), two = lb_byte_set_of(bytes, 2), seven = lb_byte_set_of(bytes, 7);

    (void)state;
    assert_memory_equal(one.bytes, "aaaaaa", 6);
    assert_memory_equal(two.bytes, "abaaaa", 6);
    assert_memory_equal(seven.bytes, "abcdef", 6);
}

/* Each byte value at each place, alone in a block of its opposite. */
static bool every_byte_agrees(lb_find64_fn find)
{
    uint8_t block[LB_FIND_BLOCK];

    for (unsigned value = 0; value < 256; value++) {
        uint8_t wanted = (uint8_t)value;
        lb_byte_set set = lb_byte_set_of(&wanted, 1);
        memset(block, wanted ^ 0xff, sizeof block);
        if (find(block, &set) != 0)
            return false;
        for (unsigned i = 0; i < LB_FIND_BLOCK; i++) {
            block[i] = wanted;
            if (find(block, &set) != (uint64_t)1 << i)
                return false;
            block[i] = (uint8_t)(wanted + 1); /* a neighbour in value is another byte */
            if (find(block, &set) != 0)
                return false;
            block[i] = wanted ^ 0xff;
        }
        memset(block, wanted, sizeof block);
        if (find(block, &set) != UINT64_MAX)
            return false;
    }
    return true;
}

/* Random blocks at every alignment, sets of 1 to 6 bytes, against a definition written here once more. */
static bool random_blocks_agree(lb_find64_fn find)
{
    uint64_t random = 42;

    for (int turn = 0; turn < 20000; turn++) {
        size_t at = random_next(&random) % 64, n = 1 + random_next(&random) % LB_FIND_BYTES;
        uint8_t range = (uint8_t)(random_next(&random) % 255 + 1), wanted[LB_FIND_BYTES],
                *block = malloc(at + LB_FIND_BLOCK);
        uint64_t want = 0;
        if (block == NULL)
            return false;
        for (size_t i = 0; i < at + LB_FIND_BLOCK; i++)
            block[i] = (uint8_t)(random_next(&random) % range + 256 - range);
        for (size_t k = 0; k < n; k++)
            wanted[k] = (uint8_t)(random_next(&random) % range + 256 - range);
        for (unsigned i = 0; i < LB_FIND_BLOCK; i++)
            want |= (uint64_t)(memchr(wanted, block[at + i], n) != NULL) << i;
        lb_byte_set set = lb_byte_set_of(wanted, n);
        bool same = find(block + at, &set) == want; /* the block ends where its memory does */
        free(block);
        if (!same)
            return false;
    }
    return true;
}

static void find_plain(void **state)
{
    (void)state;
    assert_true(every_byte_agrees(lb_find64_scalar));
    assert_true(random_blocks_agree(lb_find64_scalar));
}

/* The choice is made once a process, so each one has a process of its own. */
static void find_on_each_processor(void **state)
{
    static const char *const disabled[] = { "", "avx512", "avx2,avx512", "neon", "avx2,avx512,neon" };

    (void)state;
    for (size_t i = 0; i < sizeof disabled / sizeof disabled[0]; i++) {
        int status = 0;
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            bool good = setenv("LB_DISABLE_CPU", disabled[i], 1) == 0;
            _exit(good && every_byte_agrees(lb_find64()) && random_blocks_agree(lb_find64()) ? 0 : 1);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
            fail_msg("without \"%s\" other bytes are found", disabled[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(find_fills_a_set),
        cmocka_unit_test(find_plain),
        cmocka_unit_test(find_on_each_processor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
