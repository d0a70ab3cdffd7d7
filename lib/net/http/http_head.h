/* Internal to the HTTP server: checks for malformed headers that the library accepts, against RFC
 * 9112. */
#ifndef LIB_NET_HTTP_HTTP_HEAD_H
#define LIB_NET_HTTP_HTTP_HEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/view.h"

/*
 * For libmicrohttpd before 1.0: checks a header that the library has parsed in place: the spaces at
 * which it split the request line, the colon after each name and each line end are now NULs. method
 * points to its start, size is its length in bytes, version points into it, target_size is the
 * length of the request target as received. NULL: well-formed; else what is wrong, human-readable.
 *
 * A NUL right before a bare line feed looks like CR LF there and is not detected.
 */
const char *http_head_fault(const char *method, size_t size, const char *version,
                            size_t target_size);

/*
 * Since 1.0 the library leaves a different form behind, and in strict mode itself refuses wrong
 * line ends, spaces and NULs. These check what it still accepts in a method, a name or a value.
 * NULL: well-formed; else what is wrong.
 */
const char *http_head_method_fault(const char *method);
const char *http_head_field_fault(struct view name, struct view value);

/* Whether a request target has only legal characters: no spaces, no control characters. */
bool http_head_is_target(const char *target);

/* Whether a Host header's value is valid (RFC 9110, 7.2): a host, optionally a port. */
bool http_head_is_host(const char *value);

/* Reads a Content-Length (RFC 9110, 8.6). One that is beyond any limit is UINT64_MAX - 1. False: it
 * is not a number. */
bool http_head_length(struct view text, uint64_t *length);

#endif
