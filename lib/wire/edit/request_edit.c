#include "lib/wire/edit/request_edit.h"

#include "lib/wire/edit/edit_piece.h"
#include "lib/wire/edit/item_memory.h"
#include "lib/wire/otlp/otlp_span.h"
#include "lib/wire/proto/proto_plain.h"

enum {
    ENTRY_LIST = 2,
    SPAN_EVENTS = 11,
    DATA_POINTS = 1,
    REQUEST_DICTIONARY = 2,
    FIRST_ADDITIONS = 64
};

static inline enum edit_verdict call(struct request_edit *edit, enum edit_level level)
{
    enum edit_verdict verdict = EDIT_KEEP;
    edit->loses = false;
    if (edit->levels & EDIT_BIT(level))
        verdict = edit->step(edit->ctx, edit, level);
    /* What lacked memory may have been left undone. */
    if (edit->records[level].failed || edit->splice->arena->full)
        edit->splice->failed = true;
    if (verdict == EDIT_DROP)
        edit->dropped[level]++;
    return edit->splice->failed ? EDIT_ABORT : verdict;
}

/* Counts items that went with the record that was called for last. */
static __attribute__((noinline)) void count_dropped(struct request_edit *edit, uint32_t items)
{
    edit->items_dropped += items;
    edit->items_lost += edit->loses ? items : 0;
}

/* noted: the record's note says what is known of it. */
static inline void begin_record(struct request_edit *edit, enum edit_level level,
                                const struct proto_field *field, bool noted)
{
    const struct otlp_dictionary *dictionary =
        edit->dictionary.of[OTLP_TABLE_STRING].count ? &edit->dictionary : NULL;
    record_begin(&edit->records[level], field, edit_list(edit->signal, level, edit->point_kind),
                 dictionary, edit->splice->arena);
    record_index(&edit->records[level], edit->sifts[level], noted);
}

static void begin_head(struct request_edit *edit, enum edit_level level, struct view entry)
{
    struct proto_scan scan = proto_scan_begin(entry);
    struct proto_field head;
    bool there = proto_scan_next(&scan, &head) && head.number == ENTRY_HEAD;
    begin_record(edit, level, there ? &head : NULL, false);
}

/* The verdict on a record that is done, without what was made for it. */
static inline enum edit_verdict free_made(struct request_edit *edit, const struct item_mark *mark,
                                          enum edit_verdict verdict)
{
    if (verdict == EDIT_ABORT || item_free(edit, mark))
        return verdict;
    edit->splice->failed = true;
    return EDIT_ABORT;
}

/* ---- points ---- */

/* One point, whose changes go into what holds it. *kept counts those that stay. */
static enum edit_verdict edit_point(struct request_edit *edit, const struct proto_field *field,
                                    struct record *holder, size_t *kept)
{
    edit->data = holder;
    const struct item_mark mark = item_mark(edit, EDIT_POINT);
    begin_record(edit, EDIT_POINT, field, false);
    enum edit_verdict verdict = call(edit, EDIT_POINT);
    struct record *point = &edit->records[EDIT_POINT];
    edit->point_index++;
    if (verdict == EDIT_DROP) {
        record_replace(holder, field->start, field->end, (struct view){0});
        count_dropped(edit, edit->signal == SIGNAL_METRICS);
    } else if (record_changed(point)) {
        record_replace(holder, field->start, field->end, record_field(point, field->number));
    }
    *kept += verdict != EDIT_DROP;
    if (point->failed || verdict == EDIT_ABORT)
        return EDIT_ABORT;
    return free_made(edit, &mark, EDIT_KEEP);
}

static enum edit_verdict edit_data(struct request_edit *edit, const struct proto_field *data,
                                   size_t *kept)
{
    struct record holder;
    struct proto_scan scan = proto_scan_begin(data->bytes);
    struct proto_field field;
    record_begin(&holder, data, 0, NULL, edit->splice->arena);
    edit->data = &holder;
    edit->data_number = data->number;
    edit->point_kind = edit_point_of(data->number);
    while (proto_scan_next(&scan, &field))
        if (field.number == DATA_POINTS && field.type == WIRE_LEN &&
            edit_point(edit, &field, &holder, kept) == EDIT_ABORT)
            return EDIT_ABORT;
    if (record_changed(&holder)) {
        struct view text = record_field(&holder, data->number);
        if (!text.data)
            return EDIT_ABORT;
        record_replace(&edit->records[EDIT_ITEM], data->start, data->end, text);
    }
    return EDIT_KEEP;
}

