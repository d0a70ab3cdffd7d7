/*
 * Cross-origin resource sharing of an HTTP server (the Fetch standard, 3.2), as the Collector's
 * servers have it: what a page of another origin may send from a browser.
 */
#ifndef LIB_NET_HTTP_HTTP_CORS_H
#define LIB_NET_HTTP_HTTP_CORS_H

#include "lib/settings/key.h"

struct cors_settings {
    struct key_list allowed_origins; /* "*" for all; one '*' in a name stands for any characters */
    struct key_list allowed_headers; /* "*" for all; none: accept, content-type, x-requested-with */
    struct key_list exposed_headers;
    int64_t max_age; /* seconds; 0: not said */
};

extern const struct key cors_keys[];

struct http_request;

/* A question whether a request may follow: it is never asked who it is. */
bool http_cors_is_preflight(const struct http_request *request);

/* Answers a preflight, and gives any other request's answer its headers. cors NULL: there is
 * nothing to do. True: the request is answered. */
bool http_cors_handle(const struct cors_settings *cors, struct http_request *request);

#endif
