/* More services than are remembered: those with profiles keep their links. */
#include "processors/correlation/rule/waiting.h"

#include "tests/processors/correlation/rig.h"

enum { PLACES = 4 };

/* A service that is profiled and linked, among few places. */
static void open_crowd(struct rig *rig)
{
    rig_open(rig, "{}");
    rig_self(rig)->services.max = PLACES;
    rig_advance(rig, 10 * S);
    rig_root(rig, 1, 9 * S, 10 * S);
    rig_window(rig, 1, 0, 0);
    ck_assert(rig_linked(rig, 1));
}

/* Spans of services that no other span names; their ids begin at 1000. */
static void flood(struct rig *rig, unsigned from, unsigned count)
{
    for (unsigned i = from; i < from + count; i++) {
        char name[24];
        snprintf(name, sizeof name, "flood-%u", i);
        RIG_SPANS(rig, {.service = name, .id = 1000 + i, .end = rig_now(rig)});
    }
}

static uint64_t others(struct rig *rig, enum judge_reason reason)
{
    return atomic_load(&rig_self(rig)->services.tallies->others[TALLY_UNLINKED + reason]);
}

START_TEST(names_without_profiles_do_not_displace_a_service_with_profiles)
{
    struct rig rig;
    open_crowd(&rig);
    flood(&rig, 0, 20);
    rig_root(&rig, 2, 10 * S, 10 * S);
    ck_assert(rig_waits(&rig, 2));
    rig_window(&rig, 2, 0, 0);
    ck_assert(rig_linked(&rig, 2));
    ck_assert_uint_eq(rig_self(&rig)->services.count, PLACES);
    rig_close(&rig);
}
END_TEST

START_TEST(spans_of_a_service_that_is_given_up_leave_at_once_and_are_counted)
{
    struct rig rig;
    open_crowd(&rig);
    flood(&rig, 0, PLACES - 1);
    rig_advance(&rig, S);
    ck_assert(rig_waits(&rig, 1000));
    flood(&rig, PLACES - 1, 2);
    rig_advance(&rig, 1);
    ck_assert(rig_left(&rig, 1000) && rig_left(&rig, 1001) && rig_waits(&rig, 1002));
    ck_assert_uint_eq(rig_self(&rig)->services.gone.unlinked[REASON_CROWDED], 2);
    ck_assert(rig_explains(&rig, "2 services given up, since at most 4 are remembered"));
    ck_assert(rig_explains(&rig, "too many services 2"));
    rig_close(&rig);
}
END_TEST

START_TEST(a_service_that_sends_profiles_takes_the_place_of_one_without)
{
    struct rig rig;
    open_crowd(&rig);
    flood(&rig, 0, 20);
    RIG_PROFILE(&rig, .service = "cart", .duration = 10 * S, .ids = {3});
    flood(&rig, 20, 20);
    RIG_SPANS(&rig, {.service = "cart", .id = 3, .end = rig_now(&rig)});
    ck_assert(rig_linked(&rig, 3));
    rig_close(&rig);
}
END_TEST

/* One request pins all services of its spans, so the last ones find no place. */
START_TEST(spans_for_whose_service_there_is_no_place_are_counted)
{
    struct rig rig;
    rig_open(&rig, "{}");
    rig_self(&rig)->services.max = 1;
    RIG_SPANS(&rig, {.service = "a", .id = 1, .end = S}, {.service = "b", .id = 2, .end = S},
              {.service = "b", .id = 3, .parent = 2, .end = S});
    ck_assert(rig_waits(&rig, 1) && rig_left(&rig, 2) && rig_left(&rig, 3));
    ck_assert_uint_eq(others(&rig, REASON_CROWDED), 1);
    ck_assert(rig_explains(&rig, "too many services 1"));
    rig_close(&rig);
}
END_TEST

SUITE_MAIN("correlation crowd", names_without_profiles_do_not_displace_a_service_with_profiles,
           spans_of_a_service_that_is_given_up_leave_at_once_and_are_counted,
           a_service_that_sends_profiles_takes_the_place_of_one_without,
           spans_for_whose_service_there_is_no_place_are_counted)
