#include "lib/wire/edit/request_edit.h"

#include "lib/wire/otlp/otlp.h"
#include "tests/support/proto_build.h"
#include "tests/support/suite.h"

static struct arena arena;
static struct splice splice;
static uint8_t out[4096];

/* Runs an edit and gives what it made, checked. */
static struct view run(struct request_edit *edit, struct view request, bool want)
{
    struct proto_fault fault;
    uint32_t items;
    arena_release(&arena);
    arena_init(&arena, 1 << 20);
    splice_begin(&splice, request, &arena);
    ck_assert_int_eq(request_edit(edit, request, &splice), want);
    if (!want)
        return (struct view){0};
    ck_assert_uint_le(splice_size(&splice), sizeof out);
    splice_write(&splice, out);
    struct view made = {out, splice_size(&splice)};
    ck_assert(otlp_check(edit->signal, made, &items, &fault));
    return made;
}

static struct view two_spans(void)
{
    return PB_MESSAGE(1, PB_MESSAGE(1, pb_attribute(1, "service.name", "shop")),
                      PB_MESSAGE(2, PB_MESSAGE(1, PB_TEXT(1, "scope")),
                                 PB_SPAN(PB_TEXT(5, "one"), PB_MESSAGE(11, PB_TEXT(2, "event"))),
                                 PB_SPAN(PB_TEXT(5, "two"))),
                      PB_TEXT(3, "schema"));
}

static enum edit_verdict name_everything(void *ctx, struct request_edit *at, enum edit_level level)
{
    struct value seen = value_string(VIEW("seen"));
    (void)ctx;
    /* From the innermost record everything around it is set too. */
    for (unsigned above = 0; above <= level; above++)
        attributes_set(record_attributes(&at->records[above]), VIEW("k"), &seen);
    return EDIT_KEEP;
}

START_TEST(a_step_sets_what_is_around_it)
{
    struct request_edit edit = {.signal = SIGNAL_TRACES,
                                .levels = EDIT_BIT(EDIT_POINT),
                                .late_heads = true,
                                .step = name_everything};
    struct view made = run(&edit, two_spans(), true);
    struct otlp_walk walk;
    struct proto_field field, key;
    unsigned spans = 0;
    otlp_walk_begin(&walk, SIGNAL_TRACES, made);
    for (enum otlp_step step; (step = otlp_walk_next(&walk)) != OTLP_END;) {
        if (step == OTLP_RESOURCE)
            ck_assert(view_eq(otlp_resource_attribute(walk.resource_entry.bytes, VIEW("k")),
                              VIEW("seen")));
        if (step == OTLP_SCOPE) {
            ck_assert(proto_find(walk.scope_entry.bytes, 1, WIRE_LEN, &field));
            ck_assert(otlp_attribute_find(field.bytes, 3, VIEW("k"), &key));
        }
        if (step == OTLP_ITEM && spans++ == 0) {
            ck_assert(otlp_attribute_find(walk.item.bytes, 9, VIEW("k"), &key));
            ck_assert(proto_find(walk.item.bytes, 11, WIRE_LEN, &field));
            ck_assert(otlp_attribute_find(field.bytes, 3, VIEW("k"), &key));
        } else if (step == OTLP_ITEM) {
            ck_assert(!otlp_attribute_find(walk.item.bytes, 9, VIEW("k"), &key));
        }
    }
    ck_assert_uint_eq(spans, 2);
}
END_TEST

static enum edit_verdict drop_named(void *ctx, struct request_edit *at, enum edit_level level)
{
    struct proto_field name;
    bool there = record_get(&at->records[level], 5, &name);
    return there && strstr(ctx, "one") && view_eq(name.bytes, VIEW("one"))   ? EDIT_DROP
           : there && strstr(ctx, "two") && view_eq(name.bytes, VIEW("two")) ? EDIT_DROP
                                                                             : EDIT_KEEP;
}

START_TEST(what_is_empty_goes_too)
{
    struct request_edit edit = {
        .signal = SIGNAL_TRACES, .levels = EDIT_BIT(EDIT_ITEM), .step = drop_named, .ctx = "one"};
    struct view made = run(&edit, two_spans(), true);
    ck_assert_uint_eq(edit.items_dropped, 1);
    ck_assert_uint_eq(otlp_count(SIGNAL_TRACES, made), 1);
    struct request_edit both = {.signal = SIGNAL_TRACES,
                                .levels = EDIT_BIT(EDIT_ITEM),
                                .step = drop_named,
                                .ctx = "one two"};
    made = run(&both, two_spans(), true);
    ck_assert_uint_eq(both.items_dropped, 2);
    ck_assert_uint_eq(made.size, 0);
}
END_TEST

static enum edit_verdict drop_all(void *ctx, struct request_edit *at, enum edit_level level)
{
    (void)ctx, (void)at, (void)level;
    return EDIT_DROP;
}

