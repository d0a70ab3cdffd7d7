/*
 * Detects clients of other protocols. libmicrohttpd silently drops connections that do not begin
 * with an HTTP/1 request line. So its recv is wrapped here (CMakeLists.txt: --wrap) to check the
 * first bytes of each connection; later calls cost one load.
 */
#include "lib/net/http/http_peer.h"

#include <sys/socket.h>

enum { SOCKETS = 1 << 16 }; /* descriptors from here on are not checked */

static struct http_peer *_Atomic silent[SOCKETS];

ssize_t recv_real(int fd, void *data, size_t size, int flags) __asm__("__real_recv");
ssize_t recv_wrapped(int fd, void *data, size_t size, int flags) __asm__("__wrap_recv");

static struct outcome refusal(const struct http_peer *peer)
{
    const struct http_server_options *options = &peer->server->options;
    const struct opening_port port = {
        .speaks = "HTTP", .endpoint = &options->endpoint, .other = options->grpc_is_at};
    if (peer->opening != OPENING_HTTP1)
        return opening_refusal(peer->opening, &port);
    return outcome_of(VERDICT_REJECT, CAUSE_INVALID, "the request line is malformed or incomplete");
}

static struct outcome http_opening_refuse(struct http_peer *peer)
{
    const struct http_server_options *options = &peer->server->options;
    struct outcome why = refusal(peer);
    if (options->refused && !peer->asked && !atomic_load(&peer->server->draining))
        options->refused(options->ctx, NULL, &peer->address, &why);
    peer->asked = true;
    return why;
}

/* Whether to pass the bytes to the library. */
static bool is_for_library(struct http_peer *peer, int fd, const void *data, size_t size)
{
    peer->opening = opening_of(data, size);
    if (peer->opening != OPENING_HTTP2 && peer->opening != OPENING_TLS)
        return true;
    struct outcome why = http_opening_refuse(peer);
    opening_answer(fd, &why);
    return false;
}

/* Every call to recv in the linked libraries comes here. */
ssize_t recv_wrapped(int fd, void *data, size_t size, int flags)
{
    ssize_t got = recv_real(fd, data, size, flags);
    if (got <= 0 || (unsigned)fd >= SOCKETS)
        return got;
    struct http_peer *peer = atomic_load_explicit(&silent[fd], memory_order_relaxed);
    if (!peer)
        return got;
    atomic_store_explicit(&silent[fd], NULL, memory_order_relaxed);
    return is_for_library(peer, fd, data, (size_t)got) ? got : 0;
}

void http_opening_await(struct http_peer *peer, int fd)
{
    if ((unsigned)fd < SOCKETS)
        atomic_store_explicit(&silent[fd], peer, memory_order_relaxed);
}

void http_opening_end(struct http_peer *peer, int fd)
{
    if ((unsigned)fd < SOCKETS)
        atomic_store_explicit(&silent[fd], NULL, memory_order_relaxed);
    if (!peer->asked && peer->opening != OPENING_NONE)
        http_opening_refuse(peer);
}
