#include "lib/wire/jfr/jfr_metadata.h"

#include "tests/support/jfr_build.h"
#include "tests/support/suite.h"

enum { SAMPLE = JFR_BUILD_FIRST, INNER = 200 };

static struct jfr_build *build;

/* A sample class with one field of a class INNER before its span id. */
static void begin(unsigned flags)
{
    build = jfr_build_new(1000, 1000);
    jfr_build_class(build, "jdk.ExecutionSample", SAMPLE);
    jfr_build_field(build, "inner", INNER, flags);
    jfr_build_field(build, "spanId", JFR_BUILD_LONG, 0);
}

/* Why the upload is refused; NULL: accepted. */
static const char *refusal(void)
{
    struct bytes raw = jfr_build_chunk(build);
    struct jfr_fault fault;
    struct arena arena;
    struct jfr jfr;
    arena_init(&arena, (size_t)1 << 22);
    bool good = jfr_open(&jfr, bytes_view(&raw), &arena, &fault);
    ck_assert(good || strcmp(fault.part, "metadata") == 0);
    arena_release(&arena);
    bytes_release(&raw);
    jfr_build_free(build);
    return good ? NULL : fault.reason;
}

/* Classes that each contain the next one. */
static void nest(int classes, unsigned flags, int fields)
{
    for (int i = 0; i < classes; i++) {
        jfr_build_class(build, "my.Nested", (uint64_t)(INNER + i));
        for (int f = 0; f < fields; f++)
            jfr_build_field(build, "next", (uint64_t)(INNER + i + 1), flags);
    }
    jfr_build_class(build, "my.Last", (uint64_t)(INNER + classes));
    jfr_build_field(build, "value", JFR_BUILD_LONG, 0);
}

START_TEST(a_class_that_holds_itself_is_refused)
{
    for (unsigned flags = 0; flags <= JFR_BUILD_ARRAY; flags += JFR_BUILD_ARRAY) {
        begin(flags);
        jfr_build_class(build, "my.Loop", INNER);
        jfr_build_field(build, "self", INNER, flags);
        ck_assert_str_eq(refusal(), "classes nest too deep");
    }
}
END_TEST

START_TEST(a_circle_through_constants_is_none)
{
    begin(JFR_BUILD_CONSTANT);
    jfr_build_class(build, "my.Loop", INNER);
    jfr_build_field(build, "self", INNER, JFR_BUILD_CONSTANT);
    ck_assert_ptr_null(refusal());
}
END_TEST

START_TEST(classes_may_nest_so_deep_and_no_deeper)
{
    begin(0);
    nest(JFR_MAX_DEPTH - 2, 0, 1);
    ck_assert_ptr_null(refusal());
    begin(0);
    nest(JFR_MAX_DEPTH - 1, 0, 1);
    ck_assert_str_eq(refusal(), "classes nest too deep");
    begin(JFR_BUILD_ARRAY);
    nest(JFR_MAX_DEPTH - 2, JFR_BUILD_ARRAY, 1);
    ck_assert_str_eq(refusal(), "classes nest too deep");
}
END_TEST

START_TEST(classes_that_multiply_are_refused)
{
    begin(0);
    nest(12, 0, 3);
    ck_assert_str_eq(refusal(), "classes nest too widely");
}
END_TEST

START_TEST(a_class_of_too_many_steps_is_refused)
{
    begin(0);
    jfr_build_class(build, "my.Large", INNER);
    for (int i = 0; i < 40; i++)
        jfr_build_field(build, "next", INNER + 1, 0);
    jfr_build_class(build, "my.Inner", INNER + 1);
    for (int i = 0; i < 40; i++)
        jfr_build_field(build, "text", JFR_BUILD_STRING, 0);
    ck_assert_str_eq(refusal(), "a class is too large");
}
END_TEST

START_TEST(a_field_of_a_class_that_is_not_there_is_refused_in_a_class_that_matters)
{
    begin(0);
    ck_assert_str_eq(refusal(), "a field is of an unknown class");
    build = jfr_build_new(1, 1);
    jfr_build_class(build, "jdk.ThreadPark", SAMPLE);
    jfr_build_field(build, "inner", INNER, 0);
    ck_assert_ptr_null(refusal());
}
END_TEST

SUITE_MAIN("jfr compile", a_class_that_holds_itself_is_refused, a_circle_through_constants_is_none,
           classes_may_nest_so_deep_and_no_deeper, classes_that_multiply_are_refused,
           a_class_of_too_many_steps_is_refused,
           a_field_of_a_class_that_is_not_there_is_refused_in_a_class_that_matters)
