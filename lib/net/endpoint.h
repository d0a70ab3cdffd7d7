/* Endpoints as users write them. Pure, but for endpoint_listen and endpoint_unlink. */
#ifndef LIB_NET_ENDPOINT_H
#define LIB_NET_ENDPOINT_H

#include <stdbool.h>
#include <stddef.h>

struct endpoint {
    char host[256];      /* without brackets; "" means every interface (":4317") */
    char service[32];    /* port, digits; 0 asks the system for one */
    char unix_path[108]; /* not "": a unix socket; host and service are then "" */
    bool beside;         /* listen beside a socket with SO_REUSEPORT on the same port */
};

/* host:port, [::1]:port, :port, unix:/path, unix:///path; with transport_unix a bare path is a
 * unix socket too. False: error says what was expected. */
bool endpoint_parse(const char *text, bool transport_unix, struct endpoint *endpoint, char *error,
                    size_t error_size);

/* A listening socket, close-on-exec and non-blocking; -1: error is a sentence ("127.0.0.1:4317 is
 * in use"). A name with several addresses listens on one, IPv4 first. bound (may be NULL) gets
 * "127.0.0.1:4317" with the real port, or "unix:/path". A stale unix socket file is replaced; a
 * live one is in use. */
int endpoint_listen(const struct endpoint *endpoint, char *bound, size_t bound_size, char *error,
                    size_t error_size);

/* Removes a unix socket's file, once its listener is closed. Nothing for TCP. */
void endpoint_unlink(const struct endpoint *endpoint);

#endif
