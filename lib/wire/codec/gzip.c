#include "lib/wire/codec/gzip.h"

#include "lib/wire/codec/coding.h"

#include <isa-l/igzip_lib.h>
#include <libdeflate.h>
#include <stdlib.h>

#if defined __x86_64__
#include <sys/platform/x86.h>
#elif defined __aarch64__
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

enum {
    FLAG_HEADER_CRC = 2,
    FLAG_EXTRA = 4,
    FLAG_NAME = 8,
    FLAG_COMMENT = 16,
    FLAGS_RESERVED = 0xe0,
    HEADER_SIZE = 10,
    TRAILER_SIZE = 8,
    FIRST_ROOM = 4096,
    /* Below this size, building dynamic Huffman codes takes longer (11 us) than compressing, and
     * saves only a sixth of a few KiB. */
    OWN_CODES_FROM = 16384
};

enum gzip_engine gzip_engine_here(void)
{
#if defined __x86_64__
    /* From the C library: the compiler's builtin would run CPUID again at every start, which takes
     * 0.1 ms under a hypervisor. */
    bool vector = CPU_FEATURE_ACTIVE(SSE4_2) && CPU_FEATURE_ACTIVE(PCLMULQDQ);
#elif defined __aarch64__
    unsigned long has = getauxval(AT_HWCAP);
    bool vector = (has & HWCAP_CRC32) && (has & HWCAP_PMULL);
#else
    bool vector = false;
#endif
    return vector ? GZIP_ISAL : GZIP_LIBDEFLATE;
}

