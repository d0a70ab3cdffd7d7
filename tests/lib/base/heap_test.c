#include "lib/base/heap.h"

#include "tests/support/suite.h"

#include <stdlib.h>

START_TEST(memory_that_was_touched_is_resident)
{
    enum { SIZE = 32 << 20 };
    heap_tune();
    size_t before = heap_resident();
    ck_assert_uint_gt(before, 0);
    volatile char *data = malloc(SIZE);
    for (size_t i = 0; i < SIZE; i += 512)
        data[i] = 1;
    ck_assert_uint_gt(heap_resident(), before + SIZE / 2);
    free((void *)data);
    heap_trim();
}
END_TEST

SUITE_MAIN("heap", memory_that_was_touched_is_resident)