static enum edit_verdict edit_points(struct request_edit *edit)
{
    struct record *item = &edit->records[EDIT_ITEM];
    struct proto_scan scan = proto_scan_begin(item->body);
    struct proto_field field;
    size_t kept = 0, before = edit->dropped[EDIT_POINT];
    bool data = false;
    edit->point_index = 0;
    while (proto_scan_next(&scan, &field)) {
        enum edit_verdict verdict = EDIT_KEEP;
        if (edit->signal == SIGNAL_TRACES && field.number == SPAN_EVENTS) {
            edit->point_kind = EDIT_EVENT;
            verdict = edit_point(edit, &field, item, &kept);
        } else if (edit->signal == SIGNAL_METRICS && edit_point_of(field.number)) {
            verdict = edit_data(edit, &field, &kept);
            data = true;
        }
        if (verdict == EDIT_ABORT)
            return verdict;
    }
    bool emptied = edit->signal == SIGNAL_METRICS && !kept &&
                   (edit->dropped[EDIT_POINT] > before || (edit->prunes && data));
    return emptied ? EDIT_DROP : EDIT_KEEP;
}

/* ---- items, scopes, resources ---- */

/* What an attribute that changed changes of its item. False: nothing. */
static inline bool attribute_edit(struct request_edit *edit, const struct record *item,
                                  const struct attribute *each, struct splice_edit *change)
{
    const uint8_t *from = each->source.data;
    struct view text = {0};
    if (!each->gone) {
        text = attributes_field(each, item->list, item->arena);
        if (!text.data)
            edit->splice->failed = true;
        if (view_eq_short(each->key, PROFILE_ATTRIBUTE))
            edit->notes_spoilt = true;
    } else if (!from) {
        return false;
    }
    if (!from)
        from = item->body.data + item->body.size;
    *change =
        (struct splice_edit){(size_t)(from - edit->splice->source.data), each->source.size, text};
    return true;
}

static inline bool is_edited(const struct attribute *attribute)
{
    return attribute->changed | attribute->gone;
}

/* As pieces, which are spliced later. */
static void add_attribute_pieces(struct request_edit *edit, const struct record *item)
{
    const struct attributes *list = &item->attributes;
    struct splice_edit change;
    if (!piece_open(edit, &item->field))
        return;
    for (size_t i = 0; i < list->count; i++) {
        if (!is_edited(&list->items[i]) || !attribute_edit(edit, item, &list->items[i], &change))
            continue;
        const uint8_t *from = edit->splice->source.data + change.at;
        piece_text(edit, from, from + change.remove, change.insert);
    }
    piece_close(edit);
}

/* The changes to an item of which only attributes changed, where they are. False: no room. */
static bool add_attributes(struct request_edit *edit, const struct record *item)
{
    const struct attributes *list = &item->attributes;
    struct splice *splice = edit->splice;
    int64_t growth = 0;
    if (list->failed)
        return false;
    if (edit->late_heads) {
        add_attribute_pieces(edit, item);
        return !splice->failed;
    }
    struct splice_edit *next = splice_room(splice, list->count);
    if (!next)
        return false;
    const struct attribute *last = list->items + list->count;
    for (const struct attribute *each = list->items; each < last; each++) {
        if (!is_edited(each) || !attribute_edit(edit, item, each, next))
            continue;
        growth += (int64_t)next->insert.size - (int64_t)next->remove;
        next++;
    }
    splice_take(splice, &item->field, next, growth);
    return !splice->failed;
}

