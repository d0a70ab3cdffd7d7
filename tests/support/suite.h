/* A test file's main in one line: return suite_run("queue", tests). */
#ifndef TESTS_SUPPORT_SUITE_H
#define TESTS_SUPPORT_SUITE_H

#include <check.h>

/* For a condition that is checked a great many times: ck_assert_msg tells the parent process of
 * each assertion, which costs more than what is tested. */
#define CHECK_OFTEN(condition, ...)                                                                \
    do {                                                                                           \
        if (!(condition))                                                                          \
            ck_abort_msg(__VA_ARGS__);                                                             \
    } while (0)

/* A case for tests with a fixture, or in a loop. Each test may take two minutes. */
TCase *suite_case(const char *name);

/* Runs a suite and frees it; returns the number of failures. */
int suite_finish(Suite *suite);

/* Runs a NULL-terminated list of tests, each in its own process; returns the number of failures. */
int suite_run(const char *name, const TTest *const *tests);

/* The whole main: SUITE_MAIN("queue", test_a, test_b) */
#define SUITE_MAIN(name, ...)                                                                      \
    int main(void)                                                                                 \
    {                                                                                              \
        const TTest *const tests[] = {__VA_ARGS__, NULL};                                          \
        return suite_run(name, tests);                                                             \
    }

#endif
