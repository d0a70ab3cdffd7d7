#include "lib/base/view.h"

#include "tests/support/suite.h"

START_TEST(views_compare_by_content)
{
    const char text[] = "one two";
    ck_assert(view_eq(view_of("one"), (struct view){(const uint8_t *)text, 3}));
    ck_assert(!view_eq(VIEW("one"), VIEW("two")));
    ck_assert(!view_eq(VIEW("one"), VIEW("on")));
    ck_assert(view_eq((struct view){0}, VIEW("")));
    ck_assert(view_starts(VIEW("one two"), VIEW("one")));
    ck_assert(!view_starts(VIEW("on"), VIEW("one")));
}
END_TEST

START_TEST(a_missing_text_is_an_absent_view)
{
    ck_assert_ptr_null(view_of(NULL).data);
    ck_assert_uint_eq(view_of(NULL).size, 0);
    ck_assert_ptr_nonnull(VIEW("").data);
}
END_TEST

SUITE_MAIN("view", views_compare_by_content, a_missing_text_is_an_absent_view)
