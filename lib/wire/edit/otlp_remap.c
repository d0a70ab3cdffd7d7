#include "lib/wire/edit/otlp_remap.h"

#include "lib/wire/otlp/otlp.h"
#include "lib/wire/profiles/otlp_label.h"

enum { ENTRY_RESOURCE = 1, RESOURCE_ATTRIBUTES = 1, KEY_VALUE_KEY = 1, KEY_VALUE_KEY_STRINDEX = 3 };
enum { REQUEST_DICTIONARY = 2, DICTIONARY_STRINGS = 5 };

struct remapping {
    const struct remap_pair *pairs;
    size_t count;
    struct otlp_dictionary dictionary; /* profiles: the strings that keys may refer to */
    struct splice *splice;
};

static struct view otlp_remap_key_of(const struct remapping *remapping, struct view attribute)
{
    return remapping->dictionary.of[OTLP_TABLE_STRING].count
               ? otlp_label_key(&remapping->dictionary, attribute)
               : otlp_key(attribute);
}

/* Finds the first attribute with the key in all Resource fields of an entry, which protobuf
 * merges. */
static bool find_merged(const struct remapping *remapping, struct view entry, struct view key,
                        struct proto_field *found)
{
    struct proto_scan scan = proto_scan_begin(entry);
    struct proto_field resource;
    while (proto_scan_next(&scan, &resource)) {
        if (resource.number != ENTRY_RESOURCE)
            continue;
        struct proto_scan attributes = proto_scan_begin(resource.bytes);
        while (proto_scan_next(&attributes, found))
            if (found->number == RESOURCE_ATTRIBUTES &&
                view_eq(otlp_remap_key_of(remapping, found->bytes), key))
                return true;
    }
    return false;
}

/* Finds the last attribute of an entry, and the Resource field that contains it. False: none. */
static bool last_attribute(struct view entry, struct proto_field *resource,
                           struct proto_field *attribute)
{
    struct proto_scan scan = proto_scan_begin(entry);
    struct proto_field each, found;
    bool any = false;
    while (proto_scan_next(&scan, &each))
        if (each.number == ENTRY_RESOURCE &&
            proto_find(each.bytes, RESOURCE_ATTRIBUTES, WIRE_LEN, &found)) {
            *resource = each;
            *attribute = found;
            any = true;
        }
    return any;
}

/* Whether to make the copy that pairs[i] asks for; *from is then the attribute to copy. */
static bool wanted(const struct remapping *remapping, struct view entry, size_t i,
                   struct proto_field *from)
{
    const struct remap_pair *pairs = remapping->pairs;
    struct view to = view_of(pairs[i].to);
    struct proto_field there;
    if (!find_merged(remapping, entry, view_of(pairs[i].from), from) ||
        find_merged(remapping, entry, to, &there))
        return false;
    /* An earlier pair with the same target has already made it. */
    for (size_t k = 0; k < i; k++)
        if (view_eq(view_of(pairs[k].to), to) &&
            find_merged(remapping, entry, view_of(pairs[k].from), &there))
            return false;
    return true;
}

static bool is_key(const struct proto_field *field)
{
    return field->number == KEY_VALUE_KEY || field->number == KEY_VALUE_KEY_STRINDEX;
}

/* Bytes of a KeyValue's body without its key. */
static size_t size_without_key(struct view body)
{
    struct proto_scan scan = proto_scan_begin(body);
    struct proto_field field;
    size_t size = 0;
    while (proto_scan_next(&scan, &field))
        if (!is_key(&field))
            size += (size_t)(field.end - field.start);
    return size;
}

/* Copies the attribute under another key, as a whole KeyValue field. Data NULL: no room. */
static struct view renamed(struct view body, struct view key, struct arena *arena)
{
    size_t size = proto_len_size(KEY_VALUE_KEY, key.size) + size_without_key(body);
    uint8_t *text = arena_alloc(arena, proto_len_size(RESOURCE_ATTRIBUTES, size));
    if (!text)
        return (struct view){0};
    uint8_t *out = proto_len_put(text, RESOURCE_ATTRIBUTES, size);
    out = proto_bytes_put(proto_len_put(out, KEY_VALUE_KEY, key.size), key);
    struct proto_scan scan = proto_scan_begin(body);
    struct proto_field field;
    while (proto_scan_next(&scan, &field))
        if (!is_key(&field))
            out = proto_bytes_put(out, view_between(field.start, field.end));
    return view_between(text, out);
}

