/* Windows of one service on arrival: consecutive, late, overtaken, of several processes. */
#include "processors/correlation/known/timeline.h"

#include "lib/base/clock.h"
#include "tests/support/suite.h"

#include <stdlib.h>

#define S     NS_PER_S
#define MS    NS_PER_MS
#define HOUR  (3600 * S)
#define BEGIN (10000 * S) /* local time when tests begin; other times are relative to it */

struct bench {
    struct timeline timeline;
    struct budget budget;
    uint64_t remember;
    uint64_t content;
};

static void open_bench(struct bench *bench)
{
    *bench = (struct bench){.remember = HOUR};
    budget_init(&bench->budget, SIZE_MAX);
    bench->timeline.budget = &bench->budget;
}

static void close_bench(struct bench *bench)
{
    timeline_release(&bench->timeline);
    ck_assert_uint_eq(budget_used(&bench->budget), 0);
}

/* A window after BEGIN that arrives then; NULL: it is a repeat. */
static struct sequence *put_window(struct bench *bench, const struct timeline_window *window,
                                   uint64_t now)
{
    bool again;
    struct sequence *sequence =
        timeline_place(&bench->timeline, window, now, bench->remember, &again);
    ck_assert_int_eq(!sequence, again);
    if (!again)
        timeline_take(&bench->timeline, sequence, window, now, bench->remember);
    return sequence;
}

static struct timeline_window window_of(struct bench *bench, uint64_t start, uint64_t end)
{
    return (struct timeline_window){BEGIN + start,    BEGIN + end, end - start, 1,
                                    ++bench->content, false};
}

static struct sequence *put(struct bench *bench, uint64_t start, uint64_t end, uint64_t late)
{
    struct timeline_window window = window_of(bench, start, end);
    return put_window(bench, &window, BEGIN + end + late);
}

/* Windows of 10 s from one time to another, each at once; returns their sequence. */
static struct sequence *put_row(struct bench *bench, uint64_t from, uint64_t until)
{
    struct sequence *sequence = NULL;
    for (uint64_t at = from; at < until; at += 10 * S)
        sequence = put(bench, at, at + 10 * S, 0);
    return sequence;
}

/* Relative to BEGIN; 0: unknown. */
static uint64_t passed_at(struct bench *bench, uint64_t now, uint64_t margin, uint64_t *next)
{
    uint64_t at;
    uint64_t passed = timeline_passed(&bench->timeline, BEGIN + now, margin, bench->remember, &at);
    if (next)
        *next = at == UINT64_MAX ? UINT64_MAX : at - BEGIN;
    return passed ? passed - BEGIN : 0;
}

START_TEST(windows_in_a_row_are_of_one_process_and_pass)
{
    struct bench bench;
    uint64_t next;
    open_bench(&bench);
    ck_assert_uint_eq(passed_at(&bench, S, 3 * S, &next), 0);
    struct sequence *first = put(&bench, 0, 10 * S, 100 * MS);
    ck_assert_uint_eq(passed_at(&bench, 12 * S, 3 * S, NULL), 0);
    /* A seam of up to 1.1 s: profilers stop and restart, times may be whole seconds. */
    ck_assert_ptr_eq(put(&bench, 11 * S, 21 * S, 100 * MS), first);
    ck_assert_ptr_eq(put(&bench, 20900 * MS, 31 * S, 100 * MS), first);
    ck_assert_uint_eq(bench.timeline.sequence_count, 1);
    ck_assert_uint_eq(bench.timeline.watermark, BEGIN + 31 * S);
    ck_assert_uint_eq(passed_at(&bench, 32100 * MS, 3 * S, &next), 31 * S);
    ck_assert_uint_eq(next, UINT64_MAX);
    close_bench(&bench);
}
END_TEST

