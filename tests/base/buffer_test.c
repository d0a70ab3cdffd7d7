#include "base/buffer.h"

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

START_TEST(work_may_use_the_reserve_but_not_more)
{
    struct budget budget;
    budget_init(&budget, 10);
    budget.reserve = 4;
    ck_assert_ptr_null(buffer_new(7, &budget, false));
    ck_assert_ptr_null(buffer_new_for_work(11, &budget));
    struct buffer *buffer = buffer_new_for_work(7, &budget);
    ck_assert_ptr_nonnull(buffer);
    ck_assert_uint_eq(budget_used(&budget), 7);
    buffer_unref(buffer);
    ck_assert_uint_eq(budget_used(&budget), 0);
}
END_TEST

SUITE_MAIN("buffer", bytes_move_with_their_charge, only_a_forced_buffer_goes_past_the_budget,
           work_may_use_the_reserve_but_not_more)
