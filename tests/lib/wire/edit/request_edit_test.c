#include "lib/wire/edit/request_edit.h"

#include "lib/wire/otlp/otlp.h"
#include "lib/wire/otlp/otlp_span.h"
#include "tests/support/proto_build.h"
#include "tests/support/suite.h"

#include <stdio.h>

static struct arena arena;
static struct splice splice;
static uint8_t out[1 << 15];

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

/* Entries with a schema URL at the end, in front, twice and not at all. */
static struct view schemas(void)
{
    struct view span = PB_SPAN(PB_TEXT(5, "x"));
    return PB_JOIN(
        PB_MESSAGE(1, PB_EMPTY(1), PB_MESSAGE(2, span, PB_TEXT(3, "old")), PB_TEXT(3, "old")),
        PB_MESSAGE(1, PB_TEXT(3, "old"), PB_MESSAGE(2, PB_TEXT(3, "old"), span)),
        PB_MESSAGE(1, PB_TEXT(3, "a"), PB_MESSAGE(2, PB_TEXT(3, "a"), span, PB_TEXT(3, "old")),
                   PB_TEXT(3, "old")),
        PB_MESSAGE(1, PB_MESSAGE(2, span)));
}

static enum edit_verdict set_schemas(void *ctx, struct request_edit *at, enum edit_level level)
{
    (void)level;
    request_edit_set_schema(at, EDIT_RESOURCE, view_of(ctx));
    request_edit_set_schema(at, EDIT_SCOPE, view_of(ctx));
    ck_assert(view_eq(request_edit_schema(at, EDIT_RESOURCE), view_of(ctx)));
    ck_assert(view_eq(request_edit_schema(at, EDIT_SCOPE), view_of(ctx)));
    return EDIT_KEEP;
}

static void has_schema(struct view entry, const char *want)
{
    struct proto_field field;
    bool there = proto_find(entry, 3, WIRE_LEN, &field);
    ck_assert(view_eq(there ? field.bytes : VIEW(""), view_of(want)));
}

START_TEST(a_step_sets_schema_urls)
{
    static const char *const urls[] = {"new", "", "old"};
    for (size_t i = 0; i < 6; i++) {
        struct request_edit edit = {.signal = SIGNAL_TRACES,
                                    .levels = EDIT_BIT(i % 2 ? EDIT_ITEM : EDIT_SCOPE),
                                    .late_heads = true,
                                    .step = set_schemas,
                                    .ctx = (void *)urls[i / 2]};
        struct otlp_walk walk;
        unsigned scopes = 0;
        otlp_walk_begin(&walk, SIGNAL_TRACES, run(&edit, schemas(), true));
        for (enum otlp_step step; (step = otlp_walk_next(&walk)) != OTLP_END;) {
            if (step == OTLP_RESOURCE)
                has_schema(walk.resource_entry.bytes, urls[i / 2]);
            if (step == OTLP_SCOPE)
                has_schema(walk.scope_entry.bytes, urls[i / 2]);
            scopes += step == OTLP_SCOPE;
        }
        ck_assert_uint_eq(scopes, 4);
    }
}
END_TEST

