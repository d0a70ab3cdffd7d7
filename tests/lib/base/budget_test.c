#include "lib/base/budget.h"

#include "lib/base/clock.h"
#include "lib/base/heap.h"

#include "tests/support/suite.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

START_TEST(what_does_not_fit_takes_nothing)
{
    struct budget budget;
    budget_init(&budget, 100);
    ck_assert(budget_take(&budget, 60));
    ck_assert(!budget_take(&budget, 41));
    ck_assert_uint_eq(budget_used(&budget), 60);
    ck_assert(budget_take(&budget, 40));
    budget_give(&budget, 100);
    ck_assert_uint_eq(budget_used(&budget), 0);
}
END_TEST

START_TEST(huge_requests_are_refused_without_wrapping_around)
{
    struct budget budget;
    budget_init(&budget, 100);
    ck_assert(budget_take(&budget, 1));
    ck_assert(!budget_take(&budget, SIZE_MAX));
    ck_assert_uint_eq(budget_used(&budget), 1);
    ck_assert(budget_never_fits(&budget, 101));
    ck_assert(!budget_never_fits(&budget, 100));
}
END_TEST

START_TEST(accepted_data_go_past_the_limit)
{
    struct budget budget;
    budget_init(&budget, 100);
    budget_force(&budget, 150);
    ck_assert_uint_eq(budget_used(&budget), 150);
    ck_assert(!budget_take(&budget, 1));
    budget_give(&budget, 51);
    ck_assert(budget_take(&budget, 1));
}
END_TEST

START_TEST(new_data_leave_the_reserve_to_work_on_accepted_data)
{
    struct budget budget;
    budget_init(&budget, 100);
    budget.reserve = 20;
    ck_assert(!budget_take(&budget, 81));
    ck_assert(budget_take(&budget, 80));
    ck_assert(!budget_take(&budget, 1));
    ck_assert(budget_use(&budget, 20));
    ck_assert(!budget_use(&budget, 1));
    ck_assert_uint_eq(budget_used(&budget), 100);
}
END_TEST

START_TEST(what_is_accepted_leaves_room_for_as_much_work)
{
    struct budget budget;
    budget_init(&budget, 100);
    budget.reserve = 20;
    ck_assert_uint_eq(budget_largest(&budget), 40);
    ck_assert(budget_never_fits(&budget, 41));
    ck_assert_uint_eq(budget_cap(&budget, 39), 39);
    ck_assert_uint_eq(budget_cap(&budget, 50), 40);
    ck_assert_uint_eq(budget_cap(NULL, 50), 50);
    budget_init(&budget, 64 << 20);
    budget.reserve = 4 << 20;
    budget.idle = 1 << 20; /* as if watched */
    ck_assert_uint_eq(budget_largest(&budget), 26 << 20);
    budget.limit = 8 << 20;
    budget.reserve = 512 << 10;
    ck_assert_uint_gt(budget_largest(&budget), 2 << 20);
}
END_TEST

START_TEST(a_large_request_keeps_others_out_until_it_is_gone)
{
    struct budget budget;
    budget_init(&budget, 100);
    budget.reserve = 10;
    ck_assert(budget_take(&budget, 40));
    budget_pledge(&budget, 40);
    budget_pledge(&budget, 3);
    ck_assert(!budget_take(&budget, 21));
    ck_assert(budget_take(&budget, 20));
    ck_assert(budget_use(&budget, 40));
    budget_give(&budget, 100);
    ck_assert(budget_take(&budget, 90));
}
END_TEST

START_TEST(a_pledge_that_is_held_stays_however_little_is_used)
{
    struct budget budget;
    budget_init(&budget, 100);
    ck_assert(budget_take(&budget, 1));
    budget_pledge(&budget, 40);
    budget_hold_pledge(&budget);
    budget_hold_pledge(&budget);
    budget_give(&budget, 1);
    budget_drop_pledge(&budget);
    ck_assert(!budget_take(&budget, 61));
    ck_assert(budget_take(&budget, 60));
    budget_give(&budget, 60);
    budget_drop_pledge(&budget);
    ck_assert(budget_take(&budget, 61));
}
END_TEST

