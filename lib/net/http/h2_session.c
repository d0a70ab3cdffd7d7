#include "lib/net/http/h2_session.h"

#include "lib/base/clock.h"
#include "lib/net/h2/h2_ends.h"

#include <nghttp2/nghttp2.h>
#include <stdlib.h>
#include <strings.h>

enum { HEADERS_MAX = 64, NAMES_MAX = 4096, WINDOW = 1 << 20 };

struct h2_session {
    nghttp2_session *session;
    int32_t stream; /* of the current call; 0: none yet */
    struct pieces_reader unsent;
    size_t left;              /* bytes left of it */
    struct h2_output *output; /* where they go */
    struct http_reply *reply;
    enum h2_state state;
    uint32_t reason;
};

/* ---- session callbacks ---- */

static int on_header(nghttp2_session *nghttp2, const nghttp2_frame *frame, const uint8_t *name,
                     size_t name_size, const uint8_t *value, size_t value_size, uint8_t flags,
                     void *ctx)
{
    const struct h2_session *session = ctx;
    (void)nghttp2, (void)flags;
    if (frame->hd.stream_id == session->stream && session->reply)
        http_reply_field(session->reply, (struct view){name, name_size},
                         (struct view){value, value_size}, clock_wall(&clock_system) / NS_PER_S);
    return 0;
}

static int on_data(nghttp2_session *nghttp2, uint8_t flags, int32_t stream, const uint8_t *data,
                   size_t size, void *ctx)
{
    const struct h2_session *session = ctx;
    (void)nghttp2, (void)flags;
    if (stream == session->stream && session->reply)
        http_reply_data(session->reply, (struct view){data, size});
    return 0;
}

static int on_frame(nghttp2_session *nghttp2, const nghttp2_frame *frame, void *ctx)
{
    struct h2_session *session = ctx;
    bool last = frame->hd.flags & NGHTTP2_FLAG_END_STREAM;
    if (frame->hd.stream_id != session->stream || session->state != H2_WAITING || !last ||
        (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA))
        return 0;
    session->state = H2_ANSWERED;
    if (session->left > 0)
        nghttp2_submit_rst_stream(nghttp2, NGHTTP2_FLAG_NONE, session->stream, NGHTTP2_CANCEL);
    return 0;
}

static int on_stream_close(nghttp2_session *nghttp2, int32_t stream, uint32_t error, void *ctx)
{
    struct h2_session *session = ctx;
    (void)nghttp2;
    if (stream != session->stream || session->state != H2_WAITING)
        return 0;
    session->reason = error;
    session->state = error == NGHTTP2_REFUSED_STREAM ? H2_REFUSED : H2_RESET;
    return 0;
}

/* ---- lifecycle ---- */

/* The body stays where it is: its frames become runs of the output. */
static int send_data(nghttp2_session *nghttp2, nghttp2_frame *frame, const uint8_t *head,
                     size_t size, nghttp2_data_source *source, void *ctx)
{
    struct h2_session *session = ctx;
    (void)nghttp2, (void)frame, (void)source;
    h2_output_copy(session->output, (struct view){head, H2_FRAME_HEAD});
    while (size > 0) {
        struct view run = pieces_next(&session->unsent, size);
        h2_output_borrow(session->output, run);
        size -= run.size;
    }
    return 0;
}

