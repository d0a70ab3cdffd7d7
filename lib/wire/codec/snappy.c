/* Snappy: one block, and its framing format (framing_format.txt in the snappy repository). */
#include "lib/wire/codec/coding.h"

#include "lib/late/library.h"

#include <isa-l/crc.h>
#include <snappy-c.h>
#include <stdlib.h>

enum {
    CHUNK_HEADER = 4,
    CHECKSUM = 4,
    CHUNK_COMPRESSED = 0x00,
    CHUNK_PLAIN = 0x01,
    CHUNK_SKIPPABLE = 0x80, /* and above */
    CHUNK_IDENTIFIER = 0xff,
    CHUNK_MOST = 65536, /* maximum uncompressed bytes of a chunk */
    /* No element of a block expands more: 3 bytes to 64. */
    RATIO_MOST = 22
};

static const uint8_t identifier[] = {CHUNK_IDENTIFIER, 6, 0, 0, 's', 'N', 'a', 'P', 'p', 'Y'};

static struct {
    __typeof__(snappy_compress) *compress;
    __typeof__(snappy_uncompress) *uncompress;
    __typeof__(snappy_max_compressed_length) *bound;
    __typeof__(snappy_uncompressed_length) *length;
} snappy;

static const struct late_function functions[] = {
    {"snappy_compress", &snappy.compress},
    {"snappy_uncompress", &snappy.uncompress},
    {"snappy_max_compressed_length", &snappy.bound},
    {"snappy_uncompressed_length", &snappy.length},
    {NULL, NULL},
};

static struct late_library library = {SNAPPY_FILE, functions, 0};

bool snappy_ready(void)
{
    return late_library_open(&library);
}

/* ---- reading ---- */

/* Reads a block of at most `most` uncompressed bytes. */
static enum inflate_result read_block(struct view in, size_t most, struct bytes *out)
{
    size_t size;
    const char *from = (const char *)in.data;
    if (in.size == 0 || snappy.length(from, in.size, &size) != SNAPPY_OK || size > most ||
        size / RATIO_MOST > in.size)
        return INFLATE_BAD;
    if (size > out->max - out->size)
        return INFLATE_TOO_LARGE;
    if (bytes_reserve(out, size ? size : 1) != BYTES_OK)
        return out->max == out->size ? INFLATE_OK : INFLATE_NO_MEMORY;
    if (snappy.uncompress(from, in.size, (char *)out->data + out->size, &size) != SNAPPY_OK)
        return INFLATE_BAD;
    out->size += size;
    return INFLATE_OK;
}

static uint32_t load_le(const uint8_t *at, size_t size)
{
    uint32_t value = 0;
    for (size_t i = 0; i < size; i++)
        value |= (uint32_t)at[i] << (8 * i);
    return value;
}

