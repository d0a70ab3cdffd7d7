/* Lists of KeyValue under edit. */
#include "lib/wire/value/attributes.h"

#include "lib/base/siphash.h"
#include "lib/wire/otlp/otlp_attribute.h"
#include "lib/wire/proto/plain_key_value.h"

#include <endian.h>

enum { KEY_VALUE_KEY = 1, KEY_VALUE_VALUE = 2, LIST_VALUES = 1 };

enum { FIRST_ROOM = 32 };

/* Room for more of them. False: there is none. */
static __attribute__((noinline)) bool grow(struct attributes *attributes)
{
    size_t count = attributes->count,
           capacity = attributes->capacity ? 2 * attributes->capacity : FIRST_ROOM;
    struct attribute *items =
        arena_array_raw(attributes->arena, capacity, sizeof(struct attribute) + 1);
    attributes->failed = !items;
    if (!items)
        return false;
    uint8_t *marks = (uint8_t *)(items + capacity);
    if (count) {
        memcpy(items, attributes->items, count * sizeof *items);
        memcpy(marks, attributes->marks, count);
    }
    attributes->items = items;
    attributes->marks = marks;
    attributes->capacity = capacity;
    return true;
}

/* Puts the last item into the cell of its mark. */
static inline void enter_cell(struct attributes *attributes, uint8_t cell)
{
    if (cell && attributes->first[cell])
        attributes->shared = true;
    else if (cell)
        attributes->first[cell] = (uint8_t)attributes->count;
    if (attributes->count >= UINT8_MAX)
        attributes->cells = NULL;
}

/* In room that is there. sought: one without a cell is one that nobody looks for. */
static inline struct attribute *put(struct attributes *attributes, struct view key, bool sought)
{
    const uint8_t mark = key_mark_of(key);
    struct attribute *item = &attributes->items[attributes->count];
    attributes->marks[attributes->count++] = mark;
    if (attributes->cells) {
        const uint8_t cell = attributes->cells->of[mark];
        if (cell || sought)
            enter_cell(attributes, cell);
        else
            attributes->cells = NULL;
    }
    item->key = key;
    item->changed = item->gone = false;
    return item;
}

static inline struct attribute *add(struct attributes *attributes, struct view key)
{
    if (attributes->failed || (attributes->count == attributes->capacity && !grow(attributes)))
        return NULL;
    return put(attributes, key, true);
}

bool attributes_append(struct attributes *attributes, struct view body, struct view source)
{
    const uint8_t *value;
    struct view key = plain_key(body, &value);
    struct attribute *item = key.data ? add(attributes, key) : NULL;
    if (!item)
        return false;
    item->any = view_between(value, body.data + body.size);
    item->source = source;
    return true;
}

bool attributes_take(struct attributes *attributes, const struct attribute *item)
{
    struct attribute *taken = add(attributes, item->key);
    if (taken)
        *taken = *item;
    return taken;
}

/* The body of a KeyValue's AnyValue; the last one of several counts. */
static struct view any_of(struct view key_value)
{
    struct proto_scan scan = proto_scan_begin(key_value);
    struct proto_field field;
    struct view any = {0};
    while (proto_scan_next(&scan, &field))
        if (field.number == KEY_VALUE_VALUE && field.type == WIRE_LEN)
            any = field.bytes;
    return any;
}

struct attribute attribute_read(struct view key_value)
{
    struct attribute item = {0};
    const uint8_t *value;
    item.key = plain_key(key_value, &value);
    if (item.key.data) {
        item.any = view_between(value, key_value.data + key_value.size);
    } else {
        item.key = otlp_key(key_value);
        item.any = any_of(key_value);
    }
    return item;
}

static void read_into(struct attributes *attributes, struct view message)
{
    struct proto_scan scan = proto_scan_begin(message);
    struct proto_field field;
    while (proto_scan_next(&scan, &field)) {
        if (field.number != attributes->list || field.type != WIRE_LEN)
            continue;
        struct attribute read = attribute_read(field.bytes), *item = add(attributes, read.key);
        attributes->partial = !item;
        if (!item)
            return;
        item->any = read.any;
        item->source = view_between(field.start, field.end);
    }
}

