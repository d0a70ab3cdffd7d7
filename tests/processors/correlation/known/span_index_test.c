#include "processors/correlation/known/span_index.h"

#include "tests/support/suite.h"

enum { CPU = KIND_BIT(KIND_PROCESS_CPU), WALL = KIND_BIT(KIND_WALL) };

static struct span_index made(void)
{
    struct span_index index;
    span_index_init(&index, 1 << 20, true, 3600, 1, NULL);
    return index;
}

START_TEST(figures_add_up_and_kinds_are_told_apart)
{
    struct span_index index = made();
    struct span_figures figures;
    ck_assert(
        span_index_add(&index, 0, &(struct span_figures){7, 2, false, 30}, KIND_PROCESS_CPU, 1));
    ck_assert(
        !span_index_add(&index, 0, &(struct span_figures){7, 1, false, 12}, KIND_PROCESS_CPU, 2));
    ck_assert(span_index_find(&index, 0, 7, CPU | WALL, 2, &figures));
    ck_assert_uint_eq(figures.id, 7);
    ck_assert_uint_eq(figures.samples, 3);
    ck_assert_uint_eq(figures.cpu_ns, 42);
    ck_assert(!span_index_find(&index, 0, 7, WALL, 2, &figures));
    span_index_add(&index, 0, &(struct span_figures){7, 0, false, 0}, KIND_WALL, 2);
    ck_assert(span_index_find(&index, 0, 7, WALL, 2, &figures));
    ck_assert(!span_index_find(&index, 0, 8, CPU, 2, &figures));
    id_table_release(&index.table);
}
END_TEST

/* As of a profiler that sends wall time, or allocations, beside CPU time. */
START_TEST(samples_of_other_profiles_count_only_where_none_has_cpu_time)
{
    for (int cpu_first = 0; cpu_first < 2; cpu_first++) {
        struct span_index index = made();
        struct span_figures figures;
        if (cpu_first)
            span_index_add(&index, 0, &(struct span_figures){7, 6, true, 60}, KIND_PROCESS_CPU, 1);
        span_index_add(&index, 0, &(struct span_figures){7, 2, false, 0}, KIND_PROCESS_CPU, 1);
        ck_assert(span_index_find(&index, 0, 7, CPU, 1, &figures));
        ck_assert_uint_eq(figures.samples, cpu_first ? 6 : 2);
        if (!cpu_first)
            span_index_add(&index, 0, &(struct span_figures){7, 6, true, 60}, KIND_PROCESS_CPU, 1);
        ck_assert(span_index_find(&index, 0, 7, CPU, 1, &figures));
        ck_assert_uint_eq(figures.samples, 6);
        ck_assert_uint_eq(figures.cpu_ns, 60);
        id_table_release(&index.table);
    }
}
END_TEST

START_TEST(figures_stop_at_their_largest_value)
{
    struct span_index index = made();
    struct span_figures figures;
    span_index_add(&index, 0, &(struct span_figures){7, UINT32_MAX, false, UINT64_MAX}, KIND_WALL,
                   1);
    span_index_add(&index, 0, &(struct span_figures){7, 5, false, 5}, KIND_WALL, 1);
    ck_assert(span_index_find(&index, 0, 7, WALL, 1, &figures));
    ck_assert_uint_eq(figures.samples, UINT32_MAX);
    ck_assert_uint_eq(figures.cpu_ns, (UINT64_C(1) << 48) - 1);
    ck_assert(!span_index_find(&index, 0, 7, CPU, 1, &figures));
    id_table_release(&index.table);
}
END_TEST

START_TEST(the_span_of_an_id_is_met_once)
{
    struct span_index index = made();
    ck_assert(!span_index_meet(&index, 0, 7, 1));
    span_index_add(&index, 0, &(struct span_figures){7, 1, false, 1}, KIND_WALL, 1);
    ck_assert(span_index_meet(&index, 0, 7, 1));
    ck_assert(!span_index_meet(&index, 0, 7, 1));
    span_index_add(&index, 0, &(struct span_figures){7, 1, false, 1}, KIND_WALL, 1);
    ck_assert(!span_index_meet(&index, 0, 7, 1));
    id_table_release(&index.table);
}
END_TEST

START_TEST(an_id_is_found_in_either_byte_order_where_that_is_asked)
{
    const uint64_t id = 0x0102030405060708, reversed = 0x0807060504030201;
    struct span_index index = made();
    struct span_figures figures;
    span_index_add(&index, 5, &(struct span_figures){reversed, 2, false, 30}, KIND_PROCESS_CPU, 1);
    ck_assert(!span_index_find(&index, 5, id, CPU, 1, &figures));
    ck_assert(span_index_find_either(&index, 5, id, CPU, 1, &figures));
    ck_assert_uint_eq(figures.id, reversed);
    ck_assert_uint_eq(figures.samples, 2);
    ck_assert(span_index_find_either(&index, 5, reversed, CPU, 1, &figures));
    ck_assert_uint_eq(figures.id, reversed);
    ck_assert(!span_index_find_either(&index, 6, id, CPU, 1, &figures));
    span_index_add(&index, 5, &(struct span_figures){id, 1, false, 1}, KIND_PROCESS_CPU, 1);
    ck_assert(span_index_find(&index, 5, id, CPU, 1, &figures));
    ck_assert_uint_eq(figures.id, id);
    id_table_release(&index.table);
}
END_TEST

START_TEST(without_figures_an_id_is_known_all_the_same)
{
    struct span_index index;
    struct span_figures figures;
    span_index_init(&index, 1 << 20, false, 3600, 1, NULL);
    ck_assert(span_index_add(&index, 0, &(struct span_figures){7, 2, false, 30}, KIND_WALL, 1));
    ck_assert(span_index_find(&index, 0, 7, WALL, 1, &figures));
    ck_assert_uint_eq(figures.id, 7);
    ck_assert_uint_eq(figures.samples, 0);
    ck_assert_uint_eq(figures.cpu_ns, 0);
    id_table_release(&index.table);
}
END_TEST

SUITE_MAIN("span_index", figures_add_up_and_kinds_are_told_apart,
           samples_of_other_profiles_count_only_where_none_has_cpu_time,
           figures_stop_at_their_largest_value, the_span_of_an_id_is_met_once,
           an_id_is_found_in_either_byte_order_where_that_is_asked,
           without_figures_an_id_is_known_all_the_same)
