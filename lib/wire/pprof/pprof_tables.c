#include "lib/wire/pprof/pprof_tables.h"

#include "lib/base/sort.h"
#include "lib/wire/pprof/pprof_cursor.h"
#include "lib/wire/pprof/pprof_fields.h"

#include <stdlib.h>

const uint32_t pprof_table_fields[TABLE_KINDS] = {
    [TABLE_MAPPING] = PROFILE_MAPPING,
    [TABLE_LOCATION] = PROFILE_LOCATION,
    [TABLE_FUNCTION] = PROFILE_FUNCTION,
};

static int pprof_tables_by_id(const void *a, const void *b)
{
    const struct pprof_entry *left = a, *right = b;
    if (left->id != right->id)
        return left->id < right->id ? -1 : 1;
    return left->at < right->at ? -1 : left->at > right->at;
}

/* The index of an id; SIZE_MAX: none. */
static inline size_t pprof_tables_lookup(const struct pprof_table *table, uint64_t id)
{
    /* Nearly every writer numbers entries from 1. */
    if (table->dense)
        return id - 1 < table->count ? (size_t)(id - 1) : SIZE_MAX;
    size_t low = 0, high = table->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (table->entries[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < table->count && table->entries[low].id == id ? low : SIZE_MAX;
}

static size_t field_size(const struct proto_field *field)
{
    return (size_t)(field->end - field->start);
}

/* Adds an entry to the part; true if it is new. */
static inline bool pprof_tables_take(const struct pprof_tables *tables, uint32_t *mark,
                                     uint32_t number)
{
    if (*mark == number || pprof_tables_used(tables, *mark))
        return false;
    *mark = number;
    return true;
}

static size_t mark_string(struct pprof_tables *tables, uint64_t index, uint32_t number)
{
    const struct pprof *pprof = tables->pprof;
    if (index >= pprof->string_count ||
        !pprof_tables_take(tables, &tables->string_marks[index], number))
        return 0;
    return proto_len_size(PROFILE_STRING_TABLE, pprof_string_at(pprof, index).size);
}

/* Marks the strings that a message's fields in `bits` refer to. */
static size_t mark_strings(struct pprof_tables *tables, struct view message, unsigned bits,
                           uint32_t number)
{
    struct proto_scan scan = proto_scan_begin(message);
    struct proto_field field;
    size_t size = 0;
    while (pprof_next(&scan, &field))
        if (field.number < 32 && (bits & BIT(field.number)))
            size += mark_string(tables, field.value, number);
    return size;
}

struct view pprof_tables_content(const struct pprof_tables *tables, const struct pprof_entry *entry)
{
    return (struct view){tables->pprof->raw.data + entry->at, entry->size};
}

static size_t mark_content(struct pprof_tables *tables, enum pprof_table_kind kind,
                           const struct pprof_entry *entry, uint32_t number)
{
    static const unsigned strings[TABLE_KINDS] = {
        [TABLE_MAPPING] = MAPPING_STRINGS,
        [TABLE_FUNCTION] = FUNCTION_STRINGS,
    };
    return proto_len_size(pprof_table_fields[kind], entry->size) +
           mark_strings(tables, pprof_tables_content(tables, entry), strings[kind], number);
}

static size_t mark_entry(struct pprof_tables *tables, enum pprof_table_kind kind, uint64_t id,
                         uint32_t number)
{
    const struct pprof_table *table = &tables->of[kind];
    size_t at = pprof_tables_lookup(table, id);
    if (at == SIZE_MAX || !pprof_tables_take(tables, &table->marks[at], number))
        return 0;
    return mark_content(tables, kind, &table->entries[at], number);
}

static size_t mark_line(struct pprof_tables *tables, struct view line, uint32_t number)
{
    struct proto_field function;
    if (!proto_find(line, LINE_FUNCTION_ID, WIRE_VARINT, &function))
        return 0;
    return mark_entry(tables, TABLE_FUNCTION, function.value, number);
}

/* Marks what a location refers to. */
static size_t mark_parts(struct pprof_tables *tables, const struct pprof_entry *entry,
                         uint32_t number)
{
    struct proto_scan scan = proto_scan_begin(pprof_tables_content(tables, entry));
    struct proto_field field;
    size_t size = proto_len_size(PROFILE_LOCATION, entry->size);
    while (pprof_next(&scan, &field)) {
        if (field.number == LOCATION_MAPPING_ID)
            size += mark_entry(tables, TABLE_MAPPING, field.value, number);
        else if (field.number == LOCATION_LINE)
            size += mark_line(tables, field.bytes, number);
    }
    return size;
}

static inline size_t mark_location(struct pprof_tables *tables, uint64_t id, uint32_t number)
{
    const struct pprof_table *table = &tables->of[TABLE_LOCATION];
    size_t at = pprof_tables_lookup(table, id);
    if (at == SIZE_MAX || !pprof_tables_take(tables, &table->marks[at], number))
        return 0;
    return mark_parts(tables, &table->entries[at], number);
}

static size_t mark_locations(struct pprof_tables *tables, const struct proto_field *field,
                             uint32_t number)
{
    const uint8_t *at = field->bytes.data;
    uint64_t id;
    size_t size = 0;
    if (field->type == WIRE_VARINT)
        return mark_location(tables, field->value, number);
    const struct pprof_table *table = &tables->of[TABLE_LOCATION];
    const uint32_t *marks = table->marks, first = tables->first, span = number - first;
    size_t count = table->dense ? table->count : 0;
    /* One-byte and two-byte ids alternate randomly: avoid a branch on their length. */
    while (field->end - at >= 2 && (at[0] & at[1]) < 0x80) {
        size_t more = at[0] >> 7;
        id = (at[0] & 0x7fu) | (at[1] & (0u - more) & 0x7fu) << 7;
        at += 1 + more;
        /* Most are already marked by this sample or an earlier one of the part. */
        if (id - 1 >= count || marks[id - 1] - first > span)
            size += mark_location(tables, id, number);
    }
    while (at < field->end && (at = pprof_varint(at, field->end, &id)))
        size += mark_location(tables, id, number);
    return size;
}

static size_t mark_label(struct pprof_tables *tables, struct view label, uint32_t number)
{
    uint64_t key, str;
    if (!pprof_plain_label(label.data, label.data + label.size, &key, &str))
        return mark_strings(tables, label, LABEL_STRINGS, number);
    return mark_string(tables, key, number) + mark_string(tables, str, number);
}

size_t pprof_tables_mark(struct pprof_tables *tables, const struct proto_field *sample)
{
    uint32_t number = tables->next++;
    struct proto_scan scan = proto_scan_begin(sample->bytes);
    struct proto_field field;
    size_t size = field_size(sample);
    while (pprof_next(&scan, &field)) {
        if (field.number == SAMPLE_LABEL)
            size += mark_label(tables, field.bytes, number);
        else if (field.number == SAMPLE_LOCATION_ID && !tables->kept)
            size += mark_locations(tables, &field, number);
    }
    return size;
}

/* Marks strings that every part contains: those of top-level fields. */
static size_t mark_fixed(struct pprof_tables *tables, const struct proto_field *field)
{
    const uint8_t *at = field->bytes.data;
    uint64_t index;
    size_t size = field_size(field);
    if (field->number == PROFILE_SAMPLE_TYPE || field->number == PROFILE_PERIOD_TYPE)
        return size + mark_strings(tables, field->bytes, VALUE_TYPE_STRINGS, MARK_ALWAYS);
    if (field->number >= 32 || !(PROFILE_STRINGS & BIT(field->number)))
        return size;
    if (field->type == WIRE_VARINT)
        return size + mark_string(tables, field->value, MARK_ALWAYS);
    while (at < field->end && (at = pprof_varint(at, field->end, &index)))
        size += mark_string(tables, index, MARK_ALWAYS);
    return size;
}

static void add_entry(const struct pprof *pprof, struct pprof_table *table, struct view content)
{
    struct proto_field id = {0};
    proto_find(content, TABLE_ID, WIRE_VARINT, &id);
    table->entries[table->count++] = (struct pprof_entry){
        id.value, (uint32_t)(content.data - pprof->raw.data), (uint32_t)content.size};
}

/* The table that a profile field belongs to; TABLE_KINDS: none. */
static unsigned pprof_tables_kind_of(uint32_t number)
{
    unsigned kind = 0;
    while (kind < TABLE_KINDS && pprof_table_fields[kind] != number)
        kind++;
    return kind;
}

static bool is_dense(const struct pprof_table *table)
{
    for (size_t i = 0; i < table->count; i++)
        if (table->entries[i].id != i + 1)
            return false;
    return true;
}

static void sort(struct pprof_table *table)
{
    table->dense = is_dense(table);
    if (table->dense)
        return;
    sort_rows(table->entries, table->count, sizeof(struct pprof_entry), pprof_tables_by_id);
    table->dense = is_dense(table);
}

static void pprof_tables_fill(struct pprof_tables *tables)
{
    struct proto_scan scan = proto_scan_begin(tables->pprof->raw);
    struct proto_field field;
    while (pprof_next_but_samples(tables->pprof, &scan, &field)) {
        unsigned kind = pprof_tables_kind_of(field.number);
        if (kind < TABLE_KINDS) {
            add_entry(tables->pprof, &tables->of[kind], field.bytes);
        } else if (field.number != PROFILE_SAMPLE && field.number != PROFILE_STRING_TABLE) {
            tables->fixed[tables->fixed_count++] = field;
            tables->fixed_size += mark_fixed(tables, &field);
        }
    }
    tables->fixed_size += mark_string(tables, 0, MARK_ALWAYS);
    for (unsigned i = 0; i < TABLE_KINDS; i++)
        sort(&tables->of[i]);
}

static bool pprof_tables_allocate(struct pprof_tables *tables, const size_t counts[TABLE_KINDS],
                                  size_t fixed, struct arena *arena)
{
    size_t strings = tables->pprof->string_count;
    bool ok = true;
    for (unsigned i = 0; i < TABLE_KINDS; i++) {
        tables->of[i].entries = arena_array(arena, counts[i], sizeof(struct pprof_entry));
        tables->of[i].marks = arena_array(arena, counts[i], sizeof(uint32_t));
        ok = ok && tables->of[i].entries && tables->of[i].marks;
    }
    tables->fixed = arena_array(arena, fixed, sizeof *tables->fixed);
    tables->string_marks = arena_array(arena, strings, sizeof *tables->string_marks);
    tables->string_ranks = arena_array(arena, strings, sizeof *tables->string_ranks);
    return ok && tables->fixed && tables->string_marks && tables->string_ranks;
}

/* Sets how many entries the tables have; returns how many fields every part repeats. */
static size_t pprof_tables_count(const struct pprof *pprof, size_t counts[TABLE_KINDS])
{
    size_t by_kind[TABLE_KINDS + 1] = {0};
    for (uint32_t number = 0; number < 16; number++)
        by_kind[pprof_tables_kind_of(number)] += pprof->fields[number].count;
    memcpy(counts, by_kind, TABLE_KINDS * sizeof *counts);
    return by_kind[TABLE_KINDS] - pprof->sample_count - pprof->string_count;
}

size_t pprof_tables_most(const struct pprof *pprof)
{
    enum {
        STRING = sizeof *pprof->strings + 1 + 2 * sizeof(uint32_t),
        ENTRY = sizeof(struct pprof_entry) + sizeof(uint32_t)
    };
    size_t counts[TABLE_KINDS], entries = 0;
    size_t fixed = pprof_tables_count(pprof, counts);
    for (unsigned i = 0; i < TABLE_KINDS; i++)
        entries += counts[i];
    return pprof->string_count * STRING + entries * ENTRY + fixed * sizeof(struct proto_field);
}

bool pprof_tables_open(struct pprof_tables *tables, const struct pprof *pprof, struct arena *arena)
{
    size_t counts[TABLE_KINDS];
    *tables = (struct pprof_tables){.pprof = pprof, .first = 1, .next = 1};
    /* Sample numbers have 32 bits; a sample takes at least two bytes. */
    if (pprof->raw.size >= UINT32_MAX)
        return false;
    size_t fixed = pprof_tables_count(pprof, counts);
    if (!pprof_tables_allocate(tables, counts, fixed, arena))
        return false;
    pprof_tables_fill(tables);
    return true;
}

bool pprof_tables_keep(struct pprof_tables *tables, size_t most)
{
    enum { EMPTY_STRING = 2 };
    uint32_t number = tables->next++;
    size_t strings = tables->pprof->string_count;
    size_t size = tables->fixed_size + strings * EMPTY_STRING;
    for (unsigned kind = 0; kind < TABLE_KINDS; kind++)
        for (size_t i = 0; i < tables->of[kind].count && size <= most; i++)
            size += mark_content(tables, kind, &tables->of[kind].entries[i], number);
    if (size > most)
        return false;
    for (size_t i = 0; i < strings; i++) {
        tables->string_ranks[i] = (uint32_t)i;
        if (tables->string_marks[i] == number)
            tables->string_marks[i] = MARK_ALWAYS;
    }
    tables->fixed_size = size;
    return tables->kept = true;
}

void pprof_tables_rank(struct pprof_tables *tables)
{
    uint32_t rank = 0;
    if (tables->kept)
        return;
    for (size_t i = 0; i < tables->pprof->string_count; i++)
        if (pprof_tables_used(tables, tables->string_marks[i]))
            tables->string_ranks[i] = rank++;
}
