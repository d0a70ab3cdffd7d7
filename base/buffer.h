/* A refcounted, immutable run of bytes: what a batch carries from socket to socket. */
#ifndef BASE_BUFFER_H
#define BASE_BUFFER_H

#include "base/bytes.h"

struct buffer {
    _Atomic unsigned refs;
    uint8_t *data;
    size_t size;
    size_t charged;        /* bytes drawn from the budget */
    struct budget *budget; /* borrowed, outlives the buffer */
};

/* Takes over the bytes with their charge and leaves them empty. NULL: no memory, bytes kept. */
struct buffer *buffer_from_bytes(struct bytes *bytes);

/* A buffer of size bytes to be filled by its maker before it is shared. NULL: no room. With
 * force, the budget's limit is passed over: for data that was accepted already. */
struct buffer *buffer_new(size_t size, struct budget *budget, bool force);

/* The same for work on accepted data: the budget's reserve may be used, its limit is kept. */
struct buffer *buffer_new_for_work(size_t size, struct budget *budget);

/* Any thread. */
struct buffer *buffer_ref(struct buffer *buffer);
void buffer_unref(struct buffer *buffer); /* NULL is legal */

static inline struct view buffer_view(const struct buffer *buffer)
{
    return buffer ? (struct view){buffer->data, buffer->size} : (struct view){0};
}

#endif