/* The changes to an item: of its attributes alone, or all of it anew. False: no room. */
static bool add_item(struct request_edit *edit, struct record *item)
{
    if (item->indexed && !item->changed && !item->failed)
        return add_attributes(edit, item);
    struct view text = record_field(item, item->field.number);
    piece_text(edit, item->field.start, item->field.end, text);
    edit->notes_spoilt = true;
    return text.data;
}

/* The note on the span with this body; NULL: there is none that tells of its attributes. */
static inline const struct otlp_span_note *find_note(struct request_edit *edit, struct view body)
{
    const struct otlp_span_note *row = edit->next_note;
    const size_t at = (size_t)(body.data - edit->splice->source.data);
    while (row < edit->last_note && row->at < at)
        row++;
    edit->next_note = row;
    if (row == edit->last_note || row->at != at)
        return NULL;
    edit->next_note++;
    return row->attributes_end ? row : NULL;
}

/* What a note says of a span. False: there is none. */
static inline bool take_note(struct request_edit *edit, struct view body, struct record_note *note)
{
    enum { SPAN_NAME = 5, SPAN_START = 7 };
    const struct otlp_span_note *row = find_note(edit, body);
    if (!row)
        return false;
    note->attributes = view_between(body.data + row->attributes, body.data + row->attributes_end);
    note->number = SPAN_NAME;
    note->field = row->name ? body.data + row->name : NULL;
    note->times_from = SPAN_START;
    note->times[0] = row->start_ns;
    note->times[1] = row->end_ns;
    return true;
}

/* What becomes of an item, whose changes are in its record then. */
static inline __attribute__((always_inline)) enum edit_verdict
call_item(struct request_edit *edit, const struct proto_field *field, bool noted)
{
    edit->point_kind = EDIT_NO_POINT;
    begin_record(edit, EDIT_ITEM, field, noted);
    enum edit_verdict verdict = call(edit, EDIT_ITEM);
    if (verdict == EDIT_DROP)
        count_dropped(edit, otlp_item_count(edit->signal, field->bytes));
    if (verdict == EDIT_KEEP && (edit->levels & EDIT_BIT(EDIT_POINT)))
        verdict = edit_points(edit);
    return verdict;
}

static inline enum edit_verdict edit_item(struct request_edit *edit,
                                          const struct proto_field *field)
{
    struct record *item = &edit->records[EDIT_ITEM];
    enum edit_verdict verdict = call_item(edit, field, take_note(edit, field->bytes, &item->note));
    if (verdict == EDIT_DROP) {
        piece_text(edit, field->start, field->end, (struct view){0});
    } else if (verdict != EDIT_ABORT && record_changed(item) && !add_item(edit, item)) {
        edit->splice->failed = true;
        return EDIT_ABORT;
    }
    return verdict;
}

bool request_edit_add_item(struct request_edit *edit, struct view field)
{
    struct proto_scan scan = proto_scan_begin(field);
    struct proto_field item;
    if (edit->addition_count == edit->addition_room) {
        size_t room = edit->addition_room ? 2 * edit->addition_room : FIRST_ADDITIONS;
        struct edit_addition *grown = arena_array_raw(edit->splice->arena, room, sizeof *grown);
        if (!grown)
            return false;
        if (edit->addition_count)
            memcpy(grown, edit->additions, edit->addition_count * sizeof *grown);
        edit->additions = grown;
        edit->addition_room = room;
    }
    if (!proto_scan_next(&scan, &item))
        return false;
    edit->additions[edit->addition_count++] = (struct edit_addition){field, edit->generation + 1};
    edit->items_added += otlp_item_count(edit->signal, item.bytes);
    return true;
}

/* Calls for the items that were added to a scope, and for those that are added meanwhile. */
static enum edit_verdict edit_additions(struct request_edit *edit, size_t *kept)
{
    const uint8_t *end = edit->scope_entry.data + edit->scope_entry.size;
    enum edit_verdict verdict = EDIT_KEEP;
    for (size_t i = 0; i < edit->addition_count && verdict != EDIT_ABORT; i++) {
        struct view text = edit->additions[i].field;
        struct proto_scan scan = proto_scan_begin(text);
        struct proto_field field;
        if (!proto_scan_next(&scan, &field))
            continue;
        edit->generation = edit->additions[i].generation;
        verdict = call_item(edit, &field, false);
        if (verdict == EDIT_DROP || verdict == EDIT_ABORT)
            continue;
        if (record_changed(&edit->records[EDIT_ITEM]))
            text = record_field(&edit->records[EDIT_ITEM], field.number);
        piece_text(edit, end, end, text);
        *kept += 1;
        if (!text.data)
            verdict = EDIT_ABORT;
    }
    edit->generation = 0;
    edit->addition_count = 0;
    return verdict;
}

