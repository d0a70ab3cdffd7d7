#include "lib/wire/codec/compress.h"

#include "lib/wire/codec/coding.h"
#include "lib/wire/codec/gzip.h"
#include "lib/wire/codec/zstd_window.h"

#include <stdio.h>
#include <strings.h>
#include <zstd.h>
#include <zstd_errors.h>

enum { ZSTD_LEVEL = 1 };

static const char *const names[] = {
    "identity", "gzip", "zstd", "zlib", "deflate", "snappy", "x-snappy-framed", "lz4", "unknown"};

enum encoding_name encoding_parse(struct view name)
{
    if (name.size == 0)
        return ENCODING_IDENTITY;
    for (int i = 0; i < ENCODING_UNKNOWN; i++)
        if (view_eq_nocase(name, view_of(names[i])))
            return (enum encoding_name)i;
    return view_eq_nocase(name, VIEW("x-gzip")) ? ENCODING_GZIP : ENCODING_UNKNOWN;
}

enum encoding_name encoding_parse_grpc(struct view name)
{
    enum encoding_name encoding = encoding_parse(name);
    switch (encoding) {
    case ENCODING_IDENTITY:
    case ENCODING_GZIP:
    case ENCODING_ZSTD:
    case ENCODING_DEFLATE:
        return encoding;
    case ENCODING_SNAPPY:
        return ENCODING_SNAPPY_FRAMED;
    case ENCODING_ZLIB:
    case ENCODING_SNAPPY_FRAMED:
    case ENCODING_LZ4:
    case ENCODING_UNKNOWN:
        break;
    }
    return ENCODING_UNKNOWN;
}

const char *encoding_text(enum encoding_name encoding)
{
    return names[encoding];
}

/* Identity comes last. */
const char *encoding_words(unsigned encodings, char *out, size_t size)
{
    size_t at = 0;
    unsigned left = encodings & ENCODINGS_ALL;
    *out = '\0';
    for (int i = 1; left && at < size; i++) {
        int encoding = i == ENCODING_UNKNOWN ? ENCODING_IDENTITY : i;
        if (!(left & ENCODING_BIT(encoding)))
            continue;
        left &= ~ENCODING_BIT(encoding);
        at += (size_t)snprintf(out + at, size - at, "%s%s",
                               at == 0 ? ""
                               : left  ? ", "
                                       : " or ",
                               names[encoding]);
    }
    return out;
}

bool encoding_ready(enum encoding_name encoding)
{
    if (encoding == ENCODING_SNAPPY || encoding == ENCODING_SNAPPY_FRAMED)
        return snappy_ready();
    return encoding != ENCODING_LZ4 || lz4_ready();
}

bool looks_gzip(struct view data)
{
    return data.size >= 2 && data.data[0] == 0x1f && data.data[1] == 0x8b;
}

static enum inflate_result zstd_failure(size_t code)
{
    switch ((int)ZSTD_getErrorCode(code)) {
    case ZSTD_error_frameParameter_windowTooLarge:
        return INFLATE_TOO_LARGE;
    case ZSTD_error_memory_allocation:
        return INFLATE_NO_MEMORY;
    default:
        return INFLATE_BAD;
    }
}

static enum inflate_result zstd_run(ZSTD_DStream *stream, struct view in, struct bytes *out,
                                    struct zstd_window *window)
{
    ZSTD_inBuffer input = {in.data, in.size, 0};
    size_t begin = out->size, more = 0; /* 0: at the end of a frame */
    for (;;) {
        struct coding_room room;
        enum inflate_result result = coding_make_room(out, &room);
        if (more == 0)
            zstd_window_frame(window, (struct view){in.data + input.pos, in.size - input.pos});
        if (result == INFLATE_OK && !zstd_window_reach(window, out->size - begin + room.size))
            result = INFLATE_NO_MEMORY;
        if (result != INFLATE_OK)
            return result;
        ZSTD_outBuffer output = {room.data ? room.data : &room.spare, room.data ? room.size : 1, 0};
        size_t before = input.pos;
        more = ZSTD_decompressStream(stream, &output, &input);
        if (ZSTD_isError(more))
            return zstd_failure(more);
        result = coding_take(out, &room, output.pos);
        if (result != INFLATE_OK)
            return result;
        if (more == 0 && input.pos == input.size)
            return INFLATE_OK;
        if (input.pos == before && output.pos == 0)
            return INFLATE_BAD;
    }
}