START_TEST(what_is_resident_beside_the_charges_counts)
{
    struct budget budget;
    budget_init(&budget, 100);
    ck_assert(budget_take(&budget, 50));
    atomic_store(&budget.beyond, 30);
    ck_assert(!budget_take(&budget, 21));
    ck_assert(budget_take(&budget, 20));
    budget_force(&budget, 1000);
    ck_assert(!budget_take(&budget, 0));
}
END_TEST

/* Work that was charged but not drawn from has no memory yet. */
START_TEST(work_hides_nothing_of_what_is_resident)
{
    struct budget budget;
    budget_init(&budget, 64 << 20);
    budget.idle = 1; /* all of the process is beyond the charges */
    char *held = malloc(16 << 20);
    memset(held, 1, 16 << 20);
    ck_assert(budget_begin_work(&budget, 10 << 20));
    ck_assert(budget_begin_accepted_work(&budget, 10 << 20, false));
    ck_assert(budget_take(&budget, 4 << 20));
    ck_assert_uint_ge(budget.beyond, 6 << 20);
    ck_assert_uint_eq(budget.unused, 16 << 20);
    budget_end_accepted_work(&budget, 10 << 20);
    budget_end_work(&budget, 10 << 20);
    budget_give(&budget, 4 << 20);
    ck_assert_uint_eq(budget.unused, 0);
    ck_assert_uint_eq(budget_used(&budget), 0);
    free(held);
}
END_TEST

/* The room is checked before the work itself is charged. */
START_TEST(a_large_request_alone_is_not_in_its_own_way)
{
    struct budget budget;
    budget_init(&budget, 64 << 20);
    budget.reserve = 4 << 20;
    budget_watch(&budget);
    ck_assert(budget_take(&budget, 26 << 20));
    char *body = malloc(26 << 20);
    memset(body, 1, 26 << 20);
    ck_assert(budget_begin_work(&budget, 26 << 20));
    budget_end_work(&budget, 26 << 20);
    free(body);
    budget_give(&budget, 26 << 20);
}
END_TEST

START_TEST(a_watched_budget_keeps_a_little_free_for_what_it_sees_late)
{
    struct budget budget;
    budget_init(&budget, 64 << 20);
    budget.idle = SIZE_MAX / 2;
    ck_assert(!budget_take(&budget, (62 << 20) + 1));
    ck_assert(!budget_use(&budget, (62 << 20) + 1));
    ck_assert(budget_take(&budget, 62 << 20));
    ck_assert(!budget_take(&budget, 1));
}
END_TEST

START_TEST(a_watched_budget_can_be_filled_and_emptied)
{
    struct budget budget;
    char *held[16];
    budget_init(&budget, 64 << 20);
    budget_watch(&budget);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 16; i++) {
            ck_assert(budget_take(&budget, 1 << 20));
            held[i] = malloc(1 << 20);
            memset(held[i], i, 1 << 20);
        }
        for (int i = 0; i < 16; i++) {
            free(held[i]);
            budget_give(&budget, 1 << 20);
        }
    }
    ck_assert_uint_eq(budget_used(&budget), 0);
}
END_TEST

/* Leaves 16 MiB that are free and still resident, until the caller frees the result. */
static void *leave_resident(void)
{
    enum { PIECE = 4096, PIECES = 4096 };
    static char *held[PIECES];
    for (int i = 0; i < PIECES; i++) {
        held[i] = malloc(PIECE);
        memset(held[i], 1, PIECE);
    }
    void *last = malloc(PIECE); /* so that the heap does not shrink by itself */
    for (int i = 0; i < PIECES; i++)
        free(held[i]);
    return last;
}

/* Not under an emulator that keeps the pages. */
static bool can_return_memory(void)
{
    void *last = leave_resident();
    size_t before = heap_resident();
    heap_trim();
    size_t after = heap_resident();
    free(last);
    return after + (8 << 20) < before;
}

