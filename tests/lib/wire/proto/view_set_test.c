#include "lib/wire/proto/view_set.h"

#include "tests/support/suite.h"

#include <stdio.h>

static struct arena arena;
static struct view_set set;

static void begin(size_t cap)
{
    arena_init(&arena, cap);
    view_set_init(&set, &arena);
}

START_TEST(equal_bytes_share_a_number)
{
    begin(1 << 20);
    ck_assert_uint_eq(view_set_add(&set, VIEW("")), 0);
    ck_assert_uint_eq(view_set_add(&set, VIEW("a")), 1);
    ck_assert_uint_eq(view_set_add(&set, VIEW("b\0c")), 2);
    ck_assert_uint_eq(view_set_add(&set, VIEW("b\0d")), 3);
    ck_assert_uint_eq(view_set_add(&set, VIEW("a")), 1);
    ck_assert_uint_eq(view_set_add(&set, VIEW("")), 0);
    ck_assert_uint_eq(view_set_add(&set, VIEW("b\0c")), 2);
    ck_assert_uint_eq(set.count, 4);
    arena_release(&arena);
}
END_TEST

START_TEST(many_entries_keep_their_numbers_and_bytes)
{
    enum { MANY = 20000 };
    char text[32];
    begin(1 << 24);
    for (int round = 0; round < 2; round++)
        for (unsigned i = 0; i < MANY; i++) {
            snprintf(text, sizeof text, "entry %u", i);
            ck_assert_uint_eq(view_set_add(&set, view_of(text)), i);
        }
    ck_assert_uint_eq(set.count, MANY);
    ck_assert(view_eq(set.entries[12345], VIEW("entry 12345")));
    arena_release(&arena);
}
END_TEST

START_TEST(the_bytes_are_copied)
{
    char text[] = "text";
    begin(1 << 20);
    view_set_add(&set, view_of(text));
    text[0] = 'n';
    ck_assert_uint_eq(view_set_add(&set, VIEW("text")), 0);
    ck_assert_uint_eq(view_set_add(&set, view_of(text)), 1);
    arena_release(&arena);
}
END_TEST

START_TEST(a_small_arena_is_a_clean_failure)
{
    bool done = false;
    for (size_t cap = 0; !done; cap += 16) {
        char text[32];
        begin(cap);
        done = true;
        for (unsigned i = 0; i < 100 && done; i++) {
            snprintf(text, sizeof text, "entry %u", i);
            uint32_t index = view_set_add(&set, view_of(text));
            done = index != UINT32_MAX;
            ck_assert(!done || index == i);
            ck_assert_uint_eq(set.count, done ? i + 1 : i);
        }
        arena_release(&arena);
        ck_assert_uint_lt(cap, 1 << 16);
    }
}
END_TEST

SUITE_MAIN("view_set", equal_bytes_share_a_number, many_entries_keep_their_numbers_and_bytes,
           the_bytes_are_copied, a_small_arena_is_a_clean_failure)