/* Uploads of the same moment are all read before spans are given up. */
START_TEST(a_window_counts_a_moment_after_it_came)
{
    struct bench bench;
    uint64_t next;
    open_bench(&bench);
    put_row(&bench, 0, 30 * S);
    put(&bench, 30 * S, 40 * S, 0);
    ck_assert_uint_eq(passed_at(&bench, 40 * S, 3 * S, &next), 30 * S);
    ck_assert_uint_eq(next, 40 * S + 10 * S / 32);
    ck_assert_uint_eq(passed_at(&bench, next - 1, 3 * S, NULL), 30 * S);
    ck_assert_uint_eq(passed_at(&bench, next, 3 * S, &next), 40 * S);
    ck_assert_uint_eq(next, UINT64_MAX);
    close_bench(&bench);
}
END_TEST

/* Of two uploads read at once, the one that arrived first may finish last. */
START_TEST(so_it_does_where_another_one_came_later_and_was_read_sooner)
{
    struct bench bench;
    bool again;
    uint64_t now = BEGIN + 30 * S;
    open_bench(&bench);
    struct sequence *row = put_row(&bench, 0, 20 * S);
    struct timeline_window first = window_of(&bench, 20 * S + 1, 30 * S);
    struct sequence *placed = timeline_place(&bench.timeline, &first, now, bench.remember, &again);
    ck_assert_ptr_eq(placed, row);
    ck_assert_uint_eq(passed_at(&bench, 30 * S, 3 * S, NULL), 20 * S);
    put(&bench, 20 * S, 20 * S + 1, 10 * S);
    timeline_take(&bench.timeline, placed, &first, now, bench.remember);
    ck_assert_uint_eq(row->frontier, now);
    ck_assert_uint_eq(passed_at(&bench, 30 * S + 2, 3 * S, NULL), 20 * S);
    close_bench(&bench);
}
END_TEST

START_TEST(a_late_window_is_waited_for_as_long_as_the_margin)
{
    struct bench bench;
    uint64_t next;
    open_bench(&bench);
    put_row(&bench, 0, 30 * S);
    put(&bench, 40 * S, 50 * S, 0); /* the window from 30 to 40 s is missing */
    ck_assert_uint_eq(passed_at(&bench, 51 * S, 15 * S, &next), 30 * S);
    ck_assert_uint_eq(next, 55 * S);
    ck_assert_uint_eq(passed_at(&bench, next - 1, 15 * S, NULL), 30 * S);
    passed_at(&bench, next, 15 * S, &next);
    ck_assert_uint_eq(passed_at(&bench, next, 15 * S, &next), 50 * S);
    ck_assert_uint_eq(next, UINT64_MAX);
    close_bench(&bench);
}
END_TEST

START_TEST(one_that_comes_in_time_closes_the_gap)
{
    struct bench bench;
    open_bench(&bench);
    struct sequence *row = put_row(&bench, 0, 30 * S);
    put(&bench, 50 * S, 60 * S, 0);
    put(&bench, 40 * S, 50 * S, 11 * S);
    ck_assert_uint_eq(passed_at(&bench, 62 * S, 45 * S, NULL), 30 * S);
    ck_assert_ptr_eq(put(&bench, 30 * S, 40 * S, 23 * S), row);
    ck_assert_uint_eq(row->ahead_count, 0);
    ck_assert_uint_eq(passed_at(&bench, 64 * S, 45 * S, NULL), 60 * S);
    ck_assert_uint_eq(bench.timeline.sequence_count, 1);
    close_bench(&bench);
}
END_TEST

START_TEST(one_that_comes_after_its_gap_was_given_up_is_the_processs_still)
{
    struct bench bench;
    uint64_t next;
    open_bench(&bench);
    struct sequence *row = put_row(&bench, 0, 30 * S);
    put(&bench, 40 * S, 50 * S, 0);
    passed_at(&bench, 55 * S, 15 * S, &next);
    ck_assert_ptr_eq(put(&bench, 30 * S, 40 * S, 20 * S), row);
    ck_assert_uint_eq(passed_at(&bench, 61 * S, 15 * S, NULL), 50 * S);
    ck_assert_uint_eq(bench.timeline.concurrent, 0);
    close_bench(&bench);
}
END_TEST

