#include "processors/correlation/release/release_write.h"

#include "processors/correlation/release/pack.h"

#include <stdlib.h>

enum { REQUEST_RESOURCES = 1, RESOURCE_SCOPES = 2, SCOPE_SPANS = 2 };
enum { PART_MAX_SPANS = 8192 };

/* A span, ready to be written. */
struct piece {
    const struct interned *resource, *scope;
    struct view body;
};

struct release_part release_part(struct held *first, size_t most)
{
    struct release_part part = {.first = first};
    size_t inflated = 0, copied = 0;
    struct held *held = first;
    while (held && part.count < PART_MAX_SPANS &&
           (part.count == 0 || part.bytes + held->size <= most) &&
           origin_matches(segment_of(held)->origin, segment_of(first)->origin)) {
        const struct segment *segment = segment_of(held);
        part.bytes += held->size;
        copied += segment->packed ? held->size : 0;
        if (segment->packed && segment->size > inflated)
            inflated = segment->size;
        part.count++;
        held = held->next;
    }
    part.behind = held;
    part.work = inflated + copied;
    return part;
}

/* Returns the span's message with its edits; data NULL: no memory. */
static struct view edited(const struct held *held, struct view body,
                          const struct edit_policy *policy, struct arena *arena)
{
    struct edit edit = {
        .action = (enum action)held->action,
        .inherited = held->flags & HELD_INHERITED,
        .figures = {.id = held->own, .samples = held->samples, .cpu_ns = held->end},
    };
    bool marked = held->flags & HELD_MARKED;
    if (edit.action == ACTION_AS_CAME || (edit.action == ACTION_UNLINK && !marked))
        return body;
    struct otlp_span span = {.body = body};
    struct splice splice;
    if (marked) /* else only an attribute is added */
        otlp_span_read(body, &span);
    splice_begin(&splice, body, arena);
    edit_span(&splice, &span, &edit, policy);
    if (!splice.failed && !splice_any(&splice))
        return body;
    uint8_t *out = splice.failed ? NULL : arena_alloc(arena, splice_size(&splice) + 1);
    if (!out)
        return (struct view){0};
    splice_write(&splice, out);
    return (struct view){out, splice_size(&splice)};
}

/* Edits the spans of one segment from held on; data of a packed segment is copied, since its
 * inflated memory is freed. Returns the first span after them; NULL in *piece: no memory. */
static const struct held *cut_segment(const struct held *held, const struct held *behind,
                                      const struct edit_policy *policy, struct arena *arena,
                                      struct piece **piece)
{
    const struct segment *segment = segment_of(held);
    uint8_t *unpacked = segment->packed ? pack_open(segment) : NULL;
    const uint8_t *bytes = segment->packed ? unpacked : segment->bytes;
    for (; bytes && held != behind && segment_of(held) == segment; held = held->next) {
        struct view body = {bytes + held->at, held->size};
        struct view written = edited(held, body, policy, arena);
        if (unpacked && written.data == body.data)
            written.data = (const uint8_t *)arena_text(arena, body);
        if (!written.data) {
            bytes = NULL;
            break;
        }
        **piece = (struct piece){segment->resource, segment->scopes[held->scope], written};
        ++*piece;
    }
    free(unpacked);
    if (!bytes)
        *piece = NULL;
    return held;
}

static struct piece *cut_pieces(const struct release_part *part, const struct edit_policy *policy,
                                struct arena *arena)
{
    struct piece *pieces = arena_array_raw(arena, part->count, sizeof *pieces), *piece = pieces;
    const struct held *held = part->first;
    while (piece && held != part->behind)
        held = cut_segment(held, part->behind, policy, arena, &piece);
    return piece ? pieces : NULL;
}

/* Returns the end of the pieces that share a resource, or a resource and scope. */
static const struct piece *end_of_resource(const struct piece *from, const struct piece *end)
{
    const struct piece *at = from;
    while (at < end && at->resource == from->resource)
        at++;
    return at;
}

static const struct piece *end_of_scope(const struct piece *from, const struct piece *end)
{
    const struct piece *at = from;
    while (at < end && at->scope == from->scope)
        at++;
    return at;
}

static size_t scope_size(const struct piece *from, const struct piece *end)
{
    size_t size = from->scope->size;
    for (const struct piece *at = from; at < end; at++)
        size += proto_len_size(SCOPE_SPANS, at->body.size);
    return size;
}

static size_t resource_size(const struct piece *from, const struct piece *end)
{
    size_t size = from->resource->size;
    for (const struct piece *at = from, *next; at < end; at = next) {
        next = end_of_scope(at, end);
        size += proto_len_size(RESOURCE_SCOPES, scope_size(at, next));
    }
    return size;
}

static size_t request_size(const struct piece *from, const struct piece *end)
{
    size_t size = 0;
    for (const struct piece *at = from, *next; at < end; at = next) {
        next = end_of_resource(at, end);
        size += proto_len_size(REQUEST_RESOURCES, resource_size(at, next));
    }
    return size;
}

static uint8_t *put_scope(uint8_t *out, const struct piece *from, const struct piece *end)
{
    out = proto_len_put(out, RESOURCE_SCOPES, scope_size(from, end));
    out = proto_bytes_put(out, interned_view(from->scope));
    for (const struct piece *at = from; at < end; at++)
        out = proto_bytes_put(proto_len_put(out, SCOPE_SPANS, at->body.size), at->body);
    return out;
}

static uint8_t *put_resource(uint8_t *out, const struct piece *from, const struct piece *end)
{
    out = proto_len_put(out, REQUEST_RESOURCES, resource_size(from, end));
    out = proto_bytes_put(out, interned_view(from->resource));
    for (const struct piece *at = from, *next; at < end; at = next) {
        next = end_of_scope(at, end);
        out = put_scope(out, at, next);
    }
    return out;
}

struct buffer *release_write(const struct release_part *part, const struct edit_policy *policy,
                             struct budget *budget)
{
    struct arena arena;
    arena_init(&arena, SIZE_MAX);
    struct buffer *buffer = NULL;
    const struct piece *pieces = cut_pieces(part, policy, &arena);
    if (pieces)
        buffer = buffer_new(request_size(pieces, pieces + part->count), budget, true);
    uint8_t *out = buffer ? buffer->data : NULL;
    for (const struct piece *at = pieces, *next; out && at < pieces + part->count; at = next) {
        next = end_of_resource(at, pieces + part->count);
        out = put_resource(out, at, next);
    }
    arena_release(&arena);
    return buffer;
}