/* CRC-32C, masked as in the framing format. */
static uint32_t checksum(const uint8_t *data, size_t size)
{
    uint32_t crc = ~crc32_iscsi((uint8_t *)(uintptr_t)data, (int)size, ~0u);
    return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

static enum inflate_result read_plain(struct view content, struct bytes *out)
{
    if (content.size > CHUNK_MOST)
        return INFLATE_BAD;
    return coding_copy(content, out);
}

static enum inflate_result read_data(uint8_t type, struct view content, struct bytes *out)
{
    if (content.size < CHECKSUM)
        return INFLATE_BAD;
    size_t before = out->size;
    uint32_t expected = load_le(content.data, CHECKSUM);
    content = (struct view){content.data + CHECKSUM, content.size - CHECKSUM};
    enum inflate_result result =
        type == CHUNK_COMPRESSED ? read_block(content, CHUNK_MOST, out) : read_plain(content, out);
    if (result != INFLATE_OK)
        return result;
    return checksum(out->data + before, out->size - before) == expected ? INFLATE_OK : INFLATE_BAD;
}

static enum inflate_result read_chunk(uint8_t type, struct view content, struct bytes *out)
{
    size_t mark = sizeof identifier - CHUNK_HEADER;
    if (type == CHUNK_COMPRESSED || type == CHUNK_PLAIN)
        return read_data(type, content, out);
    if (type == CHUNK_IDENTIFIER)
        return content.size == mark && memcmp(content.data, identifier + CHUNK_HEADER, mark) == 0
                   ? INFLATE_OK
                   : INFLATE_BAD;
    return type >= CHUNK_SKIPPABLE ? INFLATE_OK : INFLATE_BAD;
}

static enum inflate_result read_chunks(struct view in, struct bytes *out)
{
    bool first = true;
    while (in.size > 0) {
        size_t size = in.size < CHUNK_HEADER ? SIZE_MAX : load_le(in.data + 1, 3);
        uint8_t type = in.data[0];
        if (size > in.size - CHUNK_HEADER || in.size < CHUNK_HEADER ||
            (first && type != CHUNK_IDENTIFIER))
            return INFLATE_BAD;
        enum inflate_result result =
            read_chunk(type, (struct view){in.data + CHUNK_HEADER, size}, out);
        if (result != INFLATE_OK)
            return result;
        in = (struct view){in.data + CHUNK_HEADER + size, in.size - CHUNK_HEADER - size};
        first = false;
    }
    return INFLATE_OK;
}

enum inflate_result snappy_framed_inflate(struct view in, struct bytes *out)
{
    size_t before = out->size;
    if (!snappy_ready())
        return INFLATE_NO_MEMORY;
    enum inflate_result result = read_chunks(in, out);
    if (result != INFLATE_OK)
        out->size = before;
    return result;
}

/* The Collector once sent frames under the block format's name, and still accepts them. */
enum inflate_result snappy_inflate(struct view in, struct bytes *out)
{
    if (view_starts(in, (struct view){identifier, sizeof identifier}))
        return snappy_framed_inflate(in, out);
    return snappy_ready() ? read_block(in, SIZE_MAX, out) : INFLATE_NO_MEMORY;
}

/* ---- writing ---- */

static bool write_block(struct view in, struct bytes *out)
{
    size_t size = snappy.bound(in.size);
    if (bytes_reserve(out, size) != BYTES_OK ||
        snappy.compress((const char *)in.data, in.size, (char *)out->data + out->size, &size) !=
            SNAPPY_OK)
        return false;
    out->size += size;
    return true;
}

bool snappy_deflate(struct pieces in, struct bytes *out)
{
    struct view flat;
    uint8_t *copy;
    bool ok = snappy_ready() && coding_flatten(in, &flat, &copy);
    if (!ok)
        return false;
    ok = write_block(flat.data ? flat : VIEW(""), out);
    free(copy);
    return ok;
}

static bool write_chunk(struct view in, struct bytes *out)
{
    uint32_t sum = checksum(in.data, in.size);
    uint8_t head[CHUNK_HEADER + CHECKSUM] = {CHUNK_COMPRESSED};
    size_t at = out->size;
    for (size_t i = 0; i < CHECKSUM; i++)
        head[CHUNK_HEADER + i] = (uint8_t)(sum >> (8 * i));
    if (bytes_append(out, head, sizeof head) != BYTES_OK || !write_block(in, out))
        return false;
    size_t size = out->size - at - CHUNK_HEADER;
    for (size_t i = 0; i < 3; i++)
        out->data[at + 1 + i] = (uint8_t)(size >> (8 * i));
    return true;
}

bool snappy_framed_deflate(struct pieces in, struct bytes *out)
{
    uint8_t *chunk = malloc(CHUNK_MOST);
    struct pieces_reader reader = pieces_read_begin(in);
    size_t before = out->size, n;
    bool ok =
        chunk && snappy_ready() && bytes_append(out, identifier, sizeof identifier) == BYTES_OK;
    while (ok && (n = pieces_read(&reader, chunk, CHUNK_MOST)) > 0)
        ok = write_chunk((struct view){chunk, n}, out);
    free(chunk);
    if (!ok)
        out->size = before;
    return ok;
}
