#include "pipeline/batch_edit.h"

#include "lib/wire/otlp/otlp.h"
#include "tests/support/collecting_sink.h"
#include "tests/support/proto_build.h"
#include "tests/support/some_batch.h"
#include "tests/support/suite.h"

static struct budget budget;

static void setup(struct collecting_sink *sink)
{
    budget_init(&budget, (size_t)64 << 20);
    collecting_sink_init(sink);
}

static void finish(struct collecting_sink *sink, struct batch *batch)
{
    collecting_sink_clear(sink);
    batch_unref(batch);
    ck_assert_uint_eq(budget_used(&budget), 0);
}

/* Deletes the first n spans, and counts them. */
static void drop_spans(struct batch_edit *edit, unsigned n)
{
    struct otlp_walk walk;
    otlp_walk_begin(&walk, SIGNAL_TRACES, edit->request);
    for (enum otlp_step step; (step = otlp_walk_next(&walk)) != OTLP_END;) {
        if (step == OTLP_RESOURCE)
            splice_enter(&edit->splice, &walk.resource_entry);
        else if (step == OTLP_SCOPE)
            splice_enter(&edit->splice, &walk.scope_entry);
        else if (step != OTLP_ITEM)
            splice_leave(&edit->splice);
        else if (n > 0) {
            splice_delete(&edit->splice, walk.item.start, walk.item.end);
            edit->items--;
            n--;
        }
    }
}

START_TEST(what_is_not_edited_passes_as_it_is)
{
    struct collecting_sink sink;
    struct batch_edit edit;
    setup(&sink);
    struct batch *batch = some_spans(0, 3, &budget);
    batch_edit_begin(&edit, batch);
    ck_assert_int_eq(batch_edit_push(&edit, &sink.outlet), VERDICT_OK);
    ck_assert_ptr_eq(sink.batches[0], batch);
    finish(&sink, batch);
}
END_TEST

START_TEST(edits_make_a_new_batch_and_leave_the_old_one)
{
    struct collecting_sink sink;
    struct batch_edit edit;
    struct proto_fault fault;
    uint32_t items;
    setup(&sink);
    struct receipt *receipt = receipt_new(NULL, NULL);
    struct batch *batch = some_spans(0, 3, &budget);
    ck_assert(batch_add_receipt(batch, receipt));
    batch->admitted = true;
    batch_edit_begin(&edit, batch);
    drop_spans(&edit, 1);
    struct batch *edited = batch_edit_end(&edit);
    ck_assert_ptr_ne(edited, batch);
    ck_assert_uint_eq(edited->items, 2);
    ck_assert(edited->admitted);
    ck_assert_uint_eq(edited->receipt_count, 1);
    ck_assert_ptr_eq(edited->receipts[0], receipt);
    ck_assert(otlp_check(SIGNAL_TRACES, buffer_view(edited->payload), &items, &fault));
    ck_assert_uint_eq(items, 2);
    ck_assert(!some_batch_has(edited, 0) && some_batch_has(edited, 2));
    ck_assert(some_batch_has(batch, 0));
    batch_unref(edited);
    receipt_unref(receipt);
    finish(&sink, batch);
}
END_TEST

START_TEST(inserted_bytes_live_until_the_end)
{
    struct collecting_sink sink;
    struct batch_edit edit;
    setup(&sink);
    struct batch *batch = some_spans(0, 1, &budget);
    struct view more = pb_attribute(1, "a", "b");
    batch_edit_begin(&edit, batch);
    uint8_t *room = batch_edit_alloc(&edit, proto_len_size(1, more.size));
    uint8_t *end = proto_bytes_put(proto_len_put(room, 1, more.size), more);
    splice_insert(&edit.splice, edit.request.data, view_between(room, end));
    ck_assert_int_eq(batch_edit_push(&edit, &sink.outlet), VERDICT_OK);
    ck_assert_uint_eq(sink.batches[0]->payload->size, batch->payload->size + (size_t)(end - room));
    finish(&sink, batch);
}
END_TEST

START_TEST(a_batch_without_items_goes_nowhere)
{
    struct collecting_sink sink;
    struct batch_edit edit;
    setup(&sink);
    struct batch *batch = some_spans(0, 2, &budget);
    batch_edit_begin(&edit, batch);
    drop_spans(&edit, 2);
    ck_assert_int_eq(batch_edit_push(&edit, &sink.outlet), VERDICT_OK);
    ck_assert_uint_eq(sink.pushes, 0);
    finish(&sink, batch);
}
END_TEST

