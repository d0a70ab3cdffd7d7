/* Parsing of endpoints, and listening on them. Pure, except endpoint_listen and endpoint_unlink. */
#ifndef LIB_NET_ENDPOINT_H
#define LIB_NET_ENDPOINT_H

#include <stdbool.h>
#include <stddef.h>

struct endpoint {
    char host[256];      /* without brackets; "" means every interface (":4317") */
    char service[32];    /* port, in digits; 0: the system chooses one */
    char unix_path[108]; /* if not "", a unix socket; host and service are then "" */
    bool beside;         /* share the port of another socket (SO_REUSEPORT) */
};

/* Parses host:port, [::1]:port, :port, unix:/path or unix:///path; with transport_unix a bare path
 * is a unix socket too. False: error says what was expected. */
bool endpoint_parse(const char *text, bool transport_unix, struct endpoint *endpoint, char *error,
                    size_t error_size);

/* Returns a listening socket, close-on-exec and non-blocking; -1: error is a sentence
 * ("127.0.0.1:4317 is in use"). For a name with several addresses it listens on one, IPv4
 * preferred. bound (may be NULL) is set to "127.0.0.1:4317" with the actual port, or "unix:/path".
 * A stale unix socket file is replaced; a live one counts as in use. */
int endpoint_listen(const struct endpoint *endpoint, char *bound, size_t bound_size, char *error,
                    size_t error_size);

/* Removes a unix socket's file once its listener is closed. Does nothing for TCP. */
void endpoint_unlink(const struct endpoint *endpoint);

#endif
