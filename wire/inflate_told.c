#include "wire/inflate_told.h"

#include <zstd.h>

enum { GZIP_LEAST = 18 };

/* RFC 1952, 2.3: the last four bytes of a member are its size modulo 2^32. */
static uint64_t gzip_size(struct view in)
{
    if (in.size < GZIP_LEAST || !looks_gzip(in))
        return 0;
    const uint8_t *at = in.data + in.size - 4;
    return at[0] | (uint64_t)at[1] << 8 | (uint64_t)at[2] << 16 | (uint64_t)at[3] << 24;
}

/* Of the first frame, where its header has one. */
static uint64_t zstd_size(struct view in)
{
    unsigned long long size = ZSTD_getFrameContentSize(in.data, in.size);
    return size == ZSTD_CONTENTSIZE_UNKNOWN || size == ZSTD_CONTENTSIZE_ERROR ? 0 : size;
}

enum inflate_result inflate_told(enum encoding_name encoding, struct view in, size_t max,
                                 enum inflate_result result)
{
    uint64_t size = 0;
    if (result == INFLATE_NO_MEMORY && encoding == ENCODING_GZIP)
        size = gzip_size(in);
    else if (result == INFLATE_NO_MEMORY && encoding == ENCODING_ZSTD)
        size = zstd_size(in);
    return size > max ? INFLATE_TOO_LARGE : result;
}
