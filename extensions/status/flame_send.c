/* Sends a flame graph. A large one is written while it is sent, so that memory holds the graph or
 * its text, never both, and only one of these is sent at a time; small ones pass it. */
#include "extensions/status/flame_write.h"
#include "extensions/status/status.h"
#include "lib/wire/codec/compress.h"

#include <inttypes.h>
#include <malloc.h>
#include <stdlib.h>

#define BROKEN_QUIET (60 * NS_PER_S) /* from a line about it to the next */

enum { PIECE = 64 << 10, SMALL = 4096 }; /* bytes; nodes and names of a graph sent at once */

struct sending {
    struct status *self;
    struct flame flame;
    struct flame_writer writer;
    char title[FLAME_TITLE];
    char missing[FLAME_TITLE]; /* that the graph is not whole, and why; "": it is */
    struct bytes piece;
    size_t sent; /* of the piece */
    bool large;
};

static const struct {
    const char *type, *how, *ending; /* how NULL: it is not a file */
} formats[] = {
    [FLAME_JSON] = {"application/json", NULL, NULL},
    [FLAME_FOLDED] = {"text/plain; charset=utf-8", "inline", ".folded.txt"},
    [FLAME_PPROF] = {"application/octet-stream", "attachment", ".pb.gz"},
    [FLAME_SVG] = {"image/svg+xml", "inline", ".svg"},
};

/* Replaces the piece by a gzip member of it. Members in a row are one gzip file (RFC 1952, 2.2). */
static bool sending_deflate(struct sending *sending)
{
    struct bytes packed;
    bytes_init(&packed, ANSWER_MAX, sending->piece.budget);
    bool good = deflate_append(ENCODING_GZIP, bytes_view(&sending->piece), &packed);
    if (good) {
        bytes_release(&sending->piece);
        sending->piece = packed;
    } else {
        bytes_release(&packed);
    }
    return good;
}

/* Makes the next piece, of about `enough` bytes; empty: the end. */
static bool sending_next(struct sending *sending, size_t enough)
{
    bytes_clear(&sending->piece);
    sending->sent = 0;
    if (!flame_write(&sending->writer, &sending->piece, enough))
        return false;
    return sending->writer.format != FLAME_PPROF || sending->piece.size == 0 ||
           sending_deflate(sending);
}

/* Lets the next one in: for the last piece the graph is not needed. */
static void sending_leave(struct sending *sending)
{
    flame_writer_end(&sending->writer);
    flame_release(&sending->flame);
    if (sending->large) {
        sending->large = false;
        malloc_trim(0);
        sending->self->sending = false;
    }
}

/* The client has the beginning, so that the connection has to end before the body does. */
static ptrdiff_t sending_break(struct status *self)
{
    uint64_t now = clock_mono(self->env->clock), next = atomic_load(&self->broken_next);
    atomic_fetch_add(&self->broken, 1);
    if (now >= next &&
        atomic_compare_exchange_strong(&self->broken_next, &next, now + BROKEN_QUIET))
        env_warn(self->env,
                 "%" PRIu64 " flame graphs broken off while they were sent: not enough memory "
                 "(limit_mib of memory_limiter)",
                 atomic_exchange(&self->broken, 0));
    return -1;
}

static ptrdiff_t sending_read(void *ctx, uint8_t *out, size_t size)
{
    struct sending *sending = ctx;
    if (sending->sent == sending->piece.size && !sending->writer.done &&
        !sending_next(sending, PIECE))
        return sending_break(sending->self);
    if (sending->writer.done)
        sending_leave(sending);
    size_t left = sending->piece.size - sending->sent;
    size_t n = left < size ? left : size;
    if (n)
        memcpy(out, sending->piece.data + sending->sent, n);
    sending->sent += n;
    return (ptrdiff_t)n;
}

static void sending_end(void *ctx)
{
    struct sending *sending = ctx;
    sending_leave(sending);
    bytes_release(&sending->piece);
    free(sending);
}

static void add_headers(struct http_request *request, const struct sending *sending,
                        enum flame_format format, const char *name)
{
    answer_headers(request, true);
    if (*sending->missing)
        http_response_header(request, "Spanlink-Truncated", sending->missing);
    if (formats[format].how)
        answer_file_name(request, formats[format].how, name, formats[format].ending);
}

void flame_send(struct status *self, struct http_request *request, struct flame *flame,
                enum flame_format format, const char *title, const char *name)
{
    const char *type = formats[format].type;
    struct sending *sending = calloc(1, sizeof *sending);
    if (!sending) {
        flame_release(flame);
        answer_error(request, 503, "not enough memory for the response");
        return;
    }
    *sending = (struct sending){.self = self, .flame = *flame};
    *flame = (struct flame){0};
    snprintf(sending->title, sizeof sending->title, "%s", title);
    const char *text = sending->flame.text, *fix = sending->flame.fix;
    if (sending->flame.truncated && text)
        snprintf(sending->missing, sizeof sending->missing, "%s%s%s", text, fix ? " " : "",
                 fix ? fix : "");
    sending->writer = flame_writer_begin(&sending->flame, format, view_of(sending->title));
    bytes_init(&sending->piece, ANSWER_MAX, self->env->budget);
    bool large = flame_count(&sending->flame) + sending->flame.names.count > SMALL;
    if (large && self->sending) {
        answer_error(
            request, 503,
            "another large flame graph is being sent, and only one at a time is: try again "
            "in a second");
        sending_end(sending);
        return;
    }
    sending->large = large;
    if (large)
        atomic_store(&self->sending, true);
    /* The first piece is written before the status is sent, which says whether there is memory. */
    if (!sending_next(sending, large ? PIECE : SIZE_MAX)) {
        sending_end(sending);
        answer_error(request, 503, "not enough memory for the response");
        return;
    }
    add_headers(request, sending, format, name);
    if (large) {
        http_respond_stream(request, 200, type,
                            &(struct http_stream){sending_read, sending_end, sending});
        return;
    }
    http_respond_bytes(request, 200, type, &sending->piece, 0);
    sending_end(sending);
}
