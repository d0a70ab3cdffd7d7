/* The log lines of a test, which go to a file instead of stderr. One test process. */
#ifndef TESTS_SUPPORT_CAPTURED_H
#define TESTS_SUPPORT_CAPTURED_H

#include <stdbool.h>

/* From now on; each call begins anew. */
void captured_begin(void);

/* All lines so far, cut to 64 KiB; valid until the next call. */
const char *captured_lines(void);
unsigned captured_count(void);

/* How many lines have this text in them. */
unsigned captured_with(const char *text);

/* Returns once such a line is there; fails the test after 20 s. */
void captured_await(const char *text);

#endif
