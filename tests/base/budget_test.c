#include "base/budget.h"

#include "tests/support/suite.h"

#include <pthread.h>
#include <stdint.h>

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

START_TEST(no_budget_is_no_limit)
{
    ck_assert(budget_take(NULL, SIZE_MAX));
    budget_force(NULL, 1);
    budget_give(NULL, 1);
    ck_assert(!budget_never_fits(NULL, SIZE_MAX));
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

SUITE_MAIN("budget", what_does_not_fit_takes_nothing,
           huge_requests_are_refused_without_wrapping_around, accepted_data_go_past_the_limit,
           no_budget_is_no_limit, threads_leave_nothing_behind)
