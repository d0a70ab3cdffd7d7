#include "lib/base/arrival.h"

#include "tests/support/suite.h"

#include <stdlib.h>

#define KIB ((size_t)1024)
#define MIB (KIB * KIB)

static struct budget budget;
static uint8_t block[4 << 20];

static void begin(size_t limit)
{
    budget_init(&budget, limit);
    for (size_t i = 0; i < sizeof block; i++)
        block[i] = (uint8_t)(i * 2654435761u >> 13);
}

/* Makes a body of which a part arrived that long ago, and nothing since. */
static void make_arrive(struct arrival *arrival, size_t declared, size_t part, uint64_t ago)
{
    arrival_begin(arrival, &budget, declared, declared);
    ck_assert_int_eq(arrival_append(arrival, block, part), BYTES_OK);
    arrival->begun -= ago;
    arrival->progressed -= ago;
}

static bool goes_on(struct arrival *arrival)
{
    return arrival_append(arrival, block, 1) == BYTES_OK;
}

START_TEST(it_is_charged_as_it_comes_in_and_comes_out_whole)
{
    static const size_t steps[] = {1, 1000, 16 * 1024, 100001, sizeof block};
    begin(64 * MIB);
    for (size_t i = 0; i < 2 * sizeof steps / sizeof *steps; i++) {
        struct arrival arrival;
        struct bytes whole;
        size_t step = steps[i / 2], size = step < 1000 ? 10000 : sizeof block - 3;
        bool told = i % 2;
        arrival_begin(&arrival, &budget, 8 * MIB, told ? size : SIZE_MAX);
        for (size_t at = 0; at < size; at += step) {
            size_t n = size - at < step ? size - at : step;
            ck_assert_int_eq(arrival_append(&arrival, block + at, n), BYTES_OK);
            if (told)
                ck_assert_uint_le(budget_used(&budget), at + n + ARRIVAL_STEP);
            ck_assert_uint_ge(budget_used(&budget), at + n);
        }
        ck_assert(arrival_end(&arrival, &whole));
        ck_assert(view_eq(bytes_view(&whole), (struct view){block, size}));
        ck_assert_uint_eq(budget_used(&budget), whole.capacity);
        if (told)
            ck_assert_uint_eq(whole.capacity, size);
        bytes_release(&whole);
        arrival_drop(&arrival);
        ck_assert_uint_eq(budget_used(&budget), 0);
    }
}
END_TEST

START_TEST(an_empty_one_is_whole_at_once)
{
    struct arrival arrival;
    struct bytes whole;
    begin(MIB);
    arrival_begin(&arrival, &budget, MIB, 0);
    ck_assert(arrival_end(&arrival, &whole));
    ck_assert_uint_eq(whole.size, 0);
    arrival_drop(&arrival);
    struct arrival never = {0};
    arrival_drop(&never);
}
END_TEST

START_TEST(more_than_its_maximum_is_told_apart_and_keeps_nothing)
{
    struct arrival arrival;
    begin(MIB);
    arrival_begin(&arrival, &budget, 1000, SIZE_MAX);
    ck_assert_int_eq(arrival_append(&arrival, block, 1000), BYTES_OK);
    ck_assert_int_eq(arrival_append(&arrival, block, 1), BYTES_FULL);
    ck_assert_uint_eq(budget_used(&budget), 0);
    ck_assert_int_eq(arrival_append(&arrival, block, 1), BYTES_NO_MEMORY);
    arrival_drop(&arrival);
}
END_TEST

START_TEST(who_is_on_time_gives_way_to_nobody)
{
    struct arrival there, late;
    begin(MIB);
    make_arrive(&there, 200 * KIB, 180 * KIB, 0);
    ck_assert(budget_take(&budget, 700 * KIB));
    arrival_begin(&late, &budget, 300 * KIB, 300 * KIB);
    ck_assert_int_eq(arrival_append(&late, block, 200 * KIB), BYTES_NO_MEMORY);
    ck_assert(goes_on(&there));
    arrival_drop(&late);
    arrival_drop(&there);
    ck_assert_uint_eq(budget_used(&budget), 700 * KIB);
    ck_assert_uint_eq(budget.gave_way, 0);
}
END_TEST

/* Of three arrivals the one at `first` gives way, then the one at `second`. */
static void expect_order(struct arrival *arrivals, unsigned first, unsigned second)
{
    size_t free_bytes = budget.limit - budget_used(&budget);
    ck_assert(budget_take(&budget, free_bytes));
    ck_assert(budget_take(&budget, 1));
    for (unsigned i = 0; i < 3; i++)
        ck_assert_int_eq(arrivals[i].gone, i == first);
    free_bytes = budget.limit - budget_used(&budget);
    ck_assert(budget_take(&budget, free_bytes));
    ck_assert(budget_take(&budget, 1));
    for (unsigned i = 0; i < 3; i++)
        ck_assert_int_eq(arrivals[i].gone, i == first || i == second);
    ck_assert_uint_eq(budget.gave_way, 2);
    for (unsigned i = 0; i < 3; i++) {
        ck_assert_int_eq(goes_on(&arrivals[i]), i != first && i != second);
        arrival_drop(&arrivals[i]);
    }
}

