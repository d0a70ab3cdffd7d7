#include "lib/wire/jfr/jfr.h"

#include "tests/support/jfr_build.h"
#include "tests/support/suite.h"

#include <stdlib.h>

#define START INT64_C(1800000000000000000)
#define SPAN  INT64_C(10000000000)
#define BIG   ((size_t)1 << 26)

static struct arena arena;
static struct jfr jfr;
static struct jfr_fault fault;
static struct jfr_scan scan;
static struct jfr_event event;

static bool open(const struct bytes *raw)
{
    arena_init(&arena, BIG);
    return jfr_open(&jfr, bytes_view(raw), &arena, &fault);
}

static void open_built(struct jfr_build *build, struct bytes *raw)
{
    *raw = jfr_build_chunk(build);
    jfr_build_free(build);
    ck_assert_msg(open(raw), "%s: %s", fault.part, fault.reason);
    scan = jfr_scan_begin(&jfr);
}

static void close(struct bytes *raw)
{
    ck_assert(!jfr_next_event(&jfr, &scan, &event));
    arena_release(&arena);
    bytes_release(raw);
}

static const struct event_class {
    const char *name;
    enum jfr_kind kind;
} classes[] = {
    {"jdk.ExecutionSample", JFR_EXECUTION},
    {"profiler.WallClockSample", JFR_WALL},
    {"jdk.ObjectAllocationInNewTLAB", JFR_ALLOCATION},
    {"jdk.ObjectAllocationOutsideTLAB", JFR_ALLOCATION_OUTSIDE},
    {"jdk.JavaMonitorEnter", JFR_LOCK},
};
enum { CLASSES = sizeof classes / sizeof *classes };

START_TEST(allocations_and_locks_have_an_amount)
{
    struct jfr_build *build = jfr_build_new(START, SPAN);
    struct bytes raw;
    jfr_build_agent_classes(build);
    for (size_t i = 0; i < CLASSES; i++)
        jfr_build_sample(
            build, classes[i].name,
            &(struct jfr_build_sample){.size = 16, .tlab_size = 4096, .duration = 5000000});
    open_built(build, &raw);
    for (size_t i = 0; i < CLASSES; i++) {
        static const uint64_t amounts[] = {
            [JFR_ALLOCATION] = 4096, [JFR_ALLOCATION_OUTSIDE] = 16, [JFR_LOCK] = 5000000};
        ck_assert(jfr_next_event(&jfr, &scan, &event));
        ck_assert_uint_eq(event.amount, amounts[event.kind]);
    }
    close(&raw);
}
END_TEST

START_TEST(all_that_a_sample_says_is_read_whatever_its_class)
{
    struct jfr_build *build = jfr_build_new(START, SPAN);
    struct bytes raw;
    jfr_build_agent_classes(build);
    for (size_t i = 0; i < CLASSES; i++)
        jfr_build_sample(build, classes[i].name,
                         &(struct jfr_build_sample){.after_nanos = 1000 + (int64_t)i,
                                                    .stack = 7,
                                                    .span_id = 0xff00000000000000 + i,
                                                    .span_name = 300,
                                                    .context = 5,
                                                    .trace_hi = UINT64_MAX,
                                                    .trace_lo = 0x4bf92f3577b34da6,
                                                    .samples = 70000});
    open_built(build, &raw);
    ck_assert_uint_eq(jfr.event_count, CLASSES);
    ck_assert(jfr.has_span_ids);
    for (size_t i = 0; i < CLASSES; i++) {
        ck_assert(jfr_next_event(&jfr, &scan, &event));
        ck_assert_int_eq(event.kind, classes[i].kind);
        ck_assert(event.has_stack);
        ck_assert_uint_eq(event.span_id, 0xff00000000000000 + i);
        ck_assert_uint_eq(event.span_name, 300);
        ck_assert_uint_eq(event.context, 5);
        ck_assert_uint_eq(event.trace_hi, UINT64_MAX);
        ck_assert_uint_eq(event.trace_lo, 0x4bf92f3577b34da6);
        ck_assert_int_eq(event.time_nanos, START + 1000 + (int64_t)i);
        ck_assert_uint_eq(event.samples, classes[i].kind == JFR_WALL ? 70000 : 1);
    }
    close(&raw);
}
END_TEST

