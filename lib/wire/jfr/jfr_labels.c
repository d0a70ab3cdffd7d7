#include "lib/wire/jfr/jfr_labels.h"

#include "lib/base/sort.h"
#include "lib/base/utf8.h"

#include <stdlib.h>

enum {
    SNAPSHOT_CONTEXTS = 1,
    SNAPSHOT_STRINGS = 2,
    CONTEXT_LABELS = 1,
    ENTRY_KEY = 1,
    ENTRY_VALUE = 2
};

static size_t count_of(struct view raw, uint32_t number)
{
    struct proto_scan scan = proto_scan_begin(raw);
    struct proto_field field;
    size_t count = 0;
    while (proto_scan_next(&scan, &field))
        count += field.number == number;
    return count;
}

/* An entry whose value is bytes; missing fields are 0 or empty, and the last occurrence of a field
 * wins. A repeated Context would have to be merged, but no encoder writes map entries like that. */
static struct jfr_label_entry read_entry(struct view raw)
{
    struct jfr_label_entry entry = {.value = {raw.data, 0}};
    struct proto_scan scan = proto_scan_begin(raw);
    struct proto_field field;
    while (proto_scan_next(&scan, &field)) {
        if (field.number == ENTRY_KEY)
            entry.key = (int64_t)field.value;
        else if (field.number == ENTRY_VALUE)
            entry.value = field.bytes;
    }
    return entry;
}

/* By key; entries of one key by address, which is their order, as all values point into the same
 * bytes. */
static int by_key(const void *a, const void *b)
{
    const struct jfr_label_entry *left = a, *right = b;
    if (left->key != right->key)
        return left->key < right->key ? -1 : 1;
    return (left->value.data > right->value.data) - (left->value.data < right->value.data);
}

static bool read_map(struct jfr_label_map *map, struct view raw, uint32_t number,
                     struct arena *arena)
{
    struct proto_scan scan = proto_scan_begin(raw);
    struct proto_field field;
    map->entries = arena_array(arena, count_of(raw, number), sizeof *map->entries);
    if (!map->entries)
        return false;
    while (proto_scan_next(&scan, &field))
        if (field.number == number)
            map->entries[map->count++] = read_entry(field.bytes);
    sort_rows(map->entries, map->count, sizeof *map->entries, by_key);
    return true;
}

/* The last entry of a key, as for protobuf maps. */
static struct view jfr_labels_find(const struct jfr_label_map *map, int64_t key)
{
    size_t low = 0, high = map->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (map->entries[middle].key <= key)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0 || map->entries[low - 1].key != key)
        return (struct view){0};
    return map->entries[low - 1].value;
}

static bool refuse_string(struct proto_fault *fault, struct view raw, struct view string)
{
    *fault = (struct proto_fault){"StringsEntry", ENTRY_VALUE, "not UTF-8",
                                  (size_t)(string.data - raw.data)};
    return false;
}

bool jfr_labels_open(struct jfr_labels *labels, struct view raw, struct arena *arena,
                     struct proto_fault *fault)
{
    *labels = (struct jfr_labels){0};
    if (!proto_check(&shape_jfr_labels, raw, fault))
        return false;
    if (!read_map(&labels->strings, raw, SNAPSHOT_STRINGS, arena) ||
        !read_map(&labels->contexts, raw, SNAPSHOT_CONTEXTS, arena)) {
        *fault = (struct proto_fault){.message = shape_jfr_labels.name, .reason = "too large"};
        return false;
    }
    for (size_t i = 0; i < labels->strings.count; i++)
        if (!utf8_valid(labels->strings.entries[i].value))
            return refuse_string(fault, raw, labels->strings.entries[i].value);
    return true;
}

struct view jfr_labels_string(const struct jfr_labels *labels, uint64_t key)
{
    return jfr_labels_find(&labels->strings, (int64_t)key);
}

struct view jfr_labels_of_context(const struct jfr_labels *labels, uint64_t context,
                                  struct view name)
{
    struct proto_scan scan = proto_scan_begin(jfr_labels_find(&labels->contexts, (int64_t)context));
    struct proto_field field, key, value;
    struct view found = {0};
    while (proto_scan_next(&scan, &field)) {
        uint64_t name_key = 0, value_key = 0;
        if (field.number != CONTEXT_LABELS)
            continue;
        if (proto_find(field.bytes, ENTRY_KEY, WIRE_VARINT, &key))
            name_key = key.value;
        if (proto_find(field.bytes, ENTRY_VALUE, WIRE_VARINT, &value))
            value_key = value.value;
        if (view_eq(jfr_labels_string(labels, name_key), name))
            found = jfr_labels_string(labels, value_key);
    }
    return found;
}
