#include "lib/base/sort.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

/* Up to so many bytes qsort is faster, and its memory does not matter. */
enum { SMALL = 64 << 10 };

struct sorting {
    uint8_t *rows;
    size_t size;
    sort_compare_fn *compare;
};

static bool sort_is_done(const struct sorting *sorting, size_t count)
{
    const uint8_t *at = sorting->rows;
    for (size_t i = 1; i < count; i++, at += sorting->size)
        if (sorting->compare(at, at + sorting->size) > 0)
            return false;
    return true;
}

static void sort_swap(const struct sorting *sorting, size_t a, size_t b)
{
    uint8_t *x = sorting->rows + a * sorting->size, *y = sorting->rows + b * sorting->size;
    for (size_t i = 0; i < sorting->size; i++) {
        uint8_t kept = x[i];
        x[i] = y[i];
        y[i] = kept;
    }
}

static int sort_order(const struct sorting *sorting, size_t a, size_t b)
{
    return sorting->compare(sorting->rows + a * sorting->size, sorting->rows + b * sorting->size);
}

/* Moves a row of the heap down to its place; the largest row is at 0. */
static void sort_sink(const struct sorting *sorting, size_t at, size_t count)
{
    for (size_t child = 2 * at + 1; child < count; child = 2 * at + 1) {
        if (child + 1 < count && sort_order(sorting, child, child + 1) < 0)
            child++;
        if (sort_order(sorting, at, child) >= 0)
            return;
        sort_swap(sorting, at, child);
        at = child;
    }
}

void sort_rows(void *rows, size_t count, size_t size, sort_compare_fn *compare)
{
    const struct sorting sorting = {rows, size, compare};
    if (count < 2 || sort_is_done(&sorting, count))
        return;
    if (count <= SMALL / size) {
        qsort(rows, count, size, compare);
        return;
    }
    for (size_t i = count / 2; i-- > 0;)
        sort_sink(&sorting, i, count);
    for (size_t left = count - 1; left > 0; left--) {
        sort_swap(&sorting, 0, left);
        sort_sink(&sorting, 0, left);
    }
}
