#include "lib/base/nearest.h"

#include "tests/support/suite.h"

START_TEST(a_misspelt_word_has_the_one_that_was_meant)
{
    static const char *const words[] = {"endpoint", "compression", "timeout", "headers", NULL};
    ck_assert_pstr_eq(nearest_word("endpont", words), "endpoint");
    ck_assert_pstr_eq(nearest_word("end_point", words), "endpoint");
    ck_assert_pstr_eq(nearest_word("Timeout", words), "timeout");
    ck_assert_pstr_eq(nearest_word("timeuot", words), "timeout");
    ck_assert_pstr_eq(nearest_word("compresion", words), "compression");
    ck_assert_pstr_eq(nearest_word("header", words), "headers");
    ck_assert_pstr_eq(nearest_word("time", words), "timeout");
    ck_assert_ptr_null(nearest_word("tim", words));
    ck_assert_ptr_null(nearest_word("timeouts_and_more", words));
    ck_assert_ptr_null(nearest_word("queue", words));
    ck_assert_ptr_null(nearest_word("", words));
    ck_assert_ptr_null(nearest_word("x", words));
    char huge[500] = "";
    memset(huge, 'a', sizeof huge - 1);
    ck_assert_ptr_null(nearest_word(huge, words));
}
END_TEST

SUITE_MAIN("nearest", a_misspelt_word_has_the_one_that_was_meant)
