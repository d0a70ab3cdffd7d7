#include "lib/wire/proto/splice.h"

#include <assert.h>

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

static bool splice_append(struct splice *splice, const struct splice_edit *edit)
{
    if (splice->count == splice->capacity) {
        size_t capacity = splice->capacity ? 4 * splice->capacity : 16;
        struct splice_edit *edits = arena_array_raw(splice->arena, capacity, sizeof *edits);
        if (!edits) {
            splice->failed = true;
            return false;
        }
        if (splice->count)
            memcpy(edits, splice->edits, splice->count * sizeof *edits);
        splice->edits = edits;
        splice->capacity = capacity;
    }
    if (splice->count > 0) {
        const struct splice_edit *last = &splice->edits[splice->count - 1];
        assert(edit->at >= last->at + last->remove);
    }
    splice->edits[splice->count++] = *edit;
    return true;
}

/* Ensures that every enclosing message has a length edit, which precedes the edits inside it and
 * gets its value when the message is left. */
static bool open_lengths(struct splice *splice)
{
    /* An inner message has one only if those around it have. */
    if (splice->depth == 0 || splice->frames[splice->depth - 1].edit)
        return true;
    for (unsigned i = 0; i < splice->depth; i++) {
        if (splice->frames[i].edit)
            continue;
        struct splice_edit edit = {
            .at = splice->frames[i].length_at,
            .remove = splice->frames[i].length_size,
            .is_length = true,
        };
        if (!splice_append(splice, &edit))
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
        edit->length = (uint64_t)((int64_t)splice->frames[i].length + splice->frames[i].delta);
        int64_t size = (int64_t)proto_varint_size(edit->length);
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
    return !last->is_length && last->remove && !last->insert.size && last->at + last->remove == at;
}

static void splice_add(struct splice *splice, const uint8_t *from, const uint8_t *to,
                       struct view text)
{
    if ((from == to && text.size == 0) || splice->failed || !open_lengths(splice))
        return;
    struct splice_edit edit = {
        .at = (size_t)(from - splice->source.data),
        .remove = (size_t)(to - from),
        .insert = text,
    };
    if (text.size == 0 && continues(splice, edit.at))
        splice->edits[splice->count - 1].remove += edit.remove;
    else if (!splice_append(splice, &edit))
        return;
    splice_grow(splice, (int64_t)text.size - (int64_t)edit.remove);
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

void splice_abandon(struct splice *splice)
{
    assert(splice->depth > 0);
    unsigned i = --splice->depth;
    if (splice->frames[i].edit)
        splice->count = splice->frames[i].edit - 1;
}

size_t splice_size(const struct splice *splice)
{
    return splice->size;
}

void splice_write(const struct splice *splice, uint8_t *out)
{
    assert(splice->depth == 0 && !splice->failed);
    size_t at = 0;
    for (size_t i = 0; i < splice->count; i++) {
        const struct splice_edit *edit = &splice->edits[i];
        struct view kept = {splice->source.data + at, edit->at - at};
        out = proto_bytes_put(out, kept);
        if (edit->is_length)
            out = proto_varint_put(out, edit->length);
        else
            out = proto_bytes_put(out, edit->insert);
        at = edit->at + edit->remove;
    }
    if (at < splice->source.size)
        memcpy(out, splice->source.data + at, splice->source.size - at);
}