void attributes_read(struct attributes *attributes, struct view message, uint32_t list,
                     struct arena *arena)
{
    *attributes = (struct attributes){.arena = arena, .list = list};
    read_into(attributes, message);
}

void attributes_read_again(struct attributes *attributes, struct view message)
{
    attributes->count = attributes->searches = 0;
    attributes->index = NULL;
    attributes->cells = NULL;
    attributes->changed = attributes->failed = attributes->partial = attributes->shared = false;
    read_into(attributes, message);
}

/* A bit in each byte of the word that is the same, from the lowest on; higher ones may be wrong. */
static inline uint64_t same_bytes(uint64_t word, uint8_t byte)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);
    word ^= byte * ones;
    return (word - ones) & ~word & ones << 7;
}

/* ---- the index of long lists ---- */

enum { INDEX_FROM = 128, SEARCHES_BEFORE = 8, INDEX_BITS = 10 };

/* Open addressing. Items with the same key are in a ring, in which the last one is before the
 * first; a place has the last. Items are counted from 1 on. */
struct attribute_index {
    struct siphash_key key;
    unsigned bits;
    size_t count;      /* items in it: the first so many of the list */
    uint32_t *next;    /* of each item, from [1] on: the one behind it in its ring */
    uint32_t places[]; /* 0: free */
};

/* By a key that no sender knows, so that none can choose keys that collide. */
static size_t slot_of(const struct attribute_index *index, struct view key)
{
    return siphash(&index->key, 0, key).halves[0] >> (64 - index->bits);
}

/* The key's place, or the free one for it. */
static uint32_t *find_place(struct attribute_index *index, const struct attributes *attributes,
                            struct view key)
{
    size_t slot = slot_of(index, key), mask = ((size_t)1 << index->bits) - 1;
    for (; index->places[slot]; slot = (slot + 1) & mask)
        if (view_eq(attributes->items[index->places[slot] - 1].key, key))
            break;
    return &index->places[slot];
}

/* Indexes the items that were added since. False: it is full. */
static bool index_items(struct attribute_index *index, const struct attributes *attributes)
{
    if (attributes->count > (size_t)1 << (index->bits - 1))
        return false;
    while (index->count < attributes->count) {
        uint32_t *place = find_place(index, attributes, attributes->items[index->count].key);
        uint32_t item = (uint32_t)++index->count;
        index->next[item] = *place ? index->next[*place] : item;
        if (*place)
            index->next[*place] = item;
        *place = item;
    }
    return true;
}

static struct attribute_index *index_new(struct attributes *attributes)
{
    unsigned bits = INDEX_BITS;
    while ((size_t)1 << bits < 4 * attributes->count)
        bits++;
    size_t places = (size_t)1 << bits, items = places / 2 + 1;
    struct attribute_index *index =
        attributes->count < UINT32_MAX / 8
            ? arena_alloc(attributes->arena, sizeof *index + (places + items) * sizeof(uint32_t))
            : NULL;
    if (index) {
        index->key = siphash_key_new();
        index->bits = bits;
        index->next = index->places + places;
    }
    return index;
}

/* Of a list that is long and searched often. False: there is none, or no room for one. */
static bool update_index(struct attributes *attributes)
{
    if (!attributes->index && attributes->searches++ < SEARCHES_BEFORE)
        return false;
    if (attributes->index && index_items(attributes->index, attributes))
        return true;
    attributes->index = index_new(attributes);
    return attributes->index && index_items(attributes->index, attributes);
}

/* The first one from a place on. */
static struct attribute *find_from(const struct attributes *attributes, size_t from,
                                   struct view key)
{
    const uint8_t *marks = attributes->marks, *at;
    for (; from < attributes->count; from = (size_t)(at - marks) + 1) {
        at = memchr(marks + from, key_mark_of(key), attributes->count - from);
        if (!at)
            break;
        struct attribute *item = &attributes->items[at - marks];
        if (!item->gone && view_eq(item->key, key))
            return item;
    }
    return NULL;
}

