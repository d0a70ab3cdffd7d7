#include "lib/wire/proto/splice.h"

#include <assert.h>

const uint8_t splice_length[1];

void splice_begin(struct splice *splice, struct view source, struct arena *arena)
{
    *splice = (struct splice){.source = source, .arena = arena, .size = source.size};
}

/* Records growth, or if negative shrinkage, of the current message. */
static void splice_grow(struct splice *splice, int64_t delta)
{
    if (splice->depth > 0)
        splice->frames[splice->depth - 1].delta += delta;
    else
        splice->size = (size_t)((int64_t)splice->size + delta);
}

/* Makes room for `more` edits. */
static __attribute__((noinline)) bool grow(struct splice *splice, size_t more)
{
    size_t capacity = splice->capacity ? 4 * splice->capacity : 16;
    while (capacity < splice->count + more)
        capacity *= 2;
    struct splice_edit *edits = arena_array_raw(splice->arena, capacity, sizeof *edits);
    splice->failed = splice->failed || !edits;
    if (!edits)
        return false;
    if (splice->count)
        memcpy(edits, splice->edits, splice->count * sizeof *edits);
    splice->edits = edits;
    splice->capacity = capacity;
    return true;
}

static inline bool splice_append(struct splice *splice, size_t at, size_t remove,
                                 struct view insert)
{
    if (splice->count == splice->capacity && !grow(splice, 1))
        return false;
    struct splice_edit *edit = &splice->edits[splice->count++];
    assert(splice->count == 1 || at >= edit[-1].at + edit[-1].remove);
    *edit = (struct splice_edit){at, remove, insert};
    return true;
}

/* Ensures that every enclosing message has a length edit, which precedes the edits inside it and
 * gets its value when the message is left. */
static bool open_lengths(struct splice *splice)
{
    unsigned i = splice->depth;
    /* An inner message has one only if those around it have. */
    while (i > 0 && !splice->frames[i - 1].edit)
        i--;
    for (; i < splice->depth; i++) {
        if (!splice_append(splice, splice->frames[i].length_at, splice->frames[i].length_size,
                           (struct view){splice_length, 0}))
            return false;
        splice->frames[i].edit = splice->count;
    }
    return true;
}

void splice_enter(struct splice *splice, const struct proto_field *message)
{
    assert(splice->depth < SPLICE_MAX_NESTING && message->type == WIRE_LEN);
    uint64_t tag;
    const uint8_t *length = proto_varint(message->start, message->end, &tag);
    unsigned i = splice->depth++;
    splice->frames[i].length_at = (size_t)(length - splice->source.data);
    splice->frames[i].length_size = (size_t)(message->bytes.data - length);
    splice->frames[i].length = message->bytes.size;
    splice->frames[i].delta = 0;
    splice->frames[i].edit = 0;
}

void splice_leave(struct splice *splice)
{
    assert(splice->depth > 0);
    unsigned i = --splice->depth;
    size_t index = splice->frames[i].edit;
    if (index == 0 || splice->failed)
        return;
    if (splice->frames[i].delta != 0) {
        struct splice_edit *edit = &splice->edits[index - 1];
        edit->insert.size = (size_t)((int64_t)splice->frames[i].length + splice->frames[i].delta);
        int64_t size = (int64_t)proto_varint_size(edit->insert.size);
        splice_grow(splice, splice->frames[i].delta + size - (int64_t)edit->remove);
    } else if (index == splice->count) {
        splice->count--;
    } else {
        /* The edits cancel out: the length keeps its encoding. */
        splice->edits[index - 1] = (struct splice_edit){.at = splice->edits[index - 1].at};
    }
}

/* Whether a deletion continues the last edit, also a deletion. */
static bool continues(const struct splice *splice, size_t at)
{
    if (splice->count == 0)
        return false;
    const struct splice_edit *last = &splice->edits[splice->count - 1];
    return last->remove && !last->insert.size && !splice_is_length(last) &&
           last->at + last->remove == at;
}

static inline void splice_add(struct splice *splice, const uint8_t *from, const uint8_t *to,
                              struct view text)
{
    bool open = splice->depth == 0 || splice->frames[splice->depth - 1].edit;
    size_t at = (size_t)(from - splice->source.data), remove = (size_t)(to - from);
    if ((remove == 0 && text.size == 0) || splice->failed || (!open && !open_lengths(splice)))
        return;
    if (text.size == 0 && continues(splice, at))
        splice->edits[splice->count - 1].remove += remove;
    else if (!splice_append(splice, at, remove, text))
        return;
    splice_grow(splice, (int64_t)text.size - (int64_t)remove);
}

