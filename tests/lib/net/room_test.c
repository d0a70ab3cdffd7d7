#include "lib/net/room.h"

#include "tests/support/suite.h"

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

SUITE_MAIN("room", connections_take_a_quarter_of_the_budget_at_most,
           some_clients_have_room_in_the_smallest_budget, the_soft_limit_of_open_files_is_raised,
           several_listeners_share_the_hard_limit_of_open_files)
