#include "lib/wire/pprof/pprof_frames.h"

#include "tests/support/proto_build.h"
#include "tests/support/suite.h"

static struct arena arena;
static struct pprof pprof;
static struct pprof_frames frames;

/* Locations 7 and 3 have a line, 5 has an address, and 6 one in a mapping whose functions are
 * known; 4 has neither, 8 has a line of no function, 10 is of no mapping; 9 does not exist. */
static void open(struct view samples, bool symbolizes)
{
    struct view line = PB_MESSAGE(4, pb_varint(1, 1)), address = pb_varint(3, 4096);
    struct view head =
        PB_JOIN(PB_MESSAGE(1, pb_varint(1, 1), pb_varint(2, 2)), samples, PB_TEXT(6, ""),
                PB_TEXT(6, "cpu"), PB_TEXT(6, "nanoseconds"),
                PB_MESSAGE(3, pb_varint(1, 2), pb_varint(7, 1)), PB_MESSAGE(3, pb_varint(1, 1)));
    struct view good = PB_JOIN(PB_MESSAGE(4, pb_varint(1, 7), line, pb_varint(2, 2)),
                               PB_MESSAGE(4, pb_varint(1, 5), pb_varint(2, 1), address),
                               PB_MESSAGE(4, pb_varint(1, 3), line),
                               PB_MESSAGE(4, pb_varint(1, 6), pb_varint(2, 2), address));
    struct view bad = PB_JOIN(PB_MESSAGE(4, pb_varint(1, 4)),
                              PB_MESSAGE(4, pb_varint(1, 8), PB_MESSAGE(4, pb_varint(1, 2))),
                              PB_MESSAGE(4, pb_varint(1, 10), pb_varint(2, 3), line));
    struct view raw = PB_JOIN(head, good, bad, PB_MESSAGE(5, pb_varint(1, 1), pb_varint(2, 1)));
    struct proto_fault fault;
    arena_init(&arena, 1 << 20);
    ck_assert_msg(pprof_open(&pprof, raw, &arena, &fault), "%s", fault.reason);
    ck_assert(pprof_frames_open(&frames, &pprof, symbolizes, &arena));
}

static enum pprof_shown shown(struct view locations, bool symbolizes)
{
    struct pprof_sample sample;
    open(PB_MESSAGE(2, locations, pb_varint(2, 1)), symbolizes);
    struct proto_scan scan = proto_scan_begin(pprof.raw);
    ck_assert(pprof_next_sample(&pprof, &scan, &sample));
    enum pprof_shown found = pprof_frames_shown(&frames, &sample);
    arena_release(&arena);
    return found;
}

START_TEST(one_frame_with_a_line_shows_a_sample)
{
    ck_assert_int_eq(shown(pb_varint(1, 7), false), PPROF_SHOWN);
    ck_assert_int_eq(shown(PB_MESSAGE(1, PB_RAW(5, 6, 3)), false), PPROF_SHOWN);
    ck_assert_int_eq(shown(PB_JOIN(pb_varint(1, 5), pb_varint(1, 3)), false), PPROF_SHOWN);
}
END_TEST

START_TEST(addresses_alone_show_a_sample_only_where_the_server_symbolizes)
{
    ck_assert_int_eq(shown(PB_MESSAGE(1, PB_RAW(5, 5)), false), PPROF_UNSYMBOLIZED);
    ck_assert_int_eq(shown(pb_varint(1, 5), false), PPROF_UNSYMBOLIZED);
    ck_assert_int_eq(shown(PB_MESSAGE(1, PB_RAW(5, 5)), true), PPROF_SHOWN);
    ck_assert_int_eq(shown(pb_varint(1, 5), true), PPROF_SHOWN);
    /* The server removes the addresses of a mapping with symbols. */
    ck_assert_int_eq(shown(pb_varint(1, 6), true), PPROF_UNSYMBOLIZED);
}
END_TEST

START_TEST(one_location_that_cannot_be_read_drops_a_sample)
{
    for (uint8_t bad = 4; bad <= 10; bad++) {
        if (bad >= 5 && bad <= 7)
            continue;
        ck_assert_int_eq(shown(PB_MESSAGE(1, PB_RAW(7, bad)), true), PPROF_DROPPED);
        ck_assert_int_eq(shown(PB_JOIN(pb_varint(1, 7), pb_varint(1, bad)), true), PPROF_DROPPED);
    }
    ck_assert_int_eq(shown(PB_MESSAGE(1, PB_RAW(7, 0)), true), PPROF_DROPPED);
    ck_assert_int_eq(shown(VIEW(""), true), PPROF_DROPPED);
}
END_TEST

START_TEST(an_exhausted_arena_is_told)
{
    struct arena small;
    open(VIEW(""), true);
    for (size_t cap = 0; cap < 32; cap++) {
        arena_init(&small, cap);
        ck_assert(!pprof_frames_open(&frames, &pprof, true, &small));
        arena_release(&small);
    }
    arena_release(&arena);
}
END_TEST

SUITE_MAIN("pprof_frames", one_frame_with_a_line_shows_a_sample,
           addresses_alone_show_a_sample_only_where_the_server_symbolizes,
           one_location_that_cannot_be_read_drops_a_sample, an_exhausted_arena_is_told)