START_TEST(the_first_window_may_come_behind_the_second)
{
    struct bench bench;
    open_bench(&bench);
    struct sequence *sequence = put(&bench, 10 * S, 20 * S, 0);
    ck_assert_ptr_eq(put(&bench, 0, 10 * S, 14 * S), sequence);
    ck_assert_uint_eq(sequence->begun, BEGIN);
    ck_assert_uint_eq(bench.timeline.sequence_count, 1);
    close_bench(&bench);
}
END_TEST

START_TEST(more_windows_ahead_than_are_remembered_give_the_gap_up)
{
    struct bench bench;
    open_bench(&bench);
    struct sequence *row = put_row(&bench, 0, 30 * S);
    uint64_t at = (40 + 10 * SEQUENCE_AHEAD) * S;
    put_row(&bench, 40 * S, at);
    ck_assert_uint_eq(row->frontier, BEGIN + 30 * S);
    put(&bench, at, at + 10 * S, 0);
    ck_assert_uint_eq(row->frontier, BEGIN + at + 10 * S);
    /* Every second window is missing. */
    at += 20 * S;
    for (unsigned i = 0; i <= SEQUENCE_AHEAD; i++)
        put(&bench, at + 20 * S * i, at + 20 * S * i + 10 * S, 0);
    ck_assert_uint_eq(row->ahead_count, SEQUENCE_AHEAD);
    ck_assert_uint_eq(row->frontier, BEGIN + at + 10 * S);
    ck_assert_uint_eq(bench.timeline.sequence_count, 1);
    close_bench(&bench);
}
END_TEST

START_TEST(windows_that_overlap_are_of_several_processes)
{
    struct bench bench;
    open_bench(&bench);
    for (uint64_t at = 0; at < 100 * S; at += 10 * S) {
        put(&bench, at, at + 10 * S, 0);
        put(&bench, at + 3 * S, at + 13 * S, 0);
    }
    ck_assert_uint_eq(bench.timeline.sequence_count, 2);
    ck_assert_uint_ne(bench.timeline.concurrent, 0);
    /* What both have uploaded. */
    ck_assert_uint_eq(passed_at(&bench, 104 * S, 3 * S, NULL), 100 * S);
    close_bench(&bench);
}
END_TEST

START_TEST(a_new_process_is_not_trusted_for_a_minute)
{
    struct bench bench;
    open_bench(&bench);
    put_row(&bench, 0, 100 * S);
    put(&bench, 95 * S, 105 * S, 0);
    for (uint64_t at = 100 * S; at < 190 * S; at += 10 * S) {
        ck_assert_uint_eq(passed_at(&bench, at + 6 * S, 3 * S, NULL) == 0, at <= 150 * S);
        put(&bench, at, at + 10 * S, 0);
        put(&bench, at + 5 * S, at + 15 * S, 0);
    }
    close_bench(&bench);
}
END_TEST

START_TEST(a_process_that_fell_silent_among_others_is_waited_for_until_it_is_gone)
{
    struct bench bench;
    open_bench(&bench);
    put_row(&bench, 0, 200 * S);
    put(&bench, 3 * S, 13 * S, 0);
    put(&bench, 13 * S, 23 * S, 0);
    ck_assert_uint_eq(passed_at(&bench, 201 * S, 3 * S, NULL), 0);
    put_row(&bench, 200 * S, 700 * S);
    ck_assert_uint_eq(passed_at(&bench, 622 * S, 3 * S, NULL), 0);
    ck_assert_uint_eq(passed_at(&bench, 701 * S, 3 * S, NULL), 700 * S);
    close_bench(&bench);
}
END_TEST

START_TEST(a_process_alone_that_fell_silent_is_not_steady)
{
    struct bench bench;
    open_bench(&bench);
    struct sequence *row = put_row(&bench, 0, 100 * S);
    ck_assert_uint_eq(passed_at(&bench, 140 * S, 3 * S, NULL), 100 * S);
    ck_assert_uint_eq(passed_at(&bench, 140 * S + 1, 3 * S, NULL), 0);
    ck_assert(sequence_is_steady(&bench.timeline, row, 10, BEGIN + 140 * S));
    ck_assert(!sequence_is_steady(&bench.timeline, row, 11, BEGIN + 140 * S));
    close_bench(&bench);
}
END_TEST

