/* A pass over spans gives the same bytes with the notes of the check as without, and every note
 * agrees with a scan of its span. The first four bytes choose what the passes do and whether the
 * rest is a request or describes one, field by field, so that most of them are spans of SDKs with
 * something odd in them. */
#include "lib/wire/otlp/otlp.h"
#include "lib/wire/proto/proto_write.h"
#include "pipeline/batch_pass.h"
#include "pipeline/otlp_request.h"
#include "tests/support/note_reference.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct budget budget;

static void must(bool truth)
{
    if (!truth)
        abort();
}

/* ---- requests ---- */

struct maker {
    const uint8_t *at, *end;
    struct proto_write write;
};

/* The next choice; 0 once there are no more. */
static unsigned choose(struct maker *maker)
{
    return maker->at < maker->end ? *maker->at++ : 0;
}

static void put(struct maker *maker, struct view bytes)
{
    proto_write_raw(&maker->write, bytes);
}

/* A tag and a length, either of them with more bytes than it needs if its bit of odd is set. */
static void put_head(struct maker *maker, uint32_t number, size_t size, unsigned odd)
{
    uint64_t values[] = {proto_tag(number, WIRE_LEN), size};
    uint8_t head[24], *end = head;
    for (unsigned i = 0; i < 2; i++) {
        end = proto_varint_put(end, values[i]);
        if (!(odd & 1u << i))
            continue;
        end[-1] |= 0x80;
        *end++ = 0;
    }
    put(maker, view_between(head, end));
}

/* So many bytes. */
static void put_text(struct maker *maker, uint32_t number, size_t size, unsigned odd)
{
    static uint8_t text[1 << 16];
    memset(text, 'x', size);
    put_head(maker, number, size, odd);
    put(maker, (struct view){text, size});
}

static struct view key_of(unsigned choice)
{
    static const char *const keys[] = {
        "sought",   "added",     "",        "a",      "a.key.of.20.bytes..x",
        "12345678", "123456789", "1234567", "sought", "pyroscope.profile.id"};
    return view_of(keys[choice % (sizeof keys / sizeof *keys)]);
}

/* The content of an AnyValue. */
static void put_value(struct maker *maker, unsigned kind, size_t size)
{
    static const uint8_t flag[] = {0x10, 1}, number[] = {0x18, 0xc8, 1},
                         real[] = {0x21, 0, 0, 0, 0, 0, 0, 0, 0},
                         long_number[] = {0x18, 0xff, 0xff, 0xff, 0xff, 0xff,
                                          0xff, 0xff, 0xff, 0xff, 1};
    const struct view values[] = {{flag, sizeof flag},
                                  {number, sizeof number},
                                  {real, sizeof real},
                                  {long_number, sizeof long_number},
                                  VIEW("")};
    if (kind < sizeof values / sizeof *values)
        put(maker, values[kind]);
    else
        put_text(maker, kind == 5 ? 7 : kind == 6 ? 6 : 1, kind == 6 ? 0 : size, kind == 7 ? 2 : 0);
}

/* An attribute: its odd bits are those of its own head, its key's and its value's, and, from the
 * seventh on, what its parts are. */
static void put_attribute(struct maker *maker, uint32_t list, unsigned odd, struct view key,
                          unsigned kind, size_t size)
{
    struct bytes inner, value;
    struct maker body = {.write = proto_write_begin(&inner)},
                 any = {.write = proto_write_begin(&value)};
    bytes_init(&inner, 1 << 20, NULL);
    bytes_init(&value, 1 << 20, NULL);
    put_value(&any, kind, size);
    if (odd & 64)
        put_text(&body, 2, 0, 0);
    put_head(&body, 1, key.size, odd >> 2 & 3);
    put(&body, key);
    put_head(&body, 2, value.size, odd >> 4 & 3);
    put(&body, bytes_view(&value));
    if (odd & 128)
        put_text(&body, 3 + odd % 8, 1, 0);
    put_head(maker, list, inner.size, odd & 3);
    put(maker, bytes_view(&inner));
    bytes_release(&inner);
    bytes_release(&value);
}

