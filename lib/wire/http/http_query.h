/* The query of a URL, after its "?" (RFC 3986, 3.4), as forms write it. Pure. */
#ifndef LIB_WIRE_HTTP_HTTP_QUERY_H
#define LIB_WIRE_HTTP_HTTP_QUERY_H

#include "lib/base/bytes.h"

/* Value of a query parameter, percent-decoded ('+' is a space) into out (NUL-ended). The first
 * one that is not empty, else the first one. False: absent, or longer than out. */
bool http_query_get(const char *query, const char *name, char *out, size_t out_size);

/* Appends the query with its parameters in their order, each read and written anew: what is not
 * unreserved (RFC 3986, 2.3) is percent-encoded, so that any client of HTTP can send it. `value`
 * (NULL: none) may put another value in the place of a parameter's: NULL leaves it as it is.
 * False: no memory, or out is full. */
bool http_query_rewrite(const char *query, const char *(*value)(void *ctx, const char *name),
                        void *ctx, struct bytes *out);

#endif
