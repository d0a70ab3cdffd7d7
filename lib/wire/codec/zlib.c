/* zlib (RFC 1950), also the meaning of HTTP's coding "deflate" (RFC 9110, 8.4.1.2). */
#include "lib/wire/codec/coding.h"
#include "lib/wire/codec/gzip.h"

#include <libdeflate.h>

enum { HEADER = 2, TRAILER = 4, METHOD_DEFLATE = 8, WINDOW_MOST = 7, FLAG_DICTIONARY = 0x20 };

static bool is_header(const uint8_t *at)
{
    return (at[0] & 15) == METHOD_DEFLATE && at[0] >> 4 <= WINDOW_MOST &&
           (at[0] << 8 | at[1]) % 31 == 0 && !(at[1] & FLAG_DICTIONARY);
}

static uint32_t load_be32(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static enum inflate_result inflate_stream(struct view in, struct bytes *out)
{
    size_t before = out->size, consumed = 0;
    if (in.size < HEADER + TRAILER || !is_header(in.data))
        return INFLATE_BAD;
    struct view body = {in.data + HEADER, in.size - HEADER};
    enum inflate_result result = deflate_inflate(gzip_engine_here(), body, out, &consumed);
    if (result != INFLATE_OK)
        return result;
    size_t size = out->size - before;
    uint32_t sum = size ? libdeflate_adler32(1, out->data + before, size) : 1;
    bool whole = body.size - consumed == TRAILER && load_be32(body.data + consumed) == sum;
    return whole ? INFLATE_OK : INFLATE_BAD;
}

enum inflate_result zlib_inflate(struct view in, struct bytes *out)
{
    size_t before = out->size;
    enum inflate_result result = inflate_stream(in, out);
    if (result != INFLATE_OK)
        out->size = before;
    return result;
}

bool zlib_deflate(struct pieces in, struct bytes *out)
{
    return deflate_wrapped(gzip_engine_here(), DEFLATE_ZLIB, in, out);
}
