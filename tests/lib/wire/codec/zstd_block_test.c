#include "lib/wire/codec/zstd_block.h"

#include "tests/support/suite.h"

#include <stdlib.h>

enum { MOST = 300000 };

static void fill(uint8_t *bytes, size_t size, bool noise)
{
    uint32_t state = 1;
    for (size_t i = 0; i < size; i++) {
        state = state * 1664525 + 1013904223;
        bytes[i] = noise ? (uint8_t)(state >> 24) : (uint8_t) "GET /cart 200 "[i % 14];
    }
}

START_TEST(blocks_of_any_size_come_back)
{
    static const size_t sizes[] = {1, 13, 2048, 64 * 1024 + 1, MOST, 100, 5000};
    struct zstd_block block = {0};
    uint8_t *in = malloc(MOST), *out = malloc(MOST);
    for (int noise = 0; noise < 2; noise++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            fill(in, sizes[i], noise);
            struct view packed = zstd_block_pack(&block, (struct view){in, sizes[i]});
            ck_assert_ptr_nonnull(packed.data);
            ck_assert(noise || sizes[i] < 2000 || packed.size < sizes[i] / 20);
            memset(out, 0, sizes[i]);
            ck_assert(zstd_block_unpack(packed, out, sizes[i]));
            ck_assert_mem_eq(out, in, sizes[i]);
        }
    zstd_block_release(&block);
    free(in);
    free(out);
}
END_TEST

START_TEST(another_size_is_refused)
{
    struct zstd_block block = {0};
    uint8_t in[4096], out[5000];
    fill(in, sizeof in, false);
    struct view packed = zstd_block_pack(&block, (struct view){in, sizeof in});
    ck_assert(!zstd_block_unpack(packed, out, sizeof in - 1));
    ck_assert(!zstd_block_unpack(packed, out, sizeof in + 1));
    zstd_block_release(&block);
}
END_TEST

SUITE_MAIN("zstd_block", blocks_of_any_size_come_back, another_size_is_refused)