/* A profiler's windows keep their rhythm; one that begins out of step is from a restarted
 * process. */
START_TEST(an_idle_process_goes_on_in_step_and_a_restarted_one_does_not)
{
    struct bench bench;
    open_bench(&bench);
    struct sequence *row = put_row(&bench, 0, 100 * S);
    ck_assert_ptr_eq(put(&bench, 300 * S + 800 * MS, 310 * S + 800 * MS, 0), row);
    ck_assert_ptr_ne(put(&bench, 506 * S, 516 * S, 0), row);
    ck_assert_uint_eq(bench.timeline.sequence_count, 2);
    ck_assert_uint_eq(bench.timeline.concurrent, 0);
    /* The previous one has ended: it is not waited for. */
    put(&bench, 516 * S, 526 * S, 0);
    ck_assert_uint_eq(passed_at(&bench, 590 * S, 3 * S, NULL), 0);
    put_row(&bench, 526 * S, 626 * S);
    ck_assert_uint_eq(passed_at(&bench, 627 * S, 3 * S, NULL), 626 * S);
    close_bench(&bench);
}
END_TEST

START_TEST(other_labels_are_another_process)
{
    struct bench bench;
    open_bench(&bench);
    struct timeline_window a = window_of(&bench, 0, 10 * S), b = window_of(&bench, 10 * S, 20 * S);
    b.labels = 2;
    struct sequence *first = put_window(&bench, &a, BEGIN + 10 * S);
    ck_assert_ptr_ne(put_window(&bench, &b, BEGIN + 20 * S), first);
    close_bench(&bench);
}
END_TEST

START_TEST(a_minutes_window_joins_the_process_that_has_such_windows)
{
    struct bench bench;
    open_bench(&bench);
    struct sequence *fast = NULL, *slow = NULL;
    for (uint64_t at = 0; at < 360 * S; at += 60 * S) {
        fast = put_row(&bench, at, at + 60 * S);
        struct sequence *each = put(&bench, at, at + 60 * S, 0);
        ck_assert(!slow || each == slow);
        slow = each;
    }
    ck_assert_ptr_ne(fast, slow);
    ck_assert_uint_eq(bench.timeline.sequence_count, 2);
    ck_assert_uint_eq(fast->longest, 10 * S);
    ck_assert_uint_eq(slow->longest, 60 * S);
    close_bench(&bench);
}
END_TEST

START_TEST(of_two_processes_a_window_joins_the_one_that_ended_where_it_begins)
{
    struct bench bench;
    open_bench(&bench);
    struct sequence *short_ones = put(&bench, 80 * S, 86400 * MS, 0);
    put_row(&bench, 27 * S, 87 * S);
    struct sequence *others = put(&bench, 87 * S, 92480 * MS, 0); /* the last part of one */
    ck_assert_ptr_ne(others, short_ones);
    ck_assert_ptr_eq(put(&bench, 86400 * MS, 96400 * MS, 0), short_ones);
    close_bench(&bench);
}
END_TEST

START_TEST(a_sequence_is_alone_where_all_others_have_another_owner)
{
    enum { A = 1, B = 2 };
    struct bench bench;
    open_bench(&bench);
    struct sequence *first = put_row(&bench, 0, 100 * S);
    ck_assert(sequence_is_alone(&bench.timeline, first, A, BEGIN + 100 * S));
    struct sequence *second = put(&bench, 50 * S, 97 * S, 4 * S);
    ck_assert(!sequence_is_alone(&bench.timeline, first, A, BEGIN + 101 * S));
    sequence_note_owner(second, A, BEGIN + 101 * S);
    ck_assert(!sequence_is_alone(&bench.timeline, first, A, BEGIN + 101 * S));
    sequence_note_owner(second, B, BEGIN + 101 * S);
    ck_assert(sequence_is_alone(&bench.timeline, first, A, BEGIN + 101 * S));
    /* A sequence that replaced another is of the same process. */
    ck_assert(sequence_is_alone(&bench.timeline, put(&bench, 155 * S, 158 * S, 0), B, BEGIN));
    close_bench(&bench);
}
END_TEST

