/*
 * The small HTTP server of an extension that shows pages, for few connections and tiny requests.
 * The functions that take a `const void *instance` or `void *instance` fit the component's table:
 * the instance must begin with a struct page_server.
 */
#ifndef LIB_NET_SERVER_PAGE_SERVER_H
#define LIB_NET_SERVER_PAGE_SERVER_H

#include "lib/net/server/listen.h"

struct page_server {
    char *endpoint;
    struct tls_server_settings tls;
    struct http_server *server; /* NULL: not open */
};

/* Rows for the first member `pages` (struct page_server) of an extension's struct T. */
#define PAGE_SERVER_KEYS(T, pages, default_endpoint)                                               \
    KEY_STRING(T, pages.endpoint, "endpoint", default_endpoint, KEY_REQUIRED,                      \
               "where to listen: host:port, [ipv6]:port or unix:/path"),                           \
        TLS_SERVER_KEY(T, pages.tls)

/* listen_check, listen_place and listen_rehearse for an instance, which need not be open. */
void page_server_check(const void *instance, struct key_report *report);
void page_server_places(const void *instance, place_visit_fn *visit, void *ctx);
void page_server_rehearse(const void *instance, struct key_report *report);

/* The component's id and yields (from env), what is served, e.g. "health checks", and the
 * handler. */
struct page_server_use {
    const char *id, *kind;
    const _Atomic bool *yields;
    const char *what;
    http_handler_fn *handler;
    void *ctx;
};

/* False: error is a sentence that begins with the key at fault. */
bool page_server_open(struct page_server *pages, const struct page_server_use *use, char *error,
                      size_t error_size);

/* Whether a request may be answered: on loopback, only with a Host that names it, so that pages of
 * other sites, whose names may resolve to it, read nothing. Elsewhere any name may be right. False:
 * it was refused. */
bool page_server_may(const struct page_server *pages, struct http_request *request);

/* Leaves the socket to the server that has taken it over; close must follow. */
void page_server_retire(void *instance);

/* Closes immediately. Legal after a failed open, and repeatedly. */
void page_server_close(void *instance);

#endif