static nghttp2_session *new_nghttp2(struct h2_session *session)
{
    nghttp2_session_callbacks *to;
    nghttp2_session *made = NULL;
    if (nghttp2_session_callbacks_new(&to) != 0)
        return NULL;
    nghttp2_session_callbacks_set_on_header_callback(to, on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(to, on_data);
    nghttp2_session_callbacks_set_on_frame_recv_callback(to, on_frame);
    nghttp2_session_callbacks_set_on_stream_close_callback(to, on_stream_close);
    nghttp2_session_callbacks_set_send_data_callback(to, send_data);
    if (nghttp2_session_client_new(&made, to, session) != 0)
        made = NULL;
    nghttp2_session_callbacks_del(to);
    return made;
}

struct h2_session *h2_session_new(void)
{
    const nghttp2_settings_entry settings[] = {{NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
                                               {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, WINDOW}};
    struct h2_session *session = calloc(1, sizeof *session);
    if (!session)
        return NULL;
    session->session = new_nghttp2(session);
    if (session->session &&
        nghttp2_submit_settings(session->session, NGHTTP2_FLAG_NONE, settings, 2) == 0)
        return session;
    h2_session_free(session);
    return NULL;
}

void h2_session_free(struct h2_session *session)
{
    if (!session)
        return;
    nghttp2_session_del(session->session);
    free(session);
}

bool h2_session_usable(const struct h2_session *session)
{
    return nghttp2_session_check_request_allowed(session->session) &&
           nghttp2_session_want_read(session->session);
}

/* ---- a call ---- */

/* The size of the next frame. The session asks again for one that found no room. */
static ssize_t size_of_data(nghttp2_session *nghttp2, int32_t stream, uint8_t *out, size_t room,
                            uint32_t *flags, nghttp2_data_source *source, void *ctx)
{
    struct h2_session *session = ctx;
    (void)nghttp2, (void)out, (void)source;
    if (stream != session->stream)
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    if (!h2_output_has_room(session->output))
        return NGHTTP2_ERR_PAUSE;
    size_t n = session->left < room ? session->left : room;
    session->left -= n;
    *flags |= NGHTTP2_DATA_FLAG_NO_COPY | (session->left == 0 ? NGHTTP2_DATA_FLAG_EOF : 0U);
    return (ssize_t)n;
}

static nghttp2_nv field(const char *name, const char *value)
{
    return (nghttp2_nv){.name = (uint8_t *)(uintptr_t)name,
                        .value = (uint8_t *)(uintptr_t)value,
                        .namelen = strlen(name),
                        .valuelen = strlen(value),
                        .flags = NGHTTP2_NV_FLAG_NONE};
}

/* HTTP/2 does not have these headers; the authority is a pseudo-header. */
static bool belongs_to_http_1(const char *name)
{
    static const char *const names[] = {"connection", "keep-alive", "transfer-encoding",
                                        "upgrade",    "host",       "proxy-connection"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcasecmp(name, names[i]) == 0)
            return true;
    return false;
}

/* Copies a name in lower case, as HTTP/2 requires; NULL: no room. */
static const char *lower(const char *name, char **room, size_t *left)
{
    size_t size = strlen(name) + 1;
    char *copy = *room;
    if (size > *left)
        return NULL;
    for (size_t i = 0; i < size; i++)
        copy[i] = (char)(name[i] >= 'A' && name[i] <= 'Z' ? name[i] + ('a' - 'A') : name[i]);
    *room += size;
    *left -= size;
    return copy;
}

bool h2_session_begin(struct h2_session *session, const struct h2_request *request,
                      struct http_reply *reply)
{
    char names[NAMES_MAX], *room = names;
    size_t left = sizeof names, count = 4;
    nghttp2_nv fields[HEADERS_MAX] = {field(":method", "POST"), field(":scheme", request->scheme),
                                      field(":authority", request->authority),
                                      field(":path", request->path)};
    nghttp2_data_provider provider = {.read_callback = size_of_data};
    for (size_t i = 0; i < request->header_count; i++) {
        const char *name = lower(request->headers[i].name, &room, &left);
        if (!name || count == HEADERS_MAX)
            return false;
        if (!belongs_to_http_1(name))
            fields[count++] = field(name, request->headers[i].value);
    }
    session->unsent = pieces_read_begin(request->body);
    session->left = pieces_size(request->body);
    session->reply = reply;
    session->state = H2_WAITING;
    session->reason = 0;
    session->stream =
        nghttp2_submit_request(session->session, NULL, fields, count, &provider, NULL);
    return session->stream > 0;
}

enum h2_state h2_session_state(const struct h2_session *session)
{
    return session->state;
}

void h2_session_cancel(struct h2_session *session)
{
    session->reply = NULL;
    session->unsent = (struct pieces_reader){0};
    session->left = 0;
    if (session->state == H2_WAITING)
        nghttp2_submit_rst_stream(session->session, NGHTTP2_FLAG_NONE, session->stream,
                                  NGHTTP2_CANCEL);
    session->stream = 0;
}

const char *h2_session_reason(const struct h2_session *session)
{
    return nghttp2_http2_strerror(session->reason);
}

/* ---- bytes ---- */

bool h2_session_receive(struct h2_session *session, struct view data)
{
    return nghttp2_session_mem_recv(session->session, data.data, data.size) >= 0;
}

bool h2_session_output(struct h2_session *session, struct h2_output *output)
{
    const uint8_t *frame;
    session->output = output;
    while (h2_output_has_room(output)) {
        ssize_t n = nghttp2_session_mem_send(session->session, &frame);
        if (n < 0)
            return false;
        if (n == 0)
            break;
        h2_output_copy(output, (struct view){frame, (size_t)n});
    }
    return true;
}
