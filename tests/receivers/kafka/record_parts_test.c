#include "receivers/kafka/record_parts.h"

#include "tests/support/suite.h"

static struct record_parts parts;
static struct partial_record *partial;

static enum record_parts_result add(uint64_t id, uint32_t number, uint32_t count, const char *value)
{
    const struct native_part part = {.id = id, .number = number, .count = count};
    return record_parts_add(&parts, &part, view_of(value), 100 * id, &partial);
}

START_TEST(parts_become_whole_in_order)
{
    record_parts_init(&parts, NULL);
    ck_assert_int_eq(add(1, 1, 3, "ab"), PARTS_MORE);
    ck_assert(partial_record_note(partial, 7));
    ck_assert_int_eq(add(2, 1, 2, "xy"), PARTS_MORE); /* of another producer */
    ck_assert_int_eq(add(1, 2, 3, "cd"), PARTS_MORE);
    ck_assert(partial_record_note(partial, 9));
    ck_assert_int_eq(add(1, 3, 3, "ef"), PARTS_WHOLE);
    ck_assert(view_eq(bytes_view(&partial->value), VIEW("abcdef")));
    ck_assert_uint_eq(partial->number_count, 2);
    ck_assert(partial->numbers[0] == 7 && partial->numbers[1] == 9);
    record_parts_close(&parts, partial);
    ck_assert_uint_eq(parts.count, 1);
    record_parts_release(&parts);
    ck_assert_uint_eq(parts.count, 0);
}
END_TEST

START_TEST(a_part_without_the_ones_before_is_a_stray)
{
    record_parts_init(&parts, NULL);
    ck_assert_int_eq(add(1, 2, 3, "b"), PARTS_STRAY);
    ck_assert_int_eq(add(1, 1, 3, "a"), PARTS_MORE);
    ck_assert_int_eq(add(1, 3, 3, "c"), PARTS_STRAY);
    ck_assert_int_eq(add(1, 2, 3, "b"), PARTS_MORE);
    record_parts_release(&parts);
}
END_TEST

START_TEST(a_part_that_comes_again_is_no_stray)
{
    record_parts_init(&parts, NULL);
    ck_assert_int_eq(add(1, 1, 3, "a"), PARTS_MORE);
    ck_assert_int_eq(add(1, 2, 3, "b"), PARTS_MORE);
    ck_assert_int_eq(add(1, 1, 3, "a"), PARTS_REPEATED); /* the producer sends all again */
    ck_assert_int_eq(add(1, 2, 3, "b"), PARTS_REPEATED);
    ck_assert_int_eq(add(1, 3, 3, "c"), PARTS_WHOLE);
    ck_assert(view_eq(bytes_view(&partial->value), VIEW("abc")));
    record_parts_undo(&parts, partial);
    ck_assert_int_eq(add(1, 3, 3, "c"), PARTS_WHOLE);
    record_parts_close(&parts, partial);
    ck_assert_int_eq(add(1, 3, 3, "c"), PARTS_REPEATED); /* of the value that was whole */
    ck_assert_int_eq(add(1, 1, 3, "a"), PARTS_MORE);
    record_parts_release(&parts);
}
END_TEST

START_TEST(a_value_that_is_cut_anew_replaces_what_came_of_it)
{
    const struct native_part first = {.id = 1, .number = 1, .count = 4},
                             second = {.id = 1, .number = 2, .count = 4};
    record_parts_init(&parts, NULL);
    ck_assert_ptr_null(record_parts_replaced(&parts, &first));
    ck_assert_int_eq(add(1, 1, 2, "ab"), PARTS_MORE);
    ck_assert_int_eq(add(1, 2, 4, "b"), PARTS_STRAY); /* of another cut: it must not be joined */
    ck_assert_ptr_null(record_parts_replaced(&parts, &second));
    ck_assert_ptr_eq(record_parts_replaced(&parts, &first), partial);
    record_parts_close(&parts, partial);
    ck_assert_int_eq(add(1, 1, 4, "a"), PARTS_MORE);
    ck_assert_ptr_null(record_parts_replaced(&parts, &first));
    record_parts_release(&parts);
}
END_TEST

START_TEST(a_part_is_taken_back)
{
    record_parts_init(&parts, NULL);
    ck_assert_int_eq(add(1, 1, 2, "a"), PARTS_MORE);
    record_parts_undo(&parts, partial);
    ck_assert_uint_eq(parts.count, 0);
    add(1, 1, 2, "a");
    ck_assert_int_eq(add(1, 2, 2, "b"), PARTS_WHOLE);
    record_parts_undo(&parts, partial);
    ck_assert_int_eq(add(1, 2, 2, "b"), PARTS_WHOLE);
    ck_assert(view_eq(bytes_view(&partial->value), VIEW("ab")));
    record_parts_release(&parts);
}
END_TEST

START_TEST(the_oldest_is_given_up)
{
    record_parts_init(&parts, NULL);
    for (uint64_t id = 5; id < 5 + PARTS_OPEN - 1; id++)
        ck_assert_int_eq(add(id, 1, 2, "a"), PARTS_MORE);
    ck_assert_ptr_null(record_parts_stale(&parts, 500));
    ck_assert_uint_eq(record_parts_stale(&parts, 501)->id, 5);
    ck_assert_int_eq(add(4, 1, 2, "a"), PARTS_MORE);
    ck_assert_uint_eq(record_parts_stale(&parts, 0)->id, 4); /* no room for another */
    ck_assert_int_eq(add(99, 1, 2, "a"), PARTS_STRAY);
    record_parts_release(&parts);
}
END_TEST

START_TEST(without_memory_nothing_changes)
{
    struct budget budget;
    budget_init(&budget, 10);
    record_parts_init(&parts, &budget);
    ck_assert_int_eq(add(1, 1, 2, "more than ten bytes"), PARTS_NO_MEMORY);
    ck_assert_uint_eq(parts.count, 0);
    record_parts_release(&parts);
}
END_TEST

SUITE_MAIN("record_parts", parts_become_whole_in_order, a_part_without_the_ones_before_is_a_stray,
           a_part_that_comes_again_is_no_stray, a_value_that_is_cut_anew_replaces_what_came_of_it,
           a_part_is_taken_back, the_oldest_is_given_up, without_memory_nothing_changes)
