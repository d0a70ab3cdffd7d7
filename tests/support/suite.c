#include "tests/support/suite.h"

enum { TIMEOUT_S = 300 }; /* libcheck's own, 4 s, is too short on a busy machine */

TCase *suite_case(const char *name)
{
    TCase *tcase = tcase_create(name);
    tcase_set_timeout(tcase, TIMEOUT_S);
    return tcase;
}

int suite_finish(Suite *suite)
{
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failures = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failures;
}

int suite_run(const char *name, const TTest *const *tests)
{
    Suite *suite = suite_create(name);
    TCase *tcase = suite_case(name);
    for (; *tests; tests++)
        tcase_add_test(tcase, *tests);
    suite_add_tcase(suite, tcase);
    return suite_finish(suite);
}
