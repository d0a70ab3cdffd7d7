/* Feeds a backend's bytes to the HTTP/2 client: two calls over one connection. The first byte of
 * the input is the size of the pieces in which the bytes arrive. */
#include "lib/net/http/h2_session.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct h2_output output;

/* Sends all but the last byte, and that one with the next bytes. */
static bool step(struct h2_session *session, struct view in)
{
    bool ok = h2_session_receive(session, in);
    do {
        size_t unsent = pieces_size(h2_output_unsent(&output));
        h2_output_sent(&output, unsent > 1 ? unsent - 1 : unsent);
        ok = ok && h2_session_output(session, &output);
    } while (ok && pieces_size(h2_output_unsent(&output)) > 1);
    return ok;
}

/* Returns how much of the input the call consumed. */
static size_t call(struct h2_session *session, struct view in, size_t piece)
{
    static const struct http_header header = {"TE", "trailers"};
    static const uint8_t body[40000];
    struct http_reply reply;
    const struct view run = {body, sizeof body};
    const struct h2_request request = {"http", "a:1", "/t.T/Export", &header, 1, {&run, 1}};
    size_t at = 0;
    http_reply_init(&reply, 100);
    if (h2_session_usable(session) && h2_session_begin(session, &request, &reply)) {
        bool ok = step(session, (struct view){in.data, 0});
        while (ok && at < in.size && h2_session_state(session) == H2_WAITING) {
            size_t n = in.size - at < piece ? in.size - at : piece;
            ok = step(session, (struct view){in.data + at, n});
            at += n;
        }
        h2_session_reason(session);
        h2_session_cancel(session);
        h2_output_keep(&output);
    }
    http_reply_release(&reply);
    return at;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct h2_session *session = size ? h2_session_new() : NULL;
    if (!session)
        return 0;
    if (!h2_output_begin(&output, data[0] & 1))
        abort();
    size_t piece = 1 + (size_t)data[0] * 16;
    struct view in = {data + 1, size - 1};
    size_t used = call(session, in, piece);
    call(session, (struct view){in.data + used, in.size - used}, piece);
    h2_session_free(session);
    h2_output_end(&output);
    return 0;
}
