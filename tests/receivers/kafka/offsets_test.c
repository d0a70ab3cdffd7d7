#include "receivers/kafka/offsets.h"

#include "tests/support/suite.h"

static struct offsets offsets;

static uint64_t add(int64_t offset)
{
    uint64_t number;
    ck_assert(offsets_add(&offsets, offset, offset * 10, &number));
    return number;
}

START_TEST(the_commit_is_the_first_offset_that_has_not_settled)
{
    offsets_init(&offsets, 100, NULL);
    ck_assert_int_eq(offsets_to_commit(&offsets), 100);
    ck_assert_int_eq(offsets_oldest_ms(&offsets), -1);
    uint64_t a = add(100), b = add(101), c = add(102);
    offsets_settle(&offsets, b);
    ck_assert_int_eq(offsets_to_commit(&offsets), 100);
    ck_assert_int_eq(offsets_oldest_ms(&offsets), 1000);
    offsets_settle(&offsets, a);
    ck_assert_int_eq(offsets_to_commit(&offsets), 102);
    ck_assert_uint_eq(offsets_size(&offsets), 1);
    offsets_settle(&offsets, c);
    ck_assert_int_eq(offsets_to_commit(&offsets), 103);
    ck_assert_uint_eq(offsets.settled, 3);
    offsets_release(&offsets);
}
END_TEST

START_TEST(offsets_that_the_log_has_dropped_hold_nothing_up)
{
    offsets_init(&offsets, 100, NULL);
    uint64_t a = add(105), b = add(200);
    ck_assert_int_eq(offsets_to_commit(&offsets), 105);
    offsets_settle(&offsets, a);
    ck_assert_int_eq(offsets_to_commit(&offsets), 200);
    offsets_settle(&offsets, b);
    ck_assert_int_eq(offsets_to_commit(&offsets), 201);
    offsets_release(&offsets);
}
END_TEST

START_TEST(what_follows_the_last_record_is_committed_once_all_have_settled)
{
    offsets_init(&offsets, 100, NULL);
    uint64_t a = add(100);
    offsets_skip_to(&offsets, 102); /* 101 ends a transaction */
    ck_assert_int_eq(offsets_to_commit(&offsets), 100);
    offsets_settle(&offsets, a);
    ck_assert_int_eq(offsets_to_commit(&offsets), 102);
    offsets_skip_to(&offsets, 101); /* told late */
    ck_assert_int_eq(offsets_to_commit(&offsets), 102);
    offsets_release(&offsets);
}
END_TEST

START_TEST(what_was_under_way_before_a_restart_is_forgotten)
{
    offsets_init(&offsets, 100, NULL);
    uint64_t a = add(100), b = add(101);
    offsets_settle(&offsets, b);
    offsets_restart(&offsets, 0);
    ck_assert_int_eq(offsets_to_commit(&offsets), 0);
    ck_assert_int_eq(offsets_oldest_ms(&offsets), -1);
    uint64_t c = add(0);
    offsets_settle(&offsets, a);
    ck_assert_int_eq(offsets_to_commit(&offsets), 0);
    offsets_settle(&offsets, c);
    ck_assert_int_eq(offsets_to_commit(&offsets), 1);
    offsets_release(&offsets);
}
END_TEST

START_TEST(it_grows_to_its_limit_and_gives_its_memory_back)
{
    static uint64_t numbers[OFFSETS_MAX];
    struct budget budget;
    uint64_t number;
    budget_init(&budget, 64 << 20);
    offsets_init(&offsets, 0, &budget);
    for (int round = 0; round < 2; round++) {
        for (int64_t i = 0; i < OFFSETS_MAX; i++)
            numbers[i] = add(round * OFFSETS_MAX + i);
        ck_assert(offsets_is_full(&offsets));
        ck_assert(!offsets_add(&offsets, 1 << 20, 0, &number));
        for (int64_t i = OFFSETS_MAX; i-- > 0;)
            offsets_settle(&offsets, numbers[i]);
        ck_assert_int_eq(offsets_to_commit(&offsets), (round + 1) * OFFSETS_MAX);
        ck_assert_uint_eq(budget_used(&budget), 0);
    }
    add(2 * OFFSETS_MAX);
    ck_assert_uint_gt(budget_used(&budget), 0);
    offsets_release(&offsets);
    ck_assert_uint_eq(budget_used(&budget), 0);
}
END_TEST

START_TEST(without_memory_nothing_is_added)
{
    struct budget budget;
    uint64_t number;
    budget_init(&budget, 100);
    offsets_init(&offsets, 7, &budget);
    ck_assert(!offsets_add(&offsets, 7, 0, &number));
    ck_assert_int_eq(offsets_to_commit(&offsets), 7);
    offsets_release(&offsets);
}
END_TEST

SUITE_MAIN("offsets", the_commit_is_the_first_offset_that_has_not_settled,
           offsets_that_the_log_has_dropped_hold_nothing_up,
           what_follows_the_last_record_is_committed_once_all_have_settled,
           what_was_under_way_before_a_restart_is_forgotten,
           it_grows_to_its_limit_and_gives_its_memory_back, without_memory_nothing_is_added)