START_TEST(every_level_can_be_dropped)
{
    static const enum edit_level levels[] = {EDIT_RESOURCE, EDIT_SCOPE, EDIT_ITEM};
    for (size_t i = 0; i < 3; i++) {
        struct request_edit edit = {
            .signal = SIGNAL_TRACES, .levels = EDIT_BIT(levels[i]), .step = drop_all};
        ck_assert_uint_eq(run(&edit, two_spans(), true).size, 0);
        ck_assert_uint_eq(edit.items_dropped, 2);
    }
    struct request_edit events = {
        .signal = SIGNAL_TRACES, .levels = EDIT_BIT(EDIT_POINT), .step = drop_all};
    ck_assert_uint_eq(otlp_count(SIGNAL_TRACES, run(&events, two_spans(), true)), 2);
    ck_assert_uint_eq(events.items_dropped, 0);
    ck_assert_uint_eq(events.dropped[EDIT_POINT], 1);
}
END_TEST

static enum edit_verdict abort_it(void *ctx, struct request_edit *at, enum edit_level level)
{
    (void)ctx, (void)at, (void)level;
    return EDIT_ABORT;
}

START_TEST(a_step_can_abort)
{
    struct request_edit edit = {
        .signal = SIGNAL_TRACES, .levels = EDIT_BIT(EDIT_ITEM), .step = abort_it};
    run(&edit, two_spans(), false);
    ck_assert(!splice.failed);
}
END_TEST

START_TEST(unknown_fields_survive)
{
    struct view request = PB_MESSAGE(
        1, PB_MESSAGE(1, pb_attribute(1, "a", "b"), PB_TEXT(99, "kept")), PB_TEXT(77, "kept too"),
        PB_MESSAGE(2, PB_SPAN(PB_TEXT(5, "x"), pb_varint(1000, 5))));
    struct request_edit edit = {.signal = SIGNAL_TRACES,
                                .levels = EDIT_BIT(EDIT_ITEM),
                                .late_heads = true,
                                .step = name_everything};
    struct view made = run(&edit, request, true);
    struct proto_field entry, field, inner;
    ck_assert(proto_find(made, 1, WIRE_LEN, &entry));
    ck_assert(proto_find(entry.bytes, 77, WIRE_LEN, &field));
    ck_assert(proto_find(entry.bytes, 1, WIRE_LEN, &field));
    ck_assert(proto_find(field.bytes, 99, WIRE_LEN, &inner));
    ck_assert(proto_find(entry.bytes, 2, WIRE_LEN, &field));
    ck_assert(proto_find(field.bytes, 2, WIRE_LEN, &inner));
    ck_assert(proto_find(inner.bytes, 1000, WIRE_VARINT, &field));
}
END_TEST

START_TEST(a_resource_behind_its_spans_is_put_in_front)
{
    struct view late = PB_MESSAGE(1, PB_MESSAGE(2, PB_SPAN(PB_TEXT(5, "x")), PB_EMPTY(1)),
                                  PB_MESSAGE(1, pb_attribute(1, "a", "1")),
                                  PB_MESSAGE(1, pb_attribute(1, "b", "2")));
    ck_assert(request_in_order(two_spans()));
    ck_assert(!request_in_order(late));
    arena_init(&arena, 1 << 20);
    struct view ordered = request_put_in_order(late, &arena);
    struct proto_field entry;
    ck_assert(request_in_order(ordered));
    ck_assert(proto_find(ordered, 1, WIRE_LEN, &entry));
    ck_assert(view_eq(otlp_resource_attribute(entry.bytes, VIEW("a")), VIEW("1")));
    ck_assert(view_eq(otlp_resource_attribute(entry.bytes, VIEW("b")), VIEW("2")));
    ck_assert_uint_eq(otlp_count(SIGNAL_TRACES, ordered), 1);
    arena_release(&arena);
}
END_TEST

START_TEST(memory_that_runs_out_is_said)
{
    struct view request = two_spans();
    bool fits = false;
    for (size_t cap = 0; !fits; cap += 16) {
        struct request_edit edit = {.signal = SIGNAL_TRACES,
                                    .levels = EDIT_BIT(EDIT_POINT),
                                    .late_heads = true,
                                    .step = name_everything};
        arena_init(&arena, cap);
        splice_begin(&splice, request, &arena);
        fits = request_edit(&edit, request, &splice);
        ck_assert(fits || splice.failed);
        arena_release(&arena);
        ck_assert_uint_lt(cap, 1 << 20);
    }
}
END_TEST

SUITE_MAIN("request_edit", a_step_sets_what_is_around_it, what_is_empty_goes_too,
           every_level_can_be_dropped, a_step_can_abort, unknown_fields_survive,
           a_resource_behind_its_spans_is_put_in_front, memory_that_runs_out_is_said)