START_TEST(one_window_may_be_a_part_of_a_longer_one)
{
    struct bench bench;
    open_bench(&bench);
    put(&bench, 0, 2 * S, 0);
    ck_assert_uint_eq(timeline_unsure_until(&bench.timeline, BEGIN + S), BEGIN + 64 * S);
    ck_assert_uint_eq(timeline_unsure_until(&bench.timeline, BEGIN), 0);
    put(&bench, 2 * S, 12 * S, 0);
    ck_assert_uint_eq(timeline_unsure_until(&bench.timeline, BEGIN + S), 0);
    put(&bench, 3 * S, 13 * S, 0); /* as long as those that are known */
    ck_assert_uint_eq(timeline_unsure_until(&bench.timeline, BEGIN), 0);
    put(&bench, 5 * S, 25 * S, 0);
    ck_assert_uint_eq(timeline_unsure_until(&bench.timeline, BEGIN), BEGIN + 87 * S);
    close_bench(&bench);
}
END_TEST

START_TEST(a_second_upload_of_the_same_window_is_known_by_its_content)
{
    struct bench bench;
    open_bench(&bench);
    struct timeline_window window = window_of(&bench, 0, 10 * S);
    put_window(&bench, &window, BEGIN + 10 * S);
    ck_assert_ptr_null(put_window(&bench, &window, BEGIN + 15 * S));
    window.end -= 500 * MS; /* by another process's clock */
    ck_assert_ptr_null(put_window(&bench, &window, BEGIN + 16 * S));
    ck_assert_uint_eq(bench.timeline.count, 1);
    ck_assert_uint_eq(timeline_lateness(&bench.timeline), 0);
    window.content++;
    ck_assert_ptr_nonnull(put_window(&bench, &window, BEGIN + 17 * S));
    window.content--;
    window.start += 20 * S;
    window.end += 20 * S;
    ck_assert_ptr_nonnull(put_window(&bench, &window, BEGIN + 30 * S));
    close_bench(&bench);
}
END_TEST

START_TEST(uploads_without_a_length_tell_one_by_their_distance)
{
    struct bench bench;
    open_bench(&bench);
    for (uint64_t at = 30 * S; at <= 150 * S; at += 30 * S) {
        struct timeline_window window = {0, BEGIN + at, 0, 1, ++bench.content, false};
        put_window(&bench, &window, BEGIN + at + 200 * MS);
    }
    ck_assert_uint_eq(bench.timeline.sequence_count, 1);
    ck_assert_uint_eq(timeline_longest(&bench.timeline), 30 * S);
    ck_assert_uint_eq(timeline_lateness(&bench.timeline), 0);
    /* Nobody knows where such windows begin, so no process can be known to have passed. */
    ck_assert_uint_eq(passed_at(&bench, 151 * S, 3 * S, NULL), 0);
    close_bench(&bench);
}
END_TEST

START_TEST(lateness_is_the_most_of_ten_minutes_at_least_and_bounded)
{
    struct bench bench;
    open_bench(&bench);
    put(&bench, 0, 10 * S, 0);
    put(&bench, 10 * S, 20 * S, 7 * S);
    put(&bench, 20 * S, 30 * S, 100 * MS);
    ck_assert_uint_eq(timeline_lateness(&bench.timeline), 7 * S);
    put_row(&bench, 30 * S, 600 * S);
    ck_assert_uint_eq(timeline_lateness(&bench.timeline), 7 * S);
    put_row(&bench, 600 * S, 1500 * S);
    ck_assert_uint_eq(timeline_lateness(&bench.timeline), 0);
    put(&bench, 1500 * S, 1510 * S, 300 * S);
    ck_assert_uint_eq(timeline_lateness(&bench.timeline), 45 * S);
    close_bench(&bench);
}
END_TEST

