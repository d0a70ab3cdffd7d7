#include "lib/base/buffer.h"

#include <stdlib.h>

struct buffer *buffer_from_bytes(struct bytes *bytes)
{
    struct buffer *buffer = calloc(1, sizeof *buffer);
    if (!buffer)
        return NULL;
    atomic_init(&buffer->refs, 1);
    buffer->data = bytes->data;
    buffer->size = bytes->size;
    buffer->charged = bytes->capacity;
    buffer->budget = bytes->budget;
    bytes_init(bytes, bytes->max, bytes->budget);
    return buffer;
}

/* Makes a buffer of size bytes that are already charged; on failure returns the charge. */
static struct buffer *charged_buffer(size_t size, struct budget *budget)
{
    struct buffer *buffer = calloc(1, sizeof *buffer);
    uint8_t *data = buffer ? malloc(size ? size : 1) : NULL;
    if (!data) {
        free(buffer);
        budget_give(budget, size);
        return NULL;
    }
    atomic_init(&buffer->refs, 1);
    buffer->data = data;
    buffer->size = size;
    buffer->charged = size;
    buffer->budget = budget;
    return buffer;
}

struct buffer *buffer_new(size_t size, struct budget *budget, bool force)
{
    if (force)
        budget_force(budget, size);
    else if (!budget_take(budget, size))
        return NULL;
    return charged_buffer(size, budget);
}

void buffer_keep_packed(struct buffer *buffer, struct view gzip)
{
    assert(!buffer->packed && gzip.size > 0);
    buffer->packed = buffer_new(gzip.size, buffer->budget, false);
    if (buffer->packed)
        memcpy(buffer->packed->data, gzip.data, gzip.size);
}

struct buffer *buffer_slice(struct buffer *owner, struct view run)
{
    assert(!owner->parts && run.data >= owner->data && run.size <= owner->size);
    struct buffer *slice = calloc(1, sizeof *slice);
    if (!slice)
        return NULL;
    atomic_init(&slice->refs, 1);
    slice->data = (uint8_t *)(uintptr_t)run.data;
    slice->size = run.size;
    slice->budget = owner->budget;
    slice->owner = buffer_ref(owner);
    return slice;
}

static void add_parts(struct buffer *joined, struct buffer *from)
{
    struct buffer *const *parts = from->parts ? from->parts : &from;
    for (size_t i = 0; i < buffer_run_count(from); i++)
        joined->parts[joined->part_count++] = buffer_ref(parts[i]);
    joined->size += from->size;
}

struct buffer *buffer_join(struct buffer *const *parts, size_t count)
{
    size_t runs = 0;
    for (size_t i = 0; i < count; i++)
        runs += buffer_run_count(parts[i]);
    assert(runs > 0);
    struct buffer *joined = calloc(1, sizeof *joined);
    struct buffer **own = joined ? malloc(runs * sizeof(struct buffer *)) : NULL;
    if (!own) {
        free(joined);
        return NULL;
    }
    atomic_init(&joined->refs, 1);
    joined->parts = own;
    joined->budget = parts[0]->budget;
    for (size_t i = 0; i < count; i++)
        add_parts(joined, parts[i]);
    return joined;
}

struct buffer *buffer_flat(struct buffer *buffer)
{
    if (!buffer->parts)
        return buffer_ref(buffer);
    struct buffer *flat = buffer_new(buffer->size, buffer->budget, true);
    uint8_t *at = flat ? flat->data : NULL;
    for (size_t i = 0; flat && i < buffer->part_count; i++) {
        const struct buffer *part = buffer->parts[i];
        if (part->size)
            memcpy(at, part->data, part->size);
        at += part->size;
    }
    return flat;
}

size_t buffer_run_count(const struct buffer *buffer)
{
    return buffer->parts ? buffer->part_count : 1;
}

void buffer_runs(const struct buffer *buffer, struct view *runs)
{
    if (!buffer->parts)
        runs[0] = buffer_view(buffer);
    for (size_t i = 0; i < buffer->part_count; i++)
        runs[i] = buffer_view(buffer->parts[i]);
}

struct buffer *buffer_ref(struct buffer *buffer)
{
    atomic_fetch_add_explicit(&buffer->refs, 1, memory_order_relaxed);
    return buffer;
}

void buffer_unref(struct buffer *buffer)
{
    if (!buffer || atomic_fetch_sub_explicit(&buffer->refs, 1, memory_order_acq_rel) != 1)
        return;
    for (size_t i = 0; i < buffer->part_count; i++)
        buffer_unref(buffer->parts[i]);
    free(buffer->parts);
    buffer_unref(buffer->packed);
    budget_give(buffer->budget, buffer->charged);
    if (buffer->owner)
        buffer_unref(buffer->owner);
    else
        free(buffer->data);
    free(buffer);
}
