#include "lib/wire/pprof/pprof_tables.h"

#include "tests/support/proto_build.h"
#include "tests/support/suite.h"

static struct arena arena;
static struct pprof pprof;
static struct pprof_tables tables;

/* Strings: 1 cpu, 2 and 3 function names, 4 a file, 5 unused. Location 70 has function 9 and
 * mapping 5, location 8 has functions 9 and 10. */
static void open(void)
{
    struct proto_fault fault;
    struct view raw =
        PB_JOIN(PB_MESSAGE(1, pb_varint(1, 1)), PB_EMPTY(6), PB_TEXT(6, "cpu"), PB_TEXT(6, "first"),
                PB_TEXT(6, "second"), PB_TEXT(6, "file"), PB_TEXT(6, "unused"),
                PB_MESSAGE(4, pb_varint(1, 70), pb_varint(2, 5), PB_MESSAGE(4, pb_varint(1, 9))),
                PB_MESSAGE(4, pb_varint(1, 8), PB_MESSAGE(4, pb_varint(1, 9)),
                           PB_MESSAGE(4, pb_varint(1, 10))),
                PB_MESSAGE(5, pb_varint(1, 10), pb_varint(2, 3)),
                PB_MESSAGE(5, pb_varint(1, 9), pb_varint(2, 2)),
                PB_MESSAGE(3, pb_varint(1, 5), pb_varint(5, 4)), PB_TEXT(33, "unknown"));
    arena_init(&arena, 1 << 20);
    ck_assert(pprof_open(&pprof, raw, &arena, &fault));
    ck_assert(pprof_tables_open(&tables, &pprof, &arena));
}

/* Marks a sample with one location for the current part. */
static size_t mark(uint64_t location, bool keep)
{
    struct view message = PB_MESSAGE(2, pb_varint(1, location), pb_varint(2, 1));
    struct proto_field sample;
    ck_assert(proto_find(message, 2, WIRE_LEN, &sample));
    size_t size = pprof_tables_mark(&tables, &sample);
    if (keep)
        tables.last = tables.next - 1;
    return size - message.size;
}

static bool used(enum pprof_table_kind kind, uint64_t id)
{
    for (size_t i = 0; i < tables.of[kind].count; i++)
        if (tables.of[kind].entries[i].id == id)
            return pprof_tables_used(&tables, tables.of[kind].marks[i]);
    ck_abort_msg("no such entry");
}

START_TEST(entries_are_in_order_of_their_ids)
{
    open();
    ck_assert_uint_eq(tables.of[TABLE_LOCATION].count, 2);
    ck_assert_uint_eq(tables.of[TABLE_LOCATION].entries[0].id, 8);
    ck_assert_uint_eq(tables.of[TABLE_FUNCTION].entries[0].id, 9);
    ck_assert_uint_eq(tables.fixed_count, 2);
    arena_release(&arena);
}
END_TEST

START_TEST(a_sample_brings_what_it_needs_and_pays_for_it_once)
{
    open();
    tables.last = 0;
    ck_assert_uint_gt(mark(70, true), 0);
    ck_assert(used(TABLE_LOCATION, 70) && used(TABLE_FUNCTION, 9) && used(TABLE_MAPPING, 5));
    ck_assert(!used(TABLE_LOCATION, 8) && !used(TABLE_FUNCTION, 10));
    ck_assert_uint_eq(mark(70, true), 0);
    size_t second = mark(8, true);
    /* The location, its second function and its name. */
    ck_assert_uint_eq(second, 12 + 6 + 8);
    ck_assert_uint_eq(mark(8, true), 0);
    arena_release(&arena);
}
END_TEST

START_TEST(a_sample_left_out_leaves_nothing_behind)
{
    open();
    tables.last = 0;
    mark(70, true);
    size_t cost = mark(8, false);
    ck_assert(!used(TABLE_LOCATION, 8) && !used(TABLE_FUNCTION, 10));
    tables.first = tables.next;
    tables.last = tables.next - 1;
    ck_assert_uint_ge(mark(8, true), cost);
    ck_assert(used(TABLE_LOCATION, 8) && used(TABLE_FUNCTION, 10) && used(TABLE_FUNCTION, 9));
    ck_assert(!used(TABLE_LOCATION, 70) && !used(TABLE_MAPPING, 5));
    arena_release(&arena);
}
END_TEST

START_TEST(strings_are_numbered_in_their_order)
{
    open();
    tables.last = 0;
    mark(8, true);
    pprof_tables_rank(&tables);
    ck_assert_uint_eq(tables.string_ranks[0], 0);
    ck_assert_uint_eq(tables.string_ranks[1], 1);
    ck_assert_uint_eq(tables.string_ranks[2], 2);
    ck_assert_uint_eq(tables.string_ranks[3], 3);
    ck_assert(!pprof_tables_used(&tables, tables.string_marks[4]));
    ck_assert(!pprof_tables_used(&tables, tables.string_marks[5]));
    arena_release(&arena);
}
END_TEST

START_TEST(ids_that_no_table_has_cost_nothing)
{
    open();
    tables.last = 0;
    ck_assert_uint_eq(mark(0, true), 0);
    ck_assert_uint_eq(mark(71, true), 0);
    ck_assert_uint_eq(mark(UINT64_MAX, true), 0);
    arena_release(&arena);
}
END_TEST

SUITE_MAIN("pprof_tables", entries_are_in_order_of_their_ids,
           a_sample_brings_what_it_needs_and_pays_for_it_once,
           a_sample_left_out_leaves_nothing_behind, strings_are_numbered_in_their_order,
           ids_that_no_table_has_cost_nothing)