static uint32_t items_of(const struct request_edit *edit, struct view scope_entry)
{
    struct proto_scan scan = proto_scan_begin(scope_entry);
    struct proto_field field;
    uint32_t items = 0;
    while (proto_scan_next(&scan, &field))
        if (field.number == ENTRY_LIST)
            items += otlp_item_count(edit->signal, field.bytes);
    return items;
}

static enum edit_verdict edit_items(struct request_edit *edit, bool *emptied)
{
    struct proto_scan scan = proto_scan_begin(edit->scope_entry);
    struct proto_field field;
    size_t kept = 0, dropped = 0;
    while (plain_scan_next(&scan, &field)) {
        if (field.number != ENTRY_LIST || field.type != WIRE_LEN)
            continue;
        const struct item_mark mark = item_mark(edit, EDIT_ITEM);
        enum edit_verdict verdict = free_made(edit, &mark, edit_item(edit, &field));
        if (verdict == EDIT_ABORT)
            return verdict;
        kept += verdict != EDIT_DROP;
        dropped += verdict == EDIT_DROP;
    }
    if (edit->addition_count && edit_additions(edit, &kept) == EDIT_ABORT)
        return EDIT_ABORT;
    *emptied = (dropped || edit->prunes) && !kept;
    return EDIT_KEEP;
}

static enum edit_verdict edit_scope(struct request_edit *edit, const struct proto_field *field)
{
    size_t start = edit->count;
    bool emptied = false;
    if (!piece_open(edit, field))
        return EDIT_ABORT;
    edit->scope_entry = field->bytes;
    edit->set_schemas[EDIT_SCOPE].data = NULL;
    begin_head(edit, EDIT_SCOPE, field->bytes);
    piece_slot(edit, &edit->records[EDIT_SCOPE], field->bytes);
    enum edit_verdict verdict = call(edit, EDIT_SCOPE);
    if (!edit->late_heads && verdict != EDIT_DROP)
        piece_fill_slot(edit, 0, &edit->records[EDIT_SCOPE], field->bytes);
    if (verdict == EDIT_DROP)
        count_dropped(edit, items_of(edit, field->bytes));
    if (verdict == EDIT_KEEP && edit->levels >= EDIT_BIT(EDIT_ITEM))
        verdict = edit_items(edit, &emptied);
    if (verdict == EDIT_ABORT)
        return verdict;
    if (verdict == EDIT_DROP || emptied) {
        if (!edit->late_heads)
            splice_abandon(edit->splice);
        edit->count = start;
        piece_text(edit, field->start, field->end, (struct view){0});
        return EDIT_DROP;
    }
    if (edit->late_heads)
        piece_fill_slot(edit, start + 1, &edit->records[EDIT_SCOPE], field->bytes);
    if (edit->set_schemas[EDIT_SCOPE].data)
        piece_schema(edit, EDIT_SCOPE, field);
    piece_close(edit);
    return EDIT_KEEP;
}

static enum edit_verdict edit_scopes(struct request_edit *edit, bool *emptied)
{
    struct proto_scan scan = proto_scan_begin(edit->entry);
    struct proto_field field;
    size_t kept = 0, dropped = 0;
    while (proto_scan_next(&scan, &field)) {
        if (field.number != ENTRY_LIST || field.type != WIRE_LEN)
            continue;
        const struct item_mark mark = item_mark(edit, EDIT_SCOPE);
        enum edit_verdict verdict = free_made(edit, &mark, edit_scope(edit, &field));
        if (verdict == EDIT_ABORT)
            return verdict;
        kept += verdict != EDIT_DROP;
        dropped += verdict == EDIT_DROP;
    }
    *emptied = (dropped || edit->prunes) && !kept;
    return EDIT_KEEP;
}

