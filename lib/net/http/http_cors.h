/*
 * Cross-origin resource sharing (the Fetch standard, 3.2) as in the Collector's HTTP servers: what
 * web pages from other origins may send.
 */
#ifndef LIB_NET_HTTP_HTTP_CORS_H
#define LIB_NET_HTTP_HTTP_CORS_H

#include "lib/settings/key.h"

struct cors_settings {
    struct key_list allowed_origins; /* "*" for all; one '*' in a name matches any characters */
    struct key_list allowed_headers; /* "*" for all; none: accept, content-type, x-requested-with */
    struct key_list exposed_headers;
    int64_t max_age; /* seconds; 0: not sent */
};

extern const struct key cors_keys[];

struct http_request;

/* Whether a request is a CORS preflight; those are never authenticated. */
bool http_cors_is_preflight(const struct http_request *request);

/* Answers a preflight, and adds the CORS headers to the response of any other request. Does nothing
 * if cors is NULL. True: the request was answered. */
bool http_cors_handle(const struct cors_settings *cors, struct http_request *request);

/* Whether a web page sent a request that cors (NULL: none) does not allow: its Origin is neither
 * allowed nor that of the server, or the browser says that the page is of another site. Without
 * that word, the server's is only an IP address, localhost or the configured host: any other name
 * may have been bound to its address for the page. A preflight is not refused. Clients that are not
 * browsers send neither header. */
bool http_cors_refuses(const struct cors_settings *cors, const char *configured,
                       const struct http_request *request);

#endif
