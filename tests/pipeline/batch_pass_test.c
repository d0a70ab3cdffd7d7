#include "pipeline/batch_pass.h"

#include "lib/wire/otlp/otlp.h"
#include "lib/wire/otlp/otlp_span.h"
#include "pipeline/otlp_request.h"
#include "tests/support/proto_build.h"
#include "tests/support/suite.h"

static struct budget budget;

enum { SPAN_START = 7, SPAN_END = 8 };

static struct view span(uint8_t id, struct view attributes)
{
    uint8_t ids[16] = {id};
    struct view trace = {ids, 16}, own = {ids, 8};
    return PB_MESSAGE(2, PB_MESSAGE(1, trace), PB_MESSAGE(2, own), pb_fill(5, 150, 'n'),
                      pb_fixed64(SPAN_END, id), pb_fixed64(SPAN_END, 10 + id), attributes);
}

/* A batch with notes, as a receiver makes it. */
static struct batch *traces(void)
{
    struct otlp_request request;
    struct bytes body;
    struct view made =
        PB_MESSAGE(1, PB_MESSAGE(1, pb_attribute(1, "service.name", "shop")),
                   PB_MESSAGE(2, span(1, pb_attribute(9, "a", "1")), span(2, VIEW("")),
                              span(3, pb_attribute(9, "a", "3"))));
    budget_init(&budget, 1 << 30);
    bytes_init(&body, 1 << 20, &budget);
    bytes_append_view(&body, made);
    otlp_request_read(SIGNAL_TRACES, false, &body, &request);
    ck_assert_ptr_nonnull(request.batch);
    ck_assert_ptr_nonnull(request.batch->notes);
    return request.batch;
}

/* Every note of a batch is at its span. */
static void check_notes(const struct batch *batch, uint32_t spans)
{
    struct view request = buffer_view(batch->payload), rows = buffer_view(batch->notes);
    struct otlp_walk walk;
    size_t count = 0;
    ck_assert_uint_eq(rows.size / sizeof(struct otlp_span_note), spans);
    otlp_walk_begin(&walk, SIGNAL_TRACES, request);
    for (enum otlp_step step; (step = otlp_walk_next(&walk)) != OTLP_END;)
        if (step == OTLP_ITEM) {
            struct otlp_span found;
            const struct otlp_span_note *note =
                otlp_note_find(rows, count++, request, walk.item.bytes);
            ck_assert_ptr_nonnull(note);
            otlp_span_read(walk.item.bytes, &found);
            ck_assert_uint_eq(note->id, span_id_load(found.span_id.data));
        }
    ck_assert_uint_eq(count, spans);
}

static enum edit_verdict add(const struct pass_step *step, struct request_edit *at,
                             enum edit_level level)
{
    struct value value = value_string(VIEW("a text that makes the length of a span longer, so that "
                                           "it takes two bytes, and all behind it moves on"));
    attributes_set(record_attributes(&at->records[level]), view_of(step->self), &value);
    return EDIT_KEEP;
}

static enum edit_verdict drop_a(const struct pass_step *step, struct request_edit *at,
                                enum edit_level level)
{
    struct value value;
    (void)step;
    bool there = record_attribute(&at->records[level], VIEW("a"), &value);
    return there && view_eq(value.bytes, VIEW("1")) ? EDIT_DROP : EDIT_KEEP;
}

START_TEST(notes_move_with_their_spans)
{
    struct batch *batch = traces(), *made;
    struct pass_drops dropped;
    struct pass_step steps[] = {
        {.levels = EDIT_BIT(EDIT_RESOURCE), .run = add, .self = "resource"},
        {.levels = EDIT_BIT(EDIT_ITEM), .run = add, .self = "item"},
        {.levels = EDIT_BIT(EDIT_ITEM), .run = drop_a, .drops = true},
    };
    check_notes(batch, 3);
    ck_assert(pass_joins(steps, 1, &steps[1]) && pass_joins(steps, 2, &steps[2]));
    ck_assert_int_eq(batch_pass_run(batch, steps, 3, &made, &dropped), PASS_DONE);
    ck_assert_uint_eq(dropped.items, 1);
    ck_assert_uint_eq(made->items, 2);
    check_notes(made, 2);
    batch_unref(made);
    batch_unref(batch);
}
END_TEST

START_TEST(a_timed_pass_gives_the_same)
{
    struct batch *batch = traces(), *plain, *timed;
    struct pass_drops dropped;
    struct pass_step steps[] = {
        {.levels = EDIT_BIT(EDIT_ITEM), .run = add, .self = "item"},
        {.levels = EDIT_BIT(EDIT_ITEM), .run = drop_a, .drops = true},
    };
    ck_assert_int_eq(batch_pass_run(batch, steps, 2, &plain, &dropped), PASS_DONE);
    ck_assert_uint_eq(steps[0].sampled_ns + steps[1].sampled_ns, 0);
    steps[0].timed = true;
    ck_assert_int_eq(batch_pass_run(batch, steps, 2, &timed, &dropped), PASS_DONE);
    ck_assert(view_eq(buffer_view(plain->payload), buffer_view(timed->payload)));
    batch_unref(timed);
    batch_unref(plain);
    batch_unref(batch);
}
END_TEST

