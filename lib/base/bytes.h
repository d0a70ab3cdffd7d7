/* A growable run of bytes, born with its ceiling and charged to a budget as it grows. */
#ifndef LIB_BASE_BYTES_H
#define LIB_BASE_BYTES_H

#include "lib/base/budget.h"
#include "lib/base/view.h"

enum bytes_result {
    BYTES_OK,
    BYTES_FULL,     /* the ceiling is reached: the same content can never fit */
    BYTES_NO_MEMORY /* the budget or the allocator has no room now */
};

struct bytes {
    uint8_t *data;
    size_t size;
    size_t capacity;
    size_t max;
    struct budget *budget; /* borrowed; NULL: not charged */
};

/* An empty run that holds up to max bytes; allocates nothing. */
void bytes_init(struct bytes *bytes, size_t max, struct budget *budget);

/* Makes room for extra more bytes behind size; on failure nothing changes. */
enum bytes_result bytes_reserve(struct bytes *bytes, size_t extra);

/* Copies n bytes to the end; on failure nothing changes. */
enum bytes_result bytes_append(struct bytes *bytes, const void *data, size_t n);
enum bytes_result bytes_append_view(struct bytes *bytes, struct view view);

/* printf to the end. */
enum bytes_result bytes_printf(struct bytes *bytes, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Forgets the content, keeps the room. */
void bytes_clear(struct bytes *bytes);

/* Frees; the run is empty afterwards and can be used again. Legal twice. */
void bytes_release(struct bytes *bytes);

static inline struct view bytes_view(const struct bytes *bytes)
{
    return (struct view){bytes->data, bytes->size};
}

#endif
