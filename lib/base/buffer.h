/* Refcounted, immutable bytes: what a batch carries from socket to socket. A buffer is contiguous,
 * or joined: a sequence of other buffers' runs that were not copied together. */
#ifndef LIB_BASE_BUFFER_H
#define LIB_BASE_BUFFER_H

#include "lib/base/bytes.h"
#include "lib/base/pieces.h"

#include <assert.h>

struct buffer {
    _Atomic unsigned refs;
    uint8_t *data; /* NULL: joined */
    size_t size;
    size_t charged;        /* bytes charged to the budget */
    struct budget *budget; /* borrowed, outlives the buffer */
    struct buffer **parts; /* joined: one reference each; NULL: contiguous */
    size_t part_count;
    struct buffer *owner;  /* owns the bytes, referenced; NULL: the buffer itself */
    struct buffer *packed; /* the same bytes as gzip, owned; NULL: none */
};

/* Takes over the bytes with their charge and leaves bytes empty. NULL: no memory; bytes is
 * unchanged. */
struct buffer *buffer_from_bytes(struct bytes *bytes);

/* Returns a buffer of size bytes for the caller to fill before sharing it. NULL: no room. force
 * exceeds the budget's limit if need be: for data that was already accepted. */
struct buffer *buffer_new(size_t size, struct budget *budget, bool force);

/* Keeps a copy of gzip, the compressed form of the buffer's bytes, if the budget has room. Call
 * before sharing the buffer. */
void buffer_keep_packed(struct buffer *buffer, struct view gzip);

/* Returns a buffer over a run inside owner, and takes a reference to owner. NULL: no memory. */
struct buffer *buffer_slice(struct buffer *owner, struct view run);

/* Returns a joined buffer over all parts (at least one), and takes references to their runs. NULL:
 * no memory. */
struct buffer *buffer_join(struct buffer *const *parts, size_t count);

/* Returns the same bytes contiguous: a new reference to the buffer if it is, else a copy, charged
 * by force. NULL: no memory. */
struct buffer *buffer_flat(struct buffer *buffer);

/* The buffer's runs, in order; runs has buffer_run_count elements. */
size_t buffer_run_count(const struct buffer *buffer);
void buffer_runs(const struct buffer *buffer, struct view *runs);

/* Any thread. */
struct buffer *buffer_ref(struct buffer *buffer);
void buffer_unref(struct buffer *buffer); /* may be NULL */

static inline struct view buffer_view(const struct buffer *buffer)
{
    assert(!buffer || !buffer->parts);
    return buffer ? (struct view){buffer->data, buffer->size} : (struct view){0};
}

#endif