static void put_ids(struct maker *maker, unsigned odd)
{
    put_text(maker, 1, 16, odd & 3);
    put_text(maker, 2, 8, odd >> 2 & 3);
}

/* An attribute as SDKs write it. */
static void put_usual(struct maker *maker, unsigned choice)
{
    put_attribute(maker, 9, 0, key_of(choice), choice / 10 % 9, choice % 100);
}

static void put_many(struct maker *maker, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        uint8_t key[] = {'k', (uint8_t)('0' + i / 64), (uint8_t)('0' + i % 64)};
        put_attribute(maker, 9, 0, (struct view){key, i % 4}, 8, i % 7);
    }
}

/* Fields that are no attributes and have no lengths. */
static void put_number(struct maker *maker, unsigned choice)
{
    static const uint8_t parts[][12] = {
        {2, 0x30, 2},
        {3, 0x30, 0x82, 0},
        {9, 0x39, 1, 2, 3, 4, 5, 6, 7, 8},
        {9, 0x41, 8, 7, 6, 5},
        {6, 0x85, 1, 0, 3},
        {2, 0x50, 1},
        {4, 0xf0, 0x80, 0, 1},
        {4, 0xb8, 6, 0x80, 0},
        {4, 0x9b, 6, 0x9c, 6},
        {1, 0x4a},
        {2, 0x4b, 0x4c},
        {6, 0xbb, 6, 0x4a, 0, 0xbc, 6},
    };
    const uint8_t *part = parts[choice % (sizeof parts / sizeof *parts)];
    put(maker, (struct view){part + 1, part[0]});
}

static void put_event(struct maker *maker, unsigned choice)
{
    struct bytes inner;
    struct maker body = {.write = proto_write_begin(&inner)};
    bytes_init(&inner, 1 << 20, NULL);
    put_text(&body, 2, choice % 32, choice & 64 ? 2 : 0);
    put_attribute(&body, 3, choice & 128, key_of(choice), 8, choice);
    put_head(maker, 11, inner.size, 0);
    put(maker, bytes_view(&inner));
    bytes_release(&inner);
}

static void put_span(struct maker *maker)
{
    unsigned ids = choose(maker), kind;
    if (!(ids & 128))
        put_ids(maker, ids & 64 ? ids : 0);
    while ((kind = choose(maker) % 16)) {
        unsigned choice = choose(maker);
        if (kind < 6)
            put_usual(maker, choice);
        else if (kind == 6)
            put_attribute(maker, 9, choose(maker), key_of(choice), choice / 10, choice);
        else if (kind == 7)
            put_attribute(maker, 9, choose(maker), key_of(choice), 8, 64 * choice);
        else if (kind == 8)
            put_many(maker, choice & 1 ? 2 * choice : choice % 16);
        else if (kind == 9)
            put_text(maker, 5, choice % 32, choice & 192 ? 0 : choice >> 4);
        else if (kind == 10)
            put_text(maker, choice & 1 ? 3 : 99, 257 * choice, 0);
        else if (kind == 11)
            put_event(maker, choice);
        else if (kind == 12)
            put_text(maker, choice % 17, choice % 19, 0);
        else if (kind == 13)
            put_ids(maker, 0);
        else
            put_number(maker, choice);
    }
}

/* A message whose content is made by choices. */
static void put_message(struct maker *maker, uint32_t number, void (*content)(struct maker *))
{
    struct bytes inner;
    struct maker body = {maker->at, maker->end, proto_write_begin(&inner)};
    bytes_init(&inner, 8 << 20, NULL);
    content(&body);
    maker->at = body.at;
    put_head(maker, number, inner.size, 0);
    put(maker, bytes_view(&inner));
    bytes_release(&inner);
}

/* A Resource or Scope, which the choice may leave out. */
static void put_lead(struct maker *maker, unsigned choice, uint32_t list)
{
    struct bytes inner;
    struct maker body = {.write = proto_write_begin(&inner)};
    bytes_init(&inner, 1 << 20, NULL);
    if (choice & 1)
        put_attribute(&body, list, 0, key_of(choice), 8, choice);
    if (!(choice & 2)) {
        put_head(maker, 1, inner.size, 0);
        put(maker, bytes_view(&inner));
    }
    bytes_release(&inner);
}

