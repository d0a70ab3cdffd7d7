#include "lib/base/arena.h"

#include "tests/support/suite.h"

#include <stdalign.h>

START_TEST(memory_is_zeroed_and_aligned)
{
    struct arena arena;
    arena_init(&arena, 1 << 20);
    for (size_t size = 1; size < 9000; size += 700) {
        uint8_t *at = arena_alloc(&arena, size);
        ck_assert_ptr_nonnull(at);
        ck_assert_uint_eq((uintptr_t)at % alignof(max_align_t), 0);
        for (size_t i = 0; i < size; i++)
            ck_assert_uint_eq(at[i], 0);
        memset(at, 0xff, size);
    }
    arena_release(&arena);
}
END_TEST

START_TEST(the_cap_holds)
{
    struct arena arena;
    arena_init(&arena, 64);
    ck_assert_ptr_nonnull(arena_alloc(&arena, 60));
    ck_assert_ptr_null(arena_alloc(&arena, 1));
    arena_release(&arena);
    ck_assert_ptr_nonnull(arena_alloc(&arena, 64));
    arena_release(&arena);
    arena_release(&arena);
}
END_TEST

START_TEST(sizes_that_overflow_are_refused)
{
    struct arena arena;
    arena_init(&arena, SIZE_MAX);
    ck_assert_ptr_null(arena_alloc(&arena, SIZE_MAX));
    ck_assert_ptr_null(arena_array(&arena, SIZE_MAX / 2, 3));
    arena_release(&arena);
}
END_TEST

START_TEST(texts_end_in_nul)
{
    struct arena arena;
    arena_init(&arena, 100);
    ck_assert_str_eq(arena_text(&arena, (struct view){(const uint8_t *)"abcdef", 3}), "abc");
    ck_assert_str_eq(arena_text(&arena, VIEW("")), "");
    arena_release(&arena);
}
END_TEST

SUITE_MAIN("arena", memory_is_zeroed_and_aligned, the_cap_holds, sizes_that_overflow_are_refused,
           texts_end_in_nul)
