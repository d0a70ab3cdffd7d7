#include "lib/wire/pprof/pprof_frames.h"

#include "tests/support/proto_build.h"
#include "tests/support/suite.h"

static struct arena arena;
static struct pprof pprof;
static struct pprof_frames frames;

/* Locations 7 and 3 have a line, 5 has none; 9 does not exist. */
static void open(struct view samples)
{
    struct view line = PB_MESSAGE(4, pb_varint(1, 1));
    struct view raw = PB_JOIN(
        PB_MESSAGE(1, pb_varint(1, 1), pb_varint(2, 2)), samples, PB_TEXT(6, ""), PB_TEXT(6, "cpu"),
        PB_TEXT(6, "nanoseconds"), PB_MESSAGE(4, pb_varint(1, 7), line),
        PB_MESSAGE(4, pb_varint(1, 5), pb_varint(3, 4096)), PB_MESSAGE(4, pb_varint(1, 3), line),
        PB_MESSAGE(5, pb_varint(1, 1), pb_varint(2, 1)));
    struct proto_fault fault;
    arena_init(&arena, 1 << 20);
    ck_assert_msg(pprof_open(&pprof, raw, &arena, &fault), "%s", fault.reason);
    ck_assert(pprof_frames_open(&frames, &pprof, &arena));
}

static bool drawn(struct view locations)
{
    struct pprof_sample sample;
    open(PB_MESSAGE(2, locations, pb_varint(2, 1)));
    struct proto_scan scan = proto_scan_begin(pprof.raw);
    ck_assert(pprof_next_sample(&pprof, &scan, &sample));
    bool any = pprof_frames_any(&frames, &sample);
    arena_release(&arena);
    return any;
}

START_TEST(one_frame_with_a_line_draws_a_sample)
{
    ck_assert(drawn(pb_varint(1, 7)));
    ck_assert(drawn(PB_MESSAGE(1, PB_RAW(5, 9, 3))));
    ck_assert(drawn(PB_JOIN(pb_varint(1, 5), pb_varint(1, 3))));
}
END_TEST

START_TEST(locations_without_lines_or_that_do_not_exist_draw_nothing)
{
    ck_assert(!drawn(pb_varint(1, 5)));
    ck_assert(!drawn(PB_MESSAGE(1, PB_RAW(5, 9))));
    ck_assert(!drawn(VIEW("")));
}
END_TEST

START_TEST(an_exhausted_arena_is_told)
{
    struct arena small;
    open(VIEW(""));
    for (size_t cap = 0; cap < 32; cap++) {
        arena_init(&small, cap);
        ck_assert(!pprof_frames_open(&frames, &pprof, &small));
        arena_release(&small);
    }
    arena_release(&arena);
}
END_TEST

SUITE_MAIN("pprof_frames", one_frame_with_a_line_draws_a_sample,
           locations_without_lines_or_that_do_not_exist_draw_nothing, an_exhausted_arena_is_told)
