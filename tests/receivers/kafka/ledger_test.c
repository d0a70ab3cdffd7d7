#include "receivers/kafka/ledger.h"

#include "tests/support/suite.h"

static struct ledger ledger;

static uint64_t add(int64_t offset)
{
    uint64_t number;
    ck_assert(ledger_add(&ledger, offset, offset * 10, &number));
    return number;
}

START_TEST(the_commit_is_the_first_offset_that_has_not_settled)
{
    ledger_init(&ledger, 100, NULL);
    ck_assert_int_eq(ledger_commit(&ledger), 100);
    ck_assert_int_eq(ledger_oldest_ms(&ledger), -1);
    uint64_t a = add(100), b = add(101), c = add(102);
    ledger_settle(&ledger, b);
    ck_assert_int_eq(ledger_commit(&ledger), 100);
    ck_assert_int_eq(ledger_oldest_ms(&ledger), 1000);
    ledger_settle(&ledger, a);
    ck_assert_int_eq(ledger_commit(&ledger), 102);
    ck_assert_uint_eq(ledger_size(&ledger), 1);
    ledger_settle(&ledger, c);
    ck_assert_int_eq(ledger_commit(&ledger), 103);
    ck_assert_uint_eq(ledger.settled, 3);
    ledger_release(&ledger);
}
END_TEST

START_TEST(offsets_that_the_log_has_dropped_hold_nothing_up)
{
    ledger_init(&ledger, 100, NULL);
    uint64_t a = add(105), b = add(200);
    ck_assert_int_eq(ledger_commit(&ledger), 105);
    ledger_settle(&ledger, a);
    ck_assert_int_eq(ledger_commit(&ledger), 200);
    ledger_settle(&ledger, b);
    ck_assert_int_eq(ledger_commit(&ledger), 201);
    ledger_release(&ledger);
}
END_TEST

START_TEST(it_grows_to_its_limit_and_gives_its_memory_back)
{
    static uint64_t numbers[LEDGER_MAX];
    struct budget budget;
    uint64_t number;
    budget_init(&budget, 16 << 20);
    ledger_init(&ledger, 0, &budget);
    for (int round = 0; round < 2; round++) {
        for (int64_t i = 0; i < LEDGER_MAX; i++)
            numbers[i] = add(round * LEDGER_MAX + i);
        ck_assert(ledger_is_full(&ledger));
        ck_assert(!ledger_add(&ledger, 1 << 20, 0, &number));
        for (int64_t i = LEDGER_MAX; i-- > 0;)
            ledger_settle(&ledger, numbers[i]);
        ck_assert_int_eq(ledger_commit(&ledger), (round + 1) * LEDGER_MAX);
    }
    ck_assert_uint_gt(budget_used(&budget), 0);
    ledger_release(&ledger);
    ck_assert_uint_eq(budget_used(&budget), 0);
}
END_TEST

START_TEST(without_memory_nothing_is_added)
{
    struct budget budget;
    uint64_t number;
    budget_init(&budget, 100);
    ledger_init(&ledger, 7, &budget);
    ck_assert(!ledger_add(&ledger, 7, 0, &number));
    ck_assert_int_eq(ledger_commit(&ledger), 7);
    ledger_release(&ledger);
}
END_TEST

SUITE_MAIN("ledger", the_commit_is_the_first_offset_that_has_not_settled,
           offsets_that_the_log_has_dropped_hold_nothing_up,
           it_grows_to_its_limit_and_gives_its_memory_back, without_memory_nothing_is_added)
