/*
 * gzip (RFC 1952) over two deflate engines that answer alike. Callers use
 * lib/wire/codec/compress.h; this header is where the engine is chosen and both can be tested.
 */
#ifndef LIB_WIRE_CODEC_GZIP_H
#define LIB_WIRE_CODEC_GZIP_H

#include "lib/wire/codec/compress.h"

enum gzip_engine { GZIP_ISAL, GZIP_LIBDEFLATE };

/* The engine that serves this CPU best: ISA-L where its vector code runs. */
enum gzip_engine gzip_engine_here(void);

/* One raw deflate stream at the front; *consumed bytes of in. On failure out may hold more. */
enum inflate_result deflate_inflate(enum gzip_engine engine, struct view in, struct bytes *out,
                                    size_t *consumed);

/* The same deflate in gzip's or zlib's clothes. On failure out is as before. */
enum deflate_wrapper { DEFLATE_GZIP, DEFLATE_ZLIB };
bool deflate_wrapped(enum gzip_engine engine, enum deflate_wrapper wrapper, struct pieces in,
                     struct bytes *out);

enum inflate_result gzip_inflate(enum gzip_engine engine, struct view in, struct bytes *out);
bool gzip_deflate(enum gzip_engine engine, struct pieces in, struct bytes *out);

#endif