START_TEST(where_uploads_were_tried_again_others_may_be)
{
    struct bench bench;
    open_bench(&bench);
    put(&bench, 0, 10 * S, 12 * S);
    put(&bench, 10 * S, 20 * S, 200 * MS);
    put(&bench, 20 * S, 30 * S, 14 * S);
    ck_assert_uint_eq(timeline_lateness(&bench.timeline), 14 * S); /* always equally late */
    put(&bench, 30 * S, 40 * S, 6 * S);
    ck_assert_uint_eq(timeline_lateness(&bench.timeline), 14 * S);
    put(&bench, 40 * S, 50 * S, 7 * S);
    ck_assert_uint_eq(timeline_lateness(&bench.timeline), 31 * S);
    put(&bench, 50 * S, 60 * S, 40 * S);
    ck_assert_uint_eq(timeline_lateness(&bench.timeline), 40 * S);
    close_bench(&bench);
}
END_TEST

START_TEST(the_longest_window_is_forgotten_after_twice_remember)
{
    struct bench bench;
    open_bench(&bench);
    bench.remember = 100 * S;
    put(&bench, 0, 60 * S, 0);
    put_row(&bench, 60 * S, 150 * S);
    ck_assert_uint_eq(timeline_longest(&bench.timeline), 60 * S);
    put_row(&bench, 150 * S, 400 * S);
    ck_assert_uint_eq(timeline_longest(&bench.timeline), 10 * S);
    /* Longer than samples are remembered: a mistake of the sender's. */
    put(&bench, 400 * S, 4000 * S, 0);
    ck_assert_uint_eq(timeline_longest(&bench.timeline), 100 * S);
    close_bench(&bench);
}
END_TEST

START_TEST(sequences_are_bounded_and_forgotten_with_their_memory)
{
    struct bench bench;
    open_bench(&bench);
    for (uint64_t i = 0; i < 3 * TIMELINE_SEQUENCES; i++)
        put(&bench, i * 200 * MS, i * 200 * MS + 10 * S, 0);
    ck_assert_uint_eq(bench.timeline.sequence_count, TIMELINE_SEQUENCES);
    ck_assert_uint_eq(budget_used(&bench.budget), TIMELINE_SEQUENCES * sizeof(struct sequence));
    struct sequence *last = put(&bench, 2 * HOUR, 2 * HOUR + 10 * S, 0);
    ck_assert_uint_eq(bench.timeline.sequence_count, 1);
    ck_assert_ptr_eq(timeline_find(&bench.timeline, last->serial), last);
    ck_assert_ptr_null(timeline_find(&bench.timeline, last->serial - 1));
    close_bench(&bench);
}
END_TEST

START_TEST(doubt_lasts_for_a_minute)
{
    struct bench bench;
    open_bench(&bench);
    put_row(&bench, 0, 100 * S);
    timeline_doubt(&bench.timeline, BEGIN + 100 * S);
    put_row(&bench, 100 * S, 160 * S);
    ck_assert_uint_eq(passed_at(&bench, 160 * S, 3 * S, NULL), 0);
    ck_assert_uint_gt(passed_at(&bench, 160 * S + 1, 3 * S, NULL), 0);
    close_bench(&bench);
}
END_TEST

/* Random processes, with which uploads are compared. */

enum {
    WORLDS = 60,
    MOST_UPLOADS = 2000,
    MOST_PROCESSES = 4,
    KNOWN_AFTER = 3 /* windows until processes can be distinguished */
};

struct upload {
    uint64_t start, end, arrives;
};

struct world {
    struct bench bench;
    uint64_t random;
    struct upload uploads[MOST_UPLOADS];
    size_t count;
    uint64_t late;  /* how late uploads may be */
    uint64_t known; /* every process had uploaded */
    uint64_t last;  /* end of the last window */
    unsigned processes;
};

static uint64_t draw(struct world *world, uint64_t below)
{
    world->random ^= world->random << 13;
    world->random ^= world->random >> 7;
    world->random ^= world->random << 17;
    return below ? world->random % below : 0;
}

static void add_upload(struct world *world, uint64_t start, uint64_t end)
{
    ck_assert_uint_lt(world->count, MOST_UPLOADS);
    struct upload *upload = &world->uploads[world->count++];
    /* Some are much later than others, which overtake them. */
    uint64_t late = draw(world, 4) ? draw(world, 300 * MS) : draw(world, world->late);
    *upload = (struct upload){start, end, end + late};
}

