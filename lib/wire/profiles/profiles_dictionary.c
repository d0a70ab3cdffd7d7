#include "lib/wire/profiles/profiles_dictionary.h"

#include "lib/base/sort.h"
#include "lib/wire/pprof/pprof_fields.h"
#include "lib/wire/proto/proto_numbers.h"

#include <stdlib.h>

enum { REQUEST_DICTIONARY = 2, LINK_TRACE_ID = 1, LINK_SPAN_ID = 2, STACK_LOCATIONS = 1 };
enum { ATTRIBUTE_KEY = 1, ATTRIBUTE_VALUE, ATTRIBUTE_UNIT };
enum { ANY_STRING = 1, ANY_BOOL = 2, ANY_INT = 3, ANY_ARRAY = 5, ARRAY_VALUES = 1 };
enum { OTLP_MAPPING_ATTRIBUTES = 5, OTLP_LOCATION_LINES = 3, OTLP_LOCATION_ATTRIBUTES = 4 };
enum { MAPPING_START = 2, MAPPING_FILENAME = 5, MAPPING_BUILD_ID = 6, MAPPING_HAS_FUNCTIONS = 7 };
enum { LOCATION_ADDRESS = 3, LOCATION_IS_FOLDED = 5, LINE_COLUMN = 3 };
enum { FUNCTION_NAME = 2, FUNCTION_START_LINE = 5 };

static uint32_t profiles_dictionary_fail(struct profiles_dictionary *dictionary, const char *why)
{
    if (!dictionary->fault)
        dictionary->fault = why;
    return 0;
}

static int profiles_dictionary_by_id(const void *a, const void *b)
{
    const struct profiles_id *left = a, *right = b;
    if (left->id != right->id)
        return left->id < right->id ? -1 : 1;
    return left->index < right->index ? -1 : left->index > right->index;
}

