#include "lib/wire/jfr/jfr_chunk.h"

#include "tests/support/jfr_build.h"
#include "tests/support/suite.h"

#define START INT64_C(1800000000000000000)
#define SPAN  INT64_C(10000000000)

static struct bytes ordinary(void)
{
    return jfr_build_cpu(START, SPAN, (const uint64_t[]){1}, 1);
}

/* Sets a big-endian header field. */
static void set(struct bytes *raw, size_t offset, uint64_t number)
{
    for (int i = 0; i < 8; i++)
        raw->data[offset + (size_t)i] = (uint8_t)(number >> 8 * (7 - i));
}

static const char *refusal(const struct bytes *raw)
{
    static struct jfr_fault fault;
    struct arena arena;
    struct jfr jfr;
    arena_init(&arena, (size_t)1 << 22);
    bool good = jfr_open(&jfr, bytes_view(raw), &arena, &fault);
    arena_release(&arena);
    return good ? NULL : fault.reason;
}

static const struct header_case {
    const char *reason;
    size_t offset;
    uint64_t number;
} headers[] = {
    {"does not begin with FLR", 0, 0x464c520100020000},
    {"not of version 2", 0, 0x464c520000010000},
    {"not of version 2", 0, 0x464c520001020000},
    {"not finished", 8, 0},
    {"not finished", 8, 67},
    {"truncated", 8, UINT64_MAX},
    {"an offset points outside it", 16, 67},
    {"an offset points outside it", 16, UINT64_MAX},
    {"an offset points outside it", 24, 0},
    {"an offset points outside it", 24, UINT64_C(1) << 32},
    {"not where the chunk says", 24, 80},
    {"not where it should be", 16, 80},
    {"its times are out of range", 32, UINT64_C(1) << 63},
    {"its times are out of range", 32, INT64_MAX},
    {"its times are out of range", 40, UINT64_MAX},
    {"no usable count of ticks per second", 56, 0},
    {"no usable count of ticks per second", 56, UINT64_MAX},
    {"no usable count of ticks per second", 56, INT64_MAX},
    {"integers are not compressed", 60, 0x3b9aca0000000002},
};

START_TEST(a_header_that_cannot_be_is_refused_with_its_reason)
{
    struct bytes raw = ordinary();
    ck_assert_ptr_null(refusal(&raw));
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        uint8_t before[8];
        memcpy(before, raw.data + headers[i].offset, sizeof before);
        set(&raw, headers[i].offset, headers[i].number);
        const char *reason = refusal(&raw);
        ck_assert_msg(reason && strcmp(reason, headers[i].reason) == 0, "%s: %s", headers[i].reason,
                      reason ? reason : "taken");
        memcpy(raw.data + headers[i].offset, before, sizeof before);
    }
    ck_assert_ptr_null(refusal(&raw));
    bytes_release(&raw);
}
END_TEST

START_TEST(versions_2_of_any_minor_are_read)
{
    struct bytes raw = ordinary();
    raw.data[7] = 1;
    ck_assert_ptr_null(refusal(&raw));
    bytes_release(&raw);
}
END_TEST

START_TEST(ticks_become_time_at_any_rate)
{
    struct jfr_chunk chunk = {.start_nanos = START, .start_ticks = 1000};
    static const struct {
        int64_t rate;
        int64_t ticks;
        int64_t nanos;
    } cases[] = {
        {1000000000, 7, 7},
        {1000000000, -7, -7},
        {1000000, 7, 7000},
        {3, 1, 333333333},
        {3, -4, -1333333333},
        {2445434000, 24454340000, 10000000000},
        {9000000000, 9000000001, 1000000000},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        chunk.ticks_per_second = cases[i].rate;
        uint64_t ticks = 1000 + (uint64_t)cases[i].ticks;
        ck_assert_int_eq(jfr_chunk_time(&chunk, ticks), START + cases[i].nanos);
    }
}
END_TEST

START_TEST(ticks_that_make_no_time_are_the_chunks_start)
{
    struct jfr_chunk chunk = {.start_nanos = START};
    static const int64_t rates[] = {1, 1000000000, INT64_MAX / 1000000000};
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        chunk.ticks_per_second = rates[i];
        chunk.start_ticks = rates[i] > 1000000000 ? 0 : 1;
        int64_t nanos = jfr_chunk_time(&chunk, (uint64_t)INT64_MIN);
        ck_assert(nanos == START || rates[i] > 1000000000);
        ck_assert_int_ge(nanos, 0);
    }
    chunk.ticks_per_second = 1;
    ck_assert_int_eq(jfr_chunk_time(&chunk, INT64_MAX), START);
}
END_TEST

SUITE_MAIN("jfr chunk", a_header_that_cannot_be_is_refused_with_its_reason,
           versions_2_of_any_minor_are_read, ticks_become_time_at_any_rate,
           ticks_that_make_no_time_are_the_chunks_start)
