/*
 * gzip (RFC 1952) over two deflate engines that answer alike. Callers use wire/compress.h; this
 * header is where the engine is chosen and both can be tested.
 */
#ifndef WIRE_GZIP_H
#define WIRE_GZIP_H

#include "wire/compress.h"

enum gzip_engine { GZIP_ISAL, GZIP_LIBDEFLATE };

/* The engine that serves this CPU best: ISA-L where its vector code runs. */
enum gzip_engine gzip_engine_here(void);

enum inflate_result gzip_inflate(enum gzip_engine engine, struct view in, struct bytes *out);
bool gzip_deflate(enum gzip_engine engine, struct pieces in, struct bytes *out);

#endif
