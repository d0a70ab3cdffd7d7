/* Sorting in place: glibc's qsort may allocate as much memory again as the rows take, which no
 * budget would see. */
#ifndef LIB_BASE_SORT_H
#define LIB_BASE_SORT_H

#include <stddef.h>

typedef int sort_compare_fn(const void *a, const void *b);

/* As qsort. Costs one pass if the rows are in order already, as tables with ids mostly are. rows
 * may be NULL if count is 0. */
void sort_rows(void *rows, size_t count, size_t size, sort_compare_fn *compare);

#endif