/* The last measurement may have seen free memory when it was too early to return it. */
START_TEST(before_data_is_refused_free_memory_is_returned)
{
    struct budget budget;
    if (!can_return_memory())
        return;
    budget_init(&budget, 32 << 20);
    budget_watch(&budget);
    budget.trimmed = clock_mono(&clock_system);
    void *last = leave_resident();
    uint64_t due = budget.trimmed + 30 * NS_PER_MS;
    do {
        budget.look_at = 0;
        ck_assert(budget_take(&budget, 1));
        budget_give(&budget, 1);
    } while (clock_mono(&clock_system) < due);
    ck_assert(budget_take(&budget, 24 << 20));
    free(last);
}
END_TEST

START_TEST(while_there_is_room_no_memory_is_returned)
{
    struct budget budget;
    if (!can_return_memory())
        return;
    for (size_t limit = 24; limit <= 128; limit += 104) {
        budget_init(&budget, limit << 20);
        budget_watch(&budget);
        void *last = leave_resident();
        budget.look_at = 0;
        ck_assert(budget_take(&budget, 1));
        ck_assert_int_eq(budget.trimmed > 0, limit == 24);
        free(last);
    }
}
END_TEST

START_TEST(only_memory_that_the_load_does_not_need_is_slack)
{
    enum { MIB = 1 << 20 };
    const size_t limit = 512 * (size_t)MIB;
    struct budget_slack slack = {.beyond = 60 * MIB, .given = 60 * MIB, .rate = 0};
    ck_assert(budget_has_slack(&slack, limit));
    slack.rate = 14 * MIB; /* it is needed again within some seconds */
    ck_assert(budget_has_slack(&slack, limit));
    slack.rate = 16 * MIB;
    ck_assert(!budget_has_slack(&slack, limit));
    slack = (struct budget_slack){.beyond = 60 * MIB, .given = 20 * MIB}; /* was not freed */
    ck_assert(!budget_has_slack(&slack, limit));
    slack = (struct budget_slack){.beyond = 4 * MIB, .given = 60 * MIB};
    ck_assert(!budget_has_slack(&slack, limit));
    ck_assert(budget_has_slack(&slack, 64 * MIB));
}
END_TEST

static void count(void *ctx)
{
    unsigned *calls = ctx;
    ++*calls;
}

/* Calls as the ticker makes them, on a clock of the test's own. */
START_TEST(what_a_burst_leaves_is_returned_once_when_it_is_over)
{
    enum { PIECE = 4096, PIECES = 8192 };
    static char *held[PIECES];
    struct budget budget;
    budget_init(&budget, 512 << 20);
    unsigned loads = 0;
    budget.idle = heap_resident();
    budget.loaded = count;
    budget.loaded_ctx = &loads;
    uint64_t now = 1000 * NS_PER_S, due = budget_settle(&budget, now);
    ck_assert_uint_eq(due, TIME_NEVER);
    for (int i = 0; i < PIECES; i++) {
        ck_assert(budget_take(&budget, PIECE));
        held[i] = malloc(PIECE);
        memset(held[i], 1, PIECE);
    }
    ck_assert_uint_eq(loads, 1); /* however much it grows */
    now += 5 * NS_PER_S;
    budget_settle(&budget, now);
    uint64_t trimmed = budget.trimmed;
    for (int i = 0; i < PIECES - 1; i++) { /* the last one keeps the heap from shrinking */
        free(held[i]);
        budget_give(&budget, PIECE);
    }
    ck_assert_uint_eq(budget.trimmed, trimmed); /* not by the thread that gives back */
    now += NS_PER_S / 2;
    due = budget_settle(&budget, now); /* 64 MiB/s: the load is not over */
    ck_assert_uint_eq(budget.trimmed, trimmed);
    ck_assert_uint_eq(due, now + NS_PER_S);
    now = due;
    due = budget_settle(&budget, now);
    ck_assert_uint_eq(budget.trimmed, now);
    ck_assert_uint_eq(due, now + NS_PER_S);
    ck_assert_uint_eq(budget_settle(&budget, due), TIME_NEVER);
    ck_assert_uint_eq(budget.trimmed, now); /* nothing was given back since */
    free(held[PIECES - 1]);
    budget_give(&budget, PIECE);
}
END_TEST

