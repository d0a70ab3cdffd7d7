#include "processors/correlation/known/id_table.h"

#include "tests/support/suite.h"

#include <stdlib.h>

#define MIB ((size_t)1 << 20)

/* Distinct and spread; 0 for no i below 2^63. */
static uint64_t id(uint64_t i)
{
    return (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
}

static uint64_t word_of(const struct id_table *table, const struct id_entry *entry)
{
    return id_table_more(table, entry)->word;
}

static void put(struct id_table *table, uint64_t key, uint64_t word, uint32_t second)
{
    struct id_entry *entry = id_table_put(table, key, second);
    ck_assert_ptr_nonnull(entry);
    id_table_more(table, entry)->word = word;
}

START_TEST(what_was_put_is_found_while_it_grows)
{
    struct id_table table;
    id_table_init(&table, 16 * MIB, true, 3600, 1, NULL);
    enum { N = 200000 };
    for (uint64_t i = 0; i < N; i++)
        put(&table, id(i), i, 5);
    for (uint64_t i = 0; i < N; i++) {
        struct id_entry *entry = id_table_find(&table, id(i), 6);
        ck_assert_ptr_nonnull(entry);
        ck_assert_uint_eq(id_table_more(&table, entry)->word, i);
    }
    for (uint64_t i = N; i < 2 * N; i++)
        ck_assert_ptr_null(id_table_find(&table, id(i), 6));
    ck_assert_uint_eq(id_table_count(&table), N);
    ck_assert_uint_eq(table.evicted, 0);
    id_table_release(&table);
}
END_TEST

START_TEST(ids_in_a_row_are_as_good_as_any)
{
    struct id_table table;
    id_table_init(&table, MIB, true, 3600, 0, NULL);
    for (uint64_t i = 1; i <= 20000; i++)
        put(&table, i, i, 5);
    for (uint64_t i = 1; i <= 20000; i++)
        ck_assert_uint_eq(word_of(&table, id_table_find(&table, i, 5)), i);
    ck_assert_ptr_null(id_table_find(&table, 0, 5));
    ck_assert_ptr_null(id_table_put(&table, 0, 5));
    ck_assert_uint_eq(id_table_count(&table), 20000);
    id_table_release(&table);
}
END_TEST

START_TEST(an_entry_expires_unless_it_is_put_again)
{
    struct id_table table;
    id_table_init(&table, MIB, true, 60, 1, NULL);
    put(&table, id(1), 7, 100);
    put(&table, id(2), 8, 100);
    id_table_put(&table, id(2), 150);
    ck_assert_ptr_nonnull(id_table_find(&table, id(1), 160));
    ck_assert_ptr_null(id_table_find(&table, id(1), 161));
    ck_assert_uint_eq(word_of(&table, id_table_find(&table, id(2), 210)), 8);
    ck_assert_uint_eq(word_of(&table, id_table_put(&table, id(1), 300)), 0);
    id_table_release(&table);
}
END_TEST

START_TEST(past_the_ceiling_the_oldest_last_seen_give_way)
{
    struct id_table table;
    struct budget budget;
    budget_init(&budget, SIZE_MAX);
    id_table_init(&table, MIB, true, 3600, 1, &budget);
    enum { OLD = 20000, NEW = 10000 };
    for (uint64_t i = 0; i < OLD; i++)
        put(&table, id(i), i, 10);
    /* The first quarter is seen again: it is no longer old. */
    for (uint64_t i = 0; i < OLD / 4; i++)
        id_table_put(&table, id(i), 20);
    for (uint64_t i = OLD; i < OLD + NEW; i++)
        put(&table, id(i), i, 20);
    ck_assert_uint_le(budget_used(&budget), MIB);
    ck_assert_uint_gt(table.evicted, 0);
    ck_assert_uint_eq(id_table_count(&table) + table.evicted, OLD + NEW);
    size_t kept = 0;
    for (uint64_t i = 0; i < OLD / 4; i++)
        kept += id_table_find(&table, id(i), 20) != NULL;
    for (uint64_t i = OLD; i < OLD + NEW; i++)
        kept += id_table_find(&table, id(i), 20) != NULL;
    ck_assert_uint_eq(kept, OLD / 4 + NEW);
    id_table_release(&table);
    ck_assert_uint_eq(budget_used(&budget), 0);
}
END_TEST

/* As after a restart, which finds more ids than there is room for. */
START_TEST(of_ids_that_share_a_second_the_last_ones_stay)
{
    struct id_table table;
    id_table_init(&table, MIB, true, 3600, 1, NULL);
    enum { N = 400000, LAST = 5000 };
    for (uint64_t i = 0; i < N; i++)
        put(&table, id(i), i, 10);
    size_t kept = 0;
    for (uint64_t i = N - LAST; i < N; i++)
        kept += id_table_find(&table, id(i), 10) != NULL;
    ck_assert_uint_ge(kept, LAST * 8 / 10);
    ck_assert_uint_ge(id_table_count(&table), 23000);
    ck_assert_uint_eq(id_table_count(&table) + table.evicted, N);
    id_table_release(&table);
}
END_TEST

START_TEST(a_lower_limit_evicts_the_oldest_and_frees_their_memory)
{
    struct budget budget;
    struct id_table table;
    budget_init(&budget, SIZE_MAX);
    id_table_init(&table, 4 * MIB, true, 3600, 1, &budget);
    enum { N = 60000 };
    for (uint64_t i = 0; i < N; i++)
        put(&table, id(i), i, (uint32_t)(1 + i / 1000));
    id_table_limit(&table, 8 * MIB, 60);
    ck_assert_uint_eq(id_table_count(&table), N);
    id_table_limit(&table, MIB, 60);
    ck_assert_uint_le(budget_used(&budget), MIB);
    size_t left = id_table_count(&table);
    ck_assert_uint_eq(table.evicted, N - left);
    ck_assert_uint_gt(left, N / 4);
    ck_assert_ptr_null(id_table_find(&table, id(0), 60));
    ck_assert_uint_gt(id_table_lost(&table, id(0)), 0);
    for (uint64_t i = N - 5000; i < N; i++)
        ck_assert_uint_eq(word_of(&table, id_table_find(&table, id(i), 60)), i);
    for (uint64_t i = N; i < 2 * N; i++)
        put(&table, id(i), i, 61);
    ck_assert_uint_le(budget_used(&budget), MIB);
    id_table_release(&table);
    ck_assert_uint_eq(budget_used(&budget), 0);
}
END_TEST

START_TEST(expired_entries_give_way_without_being_counted)
{
    struct id_table table;
    id_table_init(&table, MIB, true, 60, 1, NULL);
    for (uint64_t i = 0; i < 400000; i++)
        put(&table, id(i), i, (uint32_t)(i / 200));
    ck_assert_uint_eq(table.evicted, 0);
    id_table_release(&table);
}
END_TEST

START_TEST(a_full_budget_stops_its_growth_and_not_its_work)
{
    struct budget budget;
    budget_init(&budget, 100 * 1024);
    struct id_table table;
    id_table_init(&table, MIB, true, 3600, 1, &budget);
    for (uint64_t i = 0; i < 50000; i++)
        put(&table, id(i), i, (uint32_t)i);
    for (uint64_t i = 49000; i < 50000; i++)
        ck_assert_ptr_nonnull(id_table_find(&table, id(i), 50000));
    ck_assert_uint_le(budget_used(&budget), budget.limit);
    id_table_release(&table);

    budget_init(&budget, 10);
    ck_assert_ptr_null(id_table_put(&table, 1, 1));
}
END_TEST

START_TEST(it_leaves_a_share_of_the_budget_to_requests)
{
    struct budget budget;
    budget_init(&budget, MIB);
    struct id_table table;
    id_table_init(&table, 4 * MIB, true, 3600, 1, &budget);
    for (uint64_t i = 0; i < 50000; i++)
        put(&table, id(i), i, 1);
    ck_assert_uint_gt(budget_used(&budget), MIB / 2);
    ck_assert(budget_take(&budget, MIB / 5));
    budget_give(&budget, MIB / 5);
    id_table_release(&table);
}
END_TEST

START_TEST(an_entry_takes_at_most_24_bytes_however_many_there_are)
{
    struct budget budget;
    struct id_table table;
    budget_init(&budget, SIZE_MAX);
    id_table_init(&table, 16 * MIB, false, 3600, 1, &budget);
    for (uint64_t i = 0; i < 300000; i++) {
        id_table_put(&table, id(i), 5)->note = (uint32_t)i;
        if (i >= 50000 && i % 5000 == 0)
            ck_assert_uint_le(budget_used(&budget), 24 * i);
    }
    bool all = true;
    for (uint64_t i = 0; i < 300000; i++)
        all = all && id_table_find(&table, id(i), 5)->note == i;
    ck_assert(all);
    ck_assert_ptr_null(id_table_more(&table, id_table_find(&table, id(0), 5)));
    id_table_release(&table);
}
END_TEST

/* As the table hashes with the seed 0. */
static uint64_t hash(uint64_t key)
{
    key = (key ^ key >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    key = (key ^ key >> 27) * UINT64_C(0x94d049bb133111eb);
    return key ^ key >> 31;
}

START_TEST(ids_that_all_belong_at_the_end_of_a_shard_are_taken)
{
    struct id_table table;
    id_table_init(&table, MIB, true, 3600, 0, NULL);
    size_t taken = 0;
    for (uint64_t key = 1; taken < 200; key++) {
        if (hash(key) >> 48 != 0x03ff)
            continue;
        put(&table, key, taken, 5);
        ck_assert_uint_eq(word_of(&table, id_table_find(&table, key, 5)), taken);
        taken++;
    }
    ck_assert_uint_eq(id_table_count(&table) + table.evicted, taken);
    id_table_release(&table);
}
END_TEST

/* Compared with a plain array, with ids that appear, recur and expire at random. */
START_TEST(it_agrees_with_a_model)
{
    enum { IDS = 3000, STEPS = 200000, REMEMBER = 50 };
    struct id_table table;
    id_table_init(&table, MIB, true, REMEMBER, 3, NULL);
    uint32_t *seen = calloc(IDS, sizeof *seen);
    uint64_t *words = calloc(IDS, sizeof *words);
    srandom(1);
    for (uint32_t step = 0; step < STEPS; step++) {
        uint32_t second = 1 + step / 500;
        size_t i = (size_t)random() % IDS;
        bool known = seen[i] && second - seen[i] <= REMEMBER;
        if (random() % 3 == 0) {
            struct id_entry *entry = id_table_put(&table, id(i), second);
            ck_assert_uint_eq(word_of(&table, entry), known ? words[i] : 0);
            id_table_more(&table, entry)->word = words[i] = step + 1;
            seen[i] = second;
        } else {
            struct id_entry *entry = id_table_find(&table, id(i), second);
            ck_assert_int_eq(entry != NULL, known);
            ck_assert(!entry || word_of(&table, entry) == words[i]);
        }
    }
    free(seen);
    free(words);
    id_table_release(&table);
}
END_TEST

SUITE_MAIN("id_table", what_was_put_is_found_while_it_grows, ids_in_a_row_are_as_good_as_any,
           an_entry_expires_unless_it_is_put_again, past_the_ceiling_the_oldest_last_seen_give_way,
           of_ids_that_share_a_second_the_last_ones_stay,
           a_lower_limit_evicts_the_oldest_and_frees_their_memory,
           expired_entries_give_way_without_being_counted,
           a_full_budget_stops_its_growth_and_not_its_work,
           it_leaves_a_share_of_the_budget_to_requests,
           ids_that_all_belong_at_the_end_of_a_shard_are_taken,
           an_entry_takes_at_most_24_bytes_however_many_there_are, it_agrees_with_a_model)
