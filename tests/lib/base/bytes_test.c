#include "lib/base/bytes.h"

#include "tests/support/suite.h"

START_TEST(the_ceiling_is_exact)
{
    struct bytes bytes;
    bytes_init(&bytes, 5, NULL);
    ck_assert_int_eq(bytes_append(&bytes, "abc", 3), BYTES_OK);
    ck_assert_int_eq(bytes_append(&bytes, "def", 3), BYTES_FULL);
    ck_assert(view_eq(bytes_view(&bytes), VIEW("abc")));
    ck_assert_int_eq(bytes_append(&bytes, "de", 2), BYTES_OK);
    ck_assert(view_eq(bytes_view(&bytes), VIEW("abcde")));
    ck_assert_int_eq(bytes_reserve(&bytes, SIZE_MAX), BYTES_FULL);
    bytes_release(&bytes);
}
END_TEST

START_TEST(growth_is_charged_and_given_back)
{
    struct budget budget;
    struct bytes bytes;
    budget_init(&budget, 1000);
    bytes_init(&bytes, 5000, &budget);
    ck_assert_int_eq(bytes_append(&bytes, "x", 1), BYTES_OK);
    ck_assert_uint_eq(budget_used(&budget), bytes.capacity);
    ck_assert_int_eq(bytes_reserve(&bytes, 2000), BYTES_NO_MEMORY);
    ck_assert_uint_eq(bytes.size, 1);
    ck_assert_int_eq(bytes_reserve(&bytes, 999), BYTES_OK);
    ck_assert_uint_eq(budget_used(&budget), 1000);
    bytes_release(&bytes);
    bytes_release(&bytes);
    ck_assert_uint_eq(budget_used(&budget), 0);
}
END_TEST

START_TEST(text_is_printed_behind_what_stands)
{
    struct bytes bytes;
    bytes_init(&bytes, 12, NULL);
    ck_assert_int_eq(bytes_printf(&bytes, "%d-", 42), BYTES_OK);
    ck_assert_int_eq(bytes_printf(&bytes, "%s", "abc"), BYTES_OK);
    ck_assert(view_eq(bytes_view(&bytes), VIEW("42-abc")));
    ck_assert_int_eq(bytes_printf(&bytes, "%s", "too long for it"), BYTES_FULL);
    ck_assert(view_eq(bytes_view(&bytes), VIEW("42-abc")));
    bytes_clear(&bytes);
    ck_assert_uint_eq(bytes.size, 0);
    ck_assert_ptr_nonnull(bytes.data);
    bytes_release(&bytes);
}
END_TEST

SUITE_MAIN("bytes", the_ceiling_is_exact, growth_is_charged_and_given_back,
           text_is_printed_behind_what_stands)
