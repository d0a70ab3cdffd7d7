/* The codings of lib/wire/codec/compress.h that have a file of their own, and what they share.
 * Callers use lib/wire/codec/compress.h. */
#ifndef LIB_WIRE_CODEC_CODING_H
#define LIB_WIRE_CODEC_CODING_H

#include "lib/wire/codec/compress.h"

/* Room for the next piece of output. */
struct coding_room {
    uint8_t *data;
    size_t size;
    uint8_t spare; /* at out's ceiling, one byte that tells too large from just fitting */
};

/* Bytes that are not compressed, appended. */
enum inflate_result coding_copy(struct view in, struct bytes *out);

/* At the end of what out has it grows, doubling. The room is part of out, or the spare byte. */
enum inflate_result coding_make_room(struct bytes *out, struct coding_room *room);

/* Takes what was written to the room over into out. TOO_LARGE: it went to the spare byte. */
enum inflate_result coding_take(struct bytes *out, const struct coding_room *room, size_t written);

/* One run of the pieces; *copy (to be freed) where they are several. False: no memory. */
bool coding_flatten(struct pieces in, struct view *flat, uint8_t **copy);

/* Whether the library for it can be had; logged once where not. */
bool snappy_ready(void);
bool lz4_ready(void);

/* zlib (RFC 1950). */
enum inflate_result zlib_inflate(struct view in, struct bytes *out);
bool zlib_deflate(struct pieces in, struct bytes *out);

/* snappy's framing format; no bytes at all are a stream of nothing. */
enum inflate_result snappy_framed_inflate(struct view in, struct bytes *out);
bool snappy_framed_deflate(struct pieces in, struct bytes *out);

/* One snappy block; where it begins as the framing format does, that. */
enum inflate_result snappy_inflate(struct view in, struct bytes *out);
bool snappy_deflate(struct pieces in, struct bytes *out);

/* LZ4's frame format, several frames too; no bytes at all are a stream of nothing. */
enum inflate_result lz4_inflate(struct view in, struct bytes *out);
bool lz4_deflate(struct pieces in, struct bytes *out);

#endif