START_TEST(a_sample_in_no_span_and_without_a_stack_says_so)
{
    const uint64_t ids[] = {0, 9};
    struct bytes raw = jfr_build_cpu(START, SPAN, ids, 2);
    ck_assert(open(&raw));
    scan = jfr_scan_begin(&jfr);
    ck_assert(jfr_next_event(&jfr, &scan, &event));
    ck_assert_uint_eq(event.span_id, 0);
    ck_assert(event.has_stack);
    ck_assert(jfr_next_event(&jfr, &scan, &event));
    ck_assert_uint_eq(event.span_id, 9);
    close(&raw);

    struct jfr_build *build = jfr_build_new(START, SPAN);
    jfr_build_agent_classes(build);
    jfr_build_sample(build, "jdk.ExecutionSample", &(struct jfr_build_sample){.span_id = 9});
    open_built(build, &raw);
    ck_assert(jfr_next_event(&jfr, &scan, &event));
    ck_assert(!event.has_stack);
    close(&raw);
}
END_TEST

/* Expects the server's counts for the thread states and the setting `event`. */
static void expect_counts(const char *mode, const char *name, enum jfr_build_state state,
                          bool counts_cpu, bool counts_wall)
{
    struct jfr_build *build = jfr_build_new(START, SPAN);
    struct bytes raw;
    jfr_build_agent_classes(build);
    jfr_build_setting(build, "event", mode);
    jfr_build_setting(build, "interval", "10000000");
    jfr_build_sample(build, name, &(struct jfr_build_sample){.stack = 1, .state = state});
    open_built(build, &raw);
    ck_assert(view_eq(jfr.mode, view_of(mode)));
    ck_assert(jfr_next_event(&jfr, &scan, &event));
    ck_assert_msg(event.counts_cpu == counts_cpu && event.counts_wall == counts_wall,
                  "%s %s in state %d: cpu %d, wall %d", mode, name, (int)state, event.counts_cpu,
                  event.counts_wall);
    close(&raw);
}

START_TEST(samples_count_as_the_server_counts_them)
{
    static const char execution[] = "jdk.ExecutionSample", wall[] = "profiler.WallClockSample";
    const int unknown = 63, past_the_table = 64;
    expect_counts("itimer", execution, JFR_BUILD_RUNNABLE, true, false);
    expect_counts("itimer", execution, JFR_BUILD_DEFAULT, true, false);
    expect_counts("itimer", execution, JFR_BUILD_SLEEPING, false, false);
    expect_counts("itimer", execution, (enum jfr_build_state)unknown, false, false);
    expect_counts("itimer", execution, (enum jfr_build_state)past_the_table, false, false);
    expect_counts("wall", execution, JFR_BUILD_RUNNABLE, true, true);
    expect_counts("wall", wall, JFR_BUILD_RUNNABLE, true, true);
    expect_counts("wall", wall, JFR_BUILD_SLEEPING, false, true);
    expect_counts("wall", wall, JFR_BUILD_DEFAULT, false, true);
    expect_counts("cpu", wall, JFR_BUILD_RUNNABLE, false, true);
    expect_counts("wall", "jdk.JavaMonitorEnter", JFR_BUILD_RUNNABLE, false, false);
}
END_TEST

START_TEST(fields_are_found_by_name_wherever_they_stand)
{
    struct jfr_build *build = jfr_build_new(START, SPAN);
    struct bytes raw;
    jfr_build_class(build, "jdk.ExecutionSample", 77);
    jfr_build_field(build, "spanId", JFR_BUILD_LONG, 0);
    jfr_build_field(build, "note", JFR_BUILD_STRING, 0);
    jfr_build_field(build, "stackTrace", JFR_BUILD_STACK, JFR_BUILD_CONSTANT);
    jfr_build_event(build, 77);
    jfr_build_number(build, 0x1234567890abcdef);
    jfr_build_text(build, "anything");
    jfr_build_number(build, 4);
    open_built(build, &raw);
    ck_assert(jfr_next_event(&jfr, &scan, &event));
    ck_assert_uint_eq(event.span_id, 0x1234567890abcdef);
    ck_assert(event.has_stack);
    ck_assert_int_eq(event.time_nanos, START);
    close(&raw);
}
END_TEST

