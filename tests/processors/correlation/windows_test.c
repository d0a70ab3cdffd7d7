/* Windows that one mistaken profile must not make all spans of its service wait for. */
#include "processors/correlation/tell.h"

#include "tests/processors/correlation/rig.h"

/* Whether a span of now, of which no profile comes, has left after so long, and not before. */
static bool waits_for(struct rig *rig, uint64_t id, uint64_t ns)
{
    rig_root(rig, id, rig_now(rig) - S, rig_now(rig));
    rig_advance(rig, ns - S);
    bool waits = rig_waits(rig, id);
    rig_advance(rig, 2 * S);
    return waits && rig_left(rig, id);
}

START_TEST(a_window_of_centuries_teaches_nothing)
{
    struct rig rig;
    rig_open(&rig, "{}");
    rig_warm(&rig);
    rig_root(&rig, 1, RIG_WARM - S, RIG_WARM);
    ck_assert_int_eq(
        RIG_PROFILE(&rig, .time = RIG_WARM - 10 * S, .duration = INT64_MAX, .ids = {1}),
        VERDICT_OK);
    ck_assert(rig_linked(&rig, 1));
    ck_assert_uint_eq(rig.profiles.count, 11);
    ck_assert(rig_explains(&rig, "windows of up to 10.0 s"));
    ck_assert(rig_explains(&rig, "1 put aside"));
    ck_assert(waits_for(&rig, 2, 20 * S));
    rig_close(&rig);
}
END_TEST

START_TEST(a_window_that_ends_far_in_the_future_teaches_nothing)
{
    struct rig rig;
    rig_open(&rig, "{}");
    rig_warm(&rig);
    RIG_PROFILE(&rig, .time = RIG_WARM - 10 * S, .duration = 700 * S);
    ck_assert(waits_for(&rig, 1, 20 * S));
    rig_close(&rig);
}
END_TEST

START_TEST(one_window_of_ten_minutes_among_short_ones_delays_no_span)
{
    struct rig rig;
    rig_open(&rig, "{}");
    while (rig_now(&rig) < 700 * S) {
        rig_advance(&rig, 10 * S);
        rig_window(&rig, 0, 0, 0);
    }
    RIG_PROFILE(&rig, .time = 100 * S, .duration = 600 * S);
    ck_assert(waits_for(&rig, 1, 20 * S));
    rig_close(&rig);
}
END_TEST

START_TEST(a_second_window_of_ten_minutes_proves_the_first)
{
    struct rig rig;
    rig_open(&rig, "{}");
    for (unsigned i = 1; i <= 130; i++) {
        rig_advance(&rig, 10 * S);
        rig_window(&rig, 0, 0, 0);
        if (i == 61 || i == 121)
            RIG_PROFILE(&rig, .time = rig_now(&rig) - 601 * S, .duration = 600 * S);
        ck_assert(rig_explains(&rig, i < 121 ? "windows of up to 10.0 s" : "up to 600.0 s"));
    }
    rig_close(&rig);
}
END_TEST

START_TEST(a_repeated_upload_proves_nothing)
{
    struct rig rig;
    rig_open(&rig, "{}");
    rig_warm(&rig);
    rig_advance(&rig, 600 * S);
    for (unsigned i = 0; i < 3; i++)
        RIG_PROFILE(&rig, .time = 90 * S, .duration = 600 * S);
    ck_assert(rig_explains(&rig, "windows of up to 10.0 s"));
    rig_close(&rig);
}
END_TEST

/* Which could not be linked if their windows had to be seen twice. */
START_TEST(spans_of_a_service_that_uploads_every_ten_minutes_are_linked)
{
    struct rig rig;
    rig_open(&rig, "{}");
    for (uint64_t i = 1; i <= 4; i++) {
        rig_advance(&rig, 300 * S);
        rig_root(&rig, i, rig_now(&rig) - S, rig_now(&rig));
        rig_advance(&rig, 300 * S);
        RIG_PROFILE(&rig, .time = rig_now(&rig) - 600 * S, .duration = 600 * S, .ids = {i});
    }
    for (uint64_t i = 2; i <= 4; i++)
        ck_assert(rig_linked(&rig, i));
    rig_close(&rig);
}
END_TEST

