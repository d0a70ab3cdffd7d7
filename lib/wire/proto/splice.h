/*
 * Edits to a protobuf message in wire form, applied in one pass with the lengths of all enclosing
 * messages fixed. The caller walks the message front to back and brackets each nested message
 * with enter and leave; edits come in order of offset. Bytes that no edit touches are copied as
 * they are, so unknown fields and unusual encodings survive. Messages without an edit inside keep
 * even their length's own bytes. Pure; memory comes from the arena, none is used before the first
 * edit. One thread.
 */
#ifndef LIB_WIRE_PROTO_SPLICE_H
#define LIB_WIRE_PROTO_SPLICE_H

#include "lib/base/arena.h"
#include "lib/base/buffer.h"
#include "lib/wire/proto/proto_scan.h"

enum { SPLICE_MAX_NESTING = 8 };

struct splice_edit {
    size_t at;     /* offset in the source */
    size_t remove; /* bytes of the source that fall away */
    struct view insert;
    uint64_t length; /* with is_length: the new length, written as a varint */
    bool is_length;
};

struct splice {
    struct view source;
    struct arena *arena;
    struct splice_edit *edits;
    size_t count, capacity;
    size_t size; /* of the result, known once every message was left */
    unsigned depth;
    bool failed; /* the arena had no room: nothing can be written */
    struct {
        size_t length_at;   /* where the length varint stands */
        size_t length_size; /* its bytes */
        size_t length;      /* its value */
        int64_t delta;      /* growth of the content so far */
        size_t edit;        /* index of its length edit + 1; 0: none yet */
    } frames[SPLICE_MAX_NESTING];
};

void splice_begin(struct splice *splice, struct view source, struct arena *arena);

/* message: a LEN field of the source that the walk goes into. */
void splice_enter(struct splice *splice, const struct proto_field *message);
void splice_leave(struct splice *splice);

/* text is borrowed until splice_write. Positions are pointers into the source. */
void splice_insert(struct splice *splice, const uint8_t *at, struct view text);
void splice_delete(struct splice *splice, const uint8_t *from, const uint8_t *to);
void splice_replace(struct splice *splice, const uint8_t *from, const uint8_t *to,
                    struct view text);

/* Drops all edits of a message that was entered and not left yet, and leaves it: for one that is
 * to be deleted whole after all. */
void splice_abandon(struct splice *splice);

static inline bool splice_any(const struct splice *splice)
{
    return splice->count > 0;
}

/* Size of the result; valid when depth is 0 and not failed. */
size_t splice_size(const struct splice *splice);

/* The result of edits to what the buffer holds (one run): where long stretches are untouched they
 * are shared and not copied. Forced on the buffer's budget. NULL: no memory. */
struct buffer *splice_buffer(const struct splice *splice, struct buffer *source);

/* Writes splice_size bytes. */
void splice_write(const struct splice *splice, uint8_t *out);

#endif
