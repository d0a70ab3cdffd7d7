#include "receivers/kafka/parts.h"

#include "tests/support/suite.h"

static struct parts parts;
static struct parted *parted;

static enum parts_result add(uint64_t id, uint32_t number, uint32_t count, const char *value)
{
    const struct native_part part = {.id = id, .number = number, .count = count};
    return parts_add(&parts, &part, view_of(value), 100 * id, &parted);
}

START_TEST(parts_become_whole_in_order)
{
    parts_init(&parts, NULL);
    ck_assert_int_eq(add(1, 1, 3, "ab"), PARTS_MORE);
    ck_assert(parted_note(parted, 7));
    ck_assert_int_eq(add(2, 1, 2, "xy"), PARTS_MORE); /* of another producer */
    ck_assert_int_eq(add(1, 2, 3, "cd"), PARTS_MORE);
    ck_assert(parted_note(parted, 9));
    ck_assert_int_eq(add(1, 3, 3, "ef"), PARTS_WHOLE);
    ck_assert(view_eq(bytes_view(&parted->value), VIEW("abcdef")));
    ck_assert_uint_eq(parted->number_count, 2);
    ck_assert(parted->numbers[0] == 7 && parted->numbers[1] == 9);
    parts_close(&parts, parted);
    ck_assert_uint_eq(parts.count, 1);
    parts_release(&parts);
    ck_assert_uint_eq(parts.count, 0);
}
END_TEST

START_TEST(a_part_without_the_ones_before_is_a_stray)
{
    parts_init(&parts, NULL);
    ck_assert_int_eq(add(1, 2, 3, "b"), PARTS_STRAY);
    ck_assert_int_eq(add(1, 1, 3, "a"), PARTS_MORE);
    ck_assert_int_eq(add(1, 3, 3, "c"), PARTS_STRAY);
    ck_assert_int_eq(add(1, 2, 3, "b"), PARTS_MORE);
    parts_release(&parts);
}
END_TEST

START_TEST(a_part_is_taken_back)
{
    parts_init(&parts, NULL);
    ck_assert_int_eq(add(1, 1, 2, "a"), PARTS_MORE);
    parts_undo(&parts, parted);
    ck_assert_uint_eq(parts.count, 0);
    add(1, 1, 2, "a");
    ck_assert_int_eq(add(1, 2, 2, "b"), PARTS_WHOLE);
    parts_undo(&parts, parted);
    ck_assert_int_eq(add(1, 2, 2, "b"), PARTS_WHOLE);
    ck_assert(view_eq(bytes_view(&parted->value), VIEW("ab")));
    parts_release(&parts);
}
END_TEST

START_TEST(the_oldest_is_given_up)
{
    parts_init(&parts, NULL);
    for (uint64_t id = 5; id < 5 + PARTS_OPEN - 1; id++)
        ck_assert_int_eq(add(id, 1, 2, "a"), PARTS_MORE);
    ck_assert_ptr_null(parts_stale(&parts, 500));
    ck_assert_uint_eq(parts_stale(&parts, 501)->id, 5);
    ck_assert_int_eq(add(4, 1, 2, "a"), PARTS_MORE);
    ck_assert_uint_eq(parts_stale(&parts, 0)->id, 4); /* no room for another */
    ck_assert_int_eq(add(99, 1, 2, "a"), PARTS_STRAY);
    parts_release(&parts);
}
END_TEST

START_TEST(without_memory_nothing_changes)
{
    struct budget budget;
    budget_init(&budget, 10);
    parts_init(&parts, &budget);
    ck_assert_int_eq(add(1, 1, 2, "more than ten bytes"), PARTS_NO_MEMORY);
    ck_assert_uint_eq(parts.count, 0);
    parts_release(&parts);
}
END_TEST

SUITE_MAIN("parts", parts_become_whole_in_order, a_part_without_the_ones_before_is_a_stray,
           a_part_is_taken_back, the_oldest_is_given_up, without_memory_nothing_changes)