static void put_scope(struct maker *maker)
{
    unsigned lead = choose(maker), kind;
    if (!(lead & 4))
        put_lead(maker, lead, 3);
    while ((kind = choose(maker) % 8))
        if (kind < 7)
            put_message(maker, 2, put_span);
        else
            put_text(maker, 7, 1, 0);
    if (lead & 8)
        put_lead(maker, lead, 3);
}

static void put_resource(struct maker *maker)
{
    unsigned lead = choose(maker);
    if (lead & 16)
        put_text(maker, 7, 1, 0);
    if (!(lead & 4))
        put_lead(maker, lead, 1);
    do
        put_message(maker, 2, put_scope);
    while (choose(maker) & 1);
    if (lead & 8)
        put_lead(maker, lead, 1);
}

static void put_request(struct maker *maker)
{
    do
        put_message(maker, 1, put_resource);
    while (choose(maker) & 1);
}

/* ---- passes ---- */

/* What a step does, the same in each pass with the plan. */
struct plan {
    uint32_t seed, records;
};

static unsigned next_choice(struct plan *plan)
{
    uint32_t mixed = (plan->seed + plan->records++) * 2654435761u;
    return mixed >> 16;
}

static struct value number_of(struct record *record, unsigned number)
{
    struct proto_field field;
    bool there = record_get(record, number, &field);
    must(record_fixed64(record, number) == (there ? field.value : 0));
    if (!there)
        return value_int(-1);
    return value_int((int64_t)(field.type == WIRE_LEN ? 1000 * field.bytes.size : field.value));
}

/* Changes of an item. */
static void change_item(struct record *record, unsigned use)
{
    static uint8_t text[200];
    struct value value = value_int((int64_t)attributes_count(record_attributes(record)));
    switch (use % 6) {
    case 0:
        record_set_bytes(record, 5, (struct view){text, use / 16 % sizeof text});
        break;
    case 1:
        record_clear(record, 5);
        break;
    case 2:
        record_set_varint(record, 6, use);
        break;
    default:
        attributes_set(record_attributes(record), VIEW("not sought"), &value);
    }
}

static enum edit_verdict act(const struct pass_step *step, struct request_edit *at,
                             enum edit_level level)
{
    static const uint8_t text[130];
    struct record *record = &at->records[level];
    const unsigned choice = next_choice(step->self), kind = choice % 12;
    struct value value = value_string((struct view){text, choice / 16 % sizeof text});
    if (kind < 5)
        attributes_set(record_sought(record), kind < 3 ? VIEW("sought") : VIEW(""), &value);
    if (kind > 2 && kind < 6)
        attributes_set(record_sought(record), VIEW("added"), &value);
    if (kind == 6 || kind == 4)
        attributes_delete(record_sought(record), VIEW("sought"));
    if (kind == 7 || kind == 8)
        value = number_of(record, choice & 64 ? 5 : choice / 16 % 18);
    if (kind == 7 || (kind == 9 && record_attribute(record, VIEW("12345678"), &value)))
        attributes_set(record_sought(record), VIEW("added"), &value);
    if (kind == 8 || kind == 10)
        attributes_set(record_attributes(record), VIEW("a.key.of.20.bytes..x"), &value);
    if (kind == 11 && level == EDIT_ITEM)
        change_item(record, choice / 16);
    if (step->reaches_out && choice % 5 == 0)
        attributes_set(record_attributes(&at->records[EDIT_RESOURCE]), VIEW("added"), &value);
    return choice % 13 == 0 ? EDIT_SKIP : step->drops && choice % 7 == 0 ? EDIT_DROP : EDIT_KEEP;
}

struct result {
    enum pass_result done;
    struct pass_drops dropped;
    struct batch *batch; /* flat, and with its notes unless it had to be flattened */
};

