/* Splitting a request (lib/wire/otlp/otlp.h). */
#include "lib/wire/otlp/otlp.h"

enum { LEVELS = 3 };

/* Field numbers of the repeated field at each level: resources, scopes, items. */
static const uint32_t children[LEVELS] = {1, 2, 2};

/* The start of the rest: its first item, and the scope and resource that contain it. */
struct cut {
    const uint8_t *at[LEVELS];
    bool front_has[LEVELS]; /* part of the resource or scope at the cut is in the front */
};

/* The size of the front. Length prefixes are counted as in the source; written ones are never
 * longer. */
struct measure {
    size_t top;      /* other fields, and whole resources so far */
    size_t resource; /* of the current resource: header, other fields, whole scopes */
    size_t scope;    /* of the current scope: header, other fields, items so far */
    uint32_t items;
};

/* Size of a body's fields other than number. */
static size_t size_beside(struct view body, uint32_t number)
{
    struct proto_scan scan = proto_scan_begin(body);
    struct proto_field field;
    size_t size = 0;
    while (proto_scan_next(&scan, &field))
        if (field.number != number)
            size += (size_t)(field.end - field.start);
    return size;
}

static size_t entry_size(const struct proto_field *entry)
{
    return (size_t)(entry->end - entry->start);
}

/* An entry's size without its children. */
static size_t shell_size(const struct proto_field *entry, uint32_t number)
{
    return entry_size(entry) - entry->bytes.size + size_beside(entry->bytes, number);
}

static bool within(const struct measure *front, uint32_t max_items, size_t max_bytes)
{
    return (max_items == 0 || front->items <= max_items) &&
           (max_bytes == 0 || front->top + front->resource + front->scope <= max_bytes);
}

/* Adds the walk's current entry to the measure. */
static void otlp_split_take(const struct otlp_walk *walk, enum otlp_step step,
                            struct measure *front)
{
    switch (step) {
    case OTLP_RESOURCE:
        front->resource = shell_size(&walk->resource_entry, children[1]);
        break;
    case OTLP_SCOPE:
        front->scope = shell_size(&walk->scope_entry, children[2]);
        break;
    case OTLP_ITEM:
        front->scope += entry_size(&walk->item);
        front->items += otlp_item_count(walk->signal, walk->item.bytes);
        break;
    case OTLP_SCOPE_END:
        front->resource += entry_size(&walk->scope_entry);
        front->scope = 0;
        break;
    case OTLP_RESOURCE_END:
        front->top += entry_size(&walk->resource_entry);
        front->resource = 0;
        break;
    case OTLP_END:
        break;
    }
}

/* Finds the first item that does not fit into the front. False: none, apart from the first. */
static bool find_cut(struct otlp_walk *walk, uint32_t max_items, size_t max_bytes, struct cut *cut)
{
    struct measure front = {
        .top = size_beside(view_between(walk->request.at, walk->request.end), children[0])};
    bool any = false;
    for (enum otlp_step step; (step = otlp_walk_next(walk)) != OTLP_END;) {
        otlp_split_take(walk, step, &front);
        if (step == OTLP_RESOURCE)
            cut->front_has[0] = false;
        if (step == OTLP_SCOPE)
            cut->front_has[1] = false;
        if (step == OTLP_SCOPE_END)
            cut->front_has[0] = true;
        if (step != OTLP_ITEM)
            continue;
        if (any && !within(&front, max_items, max_bytes)) {
            cut->at[0] = walk->resource_entry.start;
            cut->at[1] = walk->scope_entry.start;
            cut->at[2] = walk->item.start;
            return true;
        }
        any = cut->front_has[0] = cut->front_has[1] = true;
    }
    return false;
}

/* Deletes the other side of the cut from one level. */
static void keep_side(struct splice *splice, struct view body, unsigned level,
                      const struct cut *cut, bool front)
{
    struct proto_scan scan = proto_scan_begin(body);
    struct proto_field entry;
    while (proto_scan_next(&scan, &entry)) {
        if (entry.number != children[level])
            continue;
        if (level + 1 < LEVELS && entry.start == cut->at[level] &&
            (!front || cut->front_has[level])) {
            splice_enter(splice, &entry);
            keep_side(splice, entry.bytes, level + 1, cut, front);
            splice_leave(splice);
        } else if ((entry.start < cut->at[level]) != front) {
            splice_delete(splice, entry.start, entry.end);
        }
    }
}

static struct buffer *write_side(struct view request, const struct cut *cut, bool front,
                                 struct budget *budget)
{
    struct arena arena;
    struct splice splice;
    struct buffer *buffer = NULL;
    /* Splitting is not worth it if the edits take more memory than the request. */
    arena_init(&arena, request.size + 65536);
    splice_begin(&splice, request, &arena);
    keep_side(&splice, request, 0, cut, front);
    if (!splice.failed)
        buffer = buffer_new(splice_size(&splice), budget, true);
    if (buffer)
        splice_write(&splice, buffer->data);
    arena_release(&arena);
    return buffer;
}

bool otlp_split(enum signal signal, struct view request, uint32_t max_items, size_t max_bytes,
                struct budget *budget, struct buffer **front, struct buffer **rest)
{
    struct otlp_walk walk;
    struct cut cut = {0};
    *front = *rest = NULL;
    otlp_walk_begin(&walk, signal, request);
    if (!find_cut(&walk, max_items, max_bytes, &cut))
        return false;
    *front = write_side(request, &cut, true, budget);
    *rest = *front ? write_side(request, &cut, false, budget) : NULL;
    if (*rest)
        return true;
    buffer_unref(*front);
    *front = NULL;
    return false;
}