/* The index of an id; 0: no such entry. */
static uint32_t index_of(const struct profiles_ids *ids, uint64_t id)
{
    size_t low = 0, high = ids->count;
    /* Nearly every writer numbers entries from 1. */
    if (id - 1 < ids->count && ids->of[id - 1].id == id && (id == 1 || ids->of[id - 2].id != id))
        return ids->of[id - 1].index;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (ids->of[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < ids->count && ids->of[low].id == id ? ids->of[low].index : 0;
}

static bool profiles_dictionary_read_ids(struct profiles_dictionary *dictionary,
                                         struct profiles_ids *ids, uint32_t number)
{
    struct proto_scan scan = proto_scan_begin(dictionary->pprof->raw);
    struct proto_field field;
    size_t count = 0;
    while (proto_scan_next(&scan, &field))
        count += field.number == number;
    ids->of = arena_array(dictionary->arena, count, sizeof *ids->of);
    if (!ids->of)
        return false;
    scan = proto_scan_begin(dictionary->pprof->raw);
    while (proto_scan_next(&scan, &field))
        if (field.number == number) {
            uint32_t index = (uint32_t)++ids->count;
            ids->of[index - 1] =
                (struct profiles_id){proto_find_number(field.bytes, TABLE_ID), index};
        }
    if (count)
        sort_rows(ids->of, count, sizeof *ids->of, profiles_dictionary_by_id);
    return true;
}

bool profiles_dictionary_open(struct profiles_dictionary *dictionary, const struct pprof *pprof,
                              struct arena *arena, const struct bytes *limits)
{
    *dictionary = (struct profiles_dictionary){.pprof = pprof, .arena = arena};
    bytes_init(&dictionary->scratch, limits->max, limits->budget);
    struct view_set *tables[] = {&dictionary->stacks, &dictionary->links, &dictionary->attributes,
                                 &dictionary->keys};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        view_set_init(tables[i], arena);
    bool good = true;
    for (size_t i = 0; good && i < 3; i++)
        good = view_set_add(tables[i], VIEW("")) == 0;
    return good &&
           profiles_dictionary_read_ids(dictionary, &dictionary->mappings, PROFILE_MAPPING) &&
           profiles_dictionary_read_ids(dictionary, &dictionary->locations, PROFILE_LOCATION) &&
           profiles_dictionary_read_ids(dictionary, &dictionary->functions, PROFILE_FUNCTION);
}

void profiles_dictionary_release(struct profiles_dictionary *dictionary)
{
    bytes_release(&dictionary->scratch);
}

static struct proto_write begin_entry(struct profiles_dictionary *dictionary)
{
    bytes_clear(&dictionary->scratch);
    return proto_write_begin(&dictionary->scratch);
}

/* Adds the entry in scratch to a table; returns its index. */
static uint32_t end_entry(struct profiles_dictionary *dictionary, struct view_set *table,
                          const struct proto_write *write)
{
    const char *fault = proto_write_fault(write);
    if (fault)
        return profiles_dictionary_fail(dictionary, fault);
    uint32_t index = view_set_add(table, bytes_view(&dictionary->scratch));
    return index == UINT32_MAX ? profiles_dictionary_fail(dictionary, "too large") : index;
}

uint32_t profiles_dictionary_stack(struct profiles_dictionary *dictionary, struct view sample)
{
    struct proto_write write = begin_entry(dictionary);
    struct proto_scan scan = proto_scan_begin(sample);
    struct proto_field field;
    uint64_t id;
    size_t opened = proto_write_open(&write, STACK_LOCATIONS), begun = opened;
    while (proto_scan_next(&scan, &field)) {
        struct proto_numbers numbers = proto_numbers_begin(&field);
        while (field.number == SAMPLE_LOCATION_ID && proto_numbers_next(&numbers, &id)) {
            uint32_t index = index_of(&dictionary->locations, id);
            if (index)
                proto_write_packed(&write, index);
        }
    }
    if (write.result == BYTES_OK && dictionary->scratch.size == begun)
        return 0;
    proto_write_close(&write, opened);
    return end_entry(dictionary, &dictionary->stacks, &write);
}

uint32_t profiles_dictionary_link(struct profiles_dictionary *dictionary, const uint8_t trace[16],
                                  const uint8_t span[8])
{
    struct proto_write write = begin_entry(dictionary);
    proto_write_bytes(&write, LINK_TRACE_ID, (struct view){trace, 16});
    proto_write_bytes(&write, LINK_SPAN_ID, (struct view){span, 8});
    return end_entry(dictionary, &dictionary->links, &write);
}

static void write_text_value(struct proto_write *write, struct view text)
{
    size_t value = proto_write_open(write, ATTRIBUTE_VALUE);
    proto_write_bytes(write, ANY_STRING, text);
    proto_write_close(write, value);
}

uint32_t profiles_dictionary_text(struct profiles_dictionary *dictionary, uint64_t key,
                                  uint64_t text)
{
    struct proto_write write = begin_entry(dictionary);
    proto_write_varint(&write, ATTRIBUTE_KEY, key);
    write_text_value(&write, pprof_string(dictionary->pprof, text));
    return end_entry(dictionary, &dictionary->attributes, &write);
}

uint32_t profiles_dictionary_number(struct profiles_dictionary *dictionary, uint64_t key,
                                    int64_t number, uint64_t unit)
{
    struct proto_write write = begin_entry(dictionary);
    proto_write_varint(&write, ATTRIBUTE_KEY, key);
    size_t value = proto_write_open(&write, ATTRIBUTE_VALUE);
    proto_write_varint(&write, ANY_INT, (uint64_t)number);
    proto_write_close(&write, value);
    proto_write_number(&write, ATTRIBUTE_UNIT, unit);
    return end_entry(dictionary, &dictionary->attributes, &write);
}

/* Begins an attribute with a key of the semantic conventions. */
static struct proto_write begin_named(struct profiles_dictionary *dictionary,
                                      enum profiles_attribute_kind kind)
{
    uint32_t key = view_set_add(&dictionary->keys, view_of(profiles_attribute_name(kind)));
    struct proto_write write = begin_entry(dictionary);
    if (key == UINT32_MAX)
        profiles_dictionary_fail(dictionary, "too large");
    proto_write_varint(&write, ATTRIBUTE_KEY, dictionary->pprof->string_count + key);
    return write;
}

uint32_t profiles_dictionary_named(struct profiles_dictionary *dictionary,
                                   enum profiles_attribute_kind kind, struct view text)
{
    struct proto_write write = begin_named(dictionary, kind);
    write_text_value(&write, text);
    return end_entry(dictionary, &dictionary->attributes, &write);
}

static uint32_t profiles_dictionary_flag(struct profiles_dictionary *dictionary,
                                         enum profiles_attribute_kind kind, bool flag)
{
    struct proto_write write = begin_named(dictionary, kind);
    size_t value = proto_write_open(&write, ATTRIBUTE_VALUE);
    proto_write_varint(&write, ANY_BOOL, flag);
    proto_write_close(&write, value);
    return end_entry(dictionary, &dictionary->attributes, &write);
}

uint32_t profiles_dictionary_comments(struct profiles_dictionary *dictionary)
{
    struct proto_write write = begin_named(dictionary, ATTRIBUTE_COMMENT);
    struct proto_scan scan = proto_scan_begin(dictionary->pprof->raw);
    struct proto_field field;
    uint64_t index;
    size_t value = proto_write_open(&write, ATTRIBUTE_VALUE);
    size_t array = proto_write_open(&write, ANY_ARRAY), empty = dictionary->scratch.size;
    while (proto_scan_next(&scan, &field)) {
        struct proto_numbers numbers = proto_numbers_begin(&field);
        while (field.number == PROFILE_COMMENT && proto_numbers_next(&numbers, &index)) {
            size_t text = proto_write_open(&write, ARRAY_VALUES);
            proto_write_bytes(&write, ANY_STRING, pprof_string(dictionary->pprof, index));
            proto_write_close(&write, text);
        }
    }
    if (write.result == BYTES_OK && dictionary->scratch.size == empty)
        return 0;
    proto_write_close(&write, array);
    proto_write_close(&write, value);
    return end_entry(dictionary, &dictionary->attributes, &write);
}

static void write_mapping(struct profiles_dictionary *dictionary, struct proto_write *write,
                          struct view mapping)
{
    uint64_t build_id = proto_find_number(mapping, MAPPING_BUILD_ID);
    size_t opened = proto_write_open(write, OTLP_TABLE_MAPPING + 1);
    /* The field numbers of start, limit, offset and file name are one lower in OTLP. */
    for (uint32_t field = MAPPING_START; field <= MAPPING_FILENAME; field++)
        proto_write_number(write, field - 1, proto_find_number(mapping, field));
    size_t list = proto_write_open(write, OTLP_MAPPING_ATTRIBUTES);
    if (build_id)
        proto_write_packed(write,
                           profiles_dictionary_named(dictionary, ATTRIBUTE_BUILD_ID,
                                                     pprof_string(dictionary->pprof, build_id)));
    for (uint32_t i = 0; i <= ATTRIBUTE_HAS_INLINE_FRAMES - ATTRIBUTE_HAS_FUNCTIONS; i++)
        proto_write_packed(write, profiles_dictionary_flag(
                                      dictionary,
                                      (enum profiles_attribute_kind)(ATTRIBUTE_HAS_FUNCTIONS + i),
                                      proto_find_number(mapping, MAPPING_HAS_FUNCTIONS + i)));
    proto_write_close(write, list);
    proto_write_close(write, opened);
}

static void write_location(struct profiles_dictionary *dictionary, struct proto_write *write,
                           struct view location)
{
    struct proto_scan scan = proto_scan_begin(location);
    struct proto_field field;
    size_t opened = proto_write_open(write, OTLP_TABLE_LOCATION + 1);
    proto_write_number(
        write, 1,
        index_of(&dictionary->mappings, proto_find_number(location, LOCATION_MAPPING_ID)));
    proto_write_number(write, 2, proto_find_number(location, LOCATION_ADDRESS));
    while (proto_scan_next(&scan, &field)) {
        if (field.number != LOCATION_LINE)
            continue;
        size_t line = proto_write_open(write, OTLP_LOCATION_LINES);
        proto_write_number(
            write, LINE_FUNCTION_ID,
            index_of(&dictionary->functions, proto_find_number(field.bytes, LINE_FUNCTION_ID)));
        for (uint32_t number = LINE_FUNCTION_ID + 1; number <= LINE_COLUMN; number++)
            proto_write_number(write, number, proto_find_number(field.bytes, number));
        proto_write_close(write, line);
    }
    if (proto_find_number(location, LOCATION_IS_FOLDED))
        proto_write_varint(write, OTLP_LOCATION_ATTRIBUTES,
                           profiles_dictionary_flag(dictionary, ATTRIBUTE_IS_FOLDED, true));
    proto_write_close(write, opened);
}

static void write_function(struct profiles_dictionary *dictionary, struct proto_write *write,
                           struct view function)
{
    (void)dictionary;
    size_t opened = proto_write_open(write, OTLP_TABLE_FUNCTION + 1);
    for (uint32_t field = FUNCTION_NAME; field <= FUNCTION_START_LINE; field++)
        proto_write_number(write, field - 1, proto_find_number(function, field));
    proto_write_close(write, opened);
}

/* Writes a table in the pprof's order: an empty entry 0, then the entries. */
static void
write_table(struct profiles_dictionary *dictionary, struct proto_write *write, uint32_t number,
            void (*put)(struct profiles_dictionary *, struct proto_write *, struct view))
{
    static const enum otlp_table tables[] = {
        [PROFILE_MAPPING] = OTLP_TABLE_MAPPING,
        [PROFILE_LOCATION] = OTLP_TABLE_LOCATION,
        [PROFILE_FUNCTION] = OTLP_TABLE_FUNCTION,
    };
    struct proto_scan scan = proto_scan_begin(dictionary->pprof->raw);
    struct proto_field field;
    proto_write_bytes(write, tables[number] + 1, VIEW(""));
    while (proto_scan_next(&scan, &field))
        if (field.number == number)
            put(dictionary, write, field.bytes);
}

static void write_set(struct proto_write *write, enum otlp_table table, const struct view_set *set)
{
    for (size_t i = 0; i < set->count; i++)
        proto_write_bytes(write, table + 1, set->entries[i]);
}

void profiles_dictionary_write(struct profiles_dictionary *dictionary, struct proto_write *write)
{
    const struct pprof *pprof = dictionary->pprof;
    size_t opened = proto_write_open(write, REQUEST_DICTIONARY);
    write_table(dictionary, write, PROFILE_MAPPING, write_mapping);
    write_table(dictionary, write, PROFILE_LOCATION, write_location);
    write_table(dictionary, write, PROFILE_FUNCTION, write_function);
    write_set(write, OTLP_TABLE_LINK, &dictionary->links);
    for (size_t i = 0; i < pprof->string_count; i++)
        proto_write_bytes(write, OTLP_TABLE_STRING + 1, pprof_string_at(pprof, i));
    write_set(write, OTLP_TABLE_STRING, &dictionary->keys);
    write_set(write, OTLP_TABLE_ATTRIBUTE, &dictionary->attributes);
    write_set(write, OTLP_TABLE_STACK, &dictionary->stacks);
    proto_write_close(write, opened);
}
