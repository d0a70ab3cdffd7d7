#include "extensions/status/keep.h"

#include "tests/support/suite.h"

#include <stdlib.h>

#define KIB ((size_t)1 << 10)

/* Bytes that differ by block and compress well. */
static struct view filled(struct bytes *bytes, size_t size, uint8_t with)
{
    bytes_init(bytes, size, NULL);
    bytes_reserve(bytes, size);
    memset(bytes->data, with, size);
    bytes->size = size;
    return bytes_view(bytes);
}

static void add_traces(struct keep *keep, size_t size, uint8_t with)
{
    struct bytes bytes;
    keep_traces(keep, KEPT_LINKED, filled(&bytes, size, with), 3, 1);
    bytes_release(&bytes);
}

static void add_unlinked(struct keep *keep, size_t size, uint8_t with)
{
    struct bytes bytes;
    keep_traces(keep, KEPT_UNLINKED, filled(&bytes, size, with), 3, 1);
    bytes_release(&bytes);
}

static void add_profile(struct keep *keep, size_t size, uint8_t with)
{
    struct bytes bytes;
    const struct kept head = {.kind = KEPT_PPROF, .arrived = 2, .query = strdup("x")};
    keep_profile(keep, &head, filled(&bytes, size, with));
    bytes_release(&bytes);
}

/* First byte and plain size of each that is kept. */
static size_t contents(struct keep *keep, uint8_t *first, size_t *sizes)
{
    size_t count;
    struct bytes plain;
    bytes_init(&plain, 1 << 24, NULL);
    struct kept **list = keep_list(keep, 0, &count);
    for (size_t i = 0; i < count; i++) {
        bytes_clear(&plain);
        ck_assert(kept_open(list[i], &plain));
        ck_assert_uint_eq(plain.size, list[i]->plain);
        first[i] = plain.data[0];
        sizes[i] = plain.size;
    }
    keep_list_free(list, count);
    bytes_release(&plain);
    return count;
}

/* They are no requests and no profiles, and give way as linked traces do. */
START_TEST(figures_are_kept_and_give_way)
{
    struct budget budget;
    struct keep keep;
    struct bytes bytes;
    size_t count, size = 0;
    budget_init(&budget, 1 << 30);
    keep_init(&keep, 256 * KIB, &budget);
    struct view figures = filled(&bytes, KEEP_FIGURES + 40, 9);
    keep_figures(&keep, figures, 5);
    keep_figures(&keep, (struct view){figures.data, 80}, 6);
    struct kept **list = keep_list(&keep, 0, &count);
    ck_assert_uint_eq(count, 2);
    for (size_t i = 0; i < count; i++) {
        ck_assert_int_eq(list[i]->kind, KEPT_FIGURES);
        size += list[i]->plain;
    }
    ck_assert_uint_eq(size, KEEP_FIGURES + 120);
    keep_list_free(list, count);
    for (uint8_t i = 0; i < 8; i++)
        add_traces(&keep, 60 * KIB, i);
    struct keep_reach reach = keep_reach(&keep);
    ck_assert_uint_eq(reach.figures, 5); /* the full block */
    ck_assert_uint_eq(reach.profiles, 0);
    keep_shrink(&keep, 0);
    ck_assert_uint_eq(keep_reach(&keep).figures, 6);
    ck_assert_uint_eq(keep_reach(&keep).requests, 8);
    ck_assert_uint_eq(keep.size, 0);
    bytes_release(&bytes);
    keep_release(&keep);
    ck_assert_uint_eq(budget_used(&budget), 0);
}
END_TEST

START_TEST(requests_share_a_block_until_it_is_full)
{
    struct budget budget;
    struct keep keep;
    uint8_t first[8];
    size_t sizes[8];
    budget_init(&budget, 1 << 24);
    keep_init(&keep, 1 << 20, &budget);
    for (int i = 0; i < 3; i++)
        add_traces(&keep, 30 * KIB, 'a');
    ck_assert_uint_eq(contents(&keep, first, sizes), 2);
    ck_assert_uint_eq(sizes[0], 60 * KIB);
    ck_assert_uint_eq(sizes[1], 30 * KIB);
    add_traces(&keep, 200 * KIB, 'b'); /* larger than a block */
    ck_assert_uint_eq(contents(&keep, first, sizes), 3);
    ck_assert_uint_eq(sizes[2], 200 * KIB);
    keep_release(&keep);
    ck_assert_uint_eq(budget_used(&budget), 0);
}
END_TEST

