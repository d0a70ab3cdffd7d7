#include "exporters/kafka/accumulator.h"

#include "lib/base/clock.h"
#include "tests/support/suite.h"

enum { MANY = 20 };

static struct record all[MANY];
static struct accumulator accumulator;

static void start(uint64_t linger, size_t most, size_t most_bytes)
{
    accumulator_init(&accumulator);
    accumulator_set(&accumulator, linger, most, most_bytes);
}

static bool add(size_t first, size_t count, size_t bytes)
{
    struct record *records[MANY];
    for (size_t i = 0; i < count; i++) {
        all[first + i] = (struct record){.value = {.size = bytes}};
        records[i] = &all[first + i];
    }
    return accumulator_add(&accumulator, records, count);
}

/* How many are due, which must be those after `first` in order. */
static size_t take(size_t first, uint64_t now, int *wait_ms)
{
    size_t count = 0;
    for (struct record *each = accumulator_take(&accumulator, now, wait_ms); each;
         each = each->next)
        ck_assert_ptr_eq(each, &all[first + count++]);
    return count;
}

START_TEST(records_are_taken_at_once_and_then_once_in_a_linger)
{
    int wait = 500;
    start(10 * NS_PER_MS, 0, 1000000);
    ck_assert_uint_eq(take(0, NS_PER_S, &wait), 0);
    ck_assert_int_eq(wait, 500);
    ck_assert(!add(0, 1, 100));
    ck_assert_uint_eq(take(0, NS_PER_S, &wait), 1);
    ck_assert(!add(1, 1, 100));
    ck_assert_uint_eq(take(1, NS_PER_S + 3 * NS_PER_MS + 1, &wait), 0);
    ck_assert_int_eq(wait, 7);
    ck_assert(!add(2, 2, 100));
    ck_assert_uint_eq(take(1, NS_PER_S + 10 * NS_PER_MS, &wait), 3);
    accumulator_release(&accumulator);
}
END_TEST

START_TEST(enough_bytes_or_records_end_the_wait)
{
    int wait = 500;
    start(10 * NS_PER_MS, 0, 10000);
    add(0, 1, 1000);
    ck_assert_uint_eq(take(0, NS_PER_S, &wait), 1);
    ck_assert_uint_eq(take(1, NS_PER_S, &wait), 0);
    ck_assert(!add(1, 1, 1000));
    ck_assert(add(2, 1, 9000));  /* who waits for the linger need not any more */
    ck_assert(!add(3, 1, 9000)); /* told before */
    ck_assert_uint_eq(take(1, NS_PER_S, &wait), 3);
    accumulator_release(&accumulator);
    start(10 * NS_PER_MS, 7, 10000);
    add(0, 1, 10);
    ck_assert_uint_eq(take(0, NS_PER_S, &wait), 1);
    ck_assert_uint_eq(take(1, NS_PER_S, &wait), 0);
    ck_assert(!add(1, 6, 10));
    ck_assert_uint_eq(take(1, NS_PER_S, &wait), 0);
    ck_assert(add(7, 3, 10));
    ck_assert_uint_eq(take(1, NS_PER_S, &wait), 7);
    accumulator_release(&accumulator);
}
END_TEST

START_TEST(what_is_taken_fits_one_request_or_is_a_few_large_records)
{
    int wait = 500;
    start(0, 0, 10000);
    add(0, MANY, 1000); /* 1,256 bytes each in a request */
    ck_assert_uint_eq(take(0, 0, &wait), 7);
    ck_assert_uint_eq(take(7, 0, &wait), 7);
    ck_assert_uint_eq(take(14, 0, &wait), 6);
    ck_assert_uint_eq(take(20, 0, &wait), 0);
    add(0, 8, 9000);
    ck_assert_uint_eq(take(0, 0, &wait), 5);
    ck_assert_uint_eq(take(5, 0, &wait), 3);
    accumulator_release(&accumulator);
}
END_TEST

START_TEST(while_records_are_out_nobody_is_woken)
{
    int wait = 500;
    start(0, 0, 10000);
    add(0, 1, 100);
    ck_assert_uint_eq(take(0, 0, &wait), 1);
    ck_assert(!add(1, 1, 100));
    ck_assert(!add(2, 1, 9900)); /* the next take looks for it */
    ck_assert_uint_eq(take(1, 0, &wait), 2);
    accumulator_release(&accumulator);
}
END_TEST

SUITE_MAIN("kafka/accumulator", records_are_taken_at_once_and_then_once_in_a_linger,
           enough_bytes_or_records_end_the_wait,
           what_is_taken_fits_one_request_or_is_a_few_large_records,
           while_records_are_out_nobody_is_woken)
