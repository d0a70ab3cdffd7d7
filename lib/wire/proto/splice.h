/*
 * Edits a protobuf message in wire format, in one pass that also fixes the lengths of all enclosing
 * messages. The caller walks the message front to back, brackets each nested message with enter and
 * leave, and makes edits in order of offset. Bytes that no edit touches are copied unchanged, so
 * unknown fields and unusual encodings survive; messages without edits keep even the encoding of
 * their length. Pure; memory comes from the arena, none before the first edit. One thread.
 */
#ifndef LIB_WIRE_PROTO_SPLICE_H
#define LIB_WIRE_PROTO_SPLICE_H

#include "lib/base/arena.h"
#include "lib/base/buffer.h"
#include "lib/wire/proto/proto_scan.h"

enum { SPLICE_MAX_NESTING = 8 };

struct splice_edit {
    size_t at;          /* offset in the source */
    size_t remove;      /* bytes of the source to remove */
    struct view insert; /* data splice_length: its size is a message's new length */
};

/* Marks an edit that writes a length, as a varint. */
extern const uint8_t splice_length[1];

static inline bool splice_is_length(const struct splice_edit *edit)
{
    return edit->insert.data == splice_length;
}

/* Bytes that an edit writes. */
static inline size_t splice_insert_size(const struct splice_edit *edit)
{
    return splice_is_length(edit) ? proto_varint_size(edit->insert.size) : edit->insert.size;
}

struct splice {
    struct view source;
    struct arena *arena;
    struct splice_edit *edits;
    size_t count, capacity;
    size_t size; /* of the result; final once every message was left */
    unsigned depth;
    bool failed; /* the arena was full: nothing can be written */
    struct {
        size_t length_at;   /* offset of the length varint */
        size_t length_size; /* its size */
        size_t length;      /* its value */
        int64_t delta;      /* growth of the content so far */
        size_t edit;        /* index of its length edit, plus 1; 0: none yet */
    } frames[SPLICE_MAX_NESTING];
};

void splice_begin(struct splice *splice, struct view source, struct arena *arena);

/* Enters message, a LEN field of the source. */
void splice_enter(struct splice *splice, const struct proto_field *message);
void splice_leave(struct splice *splice);

/* Edits. text is borrowed until splice_write; positions are pointers into the source. */
void splice_insert(struct splice *splice, const uint8_t *at, struct view text);
void splice_delete(struct splice *splice, const uint8_t *from, const uint8_t *to);
void splice_replace(struct splice *splice, const uint8_t *from, const uint8_t *to,
                    struct view text);

/* Many edits of a message in the current one at once, which is not entered for it. Returns room for
 * up to `count` of them, which the caller fills in order of offset; NULL: none, the splice has
 * failed. Then splice_take takes those before `end`, by which the message grows, or if negative
 * shrinks. */
struct splice_edit *splice_room(struct splice *splice, size_t count);
void splice_take(struct splice *splice, const struct proto_field *message,
                 const struct splice_edit *end, int64_t growth);

/* Leaves the current message and drops all edits inside it, e.g. to delete it as a whole. */
void splice_abandon(struct splice *splice);

static inline bool splice_any(const struct splice *splice)
{
    return splice->count > 0;
}

/* Size of the result; valid if depth is 0 and not failed. */
size_t splice_size(const struct splice *splice);

/* Returns the result of edits to a contiguous buffer's bytes; long unchanged ranges are shared
 * rather than copied. Charged by force to the buffer's budget. NULL: no memory. */
struct buffer *splice_buffer(const struct splice *splice, struct buffer *source);

/* Writes the result, splice_size bytes. */
void splice_write(const struct splice *splice, uint8_t *out);

#endif
