/* The query of a URL, after the "?" (RFC 3986, 3.4), in the form encoding. Pure. */
#ifndef LIB_WIRE_HTTP_HTTP_QUERY_H
#define LIB_WIRE_HTTP_HTTP_QUERY_H

#include "lib/base/bytes.h"

/* Gets the value of a query parameter, percent-decoded ('+' is a space) and NUL-terminated: the
 * first non-empty one, else the first. False: absent, or longer than out. */
bool http_query_get(const char *query, const char *name, char *out, size_t out_size);

/* Copies such a value, in which %00 is a NUL, up to out_size bytes of it. Returns its size; -1: the
 * query has no such parameter. */
ptrdiff_t http_query_copy(const char *query, const char *name, uint8_t *out, size_t out_size);

/* Appends the query with its parameters in order, each decoded and encoded again: everything but
 * unreserved characters (RFC 3986, 2.3) is percent-encoded, so that any HTTP client can send it.
 * `value`, if not NULL, is called for each parameter and may return a replacement value, or NULL to
 * keep it. False: no memory, or out is full. */
bool http_query_rewrite(const char *query, const char *(*value)(void *ctx, const char *name),
                        void *ctx, struct bytes *out);

#endif
