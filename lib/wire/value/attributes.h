/*
 * Lists of KeyValue that are edited: attributes, and the entries of a map. What is not changed is
 * copied as it came. Pure; bytes come from an arena.
 */
#ifndef LIB_WIRE_VALUE_ATTRIBUTES_H
#define LIB_WIRE_VALUE_ATTRIBUTES_H

#include "lib/wire/value/key_sieve.h"
#include "lib/wire/value/value.h"

/* One KeyValue in a list that is being edited. */
struct attribute {
    struct view key;
    struct view any;    /* body of its AnyValue */
    struct view source; /* the field as it came, tag included; data NULL: it is new */
    struct view made;   /* if changed: the field with this key and value; data NULL: not made yet */
    bool changed;       /* `any` is not the source's */
    bool gone;
};

/* The KeyValues of one message, in order. */
struct attributes {
    struct attribute *items;
    uint8_t *marks;                /* key_mark of the items: what attributes_find looks at first */
    uint32_t list, searches;       /* number of their field; searches of a long list */
    struct attribute_index *index; /* NULL: none */
    size_t count, capacity;
    struct arena *arena;
    const struct key_cells *cells; /* of what anyone looks for; NULL: it may be any key */
    uint8_t first[KEY_CELLS];      /* item + 1 of the first one in a cell; 0: none is */
    bool shared;                   /* a cell has several */
    bool changed;
    bool failed;  /* the arena had no room: nothing more is done */
    bool partial; /* some are missing until more are added: then a failure loses them */
};

/* Reads field `list` of a message. */
void attributes_read(struct attributes *attributes, struct view message, uint32_t list,
                     struct arena *arena);

/* The same field of another message, into the list's memory. */
void attributes_read_again(struct attributes *attributes, struct view message);

/* Key and value of a KeyValue's body. */
struct attribute attribute_read(struct view key_value);

/* Appends what a field of the list has, if it is in the form that SDKs write; key and value are
 * borrowed. False: it is not, or there is no room. */
bool attributes_append(struct attributes *attributes, struct view body, struct view source);

/* Appends one of another list. False: there is no room. */
bool attributes_take(struct attributes *attributes, const struct attribute *item);

/* The first one with the key; NULL: none. A long list that is searched often gets an index. */
static inline struct attribute *attributes_find(struct attributes *attributes, struct view key);
bool attributes_get(struct attributes *attributes, struct view key, struct value *value);

/* Sets, adding where it is absent; what else has the key goes. The bytes of key and value are
 * borrowed until the list is written. */
void attributes_set(struct attributes *attributes, struct view key, const struct value *value);
void attributes_change(struct attributes *attributes, struct attribute *attribute,
                       const struct value *value);

/* The same with the body of an AnyValue, which is borrowed too. add: where the key is absent; NULL:
 * no room. */
struct attribute *attributes_add(struct attributes *attributes, struct view key, struct view any);
void attributes_set_any(struct attributes *attributes, struct view key, struct view any);
static inline void attributes_change_any(struct attributes *attributes, struct attribute *attribute,
                                         struct view any)
{
    attributes->failed = attributes->failed || !any.data;
    if (attributes->failed)
        return;
    attribute->any = any;
    attribute->made = (struct view){0};
    attribute->changed = true;
    attributes->changed = true;
}

static inline void attributes_remove(struct attributes *attributes, struct attribute *attribute)
{
    attribute->gone = true;
    attributes->changed = true;
}

/* All with the key. */
static inline bool attributes_delete(struct attributes *attributes, struct view key);

/* What its key, a reference, stands for; its bytes stay as they came. */
void attributes_name(struct attributes *attributes, struct attribute *attribute, struct view key);

/* Removes what else has the key of one that attributes_find has found, so that no second value of
 * it stays behind. */
static inline void attributes_keep_one(struct attributes *attributes, const struct attribute *kept);

/* What these two do in a list without cells. */
struct attribute *attributes_search(struct attributes *attributes, struct view key);
void attributes_remove_others(struct attributes *attributes, const struct attribute *kept);

/* The same as attributes_find, of a list with cells and a key whose mark has this cell. */
static inline struct attribute *attributes_in_cell(struct attributes *attributes, uint8_t cell,
                                                   struct view key)
{
    const size_t first = attributes->first[cell];
    if (!first)
        return NULL;
    struct attribute *item = &attributes->items[first - 1];
    if (!item->gone && view_eq_short(item->key, key))
        return item;
    return attributes->shared ? attributes_search(attributes, key) : NULL;
}

static inline struct attribute *attributes_find(struct attributes *attributes, struct view key)
{
    if (!attributes->cells)
        return attributes_search(attributes, key);
    return attributes_in_cell(attributes, attributes->cells->of[key_mark_of(key)], key);
}

static inline void attributes_keep_one(struct attributes *attributes, const struct attribute *kept)
{
    if (!attributes->cells || attributes->shared)
        attributes_remove_others(attributes, kept);
}

static inline bool attributes_delete(struct attributes *attributes, struct view key)
{
    struct attribute *item = attributes_find(attributes, key);
    if (item) {
        attributes_remove(attributes, item);
        attributes_keep_one(attributes, item);
    }
    return item;
}

/* How many there are. */
size_t attributes_count(const struct attributes *attributes);

/* Bytes as field `list` of a message, and their writing. */
size_t attributes_size(const struct attributes *attributes, uint32_t list);
uint8_t *attributes_put(uint8_t *out, const struct attributes *attributes, uint32_t list);

/* One as field `list`, the number that it was read with, in the arena unless it was made before.
 * Data NULL: no room. */
struct view attributes_field(const struct attribute *attribute, uint32_t list, struct arena *arena);

/* The list as a MAP; bytes NULL: no room. */
struct value attributes_map(const struct attributes *attributes);

#endif