void splice_insert(struct splice *splice, const uint8_t *at, struct view text)
{
    splice_add(splice, at, at, text);
}

void splice_delete(struct splice *splice, const uint8_t *from, const uint8_t *to)
{
    splice_add(splice, from, to, (struct view){0});
}

void splice_replace(struct splice *splice, const uint8_t *from, const uint8_t *to, struct view text)
{
    splice_add(splice, from, to, text);
}

struct splice_edit *splice_room(struct splice *splice, size_t count)
{
    bool open = splice->depth == 0 || splice->frames[splice->depth - 1].edit;
    if (splice->failed || (!open && !open_lengths(splice)) ||
        (splice->capacity - splice->count <= count && !grow(splice, count + 1)))
        return NULL;
    return splice->edits + splice->count + 1; /* behind the message's length */
}

void splice_take(struct splice *splice, const struct proto_field *message,
                 const struct splice_edit *end, int64_t growth)
{
    struct splice_edit *length = &splice->edits[splice->count];
    uint64_t tag;
    const uint8_t *at = proto_varint(message->start, message->end, &tag);
    if (end == length + 1)
        return;
    /* Edits that cancel out keep the length's encoding. */
    *length = (struct splice_edit){.at = (size_t)(at - splice->source.data)};
    if (growth != 0) {
        size_t size = (size_t)((int64_t)message->bytes.size + growth);
        length->remove = (size_t)(message->bytes.data - at);
        length->insert = (struct view){splice_length, size};
        growth += (int64_t)proto_varint_size(size) - (int64_t)length->remove;
    }
    splice->count = (size_t)(end - splice->edits);
    splice_grow(splice, growth);
}

void splice_abandon(struct splice *splice)
{
    assert(splice->depth > 0);
    unsigned i = --splice->depth;
    if (splice->frames[i].edit)
        splice->count = splice->frames[i].edit - 1;
}

/* Copies up to 16 bytes, by their first and last ones, which may overlap. */
static inline void put_few(uint8_t *out, const uint8_t *from, size_t size)
{
    if (size >= 8) {
        memcpy(out, from, 8);
        memcpy(out + size - 8, from + size - 8, 8);
    } else if (size >= 4) {
        memcpy(out, from, 4);
        memcpy(out + size - 4, from + size - 4, 4);
    } else if (size) {
        out[0] = from[0];
        out[size / 2] = from[size / 2];
        out[size - 1] = from[size - 1];
    }
}

/* As proto_bytes_put, without a call for what is short. */
static inline __attribute__((always_inline)) uint8_t *splice_put(uint8_t *out, struct view bytes)
{
    enum { WORD = 16 };
    if (bytes.size > 4 * WORD)
        return (uint8_t *)memcpy(out, bytes.data, bytes.size) + bytes.size;
    if (bytes.size <= WORD) {
        put_few(out, bytes.data, bytes.size);
        return out + bytes.size;
    }
    memcpy(out, bytes.data, WORD);
    if (bytes.size > 2 * WORD) {
        memcpy(out + WORD, bytes.data + WORD, WORD);
        memcpy(out + bytes.size - 2 * WORD, bytes.data + bytes.size - 2 * WORD, WORD);
    }
    memcpy(out + bytes.size - WORD, bytes.data + bytes.size - WORD, WORD);
    return out + bytes.size;
}

/* As proto_varint_put, sooner for a length of two bytes, as a span has. */
static inline uint8_t *put_length(uint8_t *out, size_t size)
{
    if (size < 0x80 || size >= 0x4000)
        return proto_varint_put(out, size);
    out[0] = (uint8_t)(size | 0x80);
    out[1] = (uint8_t)(size >> 7);
    return out + 2;
}

size_t splice_size(const struct splice *splice)
{
    return splice->size;
}

void splice_write(const struct splice *splice, uint8_t *out)
{
    assert(splice->depth == 0 && !splice->failed);
    const uint8_t *source = splice->source.data;
    size_t at = 0;
    for (size_t i = 0; i < splice->count; i++) {
        const struct splice_edit *edit = &splice->edits[i];
        out = splice_put(out, (struct view){source + at, edit->at - at});
        if (splice_is_length(edit))
            out = put_length(out, edit->insert.size);
        else
            out = splice_put(out, edit->insert);
        at = edit->at + edit->remove;
    }
    if (at < splice->source.size)
        memcpy(out, splice->source.data + at, splice->source.size - at);
}
