#include "lib/wire/proto/splice.h"

#include "tests/support/proto_build.h"
#include "tests/support/suite.h"

#include <stdlib.h>

enum { ENTRIES = 4, ENTRY = 40000 };

static struct budget budget;
static struct arena arena;
static struct splice splice;
static struct buffer *source;
static struct proto_field entries[ENTRIES];

/* Entries with one long text each. */
static void begin(void)
{
    struct view message = {0};
    for (size_t i = 0; i < ENTRIES; i++)
        message = PB_JOIN(message, PB_MESSAGE(1, pb_fill(2, ENTRY, (uint8_t)('a' + i))));
    budget_init(&budget, 1 << 20);
    arena_init(&arena, 1 << 20);
    source = buffer_new(message.size, &budget, false);
    memcpy(source->data, message.data, message.size);
    splice_begin(&splice, buffer_view(source), &arena);
    struct proto_scan scan = proto_scan_begin(buffer_view(source));
    for (size_t i = 0; i < ENTRIES; i++)
        ck_assert(proto_scan_next(&scan, &entries[i]));
}

/* The result, compared with splice_write's. Releases the source. */
static struct buffer *result(void)
{
    uint8_t *want = malloc(splice_size(&splice) + 1);
    splice_write(&splice, want);
    struct buffer *made = splice_buffer(&splice, source), *flat = buffer_flat(made);
    ck_assert(view_eq(buffer_view(flat), (struct view){want, splice_size(&splice)}));
    buffer_unref(flat);
    free(want);
    buffer_unref(source);
    arena_release(&arena);
    return made;
}

static void insert_into(size_t entry, const uint8_t *at)
{
    splice_enter(&splice, &entries[entry]);
    splice_insert(&splice, at, VIEW("\x1a\x03new"));
    splice_leave(&splice);
}

START_TEST(what_no_edit_touches_is_shared)
{
    begin();
    size_t charged = budget_used(&budget);
    insert_into(0, entries[0].bytes.data);
    insert_into(2, entries[2].end);
    struct buffer *made = result();
    ck_assert_uint_gt(buffer_run_count(made), 1);
    ck_assert_uint_lt(budget_used(&budget), charged + 100);
    buffer_unref(made);
    ck_assert_uint_eq(budget_used(&budget), 0);
}
END_TEST

START_TEST(edits_at_both_ends_and_deletions_between_hold)
{
    begin();
    splice_delete(&splice, entries[0].start, entries[0].end);
    splice_replace(&splice, entries[3].end - 10, entries[3].end, VIEW("0123456789"));
    buffer_unref(result());
    ck_assert_uint_eq(budget_used(&budget), 0);
}
END_TEST

START_TEST(a_small_rest_does_not_keep_the_whole_in_memory)
{
    begin();
    splice_delete(&splice, entries[0].start, entries[2].end);
    struct buffer *made = result();
    ck_assert_uint_eq(buffer_run_count(made), 1);
    ck_assert_uint_lt(budget_used(&budget), 2 * ENTRY);
    buffer_unref(made);
    ck_assert_uint_eq(budget_used(&budget), 0);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        what_no_edit_touches_is_shared,
        edits_at_both_ends_and_deletions_between_hold,
        a_small_rest_does_not_keep_the_whole_in_memory,
        NULL,
    };
    return suite_run("splice_buffer", tests);
}
