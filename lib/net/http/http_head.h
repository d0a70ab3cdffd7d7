/* Inside of the HTTP server: what the library lets pass in a header and RFC 9112 does not. */
#ifndef LIB_NET_HTTP_HTTP_HEAD_H
#define LIB_NET_HTTP_HTTP_HEAD_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Looks at a header where the library has taken it apart in place: the spaces that it split the
 * request line at, each colon behind a name and each line end are NULs now. method is where it
 * begins, size how many bytes it has, version where that stands in it, target_size the length of
 * the request target as it came. NULL: it is well formed; else what is wrong, for people.
 *
 * A NUL right in front of a bare line feed looks like CR LF there, and passes.
 */
const char *http_head_fault(const char *method, size_t size, const char *version,
                            size_t target_size);

/* Whether a request target has only characters that it may: no space, no control. */
bool http_head_is_target(const char *target);

/* Whether a Host header's value may be one (RFC 9110, 7.2): a host, perhaps a port. */
bool http_head_is_host(const char *value);

#endif