START_TEST(the_one_without_progress_for_longest_gives_way_first)
{
    struct arrival arrivals[3];
    begin(16 * MIB);
    make_arrive(&arrivals[0], MIB, 100 * KIB, 2 * NS_PER_S);
    make_arrive(&arrivals[1], MIB, 900 * KIB, 3 * NS_PER_S);
    make_arrive(&arrivals[2], MIB, 100 * KIB, 0);
    expect_order(arrivals, 1, 0);
}
END_TEST

START_TEST(a_few_bytes_are_no_progress)
{
    struct arrival arrivals[3];
    begin(16 * MIB);
    for (unsigned i = 0; i < 3; i++)
        make_arrive(&arrivals[i], MIB, 900 * KIB, (3 - i) * NS_PER_S);
    ck_assert_int_eq(arrival_append(&arrivals[0], block, 10), BYTES_OK);
    ck_assert_int_eq(arrival_append(&arrivals[1], block, ARRIVAL_PROGRESS), BYTES_OK);
    expect_order(arrivals, 0, 2);
}
END_TEST

static void set_begun(struct arrival *arrival, uint64_t ago)
{
    arrival->begun = clock_mono(&clock_system) - ago;
}

START_TEST(then_the_slowest_for_its_size)
{
    struct arrival arrivals[3];
    begin(16 * MIB);
    make_arrive(&arrivals[0], MIB, 200 * KIB, 0); /* 2 s for a fifth: 10 s in total */
    set_begun(&arrivals[0], 2 * NS_PER_S);
    make_arrive(&arrivals[1], MIB, 100 * KIB, 0); /* 2 s for a tenth: 20 s */
    set_begun(&arrivals[1], 2 * NS_PER_S);
    make_arrive(&arrivals[2], MIB, 700 * KIB, 0); /* 2 s for most of it: 3 s */
    set_begun(&arrivals[2], 2 * NS_PER_S);
    expect_order(arrivals, 1, 0);
}
END_TEST

START_TEST(one_of_unknown_size_is_slow_after_a_while)
{
    struct arrival arrival;
    begin(16 * MIB);
    arrival_begin(&arrival, &budget, MIB, SIZE_MAX);
    ck_assert_int_eq(arrival_append(&arrival, block, 500 * KIB), BYTES_OK);
    set_begun(&arrival, ARRIVAL_LONG / 2 - NS_PER_S / 2);
    ck_assert(!arrival_make_way(&budget, 1));
    set_begun(&arrival, ARRIVAL_LONG / 2);
    ck_assert(arrival_make_way(&budget, 1));
    arrival_drop(&arrival);
}
END_TEST

START_TEST(nobody_is_slow_from_the_first_moment)
{
    struct arrival arrival;
    begin(16 * MIB);
    make_arrive(&arrival, 500 * KIB, 1, 0);
    set_begun(&arrival, ARRIVAL_YOUNG / 2);
    ck_assert(!arrival_make_way(&budget, 1));
    set_begun(&arrival, ARRIVAL_YOUNG);
    ck_assert(arrival_make_way(&budget, 1));
    arrival_drop(&arrival);
}
END_TEST

START_TEST(who_has_more_than_a_share_gives_way_before_all_others)
{
    struct arrival arrivals[3];
    begin(16 * MIB);
    make_arrive(&arrivals[0], MIB, 100 * KIB, 9 * NS_PER_S);
    arrival_begin(&arrivals[1], &budget, 6 * MIB, 6 * MIB);
    ck_assert_int_eq(arrival_append(&arrivals[1], block, sizeof block), BYTES_OK);
    ck_assert_int_eq(arrival_append(&arrivals[1], block, MIB), BYTES_OK);
    make_arrive(&arrivals[2], MIB, 100 * KIB, 0);
    expect_order(arrivals, 1, 0);
}
END_TEST

