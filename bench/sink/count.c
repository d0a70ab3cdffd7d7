#include "bench/sink/sink.h"

#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>

struct piece {
    const unsigned char *at;
    const unsigned char *end;
};

static uint64_t varint(struct piece *in)
{
    uint64_t value = 0;
    for (unsigned shift = 0; in->at < in->end && shift < 64; shift += 7) {
        unsigned char byte = *in->at++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            return value;
        }
    }
    in->at = in->end + 1; /* marks the piece as broken */
    return 0;
}

/* Reads the next field; sets body for a length-delimited one. False at the end or at an error. */
static bool next_field(struct piece *in, uint32_t *number, struct piece *body)
{
    if (in->at >= in->end) {
        return false;
    }
    uint64_t tag = varint(in);
    *number = (uint32_t)(tag >> 3);
    uint64_t skip = 0;
    *body = (struct piece){0};
    switch (tag & 7) {
    case 0:
        varint(in);
        break;
    case 1:
        skip = 8;
        break;
    case 5:
        skip = 4;
        break;
    case 2:
        skip = varint(in);
        break;
    default:
        in->at = in->end + 1;
    }
    if (in->at > in->end || skip > (uint64_t)(in->end - in->at)) {
        in->at = in->end + 1;
        return false;
    }
    if ((tag & 7) == 2) {
        *body = (struct piece){in->at, in->at + skip};
    }
    in->at += skip;
    return true;
}

static bool is_broken(const struct piece *in)
{
    return in->at != in->end;
}

/* ExportTraceServiceRequest.resource_spans (1) > scope_spans (2) > spans (2) > span_id (2). */
static const uint32_t path[] = {1, 2, 2, 2};
enum { SPAN = 3 };

static bool count_spans(struct counts *counts, struct piece in, int depth)
{
    uint32_t number;
    struct piece body;
    while (next_field(&in, &number, &body)) {
        if (number != path[depth] || !body.at) {
            continue;
        }
        if (depth == SPAN) {
            uint64_t id = 0;
            memcpy(&id, body.at, body.end - body.at == 8 ? 8 : 0);
            counts->items++;
            counts->id_sum += id;
            return true; /* the rest of the span does not matter */
        }
        if (!count_spans(counts, body, depth + 1)) {
            return false;
        }
    }
    return !is_broken(&in);
}

static struct piece inflate(const char *body, size_t length)
{
    static struct libdeflate_decompressor *inflater;
    static struct bytes plain;
    if (!inflater && !(inflater = libdeflate_alloc_decompressor())) {
        abort();
    }
    for (size_t want = length * 8 + 4096;; want *= 2) {
        plain.length = 0;
        bytes_reserve(&plain, want);
        size_t made;
        enum libdeflate_result result =
            libdeflate_gzip_decompress(inflater, body, length, plain.at, plain.room, &made);
        if (result == LIBDEFLATE_SUCCESS) {
            return (struct piece){(unsigned char *)plain.at, (unsigned char *)plain.at + made};
        }
        if (result != LIBDEFLATE_INSUFFICIENT_SPACE) {
            return (struct piece){0};
        }
    }
}

void count_body(struct counts *counts, const char *body, size_t length, bool gzip)
{
    struct piece in = {(const unsigned char *)body, (const unsigned char *)body + length};
    counts->requests++;
    counts->bytes += length;
    if (gzip) {
        in = inflate(body, length);
    }
    if ((gzip && !in.at) || !count_spans(counts, in, 0)) {
        counts->broken++;
    }
}
