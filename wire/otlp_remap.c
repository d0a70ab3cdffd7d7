#include "wire/otlp.h"

enum { ENTRY_RESOURCE = 1, RESOURCE_ATTRIBUTES = 1, KEY_VALUE_KEY = 1, KEY_VALUE_KEY_STRINDEX = 3 };

/* The first attribute with the key in all Resource fields of an entry, which protobuf merges. */
static bool find_merged(struct view entry, struct view key, struct proto_field *found)
{
    struct proto_scan scan = proto_scan_begin(entry);
    struct proto_field resource;
    while (proto_scan_next(&scan, &resource))
        if (resource.number == ENTRY_RESOURCE &&
            otlp_attribute_find(resource.bytes, RESOURCE_ATTRIBUTES, key, found))
            return true;
    return false;
}

/* The last attribute of an entry, and the Resource field that holds it. False: none. */
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

/* Whether the copy wanted by pairs[i] is to be made; then from is the attribute to copy. */
static bool wanted(struct view entry, const struct remap_pair *pairs, size_t i,
                   struct proto_field *from)
{
    struct view to = view_of(pairs[i].to);
    struct proto_field there;
    if (!find_merged(entry, view_of(pairs[i].from), from) || find_merged(entry, to, &there))
        return false;
    /* An earlier pair with the same target has made it already. */
    for (size_t k = 0; k < i; k++)
        if (view_eq(view_of(pairs[k].to), to) && find_merged(entry, view_of(pairs[k].from), &there))
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

/* A copy of the attribute under another key: a whole KeyValue field. Data NULL: no room. */
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

static void remap_entry(const struct proto_field *entry, const struct remap_pair *pairs,
                        size_t count, struct splice *splice)
{
    struct proto_field resource = {0}, last = {0}, from;
    if (!last_attribute(entry->bytes, &resource, &last))
        return;
    splice_enter(splice, entry);
    splice_enter(splice, &resource);
    for (size_t i = 0; i < count; i++) {
        if (!wanted(entry->bytes, pairs, i, &from))
            continue;
        struct view text = renamed(from.bytes, view_of(pairs[i].to), splice->arena);
        if (!text.data)
            splice->failed = true;
        else
            splice_insert(splice, last.end, text);
    }
    splice_leave(splice);
    splice_leave(splice);
}

void otlp_remap(enum signal signal, struct view request, const struct remap_pair *pairs,
                size_t count, struct splice *splice)
{
    (void)signal; /* resources stand at the same place in all four */
    struct proto_scan scan = proto_scan_begin(request);
    struct proto_field entry;
    while (proto_scan_next(&scan, &entry))
        if (entry.number == 1)
            remap_entry(&entry, pairs, count, splice);
}
