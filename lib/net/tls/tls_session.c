#include "lib/net/tls/tls_session.h"

#include "lib/net/tls/tls_handshake.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum { RECORD = 16 * 1024 };

struct tls_session {
    gnutls_session_t gnutls;
    struct tls_mark mark;
    int fd;
    struct tls_watch watch;                       /* server */
    bool opened;                                  /* server: the client has sent something */
    struct tls_identity *identity;                /* server */
    gnutls_certificate_credentials_t credentials; /* client */
    char name[256];                               /* client: the server's name */
};

/* ---- lifecycle ---- */

static struct tls_session *tls_session_begin(unsigned end, int fd, const char *protocol)
{
    const gnutls_datum_t alpn = {(unsigned char *)(uintptr_t)protocol, (unsigned)strlen(protocol)};
    unsigned strict = end == GNUTLS_SERVER ? GNUTLS_ALPN_MANDATORY : 0;
    struct tls_session *session = calloc(1, sizeof *session);
    if (!session)
        return NULL;
    if (gnutls_init(&session->gnutls, end | GNUTLS_NONBLOCK | GNUTLS_NO_SIGNAL) != 0) {
        free(session);
        return NULL;
    }
    if (gnutls_alpn_set_protocols(session->gnutls, &alpn, 1, strict) != 0) {
        tls_session_free(session);
        return NULL;
    }
    /* The caller handles timeouts. */
    gnutls_handshake_set_timeout(session->gnutls, GNUTLS_INDEFINITE_TIMEOUT);
    gnutls_transport_set_int(session->gnutls, fd);
    session->fd = fd;
    session->opened = end == GNUTLS_CLIENT;
    return session;
}

struct tls_session *tls_session_accept(struct tls_server *server, int fd, const char *protocol)
{
    struct tls_session *session = tls_session_begin(GNUTLS_SERVER, fd, protocol);
    if (session &&
        (session->identity = tls_server_configure(server, session->gnutls, &session->mark))) {
        tls_watch_begin(session->gnutls);
        return session;
    }
    tls_session_free(session);
    return NULL;
}

static void set_name(struct tls_session *session, const char *name)
{
    struct in6_addr address;
    size_t size = strlen(name);
    if (*name == '[' && size > 1)
        snprintf(session->name, sizeof session->name, "%.*s", (int)size - 2, name + 1);
    else
        snprintf(session->name, sizeof session->name, "%s", name);
    /* SNI must not be an address. */
    if (inet_pton(AF_INET, session->name, &address) != 1 &&
        inet_pton(AF_INET6, session->name, &address) != 1)
        gnutls_server_name_set(session->gnutls, GNUTLS_NAME_DNS, session->name,
                               strlen(session->name));
}

struct tls_session *tls_session_connect(const struct tls_material *material,
                                        const struct tls_client_settings *settings, int fd,
                                        const char *protocol, const char *name)
{
    struct tls_session *session = tls_session_begin(GNUTLS_CLIENT, fd, protocol);
    if (!session)
        return NULL;
    session->credentials = tls_material_credentials(material, settings);
    session->mark = (struct tls_mark){
        .suites = &settings->suites, .min = settings->min_version, .max = settings->max_version};
    if (!session->credentials ||
        gnutls_credentials_set(session->gnutls, GNUTLS_CRD_CERTIFICATE, session->credentials) !=
            0 ||
        !tls_mark_set(&session->mark, session->gnutls)) {
        tls_session_free(session);
        return NULL;
    }
    set_name(session, name);
    if (!settings->insecure_skip_verify)
        gnutls_session_set_verify_cert(session->gnutls, session->name, 0);
    return session;
}

void tls_session_free(struct tls_session *session)
{
    if (!session)
        return;
    gnutls_deinit(session->gnutls);
    tls_identity_unref(session->identity);
    if (session->credentials)
        gnutls_certificate_free_credentials(session->credentials);
    free(session);
}

/* ---- handshake ---- */

void tls_session_refusal(const struct tls_session *session, char *why, size_t why_size)
{
    tls_explain_alert((int)gnutls_alert_get(session->gnutls), "the server", why, why_size);
}

/* Checks a server's first byte; without TLS there is no handshake to continue. */
static enum tls_step open_up(struct tls_session *session, char *why, size_t why_size)
{
    *why = '\0';
    switch (tls_opening_of(session->fd)) {
    case TLS_OPENING_NONE:
        return TLS_READS;
    case TLS_OPENING_TLS:
        session->opened = true;
        return TLS_READY;
    case TLS_OPENING_HTTP:
        tls_answer_cleartext(session->fd);
        snprintf(why, why_size, TLS_SPOKE_CLEAR);
        break;
    case TLS_OPENING_END:
        break;
    }
    return TLS_FAILED;
}

enum tls_step tls_session_handshake(struct tls_session *session, char *why, size_t why_size)
{
    bool serves = session->identity;
    int code;
    if (!session->opened) {
        enum tls_step step = open_up(session, why, why_size);
        if (step != TLS_READY)
            return step;
    }
    tls_watch_records(serves ? &session->watch : NULL);
    do {
        code = gnutls_handshake(session->gnutls);
    } while (code == GNUTLS_E_INTERRUPTED || code == GNUTLS_E_WARNING_ALERT_RECEIVED);
    tls_watch_records(NULL);
    if (code == GNUTLS_E_AGAIN)
        return gnutls_record_get_direction(session->gnutls) ? TLS_WRITES : TLS_READS;
    if (code == 0)
        return TLS_READY;
    gnutls_alert_send_appropriate(session->gnutls, code);
    if (serves)
        tls_explain_client(session->gnutls, code, &session->watch, why, why_size);
    else
        tls_explain(session->gnutls, "the server", code, why, why_size);
    return TLS_FAILED;
}

/* ---- bytes ---- */

ssize_t tls_session_recv(struct tls_session *session, uint8_t *out, size_t size)
{
    size_t got = 0;
    ssize_t n = 0;
    assert(size >= RECORD);
    while (size - got >= RECORD) {
        n = gnutls_record_recv(session->gnutls, out + got, size - got);
        if (n == GNUTLS_E_INTERRUPTED || n == GNUTLS_E_WARNING_ALERT_RECEIVED)
            continue;
        if (n <= 0)
            break;
        got += (size_t)n;
    }
    if (got > 0 || n == 0)
        return (ssize_t)got;
    errno = n == GNUTLS_E_AGAIN ? EAGAIN : n == GNUTLS_E_FATAL_ALERT_RECEIVED ? EPROTO : ECONNRESET;
    return -1;
}

ssize_t tls_session_send(struct tls_session *session, const uint8_t *data, size_t size)
{
    ssize_t n;
    do {
        n = gnutls_record_send(session->gnutls, data, size);
    } while (n == GNUTLS_E_INTERRUPTED);
    if (n >= 0)
        return n;
    errno = n == GNUTLS_E_AGAIN ? EAGAIN : EPIPE;
    return -1;
}

void tls_session_close_notify(struct tls_session *session)
{
    gnutls_bye(session->gnutls, GNUTLS_SHUT_WR);
}
