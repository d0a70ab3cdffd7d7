/* A growable byte array with a maximum size, charged to a budget as it grows. */
#ifndef LIB_BASE_BYTES_H
#define LIB_BASE_BYTES_H

#include "lib/base/budget.h"
#include "lib/base/view.h"

enum bytes_result {
    BYTES_OK,
    BYTES_FULL,     /* beyond max: the same content can never fit */
    BYTES_NO_MEMORY /* the budget or the allocator has no room now */
};

struct bytes {
    uint8_t *data;
    size_t size;
    size_t capacity;
    size_t max;
    struct budget *budget; /* borrowed; NULL: not charged */
};

/* An empty array for up to max bytes; allocates nothing. */
void bytes_init(struct bytes *bytes, size_t max, struct budget *budget);

/* Makes room for extra more bytes after size; on failure nothing changes. */
enum bytes_result bytes_reserve(struct bytes *bytes, size_t extra);

/* Appends n bytes; on failure nothing changes. */
enum bytes_result bytes_append(struct bytes *bytes, const void *data, size_t n);
enum bytes_result bytes_append_view(struct bytes *bytes, struct view view);

/* Appends printf output, without a NUL; on failure nothing changes. */
enum bytes_result bytes_printf(struct bytes *bytes, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Sets size to 0 and keeps the memory. */
void bytes_clear(struct bytes *bytes);

/* Frees the memory; the array is then empty and can be used again. May be called repeatedly. */
void bytes_release(struct bytes *bytes);

static inline struct view bytes_view(const struct bytes *bytes)
{
    return (struct view){bytes->data, bytes->size};
}

#endif
