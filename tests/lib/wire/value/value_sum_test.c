#include "lib/wire/value/value_sum.h"

#include "tests/support/suite.h"

static const struct siphash_key key = {{1, 2}};

static bool same(struct view a, struct view b)
{
    return siphash_eq(value_sum(&key, a), value_sum(&key, b));
}

START_TEST(a_value_has_one_sum_however_it_is_encoded)
{
    ck_assert(same(VIEW("\x18\x05"), VIEW("\x18\x85\x00")));
    ck_assert(same(VIEW("\x0a\x01x"), VIEW("\x18\x05\x0a\x01x")));
    ck_assert(same(VIEW(""), VIEW("\x78\x01")));
}
END_TEST

START_TEST(values_of_two_kinds_and_signs_of_zero_differ)
{
    ck_assert(!same(VIEW("\x0a\x01x"), VIEW("\x3a\x01x")));
    ck_assert(!same(VIEW("\x10\x00"), VIEW("\x18\x00")));
    ck_assert(!same(VIEW("\x10\x00"), VIEW("\x10\x01")));
    ck_assert(!same(VIEW("\x18\x00"), VIEW("\x21\0\0\0\0\0\0\0\0")));
    ck_assert(!same(VIEW("\x2a\x00"), VIEW("\x32\x00")));
    ck_assert(!same(VIEW(""), VIEW("\x0a\x00")));
    /* 0 and -0 */
    ck_assert(!same(VIEW("\x21\0\0\0\0\0\0\0\0"), VIEW("\x21\0\0\0\0\0\0\0\x80")));
}
END_TEST

START_TEST(the_order_counts_in_a_list_but_not_in_a_map)
{
    /* [1, 2], [2, 1] and [1] */
    const struct view a = VIEW("\x2a\x08\x0a\x02\x18\x01\x0a\x02\x18\x02"),
                      b = VIEW("\x2a\x08\x0a\x02\x18\x02\x0a\x02\x18\x01"),
                      c = VIEW("\x2a\x04\x0a\x02\x18\x01");
    /* {a: 1, b: 2}, {b: 2, a: 1} and {a: 2, b: 1} */
    const struct view x = VIEW("\x32\x12\x0a\x07\x0a\x01"
                               "a\x12\x02\x18\x01"
                               "\x0a\x07\x0a\x01"
                               "b\x12\x02\x18\x02"),
                      y = VIEW("\x32\x12\x0a\x07\x0a\x01"
                               "b\x12\x02\x18\x02"
                               "\x0a\x07\x0a\x01"
                               "a\x12\x02\x18\x01"),
                      z = VIEW("\x32\x12\x0a\x07\x0a\x01"
                               "a\x12\x02\x18\x02"
                               "\x0a\x07\x0a\x01"
                               "b\x12\x02\x18\x01");
    ck_assert(same(a, a));
    ck_assert(!same(a, b));
    ck_assert(!same(a, c));
    ck_assert(same(x, y));
    ck_assert(!same(x, z));
}
END_TEST

SUITE_MAIN("value_sum", a_value_has_one_sum_however_it_is_encoded,
           values_of_two_kinds_and_signs_of_zero_differ,
           the_order_counts_in_a_list_but_not_in_a_map)
