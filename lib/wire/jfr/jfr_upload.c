#include "lib/wire/jfr/jfr_upload.h"

#include "lib/wire/codec/compress.h"
#include "lib/wire/http/http_query.h"
#include "lib/wire/http/multipart.h"

#include <string.h>

enum { GZIP_PART_MAX = 4 << 20, PLAIN_MAX = 64 << 20, GZIP_LEAST = 18 };

/* deflate's best ratio */
enum { GZIP_RATIO_MAX = 1032 };

static bool begin(struct multipart *multipart, const char *query, const char *content_type,
                  struct view body)
{
    char format[16];
    return content_type && http_query_get(query, "format", format, sizeof format) &&
           strcmp(format, "jfr") == 0 && multipart_begin(multipart, view_of(content_type), body);
}

/* The inflated size that a gzip stream declares; 0: impossible. */
static size_t declared_size(struct view stream)
{
    if (stream.size < GZIP_LEAST || !looks_gzip(stream))
        return 0;
    const uint8_t *at = stream.data + stream.size - 4;
    size_t inflated = at[0] | (size_t)at[1] << 8 | (size_t)at[2] << 16 | (size_t)at[3] << 24;
    return inflated / GZIP_RATIO_MAX < stream.size ? inflated : 0;
}

/* The declared size of a part that the server would refuse; 0: it accepts the part. */
static size_t oversize(const struct multipart_part *part)
{
    bool file = part->filename.data && part->name.data &&
                (view_eq(part->name, VIEW("jfr")) || view_eq(part->name, VIEW("labels")));
    size_t inflated = file ? declared_size(part->content) : 0;
    return inflated > GZIP_PART_MAX ? inflated : 0;
}

size_t jfr_upload_plain_size(const char *query, const char *content_type, struct view body)
{
    struct multipart multipart;
    struct multipart_part part;
    size_t size = body.size;
    if (!begin(&multipart, query, content_type, body))
        return 0;
    while (multipart_next(&multipart, &part)) {
        size_t inflated = oversize(&part), larger = size - part.content.size + inflated;
        if (inflated && larger <= PLAIN_MAX)
            size = larger;
    }
    return size == body.size ? 0 : size;
}

/* Whether the boundary, which is not in the gzip stream, happens to be in its content. */
static bool holds_boundary(struct view content, struct view boundary)
{
    return memmem(content.data, content.size, boundary.data, boundary.size) != NULL;
}

/* A body being rewritten. */
struct rebuild {
    const uint8_t *copied; /* the old body up to here is in out */
    struct bytes *out;
    bool changed;
};

/* Replaces the stream by its inflated content, if possible. False: no memory. */
static bool inflate_part(struct rebuild *rebuild, struct view stream, struct view boundary)
{
    struct bytes *out = rebuild->out;
    size_t before = out->size;
    enum bytes_result copied = bytes_append_view(out, view_between(rebuild->copied, stream.data));
    if (copied != BYTES_OK)
        return copied == BYTES_FULL;
    size_t begin = out->size;
    enum inflate_result result = inflate_append(ENCODING_GZIP, stream, out);
    struct view content = {out->data + begin, out->size - begin};
    if (result == INFLATE_OK && !holds_boundary(content, boundary)) {
        rebuild->copied = stream.data + stream.size;
        rebuild->changed = true;
    } else {
        out->size = before;
    }
    return result != INFLATE_NO_MEMORY;
}

bool jfr_upload_inflate(const char *query, const char *content_type, struct view body,
                        struct bytes *out)
{
    struct rebuild rebuild = {.copied = body.data, .out = out};
    struct multipart multipart;
    struct multipart_part part;
    if (!begin(&multipart, query, content_type, body))
        return true;
    /* All at once: growing step by step would temporarily need more than the whole. */
    if (bytes_reserve(out, out->max) == BYTES_NO_MEMORY)
        return false;
    while (multipart_next(&multipart, &part))
        if (oversize(&part) && !inflate_part(&rebuild, part.content, multipart.boundary))
            return false;
    struct view rest = view_between(rebuild.copied, body.data + body.size);
    enum bytes_result ended = rebuild.changed ? bytes_append_view(out, rest) : BYTES_FULL;
    if (ended == BYTES_FULL)
        bytes_clear(out);
    return ended != BYTES_NO_MEMORY;
}
