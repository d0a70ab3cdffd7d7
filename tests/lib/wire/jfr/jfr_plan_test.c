#include "lib/wire/jfr/jfr_plan.h"

#include "tests/support/jfr_build.h"
#include "tests/support/suite.h"

#include <stdlib.h>

enum { SAMPLE = JFR_BUILD_FIRST, INNER = 200, EMPTY = 201 };

static struct jfr_fault fault;

/* The span id of the first event; frees the builder. */
static uint64_t first_span(struct jfr_build *build)
{
    struct bytes raw = jfr_build_chunk(build);
    struct arena arena;
    struct jfr jfr;
    struct jfr_event event;
    arena_init(&arena, (size_t)1 << 22);
    uint64_t id = UINT64_MAX;
    if (jfr_open(&jfr, bytes_view(&raw), &arena, &fault)) {
        struct jfr_scan scan = jfr_scan_begin(&jfr);
        ck_assert(jfr_next_event(&jfr, &scan, &event));
        id = event.span_id;
    }
    arena_release(&arena);
    bytes_release(&raw);
    jfr_build_free(build);
    return id;
}

/* The span id of an event whose class has one field before it, with these bytes. */
static uint64_t span_behind(uint64_t type, unsigned flags, struct view bytes)
{
    struct jfr_build *build = jfr_build_new(1000, 1000);
    jfr_build_class(build, "jdk.ExecutionSample", SAMPLE);
    jfr_build_field(build, "first", type, flags);
    jfr_build_field(build, "spanId", JFR_BUILD_LONG, 0);
    jfr_build_class(build, "my.Inner", INNER);
    jfr_build_field(build, "small", 8, 0);
    jfr_build_field(build, "texts", JFR_BUILD_STRING, JFR_BUILD_ARRAY);
    jfr_build_field(build, "number", 10, 0);
    jfr_build_class(build, "my.Empty", EMPTY);
    jfr_build_event(build, SAMPLE);
    jfr_build_bytes(build, bytes);
    jfr_build_number(build, 0xabcdef);
    return first_span(build);
}

static const struct field_case {
    const char *label;
    uint64_t type;
    unsigned flags;
    const char *bytes;
    size_t size;
} fields[] = {
    {"boolean", 4, 0, "\x81", 1},
    {"char", 5, 0, "\xff\x01", 2},
    {"float", 6, 0, "\xff\xff\xff\xff", 4},
    {"double", 7, 0, "\xff\xff\xff\xff\xff\xff\xff\xff", 8},
    {"byte", 8, 0, "\xff", 1},
    {"short", 9, 0, "\xff\xff\x03", 3},
    {"int", 10, 0, "\xff\xff\xff\xff\x0f", 5},
    {"long", 11, 0, "\xff\xff\xff\xff\xff\xff\xff\xff\xff", 9},
    {"string", JFR_BUILD_STRING, 0, "\x03\x03one", 5},
    {"null string", JFR_BUILD_STRING, 0, "\x00", 1},
    {"constant", INNER, JFR_BUILD_CONSTANT, "\x85\x01", 2},
    {"string constant", JFR_BUILD_STRING, JFR_BUILD_CONSTANT, "\x05", 1},
    {"struct", INNER, 0, "\xff\x02\x01\x03\x01z\x90\x01", 8},
    {"struct without fields", EMPTY, 0, "", 0},
    {"array of bytes", 8, JFR_BUILD_ARRAY, "\x03\xff\xff\xff", 4},
    {"array of doubles", 7, JFR_BUILD_ARRAY, "\x01zzzzzzzz", 9},
    {"array of numbers", 11, JFR_BUILD_ARRAY, "\x02\x80\x01\x05", 4},
    {"empty array", INNER, JFR_BUILD_ARRAY, "\x00", 1},
    {"array of constants", INNER, JFR_BUILD_ARRAY | JFR_BUILD_CONSTANT, "\x02\x05\x81\x01", 4},
    {"array of structs", INNER, JFR_BUILD_ARRAY, "\x02\xff\x00\x01\xff\x01\x00\x02", 8},
    {"array of nothing", EMPTY, JFR_BUILD_ARRAY, "\xff\xff\xff\x7f", 4},
};

START_TEST(a_field_of_any_type_is_passed_over)
{
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        struct view bytes = {(const uint8_t *)fields[i].bytes, fields[i].size};
        uint64_t id = span_behind(fields[i].type, fields[i].flags, bytes);
        ck_assert_msg(id == 0xabcdef, "%s: %llx", fields[i].label, (unsigned long long)id);
    }
}
END_TEST

START_TEST(a_count_past_the_bytes_is_refused_at_once)
{
    static const char huge[] = "\xff\xff\xff\xff\xff\xff\xff\xff\xff";
    static const uint64_t types[] = {7, 8, 11, JFR_BUILD_STRING, INNER};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        ck_assert_uint_eq(span_behind(types[i], JFR_BUILD_ARRAY, view_of(huge)), UINT64_MAX);
        ck_assert_str_eq(fault.part, "event");
        ck_assert_str_eq(fault.reason, "malformed");
    }
}
END_TEST

START_TEST(numbers_next_to_each_other_and_around_an_array_are_told_apart)
{
    struct jfr_build *build = jfr_build_new(1000, 1000);
    jfr_build_class(build, "jdk.ExecutionSample", SAMPLE);
    jfr_build_field(build, "a", JFR_BUILD_LONG, 0);
    jfr_build_field(build, "b", 8, 0);
    jfr_build_field(build, "c", 8, 0);
    jfr_build_field(build, "list", JFR_BUILD_LONG, JFR_BUILD_ARRAY);
    jfr_build_field(build, "d", JFR_BUILD_LONG, 0);
    jfr_build_field(build, "e", 10, 0);
    jfr_build_field(build, "spanId", JFR_BUILD_LONG, 0);
    jfr_build_event(build, SAMPLE);
    jfr_build_bytes(build, VIEW("\xff\x01\xff\xff\x02\x80\x01\x80\x02\x01\x02"));
    jfr_build_number(build, 77);
    ck_assert_uint_eq(first_span(build), 77);
}
END_TEST

SUITE_MAIN("jfr plan", a_field_of_any_type_is_passed_over,
           a_count_past_the_bytes_is_refused_at_once,
           numbers_next_to_each_other_and_around_an_array_are_told_apart)
