/* Captures a test's log lines in a file instead of stderr. One test process. */
#ifndef TESTS_SUPPORT_CAPTURED_H
#define TESTS_SUPPORT_CAPTURED_H

#include <stdbool.h>

/* Starts capturing; each call starts over. */
void captured_begin(void);

/* Returns all lines so far, truncated to 64 KiB; valid until the next call. */
const char *captured_lines(void);
unsigned captured_count(void);

/* Returns how many lines contain this text. */
unsigned captured_with(const char *text);

/* Waits for such a line; fails the test after 20 s. */
void captured_await(const char *text);

#endif
