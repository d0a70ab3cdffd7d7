#include "lib/wire/pprof/series.h"

#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>

/* Formats the series as `name=value|name=value`. */
static const char *shown(const struct series *series)
{
    static char text[4096];
    size_t at = 0;
    text[0] = 0;
    for (size_t i = 0; i < series->count; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%.*s=%.*s", i ? "|" : "",
                               VIEW_ARG(series->labels[i].name), VIEW_ARG(series->labels[i].value));
    return text;
}

static void expect(const char *name, const char *labels)
{
    const char *reason = NULL;
    struct series *series = series_parse(view_of(name), &reason);
    ck_assert_msg(series != NULL, "%s: %s", name, reason);
    ck_assert_str_eq(shown(series), labels);
    series_unref(series);
}

static void expect_refused(const char *name, const char *part)
{
    const char *reason = NULL;
    struct series *series = series_parse(view_of(name), &reason);
    ck_assert_msg(series == NULL, "%s is taken", name);
    ck_assert_msg(strstr(reason, part) != NULL, "%s: %s", name, reason);
}

START_TEST(names_with_and_without_labels)
{
    expect("my.app-1/x_y", "__name__=my.app-1/x_y");
    expect("app{}", "__name__=app");
    expect("app{a=b}", "__name__=app|a=b");
    expect("app{a=b,c=d}", "__name__=app|a=b|c=d");
    expect("app{a=b,}", "__name__=app|a=b");
    expect("app{a}", "__name__=app");
}
END_TEST

START_TEST(what_real_sdks_send)
{
    expect("ride{otel.scope.name=com.grafana.pyroscope/java,process.runtime.name=OpenJDK Runtime "
           "Environment,process.runtime.version=17.0.15+6-Debian-1deb12u1,__session_id__=0123}",
           "__name__=ride|otel.scope.name=com.grafana.pyroscope/java|process.runtime.name=OpenJDK "
           "Runtime Environment|process.runtime.version=17.0.15+6-Debian-1deb12u1|"
           "__session_id__=0123");
}
END_TEST

START_TEST(white_space_is_trimmed_and_values_may_be_empty)
{
    expect(" app { a = b c , d= } ", "__name__=app|a=b c|d=");
    expect("app{a=\t}", "__name__=app|a=");
}
END_TEST

START_TEST(values_are_raw)
{
    expect("app{a=x=y{z,b=\"q\"}", "__name__=app|a=x=y{z|b=\"q\"");
    expect("app{a=\xc3\xa4}", "__name__=app|a=\xc3\xa4");
}
END_TEST

START_TEST(text_behind_the_brace_is_ignored)
{
    expect("app{a=b}c=d", "__name__=app|a=b");
    expect("app{}{", "__name__=app");
}
END_TEST

START_TEST(last_of_equal_names_stays)
{
    expect("app{a=1,b=2,a=3}", "__name__=app|a=3|b=2");
    expect("app{__name__=other}", "__name__=other");
}
END_TEST

START_TEST(bad_names_are_refused_with_a_sentence)
{
    expect_refused("", "name is empty");
    expect_refused("  {a=b}", "name is empty");
    expect_refused("my app", "application name has characters");
    expect_refused("app}", "application name has characters");
    expect_refused("a\xc3\xa4", "application name has characters");
    expect_refused("app{=v}", "no name");
    expect_refused("app{a-b=c}", "label name has characters");
    expect_refused("app{a b=c}", "label name has characters");
    expect_refused("app{a,b=c}", "label name has characters");
    expect_refused("app{", "closing brace");
    expect_refused("app{a=b", "closing brace");
    expect_refused("app{a=b,c", "closing brace");
    expect_refused("app{a=\xff}", "UTF-8");
}
END_TEST

START_TEST(absent_name_is_refused)
{
    const char *reason;
    ck_assert_ptr_null(series_parse((struct view){0}, &reason));
    ck_assert_ptr_nonnull(strstr(reason, "empty"));
}
END_TEST

START_TEST(thousands_of_labels_are_refused)
{
    size_t at = 0, size = 400000;
    char *name = malloc(size);
    const char *reason;
    ck_assert_ptr_nonnull(name);
    at += (size_t)snprintf(name, size, "app{");
    for (int i = 0; i < 20000; i++)
        at += (size_t)snprintf(name + at, size - at, "a%d=b,", i);
    snprintf(name + at, size - at, "}");
    ck_assert_ptr_null(series_parse(view_of(name), &reason));
    ck_assert_ptr_nonnull(strstr(reason, "too many"));
    free(name);
}
END_TEST

START_TEST(with_replaces_in_place_or_adds_behind)
{
    const char *reason;
    struct series *series = series_parse(VIEW("app{a=1,b=2}"), &reason);
    struct series *replaced = series_with(series, VIEW("a"), VIEW("longer value"));
    struct series *added = series_with(replaced, VIEW("c"), VIEW("3"));
    ck_assert_str_eq(shown(added), "__name__=app|a=longer value|b=2|c=3");
    ck_assert_str_eq(shown(series), "__name__=app|a=1|b=2");
    series_unref(added);
    series_unref(replaced);
    series_unref(series);
}
END_TEST

START_TEST(get_tells_empty_from_absent)
{
    const char *reason;
    struct series *series = series_parse(VIEW("app{a=}"), &reason);
    ck_assert_ptr_nonnull(series_get(series, VIEW("a")).data);
    ck_assert_uint_eq(series_get(series, VIEW("a")).size, 0);
    ck_assert_ptr_null(series_get(series, VIEW("b")).data);
    series_unref(series);
}
END_TEST

START_TEST(new_copies_and_keeps_one_label_a_name)
{
    char text[] = "abc";
    struct series_label labels[] = {
        {view_of(text), VIEW("1")}, {VIEW("x"), VIEW("2")}, {VIEW("abc"), VIEW("3")}};
    struct series *series = series_new(labels, 3);
    text[0] = 'z';
    ck_assert_str_eq(shown(series), "abc=3|x=2");
    struct series *again = series_ref(series);
    series_unref(series);
    ck_assert_str_eq(shown(again), "abc=3|x=2");
    series_unref(again);
    series_unref(NULL);
}
END_TEST

SUITE_MAIN("series", names_with_and_without_labels, what_real_sdks_send,
           white_space_is_trimmed_and_values_may_be_empty, values_are_raw,
           text_behind_the_brace_is_ignored, last_of_equal_names_stays,
           bad_names_are_refused_with_a_sentence, absent_name_is_refused,
           thousands_of_labels_are_refused, with_replaces_in_place_or_adds_behind,
           get_tells_empty_from_absent, new_copies_and_keeps_one_label_a_name)
