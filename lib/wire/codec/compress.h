/*
 * The codings of bodies, whole runs at once: what the Collector reads and writes. gzip and zlib:
 * ISA-L igzip where the CPU has what it needs, libdeflate otherwise. snappy and LZ4 are libraries
 * that are loaded when they are first needed. Output is capped by the target's ceiling and charged
 * as it grows; the length that a body claims is never trusted. Any thread; scratch memory is per
 * call.
 */
#ifndef LIB_WIRE_CODEC_COMPRESS_H
#define LIB_WIRE_CODEC_COMPRESS_H

#include "lib/base/bytes.h"
#include "lib/base/pieces.h"

enum encoding_name {
    ENCODING_IDENTITY,
    ENCODING_GZIP,
    ENCODING_ZSTD,
    ENCODING_ZLIB,
    ENCODING_DEFLATE,       /* zlib, by the name that HTTP has for it */
    ENCODING_SNAPPY,        /* one block; the framing format is read too */
    ENCODING_SNAPPY_FRAMED, /* "x-snappy-framed" */
    ENCODING_LZ4,           /* its frame format */
    ENCODING_UNKNOWN
};

/* A set of encodings is an unsigned with these bits. */
#define ENCODING_BIT(encoding) (1u << (encoding))
#define ENCODINGS_ALL          (ENCODING_BIT(ENCODING_UNKNOWN) - 1)

/* Content-Encoding value, in any case; absent (data NULL), "" and "identity" are IDENTITY, "x-gzip"
 * is GZIP. A list of codings is UNKNOWN. */
enum encoding_name encoding_parse(struct view name);

/* grpc-encoding value: of the above gzip, zstd, deflate and identity; "snappy" is its framing
 * format there. */
enum encoding_name encoding_parse_grpc(struct view name);

const char *encoding_text(enum encoding_name encoding);

/* The names of a set, "gzip, zstd or identity". Returns out. */
const char *encoding_words(unsigned encodings, char *out, size_t size);

/* Whether the library for it can be had; one that cannot is logged once. */
bool encoding_ready(enum encoding_name encoding);

enum inflate_result {
    INFLATE_OK,
    INFLATE_BAD,       /* not that format, cut off, or a wrong checksum */
    INFLATE_TOO_LARGE, /* past out's ceiling, or a zstd window past 8 MiB */
    INFLATE_NO_MEMORY  /* past the budget, or not ready */
};

/* Appends the decompressed content. All members of a multi-member gzip and all frames of a zstd
 * body are read; bytes behind the last are BAD. On failure out's size is as before. */
enum inflate_result inflate_append(enum encoding_name encoding, struct view in, struct bytes *out);

/* Appends the compressed content (igzip level 1, below 16 KiB level 0; zstd level 1). False: out is
 * full, no memory, or not ready; out's size is as before. */
bool deflate_append(enum encoding_name encoding, struct view in, struct bytes *out);

/* The same for a body in several runs, as one compressed body. */
bool deflate_append_pieces(enum encoding_name encoding, struct pieces in, struct bytes *out);

/* The gzip magic number. */
bool looks_gzip(struct view data);

#endif
