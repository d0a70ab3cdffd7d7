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

START_TEST(what_is_not_covered_is_charged_until_the_release)
{
    struct budget budget;
    struct arena arena, scratch;
    budget_init(&budget, 1 << 20);
    arena_init(&arena, SIZE_MAX);
    arena_charge(&arena, &budget, budget_take, 300000);
    ck_assert_ptr_nonnull(arena_alloc(&arena, 200000));
    ck_assert_uint_eq(budget_used(&budget), 0);
    ck_assert_ptr_nonnull(arena_alloc(&arena, 200000));
    ck_assert_uint_ge(budget_used(&budget), 100000);
    ck_assert_uint_lt(budget_used(&budget), 110000);
    ck_assert_ptr_null(arena_alloc(&arena, 1 << 20));
    ck_assert(arena.starved);
    ck_assert_uint_lt(budget_used(&budget), 110000);
    arena_init_scratch(&scratch, &arena);
    ck_assert_ptr_nonnull(arena_alloc(&scratch, 100000));
    ck_assert_uint_ge(budget_used(&budget), 200000);
    arena_release(&scratch);
    arena_release(&arena);
    ck_assert_uint_eq(budget_used(&budget), 0);

    arena_init(&arena, SIZE_MAX);
    arena_charge(&arena, &budget, budget_take, 0);
    arena_init_scratch(&scratch, &arena);
    ck_assert_ptr_null(arena_alloc(&scratch, 1 << 20));
    ck_assert(arena.full && arena.starved && arena.lacked >= 1 << 20);
}
END_TEST

SUITE_MAIN("arena", memory_is_zeroed_and_aligned, the_cap_holds, sizes_that_overflow_are_refused,
           texts_end_in_nul, what_is_not_covered_is_charged_until_the_release)
