#include "lib/base/sort.h"

#include "tests/support/suite.h"

#include <stdint.h>
#include <stdlib.h>

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Some counts are small enough for qsort, the largest is not. */
START_TEST(rows_come_in_order)
{
    static uint32_t rows[40000], expected[40000];
    static const size_t counts[] = {0, 1, 2, 3, 1000, 40000};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        uint32_t number = 1;
        for (size_t k = 0; k < counts[i]; k++)
            rows[k] = expected[k] = (number = number * 1664525 + 1013904223) >> 18;
        qsort(expected, counts[i], sizeof *rows, by_number);
        for (int round = 0; round < 2; round++) {
            sort_rows(rows, counts[i], sizeof *rows, by_number);
            ck_assert(memcmp(rows, expected, counts[i] * sizeof *rows) == 0);
        }
    }
    sort_rows(NULL, 0, 4, by_number);
}
END_TEST

SUITE_MAIN("sort", rows_come_in_order)