/* From its start to its end, without the windows of idle times. Returns when it had uploaded enough
 * to be known. */
static uint64_t draw_life(struct world *world, uint64_t from, uint64_t until, uint64_t length)
{
    uint64_t known = 0;
    for (unsigned n = 1; from < until; n++) {
        uint64_t end = from + length < until ? from + length : until;
        add_upload(world, from, end);
        if (n <= KNOWN_AFTER && world->uploads[world->count - 1].arrives > known)
            known = world->uploads[world->count - 1].arrives;
        from = end;
        if (n >= KNOWN_AFTER && draw(world, 20) == 0)
            from += length * draw(world, world->processes > 1 ? 8 : 30);
    }
    return known;
}

/* Lives one after the other; each begins when the previous one has ended. */
static void draw_process(struct world *world, uint64_t length)
{
    uint64_t at = draw(world, 2 * length), end = 900 * S;
    bool first = true;
    while (at < end) {
        uint64_t until = draw(world, 3) ? end : at + 100 * S + draw(world, 300 * S);
        uint64_t known = draw_life(world, at, until < end ? until : end, length);
        if (first && known > world->known)
            world->known = known;
        first = false;
        at = until + draw(world, 20 * S);
    }
}

static int by_arrival(const void *a, const void *b)
{
    const struct upload *x = a, *y = b;
    return x->arrives < y->arrives ? -1 : x->arrives > y->arrives;
}

static struct world *draw_world(unsigned seed)
{
    static const uint64_t lengths[] = {10, 10, 15, 30, 60};
    struct world *world = calloc(1, sizeof *world);
    open_bench(&world->bench);
    world->random = (seed + 1) * UINT64_C(0x9e3779b97f4a7c15);
    world->processes = 1 + (unsigned)(seed % MOST_PROCESSES);
    uint64_t shortest = UINT64_MAX;
    for (unsigned i = 0; i < world->processes; i++) {
        uint64_t length = lengths[draw(world, 5)] * S;
        shortest = length < shortest ? length : shortest;
        world->late = 1 + draw(world, 40 * S);
        draw_process(world, length);
    }
    world->late = 45 * S; /* more than any upload took */
    qsort(world->uploads, world->count, sizeof *world->uploads, by_arrival);
    for (size_t i = 0; i < world->count; i++)
        if (world->uploads[i].end > world->last)
            world->last = world->uploads[i].end;
    return world;
}

/* No window may still arrive that begins before the time passed. Windows of two processes that
 * begin within a seam of one another may be mixed up. Nobody asks before all are known, or in a
 * service's first minute. */
static void check_passed(struct world *world, unsigned seed, size_t next, uint64_t now)
{
    uint64_t passed = passed_at(&world->bench, now, world->late, NULL);
    uint64_t seam = world->processes > 1 ? 1100 * MS : 0;
    if (now < world->known || now < 62 * S)
        return;
    for (size_t i = next; i < world->count; i++)
        if (world->uploads[i].start + seam < passed)
            ck_abort_msg(
                "world %u at %lu ms: %lu ms have passed, and a window from %lu ms comes at "
                "%lu ms",
                seed, now / MS, passed / MS, world->uploads[i].start / MS,
                world->uploads[i].arrives / MS);
}

/* Asking again only when told to misses nothing. */
static void check_next(struct world *world, uint64_t now, uint64_t until)
{
    for (;;) {
        uint64_t next;
        uint64_t passed = passed_at(&world->bench, now, world->late, &next);
        if (next >= until || passed == 0)
            return;
        ck_assert_uint_gt(next, now);
        uint64_t same = passed_at(&world->bench, next - 1, world->late, NULL);
        ck_assert(same == passed || same == 0); /* 0: silent for long by then */
        now = next;
    }
}

