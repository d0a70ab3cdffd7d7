#include "lib/net/room.h"

#include "tests/support/captured.h"
#include "tests/support/suite.h"

#include <errno.h>
#include <sys/resource.h>

enum { COST = 1000 };

static void set_files(rlim_t soft, rlim_t hard)
{
    struct rlimit limit = {soft, hard};
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

START_TEST(connections_take_a_quarter_of_the_budget_at_most)
{
    struct budget budget;
    budget_init(&budget, 400 * COST);
    ck_assert_uint_eq(room_for_connections(4096, &budget, COST), 100);
    ck_assert_uint_eq(room_for_connections(50, &budget, COST), 50);
    ck_assert_uint_eq(room_for_connections(50, NULL, COST), 50);
    ck_assert_uint_eq(room_for_connections(0, NULL, COST), 1);
}
END_TEST

START_TEST(some_clients_have_room_in_the_smallest_budget)
{
    struct budget budget;
    budget_init(&budget, 1);
    ck_assert_uint_eq(room_for_connections(4096, &budget, COST), ROOM_LEAST);
    ck_assert_uint_eq(room_for_connections(2, &budget, COST), 2);
}
END_TEST

/* Charges n connections of one listener; returns whether it must close one for the last. */
static bool opens(struct budget *budget, size_t *open, size_t n)
{
    bool had_room = true;
    for (size_t i = 0; i < n; i++)
        had_room = room_charge(budget, COST);
    *open += n;
    return room_is_short(budget, COST, *open, had_room);
}

START_TEST(all_listeners_together_take_a_quarter_of_the_budget)
{
    struct budget budget;
    size_t first = 0, second = 0, few = 0;
    budget_init(&budget, 3200 * COST);
    ck_assert(!opens(&budget, &first, 400));
    ck_assert(!opens(&budget, &second, 400));
    ck_assert(opens(&budget, &first, 1));
    ck_assert(opens(&budget, &second, 1));
    ck_assert(!opens(&budget, &few, 100)); /* its fair share */
    ck_assert(opens(&budget, &few, 1));
    ck_assert_uint_eq(budget_used(&budget), 903 * COST);
    for (size_t i = 0; i < 103; i++)
        room_return(&budget, COST);
    ck_assert(!room_is_short(&budget, COST, first, true));
    ck_assert_uint_eq(budget_used(&budget), budget.connections);
}
END_TEST

START_TEST(without_room_in_the_budget_some_connections_stay)
{
    struct budget budget;
    size_t open = 0;
    budget_init(&budget, 3200 * COST);
    budget_force(&budget, 3200 * COST);
    ck_assert(!opens(&budget, &open, ROOM_LEAST));
    ck_assert(opens(&budget, &open, 1));
    ck_assert(!room_is_short(NULL, COST, 5000, true));
}
END_TEST

START_TEST(the_soft_limit_of_open_files_is_raised)
{
    struct rlimit limit;
    set_files(64, 600);
    ck_assert_uint_eq(room_for_connections(10, NULL, COST), 10);
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    ck_assert_uint_eq(limit.rlim_cur, 600);
}
END_TEST

START_TEST(several_listeners_share_the_hard_limit_of_open_files)
{
    set_files(656, 656);
    ck_assert_uint_eq(room_for_connections(4096, NULL, COST), 100);
    set_files(64, 64);
    ck_assert_uint_eq(room_for_connections(4096, NULL, COST), ROOM_LEAST);
}
END_TEST

START_TEST(a_lack_is_told_once_a_minute_and_no_other_error_of_accept)
{
    const struct log_source source = {.id = "otlp", .kind = "receiver"};
    uint64_t told_ns = 0;
    captured_begin();
    room_tell_lack(&told_ns, &source, EINVAL);
    ck_assert_uint_eq(captured_count(), 0);
    room_tell_lack(&told_ns, &source, EMFILE);
    room_tell_lack(&told_ns, &source, ENOBUFS);
    ck_assert_uint_eq(captured_count(), 1);
    ck_assert_uint_eq(captured_with("otlp: connections cannot be accepted: Too many open files"),
                      1);
}
END_TEST

SUITE_MAIN("room", connections_take_a_quarter_of_the_budget_at_most,
           some_clients_have_room_in_the_smallest_budget,
           all_listeners_together_take_a_quarter_of_the_budget,
           without_room_in_the_budget_some_connections_stay, the_soft_limit_of_open_files_is_raised,
           several_listeners_share_the_hard_limit_of_open_files,
           a_lack_is_told_once_a_minute_and_no_other_error_of_accept)