START_TEST(a_field_of_another_type_is_not_taken_for_what_its_name_says)
{
    struct jfr_build *build = jfr_build_new(START, SPAN);
    struct bytes raw;
    jfr_build_class(build, "jdk.ExecutionSample", 77);
    jfr_build_field(build, "spanId", JFR_BUILD_STRING, 0);
    jfr_build_field(build, "stackTrace", JFR_BUILD_LONG, 0);
    jfr_build_field(build, "spanName", JFR_BUILD_LONG, JFR_BUILD_ARRAY);
    jfr_build_field(build, "contextId", JFR_BUILD_LONG, 0);
    jfr_build_event(build, 77);
    jfr_build_text(build, "id");
    jfr_build_number(build, 4);
    jfr_build_number(build, 2);
    jfr_build_number(build, 8);
    jfr_build_number(build, 9);
    jfr_build_number(build, 6);
    open_built(build, &raw);
    ck_assert(!jfr.has_span_ids);
    ck_assert(jfr_next_event(&jfr, &scan, &event));
    ck_assert_uint_eq(event.span_id, 0);
    ck_assert_uint_eq(event.span_name, 0);
    ck_assert_uint_eq(event.context, 6);
    ck_assert(!event.has_stack);
    close(&raw);
}
END_TEST

START_TEST(events_of_other_classes_are_passed_over_by_their_size)
{
    struct jfr_build *build = jfr_build_new(START, SPAN);
    struct bytes raw;
    jfr_build_agent_classes(build);
    jfr_build_event(build, 4000);
    jfr_build_bytes(build, VIEW("\xff\xff\xff\xff\xff\xff"));
    jfr_build_sample(build, "jdk.ExecutionSample", &(struct jfr_build_sample){.span_id = 1});
    jfr_build_bytes(build, VIEW("fields of a newer agent"));
    jfr_build_event(build, 1);
    jfr_build_sample(build, "jdk.JavaMonitorEnter", &(struct jfr_build_sample){.span_id = 2});
    open_built(build, &raw);
    for (uint64_t id = 1; id <= 2; id++) {
        ck_assert(jfr_next_event(&jfr, &scan, &event));
        ck_assert_uint_eq(event.span_id, id);
    }
    close(&raw);
}
END_TEST

/* A chunk whose classes have ids of its own. */
static struct bytes odd_chunk(uint64_t type, int64_t start, int64_t duration, uint64_t span_id)
{
    struct jfr_build *build = jfr_build_new(start, duration);
    jfr_build_class(build, "jdk.ExecutionSample", type);
    jfr_build_field(build, "startTime", JFR_BUILD_LONG, 0);
    jfr_build_field(build, "spanId", JFR_BUILD_LONG, 0);
    jfr_build_sample(build, "jdk.ExecutionSample",
                     &(struct jfr_build_sample){.after_nanos = 5, .span_id = span_id});
    struct bytes chunk = jfr_build_chunk(build);
    jfr_build_free(build);
    return chunk;
}

START_TEST(each_chunk_is_read_by_its_own_metadata_and_clock)
{
    struct bytes raw = odd_chunk(500, START + SPAN, SPAN, 1);
    struct bytes second = odd_chunk(101, START, 3 * SPAN, 2);
    ck_assert_int_eq(bytes_append_view(&raw, bytes_view(&second)), BYTES_OK);
    bytes_release(&second);
    ck_assert(open(&raw));
    ck_assert_uint_eq(jfr.chunk_count, 2);
    ck_assert_uint_eq(jfr.event_count, 2);
    ck_assert_int_eq(jfr.start_nanos, START);
    ck_assert_int_eq(jfr.end_nanos, START + 3 * SPAN);
    scan = jfr_scan_begin(&jfr);
    ck_assert(jfr_next_event(&jfr, &scan, &event));
    ck_assert_uint_eq(event.span_id, 1);
    ck_assert_int_eq(event.time_nanos, START + SPAN + 5);
    ck_assert(jfr_next_event(&jfr, &scan, &event));
    ck_assert_uint_eq(event.span_id, 2);
    ck_assert_int_eq(event.time_nanos, START + 5);
    close(&raw);
}
END_TEST