START_TEST(what_has_passed_is_true_in_every_world)
{
    size_t told = 0, asked = 0;
    for (unsigned seed = 0; seed < WORLDS; seed++) {
        struct world *world = draw_world(seed);
        for (size_t i = 0; i < world->count; i++) {
            const struct upload *upload = &world->uploads[i];
            uint64_t until = i + 1 < world->count ? world->uploads[i + 1].arrives : UINT64_MAX;
            put(&world->bench, upload->start, upload->end, upload->arrives - upload->end);
            check_passed(world, seed, i + 1, upload->arrives);
            check_next(world, upload->arrives, until);
            if (until != UINT64_MAX)
                check_passed(world, seed, i + 1, until - 1);
            asked++;
            told += passed_at(&world->bench, upload->arrives, world->late, NULL) > 0;
        }
        close_bench(&world->bench);
        free(world);
    }
    ck_assert_uint_gt(told, asked / 4); /* it does give answers */
}
END_TEST

START_TEST(a_process_alone_is_always_one_and_passes_in_the_end)
{
    for (unsigned seed = 0; seed < WORLDS; seed++) {
        struct world *world = calloc(1, sizeof *world);
        open_bench(&world->bench);
        world->random = (seed + 1) * UINT64_C(0x9e3779b97f4a7c15);
        uint64_t length = (5 + draw(world, 56)) * S, late = 1 + draw(world, 6 * length);
        world->late = late < 40 * S ? late : 40 * S;
        world->processes = 1;
        draw_life(world, draw(world, 50 * S), 900 * S, length);
        world->uploads[0].arrives = world->uploads[0].end;
        qsort(world->uploads, world->count, sizeof *world->uploads, by_arrival);
        uint64_t now = 0, next = 0, end = 0;
        for (size_t i = 0; i < world->count; i++) {
            const struct upload *upload = &world->uploads[i];
            put(&world->bench, upload->start, upload->end, upload->arrives - upload->end);
            now = upload->arrives;
            passed_at(&world->bench, now, 45 * S, NULL);
            end = upload->end > end ? upload->end : end;
        }
        ck_assert_msg(world->bench.timeline.sequence_count == 1, "world %u: %u sequences", seed,
                      world->bench.timeline.sequence_count);
        ck_assert_uint_eq(world->bench.timeline.concurrent, 0);
        struct sequence *row = world->bench.timeline.sequences;
        uint64_t passed = 0;
        for (now += BEGIN; next != UINT64_MAX; now = next)
            passed = sequence_passed(row, now, 45 * S, &next);
        ck_assert_uint_eq(passed, BEGIN + end);
        close_bench(&world->bench);
        free(world);
    }
}
END_TEST

SUITE_MAIN("timeline", windows_in_a_row_are_of_one_process_and_pass,
           a_window_counts_a_moment_after_it_came,
           so_it_does_where_another_one_came_later_and_was_read_sooner,
           a_late_window_is_waited_for_as_long_as_the_margin, one_that_comes_in_time_closes_the_gap,
           one_that_comes_after_its_gap_was_given_up_is_the_processs_still,
           the_first_window_may_come_behind_the_second,
           more_windows_ahead_than_are_remembered_give_the_gap_up,
           windows_that_overlap_are_of_several_processes, a_new_process_is_not_trusted_for_a_minute,
           a_process_that_fell_silent_among_others_is_waited_for_until_it_is_gone,
           a_process_alone_that_fell_silent_is_not_steady,
           an_idle_process_goes_on_in_step_and_a_restarted_one_does_not,
           other_labels_are_another_process,
           a_minutes_window_joins_the_process_that_has_such_windows,
           of_two_processes_a_window_joins_the_one_that_ended_where_it_begins,
           a_sequence_is_alone_where_all_others_have_another_owner,
           one_window_may_be_a_part_of_a_longer_one,
           a_second_upload_of_the_same_window_is_known_by_its_content,
           uploads_without_a_length_tell_one_by_their_distance,
           lateness_is_the_most_of_ten_minutes_at_least_and_bounded,
           where_uploads_were_tried_again_others_may_be,
           the_longest_window_is_forgotten_after_twice_remember,
           sequences_are_bounded_and_forgotten_with_their_memory, doubt_lasts_for_a_minute,
           what_has_passed_is_true_in_every_world,
           a_process_alone_is_always_one_and_passes_in_the_end)
