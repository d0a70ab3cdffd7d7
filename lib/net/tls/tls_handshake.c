#include "lib/net/tls/tls_handshake.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/socket.h>

enum { READ_PAST = 64 * 1024 };

enum tls_opening tls_opening_of(int fd)
{
    uint8_t first;
    ssize_t n;
    do
        n = recv(fd, &first, 1, MSG_PEEK | MSG_DONTWAIT);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return errno == EAGAIN ? TLS_OPENING_NONE : TLS_OPENING_END;
    if (n == 0)
        return TLS_OPENING_END;
    /* HTTP begins with a method's name, TLS with the number of a record type. */
    return first >= 'A' && first <= 'Z' ? TLS_OPENING_HTTP : TLS_OPENING_TLS;
}

void tls_discard_input(int fd)
{
    char past[4096];
    for (size_t seen = 0; seen < READ_PAST; seen += sizeof past)
        if (recv(fd, past, sizeof past, MSG_DONTWAIT) <= 0)
            break;
}

void tls_answer_cleartext(int fd)
{
    static const char answer[] = "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\n"
                                 "Content-Length: 48\r\nConnection: close\r\n\r\n"
                                 "Client sent an HTTP request to an HTTPS server.\n";
    tls_discard_input(fd);
    send(fd, answer, sizeof answer - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    shutdown(fd, SHUT_WR);
}

/* Whether the alert is about a certificate. */
static bool is_of_certificate(int alert)
{
    return (alert >= GNUTLS_A_BAD_CERTIFICATE && alert <= GNUTLS_A_CERTIFICATE_UNKNOWN) ||
           alert == GNUTLS_A_UNKNOWN_CA;
}

void tls_explain_alert(int alert, const char *peer, char *why, size_t why_size)
{
    const char *name = gnutls_alert_get_name((gnutls_alert_description_t)alert);
    if (alert == GNUTLS_A_CERTIFICATE_REQUIRED)
        snprintf(why, why_size, "%s requires a certificate", peer);
    else
        snprintf(why, why_size, "%s refused %s: %s", peer,
                 is_of_certificate(alert) ? "our certificate" : "TLS with us",
                 name ? name : "no reason given");
}

enum { RECORD_HEAD = 5, RECORD_ALERT = 21 }; /* RFC 8446 section 5.1 */

static _Thread_local struct tls_watch *listener;

static void watch_bytes(struct tls_watch *watch, const uint8_t *data, size_t size)
{
    while (size && !watch->alerted) {
        size_t pass = watch->left < size ? watch->left : size;
        const uint8_t *head = watch->head;
        watch->left -= pass;
        data += pass;
        size -= pass;
        if (watch->left || !size)
            return;
        watch->head[watch->have++] = *data++;
        size--;
        if (watch->have == sizeof watch->head) {
            watch->alerted = true;
        } else if (watch->have == RECORD_HEAD &&
                   (head[0] != RECORD_ALERT || head[3] != 0 || head[4] != 2)) {
            watch->left = (size_t)head[3] << 8 | head[4];
            watch->have = 0;
        }
    }
}

static ssize_t pull(gnutls_transport_ptr_t fd, void *data, size_t size)
{
    ssize_t got = recv((int)(intptr_t)fd, data, size, 0);
    if (listener && got > 0)
        watch_bytes(listener, data, (size_t)got);
    return got;
}

void tls_watch_begin(gnutls_session_t session)
{
    gnutls_transport_set_pull_function(session, pull);
    gnutls_transport_set_pull_timeout_function(session, gnutls_system_recv_timeout);
}

void tls_watch_records(struct tls_watch *watch)
{
    listener = watch;
}

void tls_explain_client(gnutls_session_t session, int code, const struct tls_watch *watch,
                        char *why, size_t why_size)
{
    if (code != GNUTLS_E_FATAL_ALERT_RECEIVED && watch->alerted)
        tls_explain_alert(watch->head[RECORD_HEAD + 1], "the client", why, why_size);
    else
        tls_explain(session, "the client", code, why, why_size);
}

void tls_explain(gnutls_session_t session, const char *peer, int code, char *why, size_t why_size)
{
    gnutls_datum_t words = {0};
    unsigned status = gnutls_session_get_verify_cert_status(session);
    bool left = code == GNUTLS_E_PREMATURE_TERMINATION || code == GNUTLS_E_PULL_ERROR ||
                code == GNUTLS_E_PUSH_ERROR;
    snprintf(why, why_size, "%s", left ? TLS_LEFT : gnutls_strerror(code));
    if (code == GNUTLS_E_CERTIFICATE_VERIFICATION_ERROR &&
        gnutls_certificate_verification_status_print(status, GNUTLS_CRT_X509, &words, 0) == 0) {
        if (status == (GNUTLS_CERT_INVALID | GNUTLS_CERT_EXPIRED))
            snprintf(why, why_size, "%s's certificate has expired and must be renewed there", peer);
        else
            snprintf(why, why_size, "%s", (const char *)words.data);
    } else if (code == GNUTLS_E_FATAL_ALERT_RECEIVED) {
        tls_explain_alert((int)gnutls_alert_get(session), peer, why, why_size);
    }
    gnutls_free(words.data);
}
