/* Internal to lib/wire/codec/compress.h, which callers use instead: the codings with their own
 * file, and helpers that they share. */
#ifndef LIB_WIRE_CODEC_CODING_H
#define LIB_WIRE_CODEC_CODING_H

#include "lib/wire/codec/compress.h"

/* Space for the next piece of output. */
struct coding_room {
    uint8_t *data;
    size_t size;
    uint8_t spare; /* used when out is full: one byte tells "too large" from "fits exactly" */
};

/* Appends bytes that are not compressed. */
enum inflate_result coding_copy(struct view in, struct bytes *out);

/* Provides space at the end of out, doubling out if needed; the spare byte if out is full. */
enum inflate_result coding_make_room(struct bytes *out, struct coding_room *room);

/* Adds what was written to the space to out. TOO_LARGE: it went to the spare byte. */
enum inflate_result coding_take(struct bytes *out, const struct coding_room *room, size_t written);

/* Makes the pieces contiguous; *copy, to be freed, is set if they had to be copied. False: no
 * memory. */
bool coding_flatten(struct pieces in, struct view *flat, uint8_t **copy);

/* Whether the library can be loaded; a failure is logged once. */
bool snappy_ready(void);
bool lz4_ready(void);

/* zlib (RFC 1950). */
enum inflate_result zlib_inflate(struct view in, struct bytes *out);
bool zlib_deflate(struct pieces in, struct bytes *out);

/* Snappy's framing format; empty input is an empty stream. */
enum inflate_result snappy_framed_inflate(struct view in, struct bytes *out);
bool snappy_framed_deflate(struct pieces in, struct bytes *out);

/* One Snappy block; input that begins like the framing format is read as such. */
enum inflate_result snappy_inflate(struct view in, struct bytes *out);
bool snappy_deflate(struct pieces in, struct bytes *out);

/* LZ4's frame format, one or several frames; empty input is an empty stream. */
enum inflate_result lz4_inflate(struct view in, struct bytes *out);
bool lz4_deflate(struct pieces in, struct bytes *out);

#endif