static uint32_t load_le32(const uint8_t *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

/* Skips NUL-terminated text; SIZE_MAX: it is not terminated. */
static size_t skip_text(struct view in, size_t at)
{
    const uint8_t *nul = at < in.size ? memchr(in.data + at, 0, in.size - at) : NULL;
    return nul ? (size_t)(nul - in.data) + 1 : SIZE_MAX;
}

/* Size of the member header at the start of in; 0: not a header. */
static size_t header_size(struct view in)
{
    if (in.size < HEADER_SIZE || !looks_gzip(in) || in.data[2] != 8 ||
        (in.data[3] & FLAGS_RESERVED))
        return 0;
    uint8_t flags = in.data[3];
    size_t at = HEADER_SIZE;
    if (flags & FLAG_EXTRA) {
        if (in.size - at < 2)
            return 0;
        at += 2 + ((size_t)in.data[at] | (size_t)in.data[at + 1] << 8);
    }
    if (flags & FLAG_NAME)
        at = skip_text(in, at);
    if (flags & FLAG_COMMENT)
        at = skip_text(in, at);
    if (flags & FLAG_HEADER_CRC) {
        if (at > in.size || in.size - at < 2)
            return 0;
        uint32_t crc = libdeflate_crc32(0, in.data, at) & 0xffff;
        if (crc != ((uint32_t)in.data[at] | (uint32_t)in.data[at + 1] << 8))
            return 0;
        at += 2;
    }
    return at <= in.size ? at : 0;
}

/* Makes room for more output: wanted bytes, or what the maximum leaves. */
static enum inflate_result gzip_make_room(struct bytes *out, size_t wanted)
{
    size_t left = out->max - out->size;
    if (left == 0)
        return INFLATE_TOO_LARGE;
    return bytes_reserve(out, wanted < left ? wanted : left) == BYTES_OK ? INFLATE_OK
                                                                         : INFLATE_NO_MEMORY;
}

static uint32_t clamp32(size_t size)
{
    return size < UINT32_MAX ? (uint32_t)size : UINT32_MAX;
}

/* Runs the engine until it has filled the room in out, or ended. At the maximum it gets one spare
 * byte: a stream that uses it is too large; one that only has its end left is not. */
static enum inflate_result isal_step(struct inflate_state *state, size_t *in_left,
                                     struct bytes *out)
{
    uint8_t spare;
    bool full = out->size == out->max;
    size_t room = full ? 1 : out->capacity - out->size;
    state->next_out = full ? &spare : out->data + out->size;
    state->avail_out = clamp32(room);
    state->avail_in = clamp32(*in_left);
    uint32_t offered = state->avail_in, empty = state->avail_out;
    int status = isal_inflate(state);
    *in_left -= offered - state->avail_in;
    size_t made = empty - state->avail_out;
    if (status < 0 || status == ISAL_NEED_DICT)
        return INFLATE_BAD;
    if (full && made)
        return INFLATE_TOO_LARGE;
    out->size += full ? 0 : made;
    bool done = state->block_state == ISAL_BLOCK_FINISH;
    return !done && offered == state->avail_in && made == 0 ? INFLATE_BAD : INFLATE_OK;
}

static enum inflate_result isal_raw(struct view in, struct bytes *out, size_t *consumed)
{
    struct inflate_state *state = malloc(sizeof *state);
    if (!state)
        return INFLATE_NO_MEMORY;
    isal_inflate_init(state);
    state->next_in = (uint8_t *)(uintptr_t)in.data; /* read only, the library lacks a const */
    size_t left = in.size, wanted = in.size * 4 < FIRST_ROOM ? FIRST_ROOM : in.size * 4;
    enum inflate_result result = INFLATE_OK;
    while (result == INFLATE_OK && state->block_state != ISAL_BLOCK_FINISH) {
        if (out->size == out->capacity && out->size < out->max)
            result = gzip_make_room(out, wanted);
        if (result == INFLATE_OK)
            result = isal_step(state, &left, out);
        wanted = out->size > FIRST_ROOM ? out->size : FIRST_ROOM;
    }
    *consumed = in.size - left - (size_t)(state->read_in_length / 8);
    free(state);
    return result;
}

/* libdeflate needs all the room at once, so each doubling starts over. */
static enum inflate_result libdeflate_raw(struct view in, struct bytes *out, size_t *consumed)
{
    struct libdeflate_decompressor *engine = libdeflate_alloc_decompressor();
    if (!engine)
        return INFLATE_NO_MEMORY;
    size_t wanted = in.size * 4 < FIRST_ROOM ? FIRST_ROOM : in.size * 4, made = 0;
    uint8_t nowhere;
    enum inflate_result result = INFLATE_OK;
    enum libdeflate_result status = LIBDEFLATE_INSUFFICIENT_SPACE;
    while (result == INFLATE_OK && status == LIBDEFLATE_INSUFFICIENT_SPACE) {
        size_t room = out->capacity - out->size;
        if (room < wanted && room < out->max - out->size)
            result = gzip_make_room(out, wanted);
        if (result != INFLATE_OK)
            break;
        room = out->capacity - out->size;
        status = libdeflate_deflate_decompress_ex(engine, in.data, in.size,
                                                  room ? out->data + out->size : &nowhere, room,
                                                  consumed, &made);
        if (status == LIBDEFLATE_INSUFFICIENT_SPACE && room >= out->max - out->size)
            result = INFLATE_TOO_LARGE;
        wanted = room < SIZE_MAX / 2 ? room * 2 : SIZE_MAX;
    }
    libdeflate_free_decompressor(engine);
    if (result != INFLATE_OK)
        return result;
    if (status != LIBDEFLATE_SUCCESS)
        return INFLATE_BAD;
    out->size += made;
    return INFLATE_OK;
}

enum inflate_result deflate_inflate(enum gzip_engine engine, struct view in, struct bytes *out,
                                    size_t *consumed)
{
    return engine == GZIP_ISAL ? isal_raw(in, out, consumed) : libdeflate_raw(in, out, consumed);
}

/* Inflates one member; *used is its length. */
static enum inflate_result inflate_member(enum gzip_engine engine, struct view in,
                                          struct bytes *out, size_t *used)
{
    size_t header = header_size(in), consumed = 0, before = out->size;
    if (header == 0)
        return INFLATE_BAD;
    struct view body = {in.data + header, in.size - header};
    enum inflate_result result = deflate_inflate(engine, body, out, &consumed);
    if (result != INFLATE_OK)
        return result;
    if (body.size - consumed < TRAILER_SIZE)
        return INFLATE_BAD;
    const uint8_t *trailer = body.data + consumed;
    size_t size = out->size - before;
    uint32_t crc = size ? libdeflate_crc32(0, out->data + before, size) : 0;
    if (load_le32(trailer) != crc || load_le32(trailer + 4) != (uint32_t)size)
        return INFLATE_BAD;
    *used = header + consumed + TRAILER_SIZE;
    return INFLATE_OK;
}

enum inflate_result gzip_inflate(enum gzip_engine engine, struct view in, struct bytes *out)
{
    size_t before = out->size;
    enum inflate_result result = INFLATE_OK;
    do {
        size_t used = 0;
        result = inflate_member(engine, in, out, &used);
        in = (struct view){in.data + used, in.size - used};
    } while (result == INFLATE_OK && in.size > 0);
    if (result != INFLATE_OK)
        out->size = before;
    return result;
}

struct isal_scratch {
    struct isal_zstream stream;
    uint8_t level[ISAL_DEF_LVL1_DEFAULT];
};

/* Gives the engine its next input once it has consumed the last. */
static void isal_feed(struct isal_zstream *stream, struct pieces *in, struct view *view)
{
    while (view->size == 0 && in->count > 0) {
        *view = *in->views++;
        in->count--;
    }
    stream->next_in = (uint8_t *)(uintptr_t)view->data;
    stream->avail_in = clamp32(view->size);
    stream->end_of_stream = in->count == 0 && stream->avail_in == view->size;
}

static bool isal_deflate_append(enum deflate_wrapper wrapper, struct pieces in, struct bytes *out)
{
    struct view view = {0};
    size_t size = pieces_size(in), wanted = size / 4 < 256 ? 256 : size / 4;
    struct isal_scratch *scratch = malloc(sizeof *scratch);
    if (!scratch)
        return false;
    struct isal_zstream *stream = &scratch->stream;
    isal_deflate_init(stream);
    if (size >= OWN_CODES_FROM) {
        stream->level = 1;
        stream->level_buf = scratch->level;
        stream->level_buf_size = sizeof scratch->level;
    }
    stream->gzip_flag = wrapper == DEFLATE_ZLIB ? IGZIP_ZLIB : IGZIP_GZIP;
    bool ok = true;
    while (ok && stream->internal_state.state != ZSTATE_END) {
        if (out->size == out->capacity && gzip_make_room(out, wanted) != INFLATE_OK)
            break;
        uint32_t empty = clamp32(out->capacity - out->size);
        isal_feed(stream, &in, &view);
        stream->next_out = out->data + out->size;
        stream->avail_out = empty;
        ok = isal_deflate(stream) == COMP_OK;
        view = (struct view){stream->next_in, view.size - (size_t)(stream->next_in - view.data)};
        out->size += empty - stream->avail_out;
    }
    ok = ok && stream->internal_state.state == ZSTATE_END;
    free(scratch);
    return ok;
}

static bool libdeflate_run(enum deflate_wrapper wrapper, struct view in, struct bytes *out)
{
    struct libdeflate_compressor *engine = libdeflate_alloc_compressor(1);
    if (!engine)
        return false;
    size_t made = 0;
    /* gzip's header and trailer are larger than zlib's. */
    if (gzip_make_room(out, libdeflate_gzip_compress_bound(engine, in.size)) == INFLATE_OK) {
        uint8_t *to = out->data + out->size;
        size_t room = out->capacity - out->size;
        made = wrapper == DEFLATE_ZLIB
                   ? libdeflate_zlib_compress(engine, in.data, in.size, to, room)
                   : libdeflate_gzip_compress(engine, in.data, in.size, to, room);
    }
    libdeflate_free_compressor(engine);
    out->size += made;
    return made > 0;
}

/* libdeflate needs contiguous input. */
static bool libdeflate_append(enum deflate_wrapper wrapper, struct pieces pieces, struct bytes *out)
{
    struct view in;
    uint8_t *copy;
    bool ok = coding_flatten(pieces, &in, &copy) && libdeflate_run(wrapper, in, out);
    free(copy);
    return ok;
}

bool deflate_wrapped(enum gzip_engine engine, enum deflate_wrapper wrapper, struct pieces in,
                     struct bytes *out)
{
    size_t before = out->size;
    bool ok = engine == GZIP_ISAL ? isal_deflate_append(wrapper, in, out)
                                  : libdeflate_append(wrapper, in, out);
    if (!ok)
        out->size = before;
    return ok;
}

bool gzip_deflate(enum gzip_engine engine, struct pieces in, struct bytes *out)
{
    return deflate_wrapped(engine, DEFLATE_GZIP, in, out);
}
