#include "base/buffer.h"

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

/* Of size bytes that were charged; on failure the charge is given back. */
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

struct buffer *buffer_new_for_work(size_t size, struct budget *budget)
{
    return budget_use(budget, size) ? charged_buffer(size, budget) : NULL;
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
    budget_give(buffer->budget, buffer->charged);
    free(buffer->data);
    free(buffer);
}
