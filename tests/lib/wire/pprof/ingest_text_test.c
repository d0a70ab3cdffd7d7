#include "lib/wire/pprof/ingest_text.h"

#include "tests/support/forever.h"
#include "tests/support/suite.h"

static void assert_type(const char *application, const char *unknown)
{
    struct view type = ingest_text_unknown_type(view_of(application));
    if (!unknown)
        ck_assert_msg(!type.data, "%s: %.*s", application, VIEW_ARG(type));
    else
        ck_assert_msg(type.data && view_eq(type, view_of(unknown)), "%s", application);
}

START_TEST(the_type_stands_behind_the_last_dot)
{
    assert_type("app", NULL);
    assert_type("app.cpu", NULL);
    assert_type("my.service.alloc_space", NULL);
    assert_type("a.nanoseconds", NULL);
    assert_type("a.lock_duration", NULL);
    assert_type("my.service", "service");
    assert_type("a.CPU", "CPU");
    assert_type("a.", "");
    assert_type("cpu.x", "x");
    assert_type("", NULL);
}
END_TEST

START_TEST(counts_are_whole_numbers_of_64_bits)
{
    static const char *const good[] = {"",
                                       "a;b 10\n",
                                       "a;b 10",
                                       "a b;c d -1\r\n",
                                       "\n\n",
                                       "alone\n",
                                       "a +0\nb",
                                       "a 9223372036854775807",
                                       "a -9223372036854775808"};
    static const struct {
        const char *text;
        size_t line;
    } bad[] = {{"a ten", 1},        {"a 1\nb 1.5\n", 2},          {"a \n", 1},
               {"a 1\n\nb -\n", 3}, {"a 9223372036854775808", 1}, {"a 1 \r\n", 1},
               {"a 0x10", 1},       {"a -9223372036854775809", 1}};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        ck_assert_msg(folded_bad_line(view_of(good[i])) == 0, "%s", good[i]);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_uint_eq(folded_bad_line(view_of(bad[i].text)), bad[i].line);
}
END_TEST

START_TEST(nothing_is_read_behind_a_line_that_the_server_does_not_read)
{
    struct bytes text;
    bytes_init(&text, 1 << 20, NULL);
    for (size_t i = 0; i < 65535; i++)
        bytes_append(&text, "x", 1);
    bytes_append(&text, "\na ten\n", 7);
    struct view longest = forever(text);
    ck_assert_uint_eq(folded_bad_line(longest), 2);
    bytes_init(&text, 1 << 20, NULL);
    bytes_append(&text, "x", 1);
    bytes_append_view(&text, longest);
    ck_assert_uint_eq(folded_bad_line(forever(text)), 0);
}
END_TEST

SUITE_MAIN("ingest_text", the_type_stands_behind_the_last_dot, counts_are_whole_numbers_of_64_bits,
           nothing_is_read_behind_a_line_that_the_server_does_not_read)
