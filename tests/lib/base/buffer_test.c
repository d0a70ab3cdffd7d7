#include "lib/base/buffer.h"

#include "tests/support/suite.h"

START_TEST(bytes_move_with_their_charge)
{
    struct budget budget;
    struct bytes bytes;
    budget_init(&budget, 1000);
    bytes_init(&bytes, 500, &budget);
    ck_assert_int_eq(bytes_append(&bytes, "data", 4), BYTES_OK);
    size_t charged = budget_used(&budget);
    struct buffer *buffer = buffer_from_bytes(&bytes);
    ck_assert_ptr_nonnull(buffer);
    ck_assert_ptr_null(bytes.data);
    ck_assert(view_eq(buffer_view(buffer), VIEW("data")));
    ck_assert_uint_eq(budget_used(&budget), charged);
    ck_assert_ptr_eq(buffer_ref(buffer), buffer);
    buffer_unref(buffer);
    ck_assert_uint_eq(budget_used(&budget), charged);
    buffer_unref(buffer);
    ck_assert_uint_eq(budget_used(&budget), 0);
    bytes_release(&bytes);
}
END_TEST

START_TEST(only_a_forced_buffer_goes_past_the_budget)
{
    struct budget budget;
    budget_init(&budget, 10);
    ck_assert_ptr_null(buffer_new(11, &budget, false));
    ck_assert_uint_eq(budget_used(&budget), 0);
    struct buffer *buffer = buffer_new(11, &budget, true);
    ck_assert_ptr_nonnull(buffer);
    ck_assert_uint_eq(budget_used(&budget), 11);
    buffer_unref(buffer);
    buffer_unref(NULL);
    ck_assert_uint_eq(budget_used(&budget), 0);
}
END_TEST

static struct buffer *filled(const char *text, struct budget *budget)
{
    struct buffer *buffer = buffer_new(strlen(text), budget, false);
    ck_assert_ptr_nonnull(buffer);
    memcpy(buffer->data, text, strlen(text));
    return buffer;
}

START_TEST(joined_buffers_are_not_copied_until_one_run_is_asked_for)
{
    struct budget budget;
    budget_init(&budget, 20);
    struct buffer *parts[] = {filled("one ", &budget), filled("", &budget), filled("two", &budget)};
    struct buffer *joined = buffer_join(parts, 3);
    ck_assert_ptr_nonnull(joined);
    for (size_t i = 0; i < 3; i++)
        buffer_unref(parts[i]);
    ck_assert_uint_eq(joined->size, 7);
    ck_assert_uint_eq(budget_used(&budget), 7);

    struct view runs[3];
    ck_assert_uint_eq(buffer_run_count(joined), 3);
    buffer_runs(joined, runs);
    ck_assert(view_eq(runs[0], VIEW("one ")) && view_eq(runs[2], VIEW("two")));

    struct buffer *flat = buffer_flat(joined);
    ck_assert(view_eq(buffer_view(flat), VIEW("one two")));
    ck_assert_uint_eq(budget_used(&budget), 14);
    buffer_unref(joined);
    ck_assert_uint_eq(budget_used(&budget), 7);
    ck_assert_ptr_eq(buffer_flat(flat), flat);
    ck_assert_uint_eq(buffer_run_count(flat), 1);
    buffer_unref(flat);
    buffer_unref(flat);
    ck_assert_uint_eq(budget_used(&budget), 0);
}
END_TEST

START_TEST(a_slice_keeps_its_owner)
{
    struct budget budget;
    budget_init(&budget, 20);
    struct buffer *owner = filled("one two", &budget);
    struct buffer *parts[] = {buffer_slice(owner, (struct view){owner->data + 4, 3}),
                              buffer_slice(owner, (struct view){owner->data, 3})};
    buffer_unref(owner);
    struct buffer *joined = buffer_join(parts, 2), *again = buffer_join(&joined, 1);
    for (size_t i = 0; i < 2; i++)
        buffer_unref(parts[i]);
    buffer_unref(joined);
    ck_assert_uint_eq(budget_used(&budget), 7);
    ck_assert_uint_eq(buffer_run_count(again), 2);
    struct buffer *flat = buffer_flat(again);
    ck_assert(view_eq(buffer_view(flat), VIEW("twoone")));
    buffer_unref(flat);
    buffer_unref(again);
    ck_assert_uint_eq(budget_used(&budget), 0);
}
END_TEST

SUITE_MAIN("buffer", bytes_move_with_their_charge, only_a_forced_buffer_goes_past_the_budget,
           joined_buffers_are_not_copied_until_one_run_is_asked_for, a_slice_keeps_its_owner)