START_TEST(an_upload_cut_anywhere_is_refused_and_so_is_what_stands_behind_it)
{
    const uint64_t ids[] = {1, 2, 3};
    struct bytes raw = jfr_build_cpu(START, SPAN, ids, 3);
    for (size_t size = 0; size < raw.size; size++) {
        uint8_t *cut = malloc(size + !size);
        ck_assert_ptr_nonnull(cut);
        memcpy(cut, raw.data, size);
        arena_init(&arena, BIG);
        fault = (struct jfr_fault){0};
        ck_assert(!jfr_open(&jfr, (struct view){cut, size}, &arena, &fault));
        ck_assert_ptr_nonnull(fault.part);
        ck_assert_ptr_nonnull(fault.reason);
        ck_assert_uint_le(fault.offset, size);
        arena_release(&arena);
        free(cut);
    }
    ck_assert_int_eq(bytes_append(&raw, "x", 1), BYTES_OK);
    ck_assert(!open(&raw));
    ck_assert_str_eq(fault.part, "chunk");
    ck_assert_uint_eq(fault.offset, raw.size - 1);
    arena_release(&arena);
    bytes_release(&raw);
}
END_TEST

START_TEST(a_malformed_event_refuses_the_whole_upload)
{
    static const struct {
        const char *bytes;
        size_t size;
    } events[] = {
        {"\x00", 1},                     /* of no size */
        {"\x01", 1},                     /* too small for a class */
        {"\x7f\x01", 2},                 /* larger than the chunk */
        {"\x04\x65\xff\xff", 4},         /* a sample whose number does not end */
        {"\x09\x6c\x01\x01\x09xxxx", 9}, /* a setting with a string of unknown encoding */
    };
    for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
        struct jfr_build *build = jfr_build_new(START, SPAN);
        jfr_build_agent_classes(build);
        struct bytes raw = jfr_build_chunk(build);
        uint64_t size = raw.size + events[i].size;
        ck_assert_int_eq(bytes_append(&raw, events[i].bytes, events[i].size), BYTES_OK);
        for (int byte = 0; byte < 8; byte++)
            raw.data[8 + byte] = (uint8_t)(size >> 8 * (7 - byte));
        ck_assert(!open(&raw));
        ck_assert_str_eq(fault.part, "event");
        ck_assert_uint_eq(fault.offset, size - events[i].size);
        arena_release(&arena);
        bytes_release(&raw);
        jfr_build_free(build);
    }
}
END_TEST

START_TEST(every_byte_may_be_wrong)
{
    const uint64_t ids[] = {1, 2};
    struct bytes raw = jfr_build_cpu(START, SPAN, ids, 2);
    size_t opened = 0;
    for (size_t at = 0; at < raw.size; at++)
        for (int i = 0; i < 3; i++) {
            uint8_t before = raw.data[at];
            raw.data[at] = i == 0 ? 0xff : i == 1 ? 0 : (uint8_t)(before + 1);
            fault = (struct jfr_fault){0};
            bool good = open(&raw);
            ck_assert(good || (fault.reason && fault.offset <= raw.size));
            if (good) {
                size_t count = 0;
                for (scan = jfr_scan_begin(&jfr); jfr_next_event(&jfr, &scan, &event);)
                    count++;
                ck_assert_uint_eq(count, jfr.event_count);
            }
            opened += good;
            arena_release(&arena);
            raw.data[at] = before;
        }
    ck_assert_uint_gt(opened, 0);
    bytes_release(&raw);
}
END_TEST

START_TEST(an_arena_without_room_is_a_refusal_whatever_its_size)
{
    const uint64_t ids[] = {1, 2};
    struct bytes raw = jfr_build_cpu(START, SPAN, ids, 2);
    size_t cap = 0;
    for (;; cap++) {
        arena_init(&arena, cap);
        bool good = jfr_open(&jfr, bytes_view(&raw), &arena, &fault);
        ck_assert_uint_le(arena.used, cap);
        arena_release(&arena);
        if (good)
            break;
        ck_assert_str_eq(fault.reason, "too large");
    }
    ck_assert_uint_gt(cap, 1000);
    bytes_release(&raw);
}
END_TEST

SUITE_MAIN("jfr", all_that_a_sample_says_is_read_whatever_its_class,
           allocations_and_locks_have_an_amount, a_sample_in_no_span_and_without_a_stack_says_so,
           samples_count_as_the_server_counts_them, fields_are_found_by_name_wherever_they_stand,
           a_field_of_another_type_is_not_taken_for_what_its_name_says,
           events_of_other_classes_are_passed_over_by_their_size,
           each_chunk_is_read_by_its_own_metadata_and_clock,
           an_upload_cut_anywhere_is_refused_and_so_is_what_stands_behind_it,
           a_malformed_event_refuses_the_whole_upload, every_byte_may_be_wrong,
           an_arena_without_room_is_a_refusal_whatever_its_size)
