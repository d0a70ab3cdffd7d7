/*
 * Compression and decompression of whole bodies, with the codings of the Collector. gzip and zlib
 * use ISA-L igzip if the CPU supports it, libdeflate otherwise. The snappy and LZ4 libraries are
 * loaded at first use. Output is limited by the target's maximum size and charged as it grows; the
 * length that a body claims is never trusted. Any thread; scratch memory is per call.
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
    ENCODING_DEFLATE,       /* HTTP's name for zlib */
    ENCODING_SNAPPY,        /* one block; also reads the framing format */
    ENCODING_SNAPPY_FRAMED, /* "x-snappy-framed" */
    ENCODING_LZ4,           /* LZ4's frame format */
    ENCODING_UNKNOWN
};

/* A set of encodings is an unsigned with these bits. */
#define ENCODING_BIT(encoding) (1u << (encoding))
#define ENCODINGS_ALL          (ENCODING_BIT(ENCODING_UNKNOWN) - 1)

/* Parses a Content-Encoding value, in any case; absent (data NULL), "" and "identity" are IDENTITY,
 * "x-gzip" is GZIP. A list of codings is UNKNOWN. */
enum encoding_name encoding_parse(struct view name);

/* Parses a grpc-encoding value: gzip, zstd, deflate, identity, and "snappy", which means the
 * framing format here. */
enum encoding_name encoding_parse_grpc(struct view name);

const char *encoding_text(enum encoding_name encoding);

/* Formats a set as "gzip, zstd or identity". Returns out. */
const char *encoding_words(unsigned encodings, char *out, size_t size);

/* Whether the encoding's library can be loaded; a failure is logged once. */
bool encoding_ready(enum encoding_name encoding);

enum inflate_result {
    INFLATE_OK,
    INFLATE_BAD,       /* another format, truncated, or a wrong checksum */
    INFLATE_TOO_LARGE, /* beyond out's maximum, or a zstd window above 8 MiB */
    INFLATE_NO_MEMORY  /* beyond the budget, or encoding not ready */
};

/* Appends the decompressed content. Reads all members of a multi-member gzip and all frames of a
 * zstd body; trailing bytes are BAD. On failure out's size is unchanged. */
enum inflate_result inflate_append(enum encoding_name encoding, struct view in, struct bytes *out);

/* Appends the compressed content (igzip level 1, below 16 KiB level 0; zstd level 1). False: out is
 * full, no memory, or encoding not ready; out's size is unchanged. */
bool deflate_append(enum encoding_name encoding, struct view in, struct bytes *out);

/* As deflate_append, for a body in several runs; produces one compressed body. */
bool deflate_append_pieces(enum encoding_name encoding, struct pieces in, struct bytes *out);

/* Whether data begins with gzip's magic number. */
bool looks_gzip(struct view data);

#endif