START_TEST(the_oldest_give_way_at_the_ceiling)
{
    struct budget budget;
    struct keep keep;
    uint8_t first[32];
    size_t sizes[32];
    budget_init(&budget, 1 << 24);
    keep_init(&keep, 256 * KIB, &budget);
    for (uint8_t i = 0; i < 8; i++)
        add_profile(&keep, 60 * KIB, (uint8_t)('a' + i));
    ck_assert_uint_le(keep.size, 256 * KIB);
    ck_assert_uint_eq(contents(&keep, first, sizes), 4);
    ck_assert_int_eq(first[0], 'e');
    ck_assert_int_eq(first[3], 'h');
    ck_assert_uint_eq(keep.reach.requests, 4);
    add_profile(&keep, 300 * KIB, 'x'); /* larger than all there may be */
    ck_assert_uint_eq(keep.refused, 1);
    keep_release(&keep);
    ck_assert_uint_eq(budget_used(&budget), 0);
}
END_TEST

START_TEST(what_is_compressed_is_the_same_and_takes_less)
{
    struct budget budget;
    struct keep keep;
    uint8_t first[32];
    size_t sizes[32];
    budget_init(&budget, 1 << 24);
    keep_init(&keep, 256 * KIB, &budget);
    for (uint8_t i = 0; i < 16; i++) {
        add_profile(&keep, 60 * KIB, (uint8_t)('a' + i));
        while (keep_is_tight(&keep) && keep_pack(&keep))
            continue;
    }
    ck_assert_uint_eq(contents(&keep, first, sizes), 16);
    for (uint8_t i = 0; i < 16; i++) {
        ck_assert_int_eq(first[i], 'a' + i);
        ck_assert_uint_eq(sizes[i], 60 * KIB);
    }
    ck_assert_uint_eq(keep.reach.requests, 0);
    ck_assert_uint_eq(budget_used(&budget), keep.size);
    keep_release(&keep);
    ck_assert_uint_eq(budget_used(&budget), 0);
}
END_TEST

static void add_traces_at(struct keep *keep, uint64_t arrived)
{
    struct bytes bytes;
    keep_traces(keep, KEPT_LINKED, filled(&bytes, 100 * KIB, 'a'), 3, arrived);
    bytes_release(&bytes);
}

START_TEST(it_tells_how_far_back_it_reaches)
{
    struct budget budget;
    struct keep keep;
    budget_init(&budget, 1 << 24);
    keep_init(&keep, 256 * KIB, &budget);
    struct keep_reach reach = keep_reach(&keep);
    ck_assert_uint_eq(reach.oldest, 0);
    ck_assert_uint_eq(reach.whole_since, 0);
    ck_assert_uint_eq(reach.oldest_profile, 0);
    add_profile(&keep, KIB, 'p'); /* arrived at 2 */
    ck_assert_uint_eq(keep_reach(&keep).oldest_profile, 2);
    for (uint64_t at = 5; at <= 7; at++)
        add_traces_at(&keep, at);
    reach = keep_reach(&keep);
    ck_assert_uint_eq(reach.oldest_profile, 0);
    ck_assert_uint_eq(reach.linked_traces, 5);
    ck_assert_uint_eq(reach.oldest, 6);
    ck_assert_uint_eq(reach.whole_since, 5);
    ck_assert_uint_eq(reach.profiles, 2);
    ck_assert_uint_eq(reach.requests, 2);
    ck_assert_uint_eq(reach.for_memory, 0);
    keep_shrink(&keep, 110 * KIB);
    reach = keep_reach(&keep);
    ck_assert_uint_eq(reach.oldest, 7);
    ck_assert_uint_eq(reach.whole_since, 6);
    ck_assert_uint_eq(reach.requests, 3);
    ck_assert_uint_eq(reach.for_memory, 1);
    keep_release(&keep);
}
END_TEST

START_TEST(it_says_what_is_missing_in_spans)
{
    struct budget budget;
    struct keep keep;
    char text[KEEP_TEXT];
    budget_init(&budget, 1 << 24);
    keep_init(&keep, 256 * KIB, &budget);
    struct keep_reach reach = keep_reach(&keep);
    keep_text(&reach, 0, 0, text);
    ck_assert_str_eq(text, "");
    add_traces(&keep, 300 * KIB, 'x');
    for (uint8_t i = 0; i < 4; i++)
        add_traces(&keep, 100 * KIB, i);
    reach = keep_reach(&keep);
    ck_assert_uint_eq(reach.refused_spans, 3);
    ck_assert_uint_eq(reach.spans, 6); /* of two requests */
    keep_text(&reach, 10, 9155, text);
    ck_assert_str_eq(
        text, "3 spans of 1 request were not kept for lack of room: raise keep_mib of the "
              "status extension or, if that is large enough, the memory limit; 9155 spans of "
              "10 requests were skipped, since more came than the extension's share of CPU "
              "time allows");
    keep_release(&keep);
}
END_TEST

