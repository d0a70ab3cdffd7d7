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

START_TEST(the_type_is_that_which_the_server_names)
{
    static const struct {
        const char *application, *type;
        bool timed;
    } cases[] = {
        {"app", "process_cpu:cpu:nanoseconds:cpu:nanoseconds", true},
        {"my.app.itimer", "process_cpu:cpu:nanoseconds:cpu:nanoseconds", true},
        {"app.wall", "wall:wall:nanoseconds:cpu:nanoseconds", true},
        {"app.inuse_space", "memory:inuse_space:bytes::", false},
        {"app.mutex_count", "mutex:contentions:count::", false},
        {"app.block_duration", "block:delay:nanoseconds::", false},
        {"app.goroutines", "goroutine:goroutines:count::", false},
    };
    bool timed;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ck_assert_str_eq(ingest_text_type(view_of(cases[i].application), &timed), cases[i].type);
        ck_assert(timed == cases[i].timed);
    }
    ck_assert_ptr_null(ingest_text_type(VIEW("app.foo"), &timed));
}
END_TEST

/* As the server answered when asked for the values of service_name. */
START_TEST(the_service_is_the_name_without_its_type)
{
    static const struct {
        const char *name, *format, *service;
    } cases[] = {
        {"fold1.cpu", "folded", "fold1"},
        {"fold2", "folded", "fold2"},
        {"fold5.cpu.cpu", "folded", "fold5.cpu"},
        {"fold6.cpu{x=y}", "", "fold6"},
        {"fold7.cpu{service_name=svc7}", "folded", "svc7"},
        {"fold9.alloc_objects", "lines", "fold9"},
        {"ss1.cpu", "speedscope", "ss1"},
        {"java.cpu", "jfr", "java.cpu"},
        {"my.service", "jfr", "my.service"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *reason;
        struct series *series = series_parse(view_of(cases[i].name), &reason);
        struct view service = ingest_text_service(series, cases[i].format);
        ck_assert_msg(view_eq(service, view_of(cases[i].service)), "%s: %.*s", cases[i].name,
                      VIEW_ARG(service));
        series_unref(series);
    }
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

SUITE_MAIN("ingest_text", the_type_stands_behind_the_last_dot,
           the_type_is_that_which_the_server_names, the_service_is_the_name_without_its_type,
           counts_are_whole_numbers_of_64_bits,
           nothing_is_read_behind_a_line_that_the_server_does_not_read)