START_TEST(a_profiled_span_loses_its_note)
{
    struct batch *batch = traces(), *made;
    struct pass_drops dropped;
    struct pass_step step = {
        .levels = EDIT_BIT(EDIT_ITEM), .run = add, .self = "pyroscope.profile.id"};
    ck_assert_int_eq(batch_pass_run(batch, &step, 1, &made, &dropped), PASS_DONE);
    ck_assert_ptr_null(made->notes);
    batch_unref(made);
    batch_unref(batch);
}
END_TEST

START_TEST(a_second_pass_reads_what_the_first_made)
{
    struct batch *batch = traces(), *first, *with, *without;
    struct pass_drops dropped;
    struct pass_step one = {.levels = EDIT_BIT(EDIT_ITEM), .run = add, .self = "a"},
                     two = {.levels = EDIT_BIT(EDIT_ITEM), .run = add, .self = "b"};
    ck_assert_int_eq(batch_pass_run(batch, &one, 1, &first, &dropped), PASS_DONE);
    const struct otlp_span_note *notes = (const void *)first->notes->data;
    for (size_t i = 0; i < 3; i++)
        ck_assert(!notes[i].attributes && !notes[i].attributes_end && !notes[i].name);
    struct batch *bare =
        batch_new(SIGNAL_TRACES, BATCH_OTLP, buffer_ref(first->payload), first->items, NULL);
    ck_assert_int_eq(batch_pass_run(first, &two, 1, &with, &dropped), PASS_DONE);
    ck_assert_int_eq(batch_pass_run(bare, &two, 1, &without, &dropped), PASS_DONE);
    ck_assert(view_eq(buffer_view(with->payload), buffer_view(without->payload)));
    check_notes(with, 3);
    batch_unref(with);
    batch_unref(without);
    batch_unref(bare);
    batch_unref(first);
    batch_unref(batch);
}
END_TEST

/* The last end counts; there is no start until it is set. */
static enum edit_verdict read_times(const struct pass_step *step, struct request_edit *at,
                                    enum edit_level level)
{
    struct record *span = &at->records[level];
    struct proto_field end;
    (void)step;
    ck_assert_uint_eq(record_fixed64(span, SPAN_START), 0);
    ck_assert(record_get(span, SPAN_END, &end));
    ck_assert_uint_eq(end.value / 10, 1);
    ck_assert_uint_eq(record_fixed64(span, SPAN_END), end.value);
    record_set_fixed64(span, SPAN_START, 5);
    record_clear(span, SPAN_END);
    ck_assert_uint_eq(record_fixed64(span, SPAN_START), 5);
    ck_assert_uint_eq(record_fixed64(span, SPAN_END), 0);
    return EDIT_KEEP;
}

START_TEST(times_are_those_of_the_last_fields_or_as_set)
{
    struct batch *batch = traces(), *made;
    struct pass_drops dropped;
    struct pass_step step = {.levels = EDIT_BIT(EDIT_ITEM), .run = read_times};
    struct batch *bare =
        batch_new(SIGNAL_TRACES, BATCH_OTLP, buffer_ref(batch->payload), batch->items, NULL);
    ck_assert_int_eq(batch_pass_run(batch, &step, 1, &made, &dropped), PASS_DONE);
    batch_unref(made);
    ck_assert_int_eq(batch_pass_run(bare, &step, 1, &made, &dropped), PASS_DONE);
    batch_unref(made);
    batch_unref(bare);
    batch_unref(batch);
}
END_TEST

START_TEST(what_could_see_too_much_has_a_pass_of_its_own)
{
    const struct pass_step resource = {.levels = EDIT_BIT(EDIT_RESOURCE)},
                           item = {.levels = EDIT_BIT(EDIT_ITEM)},
                           both = {.levels = EDIT_BIT(EDIT_ITEM) | EDIT_BIT(EDIT_POINT)},
                           dropper = {.levels = EDIT_BIT(EDIT_ITEM), .drops = true},
                           outward = {.levels = EDIT_BIT(EDIT_ITEM), .reaches_out = true},
                           url = {.levels = EDIT_BIT(EDIT_RESOURCE), .schema_url = VIEW("u")};
    ck_assert(pass_joins(&resource, 1, &resource));
    ck_assert(pass_joins(&url, 1, &item));
    ck_assert(!pass_joins(&resource, 1, &url));
    ck_assert(!pass_joins(&item, 1, &resource));
    ck_assert(!pass_joins(&both, 1, &item));
    ck_assert(!pass_joins(&dropper, 1, &item));
    ck_assert(!pass_joins(&outward, 1, &item));
    ck_assert(!pass_joins(&resource, 1, &outward));
}
END_TEST

SUITE_MAIN("batch_pass", notes_move_with_their_spans, a_timed_pass_gives_the_same,
           a_profiled_span_loses_its_note, a_second_pass_reads_what_the_first_made,
           times_are_those_of_the_last_fields_or_as_set,
           what_could_see_too_much_has_a_pass_of_its_own)