/* Somebody who looks keeps what has left, and it is not compressed under the hands. */
START_TEST(who_looks_is_not_disturbed)
{
    struct budget budget;
    struct keep keep;
    size_t count;
    struct bytes plain;
    budget_init(&budget, 1 << 24);
    keep_init(&keep, 256 * KIB, &budget);
    add_profile(&keep, 60 * KIB, 'a');
    struct kept **list = keep_list(&keep, 0, &count);
    ck_assert_uint_eq(count, 1);
    ck_assert(keep_pack(&keep));
    ck_assert(!list[0]->packed);
    keep_shrink(&keep, 0);
    bytes_init(&plain, 1 << 20, NULL);
    ck_assert(kept_open(list[0], &plain));
    ck_assert_int_eq(plain.data[60 * KIB - 1], 'a');
    bytes_release(&plain);
    keep_list_free(list, count);
    ck_assert_uint_eq(budget_used(&budget), 0);
    keep_release(&keep);
}
END_TEST

START_TEST(a_short_budget_makes_the_oldest_go)
{
    struct budget budget;
    struct keep keep;
    uint8_t first[32];
    size_t sizes[32];
    budget_init(&budget, 200 * KIB);
    keep_init(&keep, 1 << 20, &budget);
    for (uint8_t i = 0; i < 8; i++)
        add_profile(&keep, 40 * KIB, (uint8_t)('a' + i));
    ck_assert_uint_le(budget_used(&budget), 200 * KIB);
    size_t count = contents(&keep, first, sizes);
    ck_assert_uint_ge(count, 1);
    ck_assert_int_eq(first[count - 1], 'h');
    keep_release(&keep);
}
END_TEST

/* Older linked traces and profiles outlive newer unlinked traces, which keep a quarter. */
START_TEST(unlinked_traces_give_way_first)
{
    struct budget budget;
    struct keep keep;
    uint8_t first[64];
    size_t sizes[64], linked = 0, unlinked = 0;
    budget_init(&budget, 1 << 24);
    keep_init(&keep, 1024 * KIB, &budget);
    for (uint8_t i = 0; i < 5; i++) {
        add_traces(&keep, 60 * KIB, 'l');
        add_profile(&keep, 60 * KIB, 'p');
    }
    for (uint8_t i = 0; i < 40; i++)
        add_unlinked(&keep, 60 * KIB, (uint8_t)(100 + i));
    size_t count = contents(&keep, first, sizes);
    for (size_t i = 0; i < count; i++) {
        linked += first[i] == 'l' || first[i] == 'p';
        unlinked += first[i] >= 100 && first[i] != 'l' && first[i] != 'p';
    }
    ck_assert_uint_eq(linked, 10);
    ck_assert_uint_ge(unlinked, 4);
    ck_assert_int_eq(first[count - 1], 139);
    for (uint8_t i = 0; i < 40; i++)
        add_profile(&keep, 60 * KIB, (uint8_t)i);
    count = contents(&keep, first, sizes);
    for (size_t i = unlinked = 0; i < count; i++)
        unlinked += first[i] > 100;
    ck_assert_uint_ge(unlinked, 3); /* a quarter, or nearly */
    ck_assert_uint_le(unlinked, 4);
    ck_assert_uint_le(keep.size, 1024 * KIB);
    ck_assert_uint_lt(keep_oldest_block(&keep, KEPT_UNLINKED), keep.serial);
    ck_assert_uint_eq(keep_oldest_block(&keep, KEPT_LINKED), keep.rings[KEPT_LINKED].block->serial);
    keep_release(&keep);
    ck_assert_uint_eq(budget_used(&budget), 0);
}
END_TEST

SUITE_MAIN("status keep", requests_share_a_block_until_it_is_full, figures_are_kept_and_give_way,
           the_oldest_give_way_at_the_ceiling, what_is_compressed_is_the_same_and_takes_less,
           who_looks_is_not_disturbed, a_short_budget_makes_the_oldest_go,
           unlinked_traces_give_way_first, it_says_what_is_missing_in_spans,
           it_tells_how_far_back_it_reaches)
