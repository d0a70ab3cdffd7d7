#include "extensions/status/graphs.h"

#include "lib/base/thread.h"

static void *graphs_run(void *arg)
{
    struct graphs *graphs = arg;
    pthread_mutex_lock(&graphs->lock);
    while (graphs->first || !graphs->stopping) {
        struct http_request *request = graphs->first;
        if (!request) {
            pthread_cond_wait(&graphs->wake, &graphs->lock);
            continue;
        }
        pthread_mutex_unlock(&graphs->lock);
        graphs->draw(graphs->ctx, request);
        pthread_mutex_lock(&graphs->lock);
        graphs->first = graphs->second;
        graphs->second = NULL;
    }
    pthread_mutex_unlock(&graphs->lock);
    return NULL;
}

bool graphs_open(struct graphs *graphs, http_handler_fn *draw, void *ctx)
{
    *graphs = (struct graphs){.draw = draw, .ctx = ctx};
    pthread_mutex_init(&graphs->lock, NULL);
    pthread_cond_init(&graphs->wake, NULL);
    graphs->open = thread_start(&graphs->thread, "graphs", graphs_run, graphs);
    if (graphs->open)
        return true;
    pthread_cond_destroy(&graphs->wake);
    pthread_mutex_destroy(&graphs->lock);
    return false;
}

bool graphs_put(struct graphs *graphs, struct http_request *request)
{
    pthread_mutex_lock(&graphs->lock);
    struct http_request **place = graphs->first ? &graphs->second : &graphs->first;
    bool taken = !*place && !graphs->stopping;
    if (taken)
        *place = request;
    pthread_cond_signal(&graphs->wake);
    pthread_mutex_unlock(&graphs->lock);
    return taken;
}

void graphs_close(struct graphs *graphs)
{
    if (!graphs->open)
        return;
    pthread_mutex_lock(&graphs->lock);
    graphs->stopping = true;
    pthread_cond_signal(&graphs->wake);
    pthread_mutex_unlock(&graphs->lock);
    pthread_join(graphs->thread, NULL);
    pthread_cond_destroy(&graphs->wake);
    pthread_mutex_destroy(&graphs->lock);
    graphs->open = false;
}
