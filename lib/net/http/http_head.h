/* Inside of the HTTP server: what the library lets pass in a header and RFC 9112 does not. */
#ifndef LIB_NET_HTTP_HTTP_HEAD_H
#define LIB_NET_HTTP_HTTP_HEAD_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/view.h"

/*
 * For libmicrohttpd before 1.0: looks at a header where the library has taken it apart in
 * place: the spaces that it split the request line at, each colon behind a name and each line end
 * are NULs now. method is where it begins, size how many bytes it has, version where that stands in
 * it, target_size the length of the request target as it came. NULL: it is well formed; else what
 * is wrong, for people.
 *
 * A NUL right in front of a bare line feed looks like CR LF there, and passes.
 */
const char *http_head_fault(const char *method, size_t size, const char *version,
                            size_t target_size);

/*
 * Since 1.0 it leaves another form behind, and refuses by itself, where it is told to be strict,
 * what is wrong with line ends, spaces and NULs. What it still lets pass is in a method, a name or
 * a value: NULL, or what is wrong there.
 */
const char *http_head_method_fault(const char *method);
const char *http_head_field_fault(struct view name, struct view value);

/* Whether a request target has only characters that it may: no space, no control. */
bool http_head_is_target(const char *target);

/* Whether a Host header's value may be one (RFC 9110, 7.2): a host, perhaps a port. */
bool http_head_is_host(const char *value);

#endif