/* What is gone before it leaves its ring. *place: of the key. NULL: there is none. */
static struct attribute *find_indexed(const struct attributes *attributes, struct view key,
                                      uint32_t **place)
{
    struct attribute_index *index = attributes->index;
    *place = find_place(index, attributes, key);
    if (!**place)
        return NULL;
    uint32_t last = **place, first = index->next[last];
    while (attributes->items[first - 1].gone && first != last)
        first = index->next[first];
    index->next[last] = first;
    return attributes->items[first - 1].gone ? NULL : &attributes->items[first - 1];
}

/* As attributes_remove_others; the others leave their ring. False: it is not in the index. */
static bool remove_indexed(struct attributes *attributes, const struct attribute *kept)
{
    struct attribute_index *index = attributes->index;
    uint32_t *place, item = (uint32_t)(kept - attributes->items) + 1;
    if (!index || !index_items(index, attributes) ||
        find_indexed(attributes, kept->key, &place) != kept)
        return false;
    for (uint32_t other = index->next[item]; other != item; other = index->next[other])
        if (!attributes->items[other - 1].gone)
            attributes_remove(attributes, &attributes->items[other - 1]);
    *place = index->next[item] = item;
    return true;
}

/* A bit in the byte of each with the mark of the eight items from one on, or as many as there are;
 * a few more may have one. */
static inline uint64_t marked(const struct attributes *attributes, size_t from, uint8_t mark)
{
    size_t left = attributes->count - from;
    uint64_t word;
    memcpy(&word, attributes->marks + from, sizeof word);
    uint64_t same = same_bytes(le64toh(word), mark);
    if (left < sizeof word)
        same &= (UINT64_C(1) << 8 * left) - 1;
    return same;
}

/* The first of these with the key. */
static __attribute__((noinline)) struct attribute *
find_marked(const struct attributes *attributes, size_t from, uint64_t same, struct view key)
{
    for (; same; same &= same - 1) {
        struct attribute *item = &attributes->items[from + (unsigned)__builtin_ctzll(same) / 8];
        if (!item->gone && view_eq_short(item->key, key))
            return item;
    }
    return NULL;
}

static __attribute__((noinline)) struct attribute *find_in_many(struct attributes *attributes,
                                                                struct view key)
{
    struct attribute *found = NULL;
    uint32_t *place;
    if (attributes->count >= INDEX_FROM && update_index(attributes))
        return find_indexed(attributes, key, &place);
    for (size_t from = 0; from < attributes->count && !found; from += 8)
        found = find_marked(attributes, from, marked(attributes, from, key_mark_of(key)), key);
    return found;
}

__attribute__((noinline)) struct attribute *attributes_search(struct attributes *attributes,
                                                              struct view key)
{
    if (attributes->count - 1 >= 8) /* or none, which wraps around */
        return find_in_many(attributes, key);
    uint64_t same = marked(attributes, 0, key_mark_of(key));
    return same ? find_marked(attributes, 0, same, key) : NULL;
}

bool attributes_get(struct attributes *attributes, struct view key, struct value *value)
{
    const struct attribute *found = attributes_find(attributes, key);
    if (found)
        *value = value_read(found->any);
    return found;
}

void attributes_change(struct attributes *attributes, struct attribute *attribute,
                       const struct value *value)
{
    attributes_change_any(attributes, attribute, value_any(value, attributes->arena));
}

static __attribute__((noinline)) struct attribute *grow_and_add(struct attributes *attributes,
                                                                struct view key, struct view any)
{
    return !attributes->failed && grow(attributes) ? attributes_add(attributes, key, any) : NULL;
}

struct attribute *attributes_add(struct attributes *attributes, struct view key, struct view any)
{
    if (attributes->failed || attributes->count == attributes->capacity)
        return grow_and_add(attributes, key, any);
    struct attribute *item = put(attributes, key, false);
    item->source = (struct view){0};
    attributes_change_any(attributes, item, any);
    return item;
}

