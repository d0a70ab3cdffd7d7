#include "lib/net/opening.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

enum { READ_PAST = 64 * 1024 };

enum opening opening_of(const void *data, size_t size)
{
    const uint8_t *at = data;
    if (size == 0)
        return OPENING_NONE;
    if (size >= 4 && memcmp(at, "PRI ", 4) == 0)
        return OPENING_HTTP2;
    if (at[0] == 0x16 && (size == 1 || at[1] == 0x03))
        return OPENING_TLS;
    return at[0] >= 'A' && at[0] <= 'Z' ? OPENING_HTTP1 : OPENING_OTHER;
}

/* ---- messages ---- */

static const char *who_came(enum opening opening)
{
    switch (opening) {
    case OPENING_HTTP1:
        return "an HTTP/1.1 client";
    case OPENING_HTTP2:
        return "a gRPC client (HTTP/2)";
    case OPENING_TLS:
        return "a TLS client (https)";
    case OPENING_NONE:
    case OPENING_OTHER:
        break;
    }
    return "a client that speaks neither HTTP nor TLS";
}

static const char *what_to_do(enum opening opening, const struct opening_port *port)
{
    if (opening == OPENING_TLS)
        return "use http:// or insecure there, or set tls here";
    if (opening == OPENING_OTHER)
        return "";
    if (port->other)
        return port->other;
    return opening == OPENING_HTTP2 ? "it must speak HTTP/1.1 here"
                                    : "it must speak gRPC over HTTP/2 here";
}

struct outcome opening_refusal(enum opening opening, const struct opening_port *port)
{
    const struct endpoint *endpoint = port->endpoint;
    const char *todo = what_to_do(opening, port);
    bool is_unix = *endpoint->unix_path;
    return outcome_of(VERDICT_REJECT, opening == OPENING_TLS ? CAUSE_TLS : CAUSE_UNSUPPORTED,
                      "%s on the %s%s %s %.60s%s%s", who_came(opening),
                      opening == OPENING_TLS ? "cleartext " : "", port->speaks,
                      is_unix ? "socket" : "port",
                      is_unix ? endpoint->unix_path : endpoint->service, *todo ? ": " : "", todo);
}

/* ---- to the client ---- */

size_t opening_status(const struct outcome *why, char *out, size_t size)
{
    int n = snprintf(out, size,
                     "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\n"
                     "Content-Length: %zu\r\nConnection: close\r\n\r\n%s\n",
                     strlen(why->text) + 1, why->text);
    return (size_t)n < size ? (size_t)n : size - 1;
}

void opening_answer(int fd, const struct outcome *why)
{
    char past[4096], status[OPENING_STATUS];
    send(fd, status, opening_status(why, status, sizeof status), MSG_DONTWAIT | MSG_NOSIGNAL);
    for (size_t seen = 0; seen < READ_PAST; seen += sizeof past)
        if (recv(fd, past, sizeof past, MSG_DONTWAIT) <= 0)
            break;
    shutdown(fd, SHUT_WR);
}