START_TEST(the_verdict_of_what_lies_ahead_comes_back)
{
    struct collecting_sink sink;
    struct batch_edit edit;
    setup(&sink);
    struct batch *batch = some_spans(0, 2, &budget);
    sink.verdict = VERDICT_RETRY;
    batch_edit_begin(&edit, batch);
    drop_spans(&edit, 1);
    ck_assert_int_eq(batch_edit_push(&edit, &sink.outlet), VERDICT_RETRY);
    ck_assert_uint_eq(sink.pushes, 1);
    finish(&sink, batch);
}
END_TEST

START_TEST(without_room_nothing_goes_on_and_the_client_may_try_again)
{
    struct collecting_sink sink;
    struct batch_edit edit;
    setup(&sink);
    struct batch *batch = some_spans(0, 2, &budget);
    batch_edit_begin(&edit, batch);
    drop_spans(&edit, 1);
    ck_assert_ptr_null(batch_edit_alloc(&edit, (size_t)64 << 20));
    ck_assert_int_eq(batch_edit_push(&edit, &sink.outlet), VERDICT_RETRY);
    ck_assert_uint_eq(sink.pushes, 0);
    finish(&sink, batch);
}
END_TEST

/* What the intake charged for work is resident beyond its charge when an arena takes it. */
START_TEST(work_that_an_idle_process_has_no_room_for_never_fits)
{
    struct collecting_sink sink;
    struct arena arena;
    size_t most;
    setup(&sink);
    struct batch *batch = some_spans(0, 3, &budget);
    batch_work_begin(batch, &arena);
    arena.starved = arena.full = true;
    arena.taken = (size_t)40 << 20;
    ck_assert(!batch_work_never_fits(batch, &arena, 0, &most));
    arena.covered = (size_t)30 << 20;
    ck_assert(batch_work_never_fits(batch, &arena, 0, &most));
    ck_assert_uint_eq(most, budget_empty(&budget));
    batch->answered = true;
    ck_assert(!batch_work_never_fits(batch, &arena, 0, &most));
    ck_assert(batch_work_never_fits(batch, &arena, (size_t)30 << 20, &most));
    arena.taken = 0;
    arena_release(&arena);
    finish(&sink, batch);
}
END_TEST

/* Inserts n bytes into the first span. */
static struct batch *grow_by(struct batch *batch, size_t n)
{
    struct batch_edit edit;
    struct otlp_walk walk;
    struct view text = pb_fill(2, n, 'x');
    batch_edit_begin(&edit, batch);
    otlp_walk_begin(&walk, SIGNAL_TRACES, edit.request);
    while (otlp_walk_next(&walk) != OTLP_ITEM)
        continue;
    splice_enter(&edit.splice, &walk.resource_entry);
    splice_enter(&edit.splice, &walk.scope_entry);
    splice_insert(&edit.splice, walk.item.start, text);
    splice_leave(&edit.splice);
    splice_leave(&edit.splice);
    return batch_edit_end(&edit);
}

START_TEST(what_a_request_grows_by_needs_room)
{
    struct collecting_sink sink;
    setup(&sink);
    struct batch *batch = some_spans(0, 2, &budget);
    ck_assert_ptr_null(grow_by(batch, (size_t)65 << 20));
    struct batch *grown = grow_by(batch, (size_t)30 << 20);
    ck_assert_uint_gt(budget_used(&budget), 30 << 20);
    ck_assert_ptr_null(grow_by(batch, (size_t)40 << 20));
    batch_unref(grown);
    finish(&sink, batch);
}
END_TEST

START_TEST(a_held_batch_grows_a_little_while_the_charges_are_below_the_limit)
{
    struct collecting_sink sink;
    setup(&sink);
    struct batch *batch = some_spans(0, 2, &budget);
    batch->answered = true;
    budget.beyond = budget.limit;
    ck_assert_ptr_null(grow_by(batch, ARENA_SMALL + 1));
    struct batch *grown = grow_by(batch, 1000);
    ck_assert_ptr_nonnull(grown);
    batch_unref(grown);
    budget_force(&budget, budget.limit);
    ck_assert_ptr_null(grow_by(batch, 1000));
    budget_give(&budget, budget.limit);
    finish(&sink, batch);
}
END_TEST

SUITE_MAIN("batch_edit", what_is_not_edited_passes_as_it_is,
           edits_make_a_new_batch_and_leave_the_old_one, inserted_bytes_live_until_the_end,
           a_batch_without_items_goes_nowhere, the_verdict_of_what_lies_ahead_comes_back,
           without_room_nothing_goes_on_and_the_client_may_try_again,
           work_that_an_idle_process_has_no_room_for_never_fits, what_a_request_grows_by_needs_room,
           a_held_batch_grows_a_little_while_the_charges_are_below_the_limit)