START_TEST(a_schema_url_that_is_the_same_changes_nothing)
{
    struct request_edit edit = {.signal = SIGNAL_TRACES,
                                .levels = EDIT_BIT(EDIT_SCOPE),
                                .late_heads = true,
                                .step = set_schemas,
                                .ctx = "schema"};
    struct view same = PB_MESSAGE(1, PB_MESSAGE(2, PB_TEXT(3, "schema")), PB_TEXT(3, "schema"));
    run(&edit, same, true);
    ck_assert(!splice_any(&splice));
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

/* Attributes as SDKs write them, twice the same key, a long one, and one with its value in front.
 */
static struct view many_attributes(void)
{
    static char text[200];
    memset(text, 'x', sizeof text - 1);
    struct view odd = PB_MESSAGE(9, PB_MESSAGE(2, PB_TEXT(1, "1")), PB_TEXT(1, "odd"));
    return PB_MESSAGE(
        1, PB_MESSAGE(1, pb_attribute(1, "a", "r"), pb_attribute(1, "sought", "r")),
        PB_MESSAGE(2,
                   PB_SPAN(pb_attribute(9, "a", "1"), pb_attribute(9, "sought", "2"),
                           pb_attribute(9, "c", "3"), odd, pb_attribute(9, "long", text),
                           pb_attribute(9, "sought", "4"), PB_TEXT(5, "x"),
                           pb_attribute(9, "d", "5")),
                   PB_SPAN(PB_TEXT(5, "without"))));
}

enum { SETS, ADDS, REMOVES, COUNTS, FINDS, NAMES, READS, USES };

/* Uses of a record: of keys that pass the sieve, and of what it holds back. */
static enum edit_verdict use(void *ctx, struct request_edit *at, enum edit_level level)
{
    const int uses = *(const int *)ctx;
    struct record *record = &at->records[level];
    struct value value = value_string(VIEW("new"));
    if (uses == FINDS)
        ck_assert_int_eq(record_find(record, VIEW("c")) != NULL,
                         record_find(record, VIEW("d")) != NULL);
    if (uses != ADDS)
        attributes_set(record_sought(record), VIEW("sought"), &value);
    if (uses == ADDS || uses == COUNTS)
        attributes_set(record_sought(record), VIEW("added"), &value);
    if (uses == REMOVES || uses == COUNTS)
        attributes_delete(record_sought(record), VIEW("sought"));
    if (uses == COUNTS) {
        value = value_int((int64_t)attributes_count(record_attributes(record)));
        attributes_set(record_attributes(record), VIEW("count"), &value);
    }
    if (uses == FINDS && record_attribute(record, VIEW("c"), &value))
        attributes_set(record_sought(record), VIEW("added"), &value);
    if (uses == NAMES && level == EDIT_ITEM)
        record_set_bytes(record, 5, VIEW("renamed"));
    if (uses == READS)
        ck_assert(attributes_map(record_attributes(record)).bytes.data);
    return EDIT_KEEP;
}

START_TEST(a_sieve_changes_no_result)
{
    struct key_sieve sieves[EDIT_LEVELS] = {0};
    for (int level = 0; level < EDIT_LEVELS; level++) {
        key_sieve_add(&sieves[level], VIEW("sought"));
        key_sieve_add(&sieves[level], VIEW("added"));
    }
    for (int uses = 0; uses < USES; uses++) {
        static uint8_t plain[sizeof out];
        struct request_edit edit = {.signal = SIGNAL_TRACES,
                                    .levels = EDIT_BIT(EDIT_RESOURCE) | EDIT_BIT(EDIT_ITEM),
                                    .step = use,
                                    .ctx = &uses};
        struct request_edit sifted = edit;
        sifted.sieves = sieves;
        struct view all = run(&edit, many_attributes(), true);
        memcpy(plain, all.data, all.size);
        ck_assert(view_eq(run(&sifted, many_attributes(), true), (struct view){plain, all.size}));
    }
}
END_TEST

START_TEST(attributes_that_do_not_pass_the_sieve_are_left_out)
{
    struct key_sieve sieve = {0};
    struct key_cells cells;
    struct view span = PB_SPAN(pb_attribute(9, "a", "1"), pb_attribute(9, "sought", "2"),
                               pb_attribute(9, "c", "3"), pb_fixed32(16, 1));
    struct proto_scan scan = proto_scan_begin(span);
    struct proto_field field;
    struct record record = {0};
    arena_init(&arena, 1 << 20);
    key_sieve_add(&sieve, VIEW("sought"));
    ck_assert(proto_scan_next(&scan, &field));
    record_begin(&record, &field, 9, NULL, &arena);
    key_cells_make(&cells, &sieve);
    record_index(&record, &cells, false);
    ck_assert_uint_eq(attributes_count(record_sought(&record)), 1);
    ck_assert_uint_eq(attributes_count(record_attributes(&record)), 3);
    ck_assert_uint_eq(attributes_count(record_sought(&record)), 3);
    arena_release(&arena);
}
END_TEST

/* Spans of which the check notes where the attributes are, one of which it does not, and a key at
 * the request's very end. */
static struct view noted_spans(void)
{
    static const char *const keys[] = {"c", "d"};
    static struct view made;
    struct view many = VIEW(""), event = PB_MESSAGE(11, PB_TEXT(2, "event"));
    for (int i = 0; i < 300 && !made.data; i++)
        many = PB_JOIN(many, pb_attribute(9, i % 7 ? keys[i % 2] : "sought", i % 5 ? "" : "text"));
    if (!made.data)
        made = PB_MESSAGE(
            1, PB_MESSAGE(1, pb_attribute(1, "a", "r")),
            PB_MESSAGE(
                2,
                PB_SPAN(PB_TEXT(5, "first"), pb_attribute(9, "a", "1"), pb_attribute(9, "", "2")),
                PB_SPAN(pb_fill(3, 300, 't'), many, PB_TEXT(5, "x"), pb_varint(6, 2), event),
                PB_SPAN(pb_attribute(9, "sought", "1"), PB_TEXT(5, "x"), pb_attribute(9, "e", "2")),
                PB_SPAN(PB_TEXT(5, "one"), pb_attribute(9, "e", "1"), PB_TEXT(5, "last")),
                PB_MESSAGE(2, pb_attribute(9, "added", "1"), pb_fill(1, 16, 1), pb_fill(2, 8, 1)),
                PB_SPAN(pb_attribute(9, "e", ""), pb_attribute(9, "", ""))));
    return made;
}

/* The notes of the check; *placed: how many have the places of attributes. */
static struct bytes notes_on(struct view request, size_t *placed)
{
    struct otlp_notes notes;
    struct proto_fault fault;
    struct otlp_found found;
    otlp_notes_begin(&notes, request, NULL);
    ck_assert(otlp_check_all(SIGNAL_TRACES, request, &notes, &found, &fault));
    ck_assert(!notes.failed);
    const struct otlp_span_note *rows = (const void *)notes.rows.data;
    *placed = 0;
    for (uint32_t i = 0; i < found.items; i++)
        *placed += rows[i].attributes_end > 0;
    return notes.rows;
}

/* Runs a use of each record, with or without the notes, and copies what it makes. */
static struct view with_notes(int uses, struct view notes, const struct key_sieve *sieves,
                              bool late_heads, uint8_t *copy)
{
    struct request_edit edit = {.signal = SIGNAL_TRACES,
                                .levels = EDIT_BIT(EDIT_RESOURCE) | EDIT_BIT(EDIT_ITEM),
                                .step = use,
                                .ctx = &uses,
                                .sieves = sieves,
                                .late_heads = late_heads,
                                .notes = notes};
    struct view made = run(&edit, noted_spans(), true);
    memcpy(copy, made.data, made.size);
    return (struct view){copy, made.size};
}

START_TEST(a_note_changes_no_result)
{
    static uint8_t plain[sizeof out], noted[sizeof out];
    struct key_sieve sieves[EDIT_LEVELS] = {0};
    size_t placed;
    struct bytes notes = notes_on(noted_spans(), &placed);
    ck_assert_uint_eq(placed, 5);
    for (int level = 0; level < EDIT_LEVELS; level++) {
        key_sieve_add(&sieves[level], VIEW("sought"));
        key_sieve_add(&sieves[level], VIEW("added"));
    }
    for (int uses = 0; uses < USES; uses++)
        for (int late = 0; late < 2; late++) {
            struct view want = with_notes(uses, VIEW(""), NULL, late, plain);
            ck_assert(view_eq(with_notes(uses, bytes_view(&notes), NULL, late, noted), want));
            ck_assert(view_eq(with_notes(uses, bytes_view(&notes), sieves, late, noted), want));
        }
    bytes_release(&notes);
}
END_TEST

static enum edit_verdict read_fields(void *ctx, struct request_edit *at, enum edit_level level)
{
    struct record *record = &at->records[level];
    struct proto_scan scan = proto_scan_begin(record->body);
    struct proto_field each, last[18] = {0}, field;
    unsigned *spans = ctx;
    while (proto_scan_next(&scan, &each))
        last[each.number] = each;
    /* In another order for each span: the name is known without a scan, until one is made. */
    for (uint32_t i = 0, first = *spans % 2 ? 5 : 16; i < 18; i++) {
        uint32_t number = (first + i) % 18;
        bool there = number != 9 && last[number].start;
        ck_assert(number == 9 || record_get(record, number, &field) == there);
        ck_assert(!there || (field.start == last[number].start && field.end == last[number].end &&
                             field.value == last[number].value));
    }
    ++*spans;
    return EDIT_KEEP;
}

START_TEST(fields_beside_noted_attributes_are_found)
{
    size_t placed;
    unsigned spans = 0;
    struct bytes notes = notes_on(noted_spans(), &placed);
    struct request_edit edit = {.signal = SIGNAL_TRACES,
                                .levels = EDIT_BIT(EDIT_ITEM),
                                .step = read_fields,
                                .ctx = &spans,
                                .notes = bytes_view(&notes)};
    run(&edit, noted_spans(), true);
    ck_assert_uint_eq(spans, 6);
    bytes_release(&notes);
}
END_TEST

/* Sets what it makes in the arena, and leaves `*ctx` bytes there that nobody uses. */
static enum edit_verdict make_much(void *ctx, struct request_edit *at, enum edit_level level)
{
    const size_t waste = *(const size_t *)ctx;
    struct record *span = &at->records[level];
    struct proto_field name;
    ck_assert(record_get(span, 5, &name));
    unsigned number = name.bytes.data[0];
    char *text = arena_text(&arena, VIEW("name 0 of its resource"));
    void *wasted = arena_alloc(&arena, waste);
    ck_assert(text && wasted);
    memset(wasted, 0xa5, waste);
    text[5] = (char)number;
    struct value value = value_string(view_of(text));
    attributes_set(record_attributes(span), VIEW("made"), &value);
    if (number % 3 == 0)
        record_set_bytes(span, 5, view_of(text));
    /* What is around it is read late, so that it is made between others. */
    if (number % 4 == 0 &&
        attributes_get(record_attributes(&at->records[EDIT_RESOURCE]), VIEW("shop"), &value))
        attributes_set(record_attributes(span), VIEW("shop"), &value);
    return number % 7 == 0 ? EDIT_DROP : EDIT_KEEP;
}

START_TEST(what_is_made_for_an_item_is_freed_with_it)
{
    enum { SPANS = 200 };
    static uint8_t plain[sizeof out];
    struct bytes spans;
    bytes_init(&spans, SIZE_MAX, NULL);
    for (int i = 0; i < SPANS; i++) {
        char name[] = {(char)('0' + i % 64), '\0'};
        bytes_append_view(&spans, PB_SPAN(PB_MESSAGE(5, view_of(name)), pb_attribute(9, "a", "1")));
    }
    struct view request = PB_MESSAGE(1, PB_MESSAGE(1, pb_attribute(1, "shop", "x")),
                                     PB_MESSAGE(2, bytes_view(&spans)));
    size_t waste = 1;
    struct request_edit edit = {
        .signal = SIGNAL_TRACES, .levels = EDIT_BIT(EDIT_ITEM), .step = make_much, .ctx = &waste};
    struct request_edit wasteful = edit;
    struct view made = run(&edit, request, true);
    memcpy(plain, made.data, made.size);
    waste = 32 << 10; /* of the arena's 1 MiB */
    ck_assert(view_eq(run(&wasteful, request, true), (struct view){plain, made.size}));
    bytes_release(&spans);
}
END_TEST

/* Sets what it makes in its record and, with late heads, in those around it; the rest of what it
 * makes nobody uses. */
static enum edit_verdict make_at_all_levels(void *ctx, struct request_edit *at,
                                            enum edit_level level)
{
    const size_t waste = *(const size_t *)ctx;
    static const char *const keys[] = {"resource", "scope", "item", "point"};
    struct record *record = &at->records[level];
    char made[40];
    snprintf(made, sizeof made, "made of %s %zu", keys[level], record->body.size);
    char *text = arena_text(&arena, view_of(made));
    void *wasted = arena_alloc(&arena, waste);
    ck_assert(text && wasted);
    memset(wasted, 0xa5, waste);
    struct value value = value_string(view_of(text));
    for (int above = at->late_heads ? 0 : (int)level; above <= (int)level; above++)
        attributes_set(record_attributes(&at->records[above]), view_of(keys[level]), &value);
    if (at->late_heads && level == EDIT_ITEM)
        request_edit_set_schema(at, EDIT_RESOURCE, view_of(text));
    return EDIT_KEEP;
}

START_TEST(what_is_made_for_a_record_of_any_level_is_freed_with_it)
{
    enum { RESOURCES = 8, SPANS = 6, EVENTS = 4 };
    static uint8_t plain[sizeof out];
    struct bytes resources;
    bytes_init(&resources, SIZE_MAX, NULL);
    for (int r = 0; r < RESOURCES; r++) {
        struct bytes spans;
        bytes_init(&spans, SIZE_MAX, NULL);
        for (int s = 0; s < SPANS; s++) {
            struct bytes events;
            bytes_init(&events, SIZE_MAX, NULL);
            for (int e = 0; e < EVENTS; e++)
                bytes_append_view(&events,
                                  PB_MESSAGE(11, PB_MESSAGE(2, view_of(&"eventful"[(r + e) % 8]))));
            bytes_append_view(
                &spans, PB_SPAN(PB_MESSAGE(5, view_of(&"spanning"[s % 8])), bytes_view(&events)));
            bytes_release(&events);
        }
        bytes_append_view(
            &resources,
            PB_MESSAGE(1, PB_MESSAGE(1, pb_attribute(1, "shop", "x")),
                       PB_MESSAGE(2, PB_MESSAGE(1, PB_MESSAGE(1, view_of(&"scopes"[r % 6]))),
                                  bytes_view(&spans))));
        bytes_release(&spans);
    }
    for (unsigned i = 2; i < 2 * EDIT_BIT(EDIT_LEVELS); i++) {
        size_t waste = 1;
        struct request_edit edit = {.signal = SIGNAL_TRACES,
                                    .levels = i / 2,
                                    .late_heads = i % 2,
                                    .step = make_at_all_levels,
                                    .ctx = &waste};
        struct request_edit wasteful = edit;
        struct view made = run(&edit, bytes_view(&resources), true);
        memcpy(plain, made.data, made.size);
        waste = 32 << 10; /* of the arena's 1 MiB */
        ck_assert(
            view_eq(run(&wasteful, bytes_view(&resources), true), (struct view){plain, made.size}));
    }
    bytes_release(&resources);
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

SUITE_MAIN("request_edit", a_step_sets_what_is_around_it, a_step_sets_schema_urls,
           a_schema_url_that_is_the_same_changes_nothing, what_is_empty_goes_too,
           every_level_can_be_dropped, a_step_can_abort, unknown_fields_survive,
           a_resource_behind_its_spans_is_put_in_front, a_sieve_changes_no_result,
           attributes_that_do_not_pass_the_sieve_are_left_out,
           what_is_made_for_an_item_is_freed_with_it,
           what_is_made_for_a_record_of_any_level_is_freed_with_it, memory_that_runs_out_is_said,
           a_note_changes_no_result, fields_beside_noted_attributes_are_found)
