/* Refcounted, immutable bytes: what a batch carries from socket to socket. They lie in one run, or
 * are joined: the runs of other buffers behind one another, which were not copied together. */
#ifndef LIB_BASE_BUFFER_H
#define LIB_BASE_BUFFER_H

#include "lib/base/bytes.h"
#include "lib/base/pieces.h"

#include <assert.h>

struct buffer {
    _Atomic unsigned refs;
    uint8_t *data; /* one run; NULL while joined */
    size_t size;
    size_t charged;        /* bytes drawn from the budget */
    struct budget *budget; /* borrowed, outlives the buffer */
    struct buffer **parts; /* joined: one reference each; NULL: one run */
    size_t part_count;
    struct buffer *owner;  /* of the bytes, with a reference; NULL: the buffer itself */
    struct buffer *packed; /* the same bytes as gzip, owned; NULL: there are none */
};

/* Takes over the bytes with their charge and leaves them empty. NULL: no memory, bytes kept. */
struct buffer *buffer_from_bytes(struct bytes *bytes);

/* A buffer of size bytes to be filled by its maker before it is shared. NULL: no room. With
 * force, the budget's limit is passed over: for data that was accepted already. */
struct buffer *buffer_new(size_t size, struct budget *budget, bool force);

/* Keeps a copy of the buffer's bytes as gzip, before it is shared, where the budget has room. */
void buffer_keep_packed(struct buffer *buffer, struct view gzip);

/* A run inside of another buffer, of which it takes a reference. NULL: no memory. */
struct buffer *buffer_slice(struct buffer *owner, struct view run);

/* The bytes of all parts (at least one), of whose runs it takes references. NULL: no memory. */
struct buffer *buffer_join(struct buffer *const *parts, size_t count);

/* The same bytes in one run: a reference to the buffer itself where they are, else a copy, forced
 * on the budget. NULL: no memory. */
struct buffer *buffer_flat(struct buffer *buffer);

/* Its runs, for an array of buffer_run_count views. */
size_t buffer_run_count(const struct buffer *buffer);
void buffer_runs(const struct buffer *buffer, struct view *runs);

/* Any thread. */
struct buffer *buffer_ref(struct buffer *buffer);
void buffer_unref(struct buffer *buffer); /* NULL is legal */

static inline struct view buffer_view(const struct buffer *buffer)
{
    assert(!buffer || !buffer->parts);
    return buffer ? (struct view){buffer->data, buffer->size} : (struct view){0};
}

#endif
