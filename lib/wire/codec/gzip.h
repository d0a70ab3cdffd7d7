/*
 * gzip (RFC 1952) with two deflate engines that behave alike. Callers use
 * lib/wire/codec/compress.h; this header chooses the engine and lets tests run both.
 */
#ifndef LIB_WIRE_CODEC_GZIP_H
#define LIB_WIRE_CODEC_GZIP_H

#include "lib/wire/codec/compress.h"

enum gzip_engine { GZIP_ISAL, GZIP_LIBDEFLATE };

/* The best engine for this CPU: ISA-L if its vector code runs. */
enum gzip_engine gzip_engine_here(void);

/* Inflates one raw deflate stream at the start of in; *consumed is its length. On failure out may
 * have grown. */
enum inflate_result deflate_inflate(enum gzip_engine engine, struct view in, struct bytes *out,
                                    size_t *consumed);

/* Deflates with a gzip or zlib header and trailer. On failure out is unchanged. */
enum deflate_wrapper { DEFLATE_GZIP, DEFLATE_ZLIB };
bool deflate_wrapped(enum gzip_engine engine, enum deflate_wrapper wrapper, struct pieces in,
                     struct bytes *out);

enum inflate_result gzip_inflate(enum gzip_engine engine, struct view in, struct bytes *out);
bool gzip_deflate(enum gzip_engine engine, struct pieces in, struct bytes *out);

#endif