static enum inflate_result zstd_inflate(struct view in, struct bytes *out)
{
    size_t before = out->size;
    ZSTD_DStream *stream = ZSTD_createDStream();
    if (!stream)
        return INFLATE_NO_MEMORY;
    struct zstd_window window = {.budget = out->budget};
    enum inflate_result result = INFLATE_BAD;
    if (!ZSTD_isError(ZSTD_DCtx_setParameter(stream, ZSTD_d_windowLogMax, ZSTD_WINDOW_LOG)) &&
        in.size > 0)
        result = zstd_run(stream, in, out, &window);
    ZSTD_freeDStream(stream);
    zstd_window_end(&window);
    if (result != INFLATE_OK)
        out->size = before;
    return result;
}

static bool zstd_pieces(ZSTD_CCtx *engine, struct pieces in, ZSTD_outBuffer *room)
{
    size_t rest = ZSTD_CCtx_setParameter(engine, ZSTD_c_compressionLevel, ZSTD_LEVEL);
    if (!ZSTD_isError(rest))
        rest = ZSTD_CCtx_setPledgedSrcSize(engine, pieces_size(in));
    for (size_t i = 0; i < in.count && !ZSTD_isError(rest); i++) {
        ZSTD_inBuffer input = {in.views[i].data, in.views[i].size, 0};
        ZSTD_EndDirective how = i + 1 == in.count ? ZSTD_e_end : ZSTD_e_continue;
        do
            rest = ZSTD_compressStream2(engine, room, &input, how);
        while (!ZSTD_isError(rest) && room->pos < room->size &&
               (input.pos < input.size || (how == ZSTD_e_end && rest > 0)));
    }
    return rest == 0;
}

static bool zstd_deflate(struct pieces in, struct bytes *out)
{
    size_t bound = ZSTD_compressBound(pieces_size(in)), left = out->max - out->size;
    if (bytes_reserve(out, bound < left ? bound : left) != BYTES_OK)
        return false;
    ZSTD_outBuffer room = {out->data ? out->data + out->size : NULL, out->capacity - out->size, 0};
    ZSTD_CCtx *engine = ZSTD_createCCtx();
    bool ok = engine && zstd_pieces(engine, in, &room);
    ZSTD_freeCCtx(engine);
    out->size += ok ? room.pos : 0;
    return ok;
}

enum inflate_result inflate_append(enum encoding_name encoding, struct view in, struct bytes *out)
{
    switch (encoding) {
    case ENCODING_IDENTITY:
        return coding_copy(in, out);
    case ENCODING_GZIP:
        return gzip_inflate(gzip_engine_here(), in, out);
    case ENCODING_ZSTD:
        return zstd_inflate(in, out);
    case ENCODING_ZLIB:
    case ENCODING_DEFLATE:
        return zlib_inflate(in, out);
    case ENCODING_SNAPPY:
        return snappy_inflate(in, out);
    case ENCODING_SNAPPY_FRAMED:
        return snappy_framed_inflate(in, out);
    case ENCODING_LZ4:
        return lz4_inflate(in, out);
    case ENCODING_UNKNOWN:
        break;
    }
    return INFLATE_BAD;
}

static bool copy_pieces(struct pieces in, struct bytes *out)
{
    struct pieces_reader reader = pieces_read_begin(in);
    size_t size = pieces_size(in);
    if (bytes_reserve(out, size) != BYTES_OK)
        return false;
    if (size)
        out->size += pieces_read(&reader, out->data + out->size, size);
    return true;
}

bool deflate_append(enum encoding_name encoding, struct view in, struct bytes *out)
{
    return deflate_append_pieces(encoding, (struct pieces){&in, 1}, out);
}

bool deflate_append_pieces(enum encoding_name encoding, struct pieces in, struct bytes *out)
{
    switch (encoding) {
    case ENCODING_IDENTITY:
        return copy_pieces(in, out);
    case ENCODING_GZIP:
        return gzip_deflate(gzip_engine_here(), in, out);
    case ENCODING_ZSTD:
        return zstd_deflate(in, out);
    case ENCODING_ZLIB:
    case ENCODING_DEFLATE:
        return zlib_deflate(in, out);
    case ENCODING_SNAPPY:
        return snappy_deflate(in, out);
    case ENCODING_SNAPPY_FRAMED:
        return snappy_framed_deflate(in, out);
    case ENCODING_LZ4:
        return lz4_deflate(in, out);
    case ENCODING_UNKNOWN:
        break;
    }
    return false;
}