static void remap_entry(const struct remapping *remapping, const struct proto_field *entry)
{
    struct splice *splice = remapping->splice;
    struct proto_field resource = {0}, last = {0}, from;
    if (!last_attribute(entry->bytes, &resource, &last))
        return;
    splice_enter(splice, entry);
    splice_enter(splice, &resource);
    for (size_t i = 0; i < remapping->count; i++) {
        if (!wanted(remapping, entry->bytes, i, &from))
            continue;
        struct view text = renamed(from.bytes, view_of(remapping->pairs[i].to), splice->arena);
        if (!text.data)
            splice->failed = true;
        else
            splice_insert(splice, last.end, text);
    }
    splice_leave(splice);
    splice_leave(splice);
}

/* Collects the strings of all dictionaries; only counts them if no entries are allocated. */
static void each_string(struct otlp_dictionary *dictionary, struct view request)
{
    struct proto_scan scan = proto_scan_begin(request);
    struct proto_field field, entry;
    struct view *entries = dictionary->of[OTLP_TABLE_STRING].entries;
    size_t count = 0;
    while (proto_scan_next(&scan, &field)) {
        if (field.number != REQUEST_DICTIONARY)
            continue;
        struct proto_scan tables = proto_scan_begin(field.bytes);
        while (proto_scan_next(&tables, &entry)) {
            if (entry.number != DICTIONARY_STRINGS)
                continue;
            if (entries)
                entries[count] = entry.bytes;
            count++;
        }
    }
    dictionary->of[OTLP_TABLE_STRING].count = count;
}

/* Whether the key of any resource's attribute is a reference. */
static bool any_reference(struct view request)
{
    struct otlp_walk walk;
    struct proto_field resource, attribute, reference;
    otlp_walk_begin(&walk, SIGNAL_PROFILES, request);
    for (enum otlp_step step; (step = otlp_walk_next(&walk)) != OTLP_END;) {
        struct proto_scan scan = proto_scan_begin(walk.resource_entry.bytes);
        while (step == OTLP_RESOURCE && proto_scan_next(&scan, &resource)) {
            if (resource.number != ENTRY_RESOURCE)
                continue;
            struct proto_scan attributes = proto_scan_begin(resource.bytes);
            while (proto_scan_next(&attributes, &attribute))
                if (attribute.number == RESOURCE_ATTRIBUTES &&
                    proto_find(attribute.bytes, KEY_VALUE_KEY_STRINDEX, WIRE_VARINT, &reference))
                    return true;
        }
    }
    return false;
}

static bool index_strings(struct otlp_dictionary *dictionary, struct view request,
                          struct arena *arena)
{
    each_string(dictionary, request);
    size_t count = dictionary->of[OTLP_TABLE_STRING].count;
    dictionary->of[OTLP_TABLE_STRING].entries = arena_array(arena, count, sizeof(struct view));
    if (dictionary->of[OTLP_TABLE_STRING].entries)
        each_string(dictionary, request);
    return dictionary->of[OTLP_TABLE_STRING].entries;
}

void otlp_remap(enum signal signal, struct view request, const struct remap_pair *pairs,
                size_t count, struct splice *splice)
{
    struct remapping remapping = {.pairs = pairs, .count = count, .splice = splice};
    struct proto_scan scan = proto_scan_begin(request);
    struct proto_field entry;
    /* Resources are at the same place in all four signals; only profiles have references. */
    if (signal == SIGNAL_PROFILES && count && any_reference(request) &&
        !index_strings(&remapping.dictionary, request, splice->arena)) {
        splice->failed = true;
        return;
    }
    while (proto_scan_next(&scan, &entry))
        if (entry.number == 1)
            remap_entry(&remapping, &entry);
}
