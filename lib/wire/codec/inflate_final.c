#include "lib/wire/codec/inflate_final.h"

#include "lib/wire/codec/zstd_window.h"

#include <isa-l/igzip_lib.h>
#include <stdlib.h>
#include <zstd.h>

enum { WINDOW = 64 * 1024, GZIP_LEAST = 18 };

/* RFC 1952, 2.3: the last four bytes of a member are its size modulo 2^32. */
static bool gzip_declares_more(struct view in, size_t max)
{
    if (in.size < GZIP_LEAST || !looks_gzip(in))
        return false;
    const uint8_t *at = in.data + in.size - 4;
    return (at[0] | (uint64_t)at[1] << 8 | (uint64_t)at[2] << 16 | (uint64_t)at[3] << 24) > max;
}

/* Inflates more of the current member. False: it is broken or has ended. */
static bool gzip_step(struct inflate_state *state, uint8_t *window, size_t *made)
{
    uint32_t before = state->avail_in;
    state->next_out = window;
    state->avail_out = WINDOW;
    int status = isal_inflate(state);
    *made = WINDOW - state->avail_out;
    return status == ISAL_DECOMP_OK && (*made > 0 || state->avail_in < before);
}

/* The next member begins where the last one's input ended. */
static bool gzip_next(struct inflate_state *state)
{
    uint8_t *next = state->next_in - state->read_in_length / 8;
    uint32_t left = state->avail_in + (uint32_t)state->read_in_length / 8;
    isal_inflate_reset(state);
    state->crc_flag = ISAL_GZIP;
    state->next_in = next;
    state->avail_in = left;
    return left > 0;
}

static bool gzip_is_more(struct view in, size_t max, uint8_t *window)
{
    struct inflate_state *state = malloc(sizeof *state);
    size_t size = 0, made = 0;
    if (!state || in.size > UINT32_MAX) {
        free(state);
        return false;
    }
    isal_inflate_init(state);
    state->crc_flag = ISAL_GZIP;
    state->next_in = (uint8_t *)(uintptr_t)in.data; /* read only, the library lacks a const */
    state->avail_in = (uint32_t)in.size;
    do {
        while (state->block_state != ISAL_BLOCK_FINISH && size <= max &&
               gzip_step(state, window, &made))
            size += made;
    } while (size <= max && state->block_state == ISAL_BLOCK_FINISH && gzip_next(state));
    free(state);
    return size > max;
}

static bool zstd_is_more(struct view in, size_t max, uint8_t *window, struct budget *budget)
{
    struct zstd_window kept = {.budget = budget};
    ZSTD_inBuffer input = {in.data, in.size, 0};
    ZSTD_DStream *stream = ZSTD_createDStream();
    size_t size = 0, more = 0;
    bool good = stream &&
                !ZSTD_isError(ZSTD_DCtx_setParameter(stream, ZSTD_d_windowLogMax, ZSTD_WINDOW_LOG));
    while (good && size <= max && (more || input.pos < input.size)) {
        ZSTD_outBuffer room = {window, WINDOW, 0};
        size_t before = input.pos;
        if (more == 0)
            zstd_window_frame(&kept, (struct view){in.data + before, in.size - before});
        if (!zstd_window_reach(&kept, size + WINDOW))
            break;
        more = ZSTD_decompressStream(stream, &room, &input);
        size += room.pos;
        good = !ZSTD_isError(more) && (room.pos > 0 || input.pos > before);
    }
    ZSTD_freeDStream(stream);
    zstd_window_end(&kept);
    return size > max;
}

/* From the first frame's header, if it has a content size. */
static bool zstd_declares_more(struct view in, size_t max)
{
    unsigned long long size = ZSTD_getFrameContentSize(in.data, in.size);
    return size != ZSTD_CONTENTSIZE_UNKNOWN && size != ZSTD_CONTENTSIZE_ERROR && size > max;
}

enum inflate_result inflate_final(enum encoding_name encoding, struct view in, size_t max,
                                  struct budget *budget, enum inflate_result result)
{
    uint8_t *window = result == INFLATE_NO_MEMORY ? malloc(WINDOW) : NULL;
    bool more = false;
    if (window && encoding == ENCODING_GZIP)
        more = gzip_declares_more(in, max) || gzip_is_more(in, max, window);
    else if (window && encoding == ENCODING_ZSTD)
        more = zstd_declares_more(in, max) || zstd_is_more(in, max, window, budget);
    free(window);
    return more ? INFLATE_TOO_LARGE : result;
}
