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
    /* A method's name, where TLS has the number of a record's type. */
    return first >= 'A' && first <= 'Z' ? TLS_OPENING_HTTP : TLS_OPENING_TLS;
}

void tls_read_past(int fd)
{
    char past[4096];
    for (size_t seen = 0; seen < READ_PAST; seen += sizeof past)
        if (recv(fd, past, sizeof past, MSG_DONTWAIT) <= 0)
            break;
}

void tls_answer_clear(int fd)
{
    static const char answer[] = "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\n"
                                 "Content-Length: 48\r\nConnection: close\r\n\r\n"
                                 "Client sent an HTTP request to an HTTPS server.\n";
    tls_read_past(fd);
    send(fd, answer, sizeof answer - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    shutdown(fd, SHUT_WR);
}

void tls_explain(gnutls_session_t session, int code, char *why, size_t why_size)
{
    gnutls_datum_t words = {0};
    const char *alert;
    bool left = code == GNUTLS_E_PREMATURE_TERMINATION || code == GNUTLS_E_PULL_ERROR ||
                code == GNUTLS_E_PUSH_ERROR;
    snprintf(why, why_size, "%s", left ? TLS_LEFT : gnutls_strerror(code));
    if (code == GNUTLS_E_CERTIFICATE_VERIFICATION_ERROR &&
        gnutls_certificate_verification_status_print(gnutls_session_get_verify_cert_status(session),
                                                     GNUTLS_CRT_X509, &words, 0) == 0) {
        snprintf(why, why_size, "%s", (const char *)words.data);
    } else if (code == GNUTLS_E_FATAL_ALERT_RECEIVED) {
        alert = gnutls_alert_get_name(gnutls_alert_get(session));
        snprintf(why, why_size, "%s", alert ? alert : "refused");
    }
    gnutls_free(words.data);
}
