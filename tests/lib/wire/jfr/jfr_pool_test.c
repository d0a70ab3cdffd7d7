#include "lib/wire/jfr/jfr_chunk.h"

#include "tests/support/jfr_build.h"
#include "tests/support/suite.h"

static struct jfr_fault fault;

/* Whether the first sample of an upload counts as CPU time, which depends on its thread state: 1 or
 * 0; -1: refused. */
static int counts_cpu(const struct bytes *raw)
{
    struct arena arena;
    struct jfr jfr;
    struct jfr_event event = {0};
    arena_init(&arena, (size_t)1 << 22);
    bool good = jfr_open(&jfr, bytes_view(raw), &arena, &fault);
    if (good) {
        struct jfr_scan scan = jfr_scan_begin(&jfr);
        ck_assert(jfr_next_event(&jfr, &scan, &event));
    }
    arena_release(&arena);
    return good ? event.counts_cpu : -1;
}

static struct jfr_build *begin(void)
{
    struct jfr_build *build = jfr_build_new(1000, 1000);
    jfr_build_agent_classes(build);
    jfr_build_sample(build, "jdk.ExecutionSample",
                     &(struct jfr_build_sample){.state = JFR_BUILD_RUNNABLE});
    return build;
}

static int counts_built(struct jfr_build *build)
{
    struct bytes raw = jfr_build_chunk(build);
    int counts = counts_cpu(&raw);
    bytes_release(&raw);
    jfr_build_free(build);
    return counts;
}

START_TEST(pools_in_front_of_the_thread_states_are_passed_over)
{
    struct jfr_build *build = begin();
    /* Two stack traces: truncated flag, number of frames, their lines. */
    jfr_build_pool(build, JFR_BUILD_STACK, 2, VIEW("\x07\x00\x02\x90\x01\x05\x88\x02\x01\x00"));
    jfr_build_pool(build, JFR_BUILD_STRING, 1, VIEW("\x01\x03\x05hello"));
    jfr_build_pool(build, 27, 0, VIEW(""));
    ck_assert_int_eq(counts_built(build), 1);
}
END_TEST

START_TEST(a_pool_that_cannot_be_read_is_refused)
{
    struct jfr_build *build = begin();
    jfr_build_pool(build, 4711, 0, VIEW(""));
    ck_assert_int_eq(counts_built(build), -1);
    ck_assert_str_eq(fault.part, "constant pool");
    ck_assert_str_eq(fault.reason, "of no known class");

    build = begin();
    jfr_build_pool(build, JFR_BUILD_STACK, UINT64_MAX, VIEW(""));
    ck_assert_int_eq(counts_built(build), -1);
    ck_assert_str_eq(fault.reason, "malformed");
}
END_TEST

START_TEST(a_chunk_without_thread_states_is_read)
{
    struct jfr_build *build = jfr_build_new(1000, 1000);
    /* Two classes, long and jdk.ExecutionSample { long spanId }. */
    jfr_build_metadata(build, VIEW("\x0b\x03\x04root\x03\x08metadata\x03\x05"
                                   "class\x03\x04name\x03\x02id\x03\x13jdk.ExecutionSample"
                                   "\x03\x03"
                                   "101\x03\x05"
                                   "field\x03\x06spanId\x03\x04long\x03\x02"
                                   "11"
                                   "\x00\x00\x01\x01\x00\x02"
                                   "\x02\x02\x03\x09\x04\x0a\x00"
                                   "\x02\x02\x03\x05\x04\x06\x01"
                                   "\x07\x02\x03\x08\x02\x0a\x00"));
    jfr_build_event(build, 101);
    jfr_build_number(build, 5);
    ck_assert_int_eq(counts_built(build), 0);
}
END_TEST

/* Two checkpoints: the header refers to the later one, which refers to the earlier one by delta (0:
 * the right one); only the earlier one has thread states. */
static struct bytes two_checkpoints(int64_t delta)
{
    struct jfr_build *build = begin();
    struct bytes raw = jfr_build_chunk(build);
    jfr_build_free(build);
    uint64_t first = 0;
    for (size_t i = 16; i < 24; i++)
        first = first << 8 | raw.data[i];
    uint8_t content[32] = {0, 1, 0, 0}, *at = content + 4;
    if (delta == 0)
        delta = (int64_t)first - (int64_t)raw.size;
    at = jfr_build_varint(at, (uint64_t)delta);
    *at++ = 1;
    *at++ = 0;
    content[0] = (uint8_t)(at - content);
    uint64_t pools = raw.size, size = raw.size + content[0];
    ck_assert_int_eq(bytes_append(&raw, content, content[0]), BYTES_OK);
    for (size_t i = 0; i < 8; i++) {
        raw.data[8 + i] = (uint8_t)(size >> 8 * (7 - i));
        raw.data[16 + i] = (uint8_t)(pools >> 8 * (7 - i));
    }
    return raw;
}

START_TEST(checkpoints_lead_back_to_earlier_ones)
{
    struct bytes raw = two_checkpoints(0);
    ck_assert_int_eq(counts_cpu(&raw), 1);
    bytes_release(&raw);
}
END_TEST

START_TEST(checkpoints_that_lead_elsewhere_are_refused)
{
    static const struct {
        int64_t delta;
        const char *reason;
    } cases[] = {
        {1, "refers to another one out of place"},
        {INT64_MAX, "refers to another one out of place"},
        {INT64_MIN, "refers to another one out of place"},
        {-100000, "refers to another one out of place"},
        {-1, "not where it should be"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bytes raw = two_checkpoints(cases[i].delta);
        ck_assert_int_eq(counts_cpu(&raw), -1);
        ck_assert_str_eq(fault.reason, cases[i].reason);
        bytes_release(&raw);
    }
}
END_TEST

SUITE_MAIN("jfr pool", pools_in_front_of_the_thread_states_are_passed_over,
           a_pool_that_cannot_be_read_is_refused, a_chunk_without_thread_states_is_read,
           checkpoints_lead_back_to_earlier_ones, checkpoints_that_lead_elsewhere_are_refused)