static uint32_t items_below(const struct request_edit *edit, struct view entry)
{
    struct proto_scan scan = proto_scan_begin(entry);
    struct proto_field field;
    uint32_t items = 0;
    while (proto_scan_next(&scan, &field))
        if (field.number == ENTRY_LIST)
            items += items_of(edit, field.bytes);
    return items;
}

static enum edit_verdict edit_resource(struct request_edit *edit, const struct proto_field *field)
{
    struct proto_field scope;
    bool emptied = false;
    edit->count = 0;
    edit->entry = field->bytes;
    edit->set_schemas[EDIT_RESOURCE].data = NULL;
    splice_enter(edit->splice, field);
    begin_head(edit, EDIT_RESOURCE, field->bytes);
    piece_slot(edit, &edit->records[EDIT_RESOURCE], field->bytes);
    enum edit_verdict verdict = call(edit, EDIT_RESOURCE);
    if (!edit->late_heads && verdict != EDIT_DROP)
        piece_fill_slot(edit, 0, &edit->records[EDIT_RESOURCE], field->bytes);
    if (verdict == EDIT_DROP)
        count_dropped(edit, items_below(edit, field->bytes));
    if (verdict == EDIT_KEEP && edit->levels >= EDIT_BIT(EDIT_SCOPE))
        verdict = edit_scopes(edit, &emptied);
    else if (verdict == EDIT_KEEP && edit->prunes)
        emptied = !proto_find(field->bytes, ENTRY_LIST, WIRE_LEN, &scope);
    if (verdict == EDIT_ABORT)
        return verdict;
    if (verdict == EDIT_DROP || emptied) {
        splice_abandon(edit->splice);
        splice_delete(edit->splice, field->start, field->end);
        return EDIT_DROP;
    }
    if (edit->late_heads)
        piece_fill_slot(edit, 0, &edit->records[EDIT_RESOURCE], field->bytes);
    if (edit->set_schemas[EDIT_RESOURCE].data || edit->schema_url.size)
        piece_schema(edit, EDIT_RESOURCE, field);
    piece_write_all(edit);
    splice_leave(edit->splice);
    return EDIT_KEEP;
}

/* The strings of a profiles request, which keys may refer to. */
static bool open_dictionary(struct request_edit *edit, struct view request)
{
    const char *reason;
    struct proto_field field;
    if (edit->signal != SIGNAL_PROFILES ||
        !proto_find(request, REQUEST_DICTIONARY, WIRE_LEN, &field))
        return true;
    if (otlp_dictionary_open(&edit->dictionary, request, edit->splice->arena, &reason))
        return true;
    edit->splice->failed = true;
    return false;
}

static void make_cells(struct request_edit *edit)
{
    for (int level = 0; level < EDIT_LEVELS; level++) {
        bool sifts = edit->sieves && !edit->sieves[level].all;
        edit->sifts[level] = sifts ? &edit->cells[level] : NULL;
        if (sifts)
            key_cells_make(&edit->cells[level], &edit->sieves[level]);
    }
}

bool request_edit(struct request_edit *edit, struct view request, struct splice *splice)
{
    struct proto_scan scan = proto_scan_begin(request);
    struct proto_field field;
    edit->splice = splice;
    make_cells(edit);
    edit->next_note = edit->last_note = (const void *)edit->notes.data;
    if (edit->notes.size)
        edit->last_note += edit->notes.size / sizeof *edit->last_note;
    if (!open_dictionary(edit, request))
        return false;
    while (proto_scan_next(&scan, &field)) {
        if (field.number != 1 || field.type != WIRE_LEN)
            continue;
        const struct item_mark mark = item_mark(edit, EDIT_RESOURCE);
        if (free_made(edit, &mark, edit_resource(edit, &field)) == EDIT_ABORT) {
            splice->failed = splice->failed || splice->arena->full;
            return false;
        }
    }
    return !splice->failed;
}