START_TEST(more_than_a_share_is_to_be_had_while_nobody_else_is_short)
{
    struct arrival large;
    begin(16 * MIB);
    arrival_begin(&large, &budget, 8 * MIB, 8 * MIB);
    ck_assert_int_eq(arrival_append(&large, block, 4 * MIB), BYTES_OK);
    ck_assert_int_eq(arrival_append(&large, block, MIB), BYTES_OK);
    arrival_drop(&large);
    arrival_begin(&large, &budget, 8 * MIB, 8 * MIB);
    ck_assert_int_eq(arrival_append(&large, block, 4 * MIB), BYTES_OK);
    ck_assert(budget_take(&budget, 4 * MIB));
    ck_assert(budget_take(&budget, 4 * MIB));
    ck_assert(budget_take(&budget, 4 * MIB));
    ck_assert(!budget_take(&budget, 1)); /* somebody else finds no room */
    budget_give(&budget, 12 * MIB);
    ck_assert_int_eq(arrival_append(&large, block, MIB), BYTES_NO_MEMORY);
    arrival_drop(&large);
    ck_assert_uint_eq(budget_used(&budget), 0);
}
END_TEST

START_TEST(of_many_small_ones_as_many_go_as_it_takes)
{
    enum { COUNT = 200 };
    static struct arrival arrivals[COUNT];
    unsigned gone = 0;
    begin(64 * MIB);
    for (unsigned i = 0; i < COUNT; i++)
        make_arrive(&arrivals[i], 100 * KIB, ARRIVAL_PROGRESS, (100 + i) * NS_PER_S);
    ck_assert(budget_take(&budget, budget.limit - budget_used(&budget)));
    ck_assert(budget_take(&budget, 50 * ARRIVAL_PROGRESS));
    for (unsigned i = 0; i < COUNT; i++)
        gone += arrivals[i].gone;
    ck_assert_uint_eq(gone, 50);
    ck_assert(arrivals[COUNT - 1].gone);
    ck_assert(!arrivals[0].gone);
    for (unsigned i = 0; i < COUNT; i++)
        arrival_drop(&arrivals[i]);
}
END_TEST

START_TEST(one_that_gave_way_is_not_whole)
{
    struct arrival arrival;
    struct bytes whole;
    begin(MIB);
    make_arrive(&arrival, 100 * KIB, 100 * KIB - 1, NS_PER_S);
    ck_assert(arrival_make_way(&budget, 1));
    ck_assert(!arrival_make_way(&budget, 1));
    ck_assert_uint_eq(budget_used(&budget), 0);
    ck_assert(!arrival_end(&arrival, &whole));
    ck_assert_uint_eq(whole.size, 0);
    arrival_drop(&arrival);
}
END_TEST

/* Arrivals that make each other give way while they grow and end. */
static void *come_in(void *ctx)
{
    unsigned *whole = ctx;
    for (int i = 0; i < 300; i++) {
        struct arrival arrival;
        struct bytes bytes;
        enum bytes_result result = BYTES_OK;
        arrival_begin(&arrival, &budget, 200 * KIB, i % 2 ? 200 * KIB : SIZE_MAX);
        for (int step = 0; step < 10 && result == BYTES_OK; step++) {
            result = arrival_append(&arrival, block, 20 * KIB);
            pthread_mutex_lock(&arrival.lock);
            arrival.progressed = arrival.begun = 0; /* pretend it was long ago */
            pthread_mutex_unlock(&arrival.lock);
        }
        if (result == BYTES_OK && arrival_end(&arrival, &bytes)) {
            ck_assert_uint_eq(bytes.size, 200 * KIB);
            ck_assert_mem_eq(bytes.data + 100 * KIB, block, 20 * KIB);
            bytes_release(&bytes);
            ++*whole;
        }
        arrival_drop(&arrival);
    }
    return NULL;
}

START_TEST(threads_give_way_to_each_other)
{
    pthread_t threads[4];
    unsigned whole[4] = {0}, all = 0;
    begin(MIB);
    ck_assert(budget_take(&budget, 600 * KIB));
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, come_in, &whole[i]), 0);
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        all += whole[i];
    }
    ck_assert_uint_gt(all, 0);
    ck_assert_uint_eq(budget_used(&budget), 600 * KIB);
    ck_assert_ptr_null(budget.arriving);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        it_is_charged_as_it_comes_in_and_comes_out_whole,
        an_empty_one_is_whole_at_once,
        more_than_its_maximum_is_told_apart_and_keeps_nothing,
        who_is_on_time_gives_way_to_nobody,
        the_one_without_progress_for_longest_gives_way_first,
        a_few_bytes_are_no_progress,
        then_the_slowest_for_its_size,
        one_of_unknown_size_is_slow_after_a_while,
        nobody_is_slow_from_the_first_moment,
        who_has_more_than_a_share_gives_way_before_all_others,
        more_than_a_share_is_to_be_had_while_nobody_else_is_short,
        of_many_small_ones_as_many_go_as_it_takes,
        one_that_gave_way_is_not_whole,
        threads_give_way_to_each_other,
        NULL,
    };
    return suite_run("arrival", tests);
}
