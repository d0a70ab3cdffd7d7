/* Finds out whether a port speaks a protocol that is neither HTTP nor TLS. Blocking. */
#ifndef LIB_NET_HTTP_DIAL_LOOK_H
#define LIB_NET_HTTP_DIAL_LOOK_H

#include <stdbool.h>
#include <stddef.h>

enum dial_look {
    DIAL_LOOK_NOTHING, /* no bytes, or those of HTTP or TLS */
    DIAL_LOOK_GREETED, /* the server sent other bytes before it was sent any */
    DIAL_LOOK_ANSWERED /* it sent other bytes in response to an HTTP/1.1 request */
};

/* Connects to url's host and port, or to unix_path (NULL: none), without TLS. Waits for bytes for
 * up to a second, then sends a request without credentials and waits again. text: the first
 * printable run of what came, one line; "" if there is none. */
enum dial_look dial_look(const char *url, const char *unix_path, char *text, size_t size);

#endif
