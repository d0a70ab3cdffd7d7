#include "pipeline/batch_parts.h"

#include <stdlib.h>

void batch_parts_begin(struct batch_parts *parts, struct batch *batch)
{
    parts->batch = batch_ref(batch);
    parts->whole = NULL;
    parts->left = batch->items;
    parts->begun = parts->whole_failed = false;
}

void batch_parts_end(struct batch_parts *parts)
{
    if (parts->whole)
        otlp_split_end(&parts->splitter);
    buffer_unref(parts->whole);
    batch_unref(parts->batch);
}

static bool look(struct batch_parts *parts)
{
    const struct batch *batch = parts->batch;
    if (parts->whole || parts->whole_failed)
        return parts->whole;
    parts->whole = batch->encoding == BATCH_OTLP ? buffer_flat(batch->payload) : NULL;
    parts->whole_failed = !parts->whole;
    if (parts->whole)
        otlp_split_begin(&parts->splitter, batch->signal, buffer_view(parts->whole));
    return parts->whole;
}

static struct batch *part_of(const struct batch_parts *parts, struct buffer *payload)
{
    enum signal signal = parts->batch->signal;
    return payload
               ? batch_with_payload(parts->batch, payload, otlp_count(signal, buffer_view(payload)))
               : NULL;
}

struct batch *batch_parts_next(struct batch_parts *parts, uint32_t max_items, size_t max_bytes)
{
    if (!look(parts))
        return NULL;
    struct budget *budget = parts->whole->budget;
    struct batch *part =
        part_of(parts, otlp_split_next(&parts->splitter, max_items, max_bytes, budget));
    parts->left_before = parts->left;
    parts->begun_before = parts->begun;
    if (part) {
        parts->left -= part->items < parts->left ? part->items : parts->left;
        parts->begun = true;
    } else {
        otlp_split_undo(&parts->splitter);
    }
    return part;
}

void batch_parts_undo(struct batch_parts *parts)
{
    otlp_split_undo(&parts->splitter);
    parts->left = parts->left_before;
    parts->begun = parts->begun_before;
}

struct batch *batch_parts_rest(struct batch_parts *parts)
{
    return parts->begun ? part_of(parts, otlp_split_rest(&parts->splitter, parts->whole->budget))
                        : batch_ref(parts->batch);
}

static bool append(struct batch_part ***end, struct batch *batch)
{
    struct batch_part *part = batch ? malloc(sizeof *part) : NULL;
    if (!part) {
        batch_unref(batch);
        return false;
    }
    *part = (struct batch_part){.batch = batch};
    **end = part;
    *end = &part->next;
    return true;
}

static void free_list(struct batch_part *list)
{
    while (list) {
        struct batch_part *part = list;
        list = part->next;
        batch_unref(part->batch);
        free(part);
    }
}

struct batch_part *batch_cut(struct batch *batch, uint32_t max_items, size_t max_bytes,
                             size_t enough)
{
    struct batch_part *list = NULL, **end = &list;
    struct batch_parts parts;
    struct batch *part = NULL;
    size_t bytes = 0;
    bool failed = false;
    batch_parts_begin(&parts, batch);
    while (bytes < enough && !failed && (part = batch_parts_next(&parts, max_items, max_bytes))) {
        bytes += part->payload->size;
        failed = !append(&end, part);
    }
    if (list && !failed)
        failed = !append(&end, batch_parts_rest(&parts));
    batch_parts_end(&parts);
    if (!failed)
        return list;
    free_list(list);
    return NULL;
}