START_TEST(no_budget_is_no_limit)
{
    ck_assert(budget_take(NULL, SIZE_MAX));
    ck_assert(budget_use(NULL, SIZE_MAX));
    ck_assert(budget_grow(NULL, SIZE_MAX));
    budget_force(NULL, 1);
    budget_pledge(NULL, 1);
    budget_hold_pledge(NULL);
    budget_drop_pledge(NULL);
    budget_give(NULL, 1);
    ck_assert(!budget_never_fits(NULL, SIZE_MAX));
}
END_TEST

START_TEST(what_is_remembered_leaves_a_share_to_requests)
{
    struct budget budget;
    budget_init(&budget, 800);
    ck_assert(budget_may_remember(NULL, SIZE_MAX / 2, 1));
    ck_assert(budget_may_remember(&budget, 500, 600));
    ck_assert(!budget_may_remember(&budget, 500, 601));
    budget_force(&budget, 800);
    ck_assert(budget_may_remember(&budget, 60, 40));
    ck_assert(!budget_may_remember(&budget, 60, 41));
    budget_give(&budget, 300);
    ck_assert(budget_may_remember(&budget, 500, 100));
    ck_assert(!budget_may_remember(&budget, 500, 101));
}
END_TEST

START_TEST(accepted_data_that_grow_leave_half_of_the_reserve_to_their_delivery)
{
    struct budget budget;
    budget_init(&budget, 100);
    budget.reserve = 20;
    ck_assert(budget_take(&budget, 80));
    ck_assert(budget_grow(&budget, 10));
    ck_assert_uint_eq(budget_used(&budget), 90);
    ck_assert(!budget_grow(&budget, 1));
    ck_assert_uint_eq(budget_used(&budget), 90);
    ck_assert(budget_use(&budget, 10));
}
END_TEST

START_TEST(work_comes_out_of_what_is_kept_for_it)
{
    struct budget budget;
    budget_init(&budget, 100);
    budget.reserve = 20;
    ck_assert(budget_take(&budget, 60));
    ck_assert(budget_begin_work(&budget, 15));
    ck_assert(budget_begin_work(&budget, 25)); /* the reserve covers 20 of the 40 */
    ck_assert_uint_eq(budget_used(&budget), 100);
    ck_assert(!budget_begin_work(&budget, 1));
    ck_assert(!budget_take(&budget, 1));
    budget_end_work(&budget, 25);
    ck_assert(budget_take(&budget, 20));
    ck_assert(!budget_take(&budget, 1));
    budget_end_work(&budget, 15);
    budget_give(&budget, 80);
    ck_assert_uint_eq(budget_used(&budget), 0);
}
END_TEST

START_TEST(others_have_room_while_a_large_request_is_worked_on)
{
    struct budget budget;
    budget_init(&budget, 100);
    budget.reserve = 10;
    ck_assert(budget_take(&budget, 40));
    ck_assert(budget_begin_work(&budget, 40));
    budget_pledge(&budget, 40);
    ck_assert(budget_take(&budget, 20));
    ck_assert(!budget_take(&budget, 1));
    budget_end_work(&budget, 40);
    ck_assert(!budget_take(&budget, 1));
    ck_assert(budget_begin_accepted_work(&budget, 40, false));
    budget_end_accepted_work(&budget, 40);
    budget_give(&budget, 60);
    ck_assert_uint_eq(budget_used(&budget), 0);
}
END_TEST

START_TEST(work_above_a_share_leaves_a_share_to_others_who_come)
{
    struct budget budget;
    budget_init(&budget, 100);
    budget.reserve = 10;
    ck_assert(budget_take(&budget, 40));
    ck_assert(budget_begin_work(&budget, 40)); /* there are no other requests */
    budget_end_work(&budget, 40);
    ck_assert(budget_begin_work(&budget, 5)); /* somebody is */
    budget_end_work(&budget, 5);
    ck_assert(!budget_begin_work(&budget, 40));
    ck_assert(budget_begin_work(&budget, 35));
    budget_end_work(&budget, 35);
    budget.others_at = 1; /* long ago */
    ck_assert(budget_begin_work(&budget, 40));
    budget_end_work(&budget, 40);
    ck_assert_uint_eq(budget_used(&budget), 40);
}
END_TEST