/* Whether none of a few items behind one has its key. */
static inline bool is_last_of_few(const struct attributes *attributes, size_t at)
{
    return attributes->count <= 8 && !(marked(attributes, 0, attributes->marks[at]) >> 8 * at >> 8);
}

__attribute__((noinline)) void attributes_remove_others(struct attributes *attributes,
                                                        const struct attribute *kept)
{
    size_t from = (size_t)(kept - attributes->items) + 1;
    struct attribute *other;
    if (is_last_of_few(attributes, from - 1) || remove_indexed(attributes, kept))
        return;
    while ((other = find_from(attributes, from, kept->key))) {
        attributes_remove(attributes, other);
        from = (size_t)(other - attributes->items) + 1;
    }
}

void attributes_set_any(struct attributes *attributes, struct view key, struct view any)
{
    struct attribute *item = attributes_find(attributes, key);
    if (item) {
        attributes_change_any(attributes, item, any);
        attributes_keep_one(attributes, item);
    } else {
        attributes_add(attributes, key, any);
    }
}

void attributes_set(struct attributes *attributes, struct view key, const struct value *value)
{
    attributes_set_any(attributes, key, value_any(value, attributes->arena));
}

void attributes_name(struct attributes *attributes, struct attribute *attribute, struct view key)
{
    attribute->key = key;
    attributes->marks[attribute - attributes->items] = key_mark_of(key);
    attributes->index = NULL;
    attributes->cells = NULL;
}

size_t attributes_count(const struct attributes *attributes)
{
    size_t count = 0;
    for (size_t i = 0; i < attributes->count; i++)
        count += !attributes->items[i].gone;
    return count;
}

static size_t body_size(const struct attribute *item)
{
    return proto_len_size(KEY_VALUE_KEY, item->key.size) +
           proto_len_size(KEY_VALUE_VALUE, item->any.size);
}

static uint8_t *put_body(uint8_t *out, const struct attribute *item)
{
    out = proto_bytes_put(proto_len_put(out, KEY_VALUE_KEY, item->key.size), item->key);
    return proto_bytes_put(proto_len_put(out, KEY_VALUE_VALUE, item->any.size), item->any);
}

/* Whether the field as it came can be copied: it has the number that it is to have. */
static bool as_it_came(const struct attribute *item, uint32_t list)
{
    return !item->changed && item->source.data && item->source.data[0] == PLAIN_TAG(list, WIRE_LEN);
}

size_t attributes_size(const struct attributes *attributes, uint32_t list)
{
    size_t size = 0;
    for (size_t i = 0; i < attributes->count; i++) {
        const struct attribute *item = &attributes->items[i];
        if (!item->gone)
            size +=
                as_it_came(item, list) ? item->source.size : proto_len_size(list, body_size(item));
    }
    return size;
}

uint8_t *attributes_put(uint8_t *out, const struct attributes *attributes, uint32_t list)
{
    for (size_t i = 0; i < attributes->count; i++) {
        const struct attribute *item = &attributes->items[i];
        if (item->gone)
            continue;
        out = as_it_came(item, list) ? proto_bytes_put(out, item->source)
                                     : put_body(proto_len_put(out, list, body_size(item)), item);
    }
    return out;
}

struct view attributes_field(const struct attribute *attribute, uint32_t list, struct arena *arena)
{
    if (attribute->changed && attribute->made.data)
        return attribute->made;
    size_t body = body_size(attribute);
    uint8_t *out = arena_array_raw(arena, proto_len_size(list, body), 1);
    if (!out)
        return (struct view){0};
    return view_between(out, put_body(proto_len_put(out, list, body), attribute));
}

struct value attributes_map(const struct attributes *attributes)
{
    size_t size = attributes_size(attributes, LIST_VALUES);
    uint8_t *out = arena_array_raw(attributes->arena, size ? size : 1, 1);
    struct value map = {.kind = VALUE_MAP};
    if (out)
        map.bytes = view_between(out, attributes_put(out, attributes, LIST_VALUES));
    return map;
}