/* The first profile of a service may be the mistaken one. */
START_TEST(a_long_first_window_counts_until_short_ones_come)
{
    struct rig rig;
    rig_open(&rig, "{}");
    rig_advance(&rig, 700 * S);
    RIG_PROFILE(&rig, .time = 100 * S, .duration = 600 * S);
    ck_assert(rig_explains(&rig, "windows of up to 600.0 s"));
    rig_window(&rig, 0, 0, 0);
    ck_assert(rig_explains(&rig, "windows of up to 10.0 s"));
    rig_close(&rig);
}
END_TEST

START_TEST(while_no_window_is_believed_a_span_waits_for_one_of_a_minute)
{
    struct rig rig;
    rig_open(&rig, "{}");
    rig_advance(&rig, 100 * S);
    for (unsigned i = 0; i < 3; i++)
        RIG_PROFILE(&rig, .time = 90 * S + i, .duration = INT64_MAX);
    ck_assert(waits_for(&rig, 1, 90 * S));
    rig_close(&rig);
}
END_TEST

/* What an API promises is what explain says and what happens. */
START_TEST(a_span_waits_for_no_longer_than_was_promised)
{
    struct rig rig;
    struct watch_waiting waiting;
    rig_open(&rig, "{}");
    rig_advance(&rig, 30 * S);
    rig_window(&rig, 0, 0, 0);
    RIG_PROFILE(&rig, .duration = 20 * S);
    rig_root(&rig, 1, 29 * S, 30 * S);
    ck_assert(correlation_waits(rig.self, 1, &waiting));
    ck_assert_uint_eq(waiting.due - RIG_START, 120 * S + 1 + 20 * NS_PER_MS);
    ck_assert(rig_explains(&rig, "or 90.0 s if no later profile comes"));
    rig_until(&rig, waiting.due - RIG_START);
    ck_assert(rig_left(&rig, 1));
    rig_close(&rig);
}
END_TEST

/* What the page advises: more than the delay of the uploads and a window. */
START_TEST(uploads_later_than_the_hold_link_once_it_is_raised)
{
    static const char *const holds[] = {"{}", "{hold: 111s}"};
    for (size_t i = 0; i < 2; i++) {
        struct rig rig;
        rig_open(&rig, holds[i]);
        for (uint64_t id = 1; id <= 40; id++) {
            rig_advance(&rig, 10 * S);
            rig_root(&rig, id, rig_now(&rig) - 10 * S, rig_now(&rig) - 9 * S);
            if (id > 10)
                RIG_PROFILE(&rig, .time = rig_now(&rig) - 110 * S, .duration = 10 * S,
                            .ids = {id - 10});
        }
        for (uint64_t id = 20; id <= 25; id++)
            ck_assert(i == 0 ? rig_bare(&rig, id) : rig_linked(&rig, id));
        ck_assert(rig_explains(&rig, "uploads up to 100.0 s late"));
        rig_close(&rig);
    }
}
END_TEST

SUITE_MAIN("correlation windows", a_window_of_centuries_teaches_nothing,
           a_window_that_ends_far_in_the_future_teaches_nothing,
           one_window_of_ten_minutes_among_short_ones_delays_no_span,
           a_second_window_of_ten_minutes_proves_the_first, a_repeated_upload_proves_nothing,
           spans_of_a_service_that_uploads_every_ten_minutes_are_linked,
           a_long_first_window_counts_until_short_ones_come,
           while_no_window_is_believed_a_span_waits_for_one_of_a_minute,
           a_span_waits_for_no_longer_than_was_promised,
           uploads_later_than_the_hold_link_once_it_is_raised)
