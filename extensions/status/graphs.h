/* Requests for flame graphs: one thread draws them, so that the server's threads are left for the
 * requests that cost little. One request may wait for the one that is drawn. */
#ifndef EXTENSIONS_STATUS_GRAPHS_H
#define EXTENSIONS_STATUS_GRAPHS_H

#include "lib/net/http/http_server.h"

#include <pthread.h>

struct graphs {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    http_handler_fn *draw;
    void *ctx;
    struct http_request *first, *second; /* the one drawn, and the one that waits; NULL: none */
    bool open, stopping;
};

/* draw(ctx, request) answers a request. False: no thread. */
bool graphs_open(struct graphs *graphs, http_handler_fn *draw, void *ctx);

/* False: one is drawn and one waits, or the thread stops; the request is still the caller's. */
bool graphs_put(struct graphs *graphs, struct http_request *request);

/* Returns once all are answered. Legal if it is not open. */
void graphs_close(struct graphs *graphs);

#endif