/* Up to two steps that join. sifted: attributes that they do not look for are left out. */
static struct result pass(struct batch *batch, const uint8_t ops[3], bool sifted)
{
    struct key_sieve sieves[EDIT_LEVELS] = {0};
    for (int level = 0; level < EDIT_LEVELS; level++) {
        key_sieve_add(&sieves[level], VIEW("sought"));
        key_sieve_add(&sieves[level], VIEW("added"));
        key_sieve_add(&sieves[level], VIEW(""));
    }
    struct plan plans[] = {{ops[0], 0}, {(uint32_t)ops[0] << 8, 0}};
    struct pass_step steps[2];
    for (int i = 0; i < 2; i++)
        steps[i] = (struct pass_step){.levels = EDIT_BIT(EDIT_ITEM) | (ops[1] >> (4 * i) & 15),
                                      .run = act,
                                      .self = &plans[i],
                                      .sieves = sifted ? sieves : NULL,
                                      .drops = ops[2] & 1u << i,
                                      .reaches_out = ops[2] & 4u << i,
                                      .timed = ops[2] & 16};
    struct result result;
    size_t count = pass_joins(steps, 1, &steps[1]) ? 2 : 1;
    result.done = batch_pass_run(batch, steps, count, &result.batch, &result.dropped);
    if (result.done == PASS_DONE) {
        struct batch *flat = batch_flat(result.batch);
        batch_unref(result.batch);
        result.batch = flat;
    }
    return result;
}

static void check_notes(const struct batch *batch)
{
    struct view request = buffer_view(batch->payload), rows = buffer_view(batch->notes);
    const struct otlp_span_note *raw = (const void *)rows.data;
    size_t count = rows.size / sizeof *raw, index = 0, place = 0;
    struct otlp_walk walk;
    otlp_walk_begin(&walk, SIGNAL_TRACES, request);
    for (enum otlp_step step; (step = otlp_walk_next(&walk)) != OTLP_END;) {
        if (step != OTLP_ITEM)
            continue;
        struct view body = walk.item.bytes;
        const struct otlp_span_note *note = otlp_note_find(rows, index++, request, body);
        must(!note || note_agrees(note, body));
        while (place < count && request.data + raw[place].at < body.data)
            place++;
        if (place < count && request.data + raw[place].at == body.data)
            must(note_places_agree(&raw[place], body));
    }
    must(!batch->notes || request_in_order(request));
}

/* Both passes over a batch, and what they make. NULL: nothing is left. */
static struct batch *compare(struct batch *batch, const uint8_t ops[3])
{
    struct batch *bare =
        batch_new(SIGNAL_TRACES, BATCH_OTLP, buffer_ref(batch->payload), batch->items, NULL);
    struct result with = pass(batch, ops, ops[2] & 32), without = pass(bare, ops, false);
    must(with.done == without.done && with.dropped.items == without.dropped.items);
    must(with.done == PASS_DONE || with.done == PASS_EMPTY);
    batch_unref(bare);
    if (with.done == PASS_EMPTY)
        return NULL;
    struct proto_fault fault;
    uint32_t items;
    struct view made = buffer_view(with.batch->payload);
    must(view_eq(made, buffer_view(without.batch->payload)));
    must(otlp_check(SIGNAL_TRACES, made, &items, &fault));
    must(items == with.batch->items && items == without.batch->items);
    check_notes(with.batch);
    batch_unref(without.batch);
    return with.batch;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct otlp_request request;
    struct bytes body;
    if (size < 5)
        return 0;
    budget_init(&budget, 1 << 30);
    bytes_init(&body, 16 << 20, &budget);
    struct maker maker = {data + 4, data + size, proto_write_begin(&body)};
    if (data[3] & 1)
        put(&maker, view_between(data + 4, data + size));
    else
        put_request(&maker);
    otlp_request_read(SIGNAL_TRACES, false, &body, &request);
    if (!request.batch)
        return 0;
    check_notes(request.batch);
    struct batch *made = compare(request.batch, data),
                 *again = made ? compare(made, (uint8_t[]){data[1], data[2], data[0]}) : NULL;
    batch_unref(again);
    batch_unref(made);
    batch_unref(request.batch);
    return 0;
}