START_TEST(a_shortage_of_others_comes_before_more_than_a_share)
{
    struct budget budget;
    budget_init(&budget, 100);
    ck_assert(budget_take_spare(&budget, 60));
    ck_assert(!budget_take_spare(&budget, 41));
    ck_assert(budget_take_spare(&budget, 1)); /* its own request does not count */
    ck_assert(!budget_take(&budget, 50));
    ck_assert(budget_take_spare(&budget, 1)); /* nor does one of more than a share */
    ck_assert(budget_take(&budget, 25));
    ck_assert(!budget_take(&budget, 20));
    ck_assert(!budget_take_spare(&budget, 1));
    ck_assert(!budget_begin_work(&budget, 30));
    budget.short_at = 1; /* long ago */
    ck_assert(budget_take_spare(&budget, 1));
}
END_TEST

START_TEST(what_a_thread_takes_at_work_is_charged_once)
{
    struct budget budget;
    budget_init(&budget, 100);
    budget_force(&budget, 30);
    ck_assert(budget_begin_accepted_work(&budget, 60, false));
    budget_force(&budget, 40);
    ck_assert(budget_take(&budget, 15));
    ck_assert(budget_use(&budget, 5));
    ck_assert_uint_eq(budget_used(&budget), 90);
    ck_assert(budget_take(&budget, 10));
    ck_assert(!budget_take(&budget, 1));
    budget_give(&budget, 30);
    budget_end_accepted_work(&budget, 60);
    ck_assert_uint_eq(budget_used(&budget), 70);
    ck_assert_uint_eq(budget.work, 0);
    ck_assert(budget_begin_accepted_work(&budget, 60, true));
    ck_assert_uint_eq(budget_used(&budget), 130);
    ck_assert(!budget_use(&budget, 61)); /* what it drew goes back to its work */
    budget_end_accepted_work(&budget, 60);
    budget_give(&budget, 70);
    ck_assert_uint_eq(budget_used(&budget), 0);
}
END_TEST

static void *take_and_give(void *ctx)
{
    struct budget *budget = ctx;
    for (int i = 0; i < 20000; i++)
        if (budget_take(budget, 3))
            budget_give(budget, 3);
    return NULL;
}

START_TEST(threads_leave_nothing_behind)
{
    struct budget budget;
    pthread_t threads[4];
    budget_init(&budget, 7);
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, take_and_give, &budget), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    ck_assert_uint_eq(budget_used(&budget), 0);
}
END_TEST

SUITE_MAIN(
    "budget", what_does_not_fit_takes_nothing, huge_requests_are_refused_without_wrapping_around,
    accepted_data_go_past_the_limit, new_data_leave_the_reserve_to_work_on_accepted_data,
    what_is_accepted_leaves_room_for_as_much_work,
    a_large_request_keeps_others_out_until_it_is_gone,
    a_pledge_that_is_held_stays_however_little_is_used, what_is_resident_beside_the_charges_counts,
    work_hides_nothing_of_what_is_resident, a_large_request_alone_is_not_in_its_own_way,
    a_watched_budget_keeps_a_little_free_for_what_it_sees_late,
    a_watched_budget_can_be_filled_and_emptied, before_data_is_refused_free_memory_is_returned,
    while_there_is_room_no_memory_is_returned, what_is_remembered_leaves_a_share_to_requests,
    accepted_data_that_grow_leave_half_of_the_reserve_to_their_delivery,
    work_comes_out_of_what_is_kept_for_it, others_have_room_while_a_large_request_is_worked_on,
    work_above_a_share_leaves_a_share_to_others_who_come,
    a_shortage_of_others_comes_before_more_than_a_share,
    what_a_thread_takes_at_work_is_charged_once, only_memory_that_the_load_does_not_need_is_slack,
    what_a_burst_leaves_is_returned_once_when_it_is_over, no_budget_is_no_limit,
    threads_leave_nothing_behind)
