/*
 * The TLS handshake of the HTTP server. libmicrohttpd runs it, but neither reports why it failed
 * nor sends an alert. So its call to GnuTLS is wrapped (CMakeLists.txt: --wrap) and comes here.
 */
#include "lib/net/http/http_peer.h"

#include <stddef.h>
#include <stdio.h>

#include "lib/net/tls/tls_handshake.h"

static struct http_peer *peer_of_mark(struct tls_mark *mark)
{
    return (struct http_peer *)((char *)mark - offsetof(struct http_peer, mark));
}

static void http_tls_report(const struct http_peer *peer, const char *why)
{
    const struct http_server_options *options = &peer->server->options;
    struct outcome outcome = outcome_of(VERDICT_REJECT, CAUSE_TLS, "%s", why);
    if (options->refused)
        options->refused(options->ctx, NULL, &peer->address, &outcome);
}

/* Handles clients that have sent nothing or speak cleartext. True: continue with GnuTLS. */
static bool opens(struct http_peer *peer, gnutls_session_t session, int fd, int *code)
{
    *code = GNUTLS_E_AGAIN;
    switch (tls_opening_of(fd)) {
    case TLS_OPENING_NONE:
        return false;
    case TLS_OPENING_TLS:
        peer->shaking = true;
        tls_watch_begin(session);
        return true;
    case TLS_OPENING_HTTP:
        tls_answer_cleartext(fd);
        http_tls_report(peer, TLS_SPOKE_CLEAR);
        break;
    case TLS_OPENING_END:
        break;
    }
    *code = GNUTLS_E_PREMATURE_TERMINATION;
    return false;
}

static int http_tls_shake_hands(struct tls_mark *mark, gnutls_session_t session)
{
    struct http_peer *peer = peer_of_mark(mark);
    char why[256];
    int code, fd = gnutls_transport_get_int(session);
    if (!peer->shaking && !opens(peer, session, fd, &code))
        return code;
    tls_watch_records(&peer->watch);
    do
        code = tls_handshake_real(session);
    while (code == GNUTLS_E_WARNING_ALERT_RECEIVED);
    tls_watch_records(NULL);
    /* The library calls again at once instead of waiting for bytes, except when it reads a record.
     * So it is told that the handshake is over. */
    if (code == GNUTLS_E_AGAIN || code == GNUTLS_E_INTERRUPTED) {
        mark->unfinished = true;
        return 0;
    }
    peer->shaking = false;
    if (code == 0)
        return code;
    gnutls_alert_send_appropriate(session, code);
    tls_discard_input(fd);
    tls_explain_client(session, code, &peer->watch, why, sizeof why);
    http_tls_report(peer, why);
    return code;
}

/* The library may not continue a handshake whose client has left, so report that here. */
void http_tls_end(const struct http_peer *peer)
{
    if (peer->shaking && !atomic_load(&peer->server->draining))
        http_tls_report(peer, TLS_LEFT);
}

void http_tls_watch(struct http_peer *peer)
{
    peer->mark.shake = http_tls_shake_hands;
}
