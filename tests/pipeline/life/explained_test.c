#include "pipeline/life/explained.h"

#include "tests/support/suite.h"

#include <stdio.h>

static const char *shown(const char *text)
{
    static char copy[1024];
    struct bytes out;
    bytes_init(&out, sizeof copy - 1, NULL);
    explained_append(view_of(text), "correlation", &out);
    snprintf(copy, sizeof copy, "%.*s", (int)out.size, (const char *)out.data);
    bytes_release(&out);
    return copy;
}

START_TEST(lines_stay_lines)
{
    ck_assert_str_eq(shown(""), "");
    ck_assert_str_eq(shown("correlation: a\ncorrelation: b\n"), "correlation: a\ncorrelation: b\n");
    ck_assert_str_eq(shown("correlation: no end"), "correlation: no end\n");
}
END_TEST

START_TEST(a_line_end_in_a_name_is_escaped)
{
    ck_assert_str_eq(shown("correlation: service a\nb\nc: 1\ncorrelation: d\n"),
                     "correlation: service a\\nb\\nc: 1\ncorrelation: d\n");
}
END_TEST

START_TEST(terminals_are_told_nothing)
{
    ck_assert_str_eq(shown("correlation: service \x1b[31m\xc2\x9b\xff\n"),
                     "correlation: service \\x1b[31m\\x9b\\xff\n");
}
END_TEST

START_TEST(secrets_of_urls_are_not_shown)
{
    ck_assert_str_eq(shown("correlation: http://u:p@h/x?token=t\n"),
                     "correlation: http://redacted@h/x?token=redacted\n");
}
END_TEST

SUITE_MAIN("explained", lines_stay_lines, a_line_end_in_a_name_is_escaped,
           terminals_are_told_nothing, secrets_of_urls_are_not_shown)
