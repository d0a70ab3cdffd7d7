/* LZ4's frame format, by liblz4 (lib/wire/codec/coding.h). */
#include "lib/wire/codec/coding.h"

#include "lib/late/library.h"

#include <lz4frame.h>

static struct {
    __typeof__(LZ4F_createDecompressionContext) *make_reader;
    __typeof__(LZ4F_freeDecompressionContext) *free_reader;
    __typeof__(LZ4F_decompress) *read;
    __typeof__(LZ4F_createCompressionContext) *make_writer;
    __typeof__(LZ4F_freeCompressionContext) *free_writer;
    __typeof__(LZ4F_compressBegin) *begin;
    __typeof__(LZ4F_compressUpdate) *update;
    __typeof__(LZ4F_compressEnd) *end;
    __typeof__(LZ4F_compressBound) *bound;
    __typeof__(LZ4F_isError) *failed;
} lz4;

static const struct late_function functions[] = {
    {"LZ4F_createDecompressionContext", &lz4.make_reader},
    {"LZ4F_freeDecompressionContext", &lz4.free_reader},
    {"LZ4F_decompress", &lz4.read},
    {"LZ4F_createCompressionContext", &lz4.make_writer},
    {"LZ4F_freeCompressionContext", &lz4.free_writer},
    {"LZ4F_compressBegin", &lz4.begin},
    {"LZ4F_compressUpdate", &lz4.update},
    {"LZ4F_compressEnd", &lz4.end},
    {"LZ4F_compressBound", &lz4.bound},
    {"LZ4F_isError", &lz4.failed},
    {NULL, NULL},
};

static struct late_library library = {LZ4_FILE, functions, 0};

bool lz4_ready(void)
{
    return late_library_open(&library);
}

/* ---- reading ---- */

static enum inflate_result read_frames(LZ4F_dctx *reader, struct view in, struct bytes *out)
{
    size_t more = 0; /* 0: between frames */
    while (in.size > 0 || more > 0) {
        struct coding_room room;
        enum inflate_result result = coding_make_room(out, &room);
        if (result != INFLATE_OK)
            return result;
        size_t used = in.size, written = room.data ? room.size : 1;
        more =
            lz4.read(reader, room.data ? room.data : &room.spare, &written, in.data, &used, NULL);
        if (lz4.failed(more))
            return INFLATE_BAD;
        result = coding_take(out, &room, written);
        if (result != INFLATE_OK)
            return result;
        if (used == 0 && written == 0 && more > 0)
            return INFLATE_BAD; /* truncated */
        in = (struct view){in.data + used, in.size - used};
    }
    return INFLATE_OK;
}

enum inflate_result lz4_inflate(struct view in, struct bytes *out)
{
    LZ4F_dctx *reader;
    size_t before = out->size;
    if (!lz4_ready() || lz4.failed(lz4.make_reader(&reader, LZ4F_VERSION)))
        return INFLATE_NO_MEMORY;
    enum inflate_result result = read_frames(reader, in, out);
    lz4.free_reader(reader);
    if (result != INFLATE_OK)
        out->size = before;
    return result;
}

/* ---- writing ---- */

/* No buffering, so that little is left to write at the end. */
static const LZ4F_preferences_t preferences = {.autoFlush = 1};

static bool lz4_keep(struct bytes *out, size_t written)
{
    if (lz4.failed(written))
        return false;
    out->size += written;
    return true;
}

static bool write_frame(LZ4F_cctx *writer, struct pieces in, struct bytes *out)
{
    if (bytes_reserve(out, LZ4F_HEADER_SIZE_MAX) != BYTES_OK ||
        !lz4_keep(out,
                  lz4.begin(writer, out->data + out->size, LZ4F_HEADER_SIZE_MAX, &preferences)))
        return false;
    for (size_t i = 0; i < in.count; i++) {
        size_t bound = lz4.bound(in.views[i].size, &preferences);
        if (bytes_reserve(out, bound) != BYTES_OK ||
            !lz4_keep(out, lz4.update(writer, out->data + out->size, bound, in.views[i].data,
                                      in.views[i].size, NULL)))
            return false;
    }
    size_t bound = lz4.bound(0, &preferences);
    return bytes_reserve(out, bound) == BYTES_OK &&
           lz4_keep(out, lz4.end(writer, out->data + out->size, bound, NULL));
}

bool lz4_deflate(struct pieces in, struct bytes *out)
{
    LZ4F_cctx *writer;
    size_t before = out->size;
    if (!lz4_ready() || lz4.failed(lz4.make_writer(&writer, LZ4F_VERSION)))
        return false;
    bool ok = write_frame(writer, in, out);
    lz4.free_writer(writer);
    if (!ok)
        out->size = before;
    return ok;
}
