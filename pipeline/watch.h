/*
 * What passes, for an extension that shows it: requests as correlation hands them on, what it
 * decided of their spans, and the samples that it counted. While nobody watches, watch_on is one
 * load, and nothing else is called. Any thread.
 */
#ifndef PIPELINE_WATCH_H
#define PIPELINE_WATCH_H

#include "pipeline/batch.h"

#include <pthread.h>

/* Why a span has no link; static. */
struct watch_reason {
    const char *word; /* "no_sample" */
    const char *text; /* a human-readable sentence */
    const char *fix;  /* what to do about it, a sentence; NULL: nothing is wrong */
};

enum watch_action { WATCH_WAITING, WATCH_AS_CAME, WATCH_LINKED, WATCH_NOT_LINKED };

/* A service, by tenant and name. */
struct watch_service {
    uint64_t key; /* one for each */
    struct view name;
};

/* What became of a span. Times are wall time, ns; 0: not known. */
struct watch_decision {
    uint64_t span_id, link_id; /* link_id: whose samples the link opens; 0: no link */
    struct watch_service service;
    enum watch_action action;
    const struct watch_reason *reason; /* NULL: linked, or waiting */
    uint64_t ended, arrived, decided;
};

/* A span that waits. Times as above. */
struct watch_waiting {
    char service[256]; /* its name, cut to fit */
    uint64_t ended, arrived;
    uint64_t due; /* when it is judged though nothing comes; 0: not known */
};

/* An upload of a kind that confirms, and that did not come before. */
struct watch_window {
    struct watch_service service;
    const char *kind; /* "process_cpu"; static */
    uint64_t start, end, arrived;
};

/* Of an upload, a row for each sample that names a span; several may have one id. */
struct watch_sample {
    uint64_t id;
    uint32_t samples;
    uint64_t cpu_ns;
};

/* What a watcher is told, under the watch's lock: each returns at once, and keeps of what it
 * borrows no more than references to payloads. */
struct watcher {
    struct watcher *next; /* the watch's */
    void *ctx;
    void (*passed)(void *ctx, const struct batch *batch, bool linked);
    void (*decided)(void *ctx, const struct watch_decision *decision);
    /* Once with the window and no samples, then with its samples, some at a time. */
    void (*sampled)(void *ctx, const struct watch_window *window,
                    const struct watch_sample *samples, size_t count);
};

/* Who lets spans wait. waits: whether one does now, and what is known of that. */
struct watch_holder {
    struct watch_holder *next; /* the watch's */
    void *ctx;
    bool (*waits)(void *ctx, uint64_t span_id, struct watch_waiting *waiting);
};

struct watch {
    _Atomic bool on;
    pthread_mutex_t lock; /* the watchers' too, for what their functions fill */
    struct watcher *watchers;
    pthread_mutex_t holders_lock; /* a holder's own locks come after it */
    struct watch_holder *holders;
};

void watch_init(struct watch *watch);
void watch_release(struct watch *watch);

/* Whether anybody watches; NULL: nobody. */
static inline bool watch_on(const struct watch *watch)
{
    return watch && atomic_load_explicit(&watch->on, memory_order_relaxed);
}

/* The watcher stays where it is until it is detached. */
void watch_attach(struct watch *watch, struct watcher *watcher);

/* Nothing is told after it; legal for one that is not attached. */
void watch_detach(struct watch *watch, struct watcher *watcher);

/* The holder stays where it is until it is removed. watch may be NULL in both. */
void watch_add_holder(struct watch *watch, struct watch_holder *holder);
void watch_remove_holder(struct watch *watch, struct watch_holder *holder);

/* Whether a span waits with any holder. */
bool watch_waits(struct watch *watch, uint64_t span_id, struct watch_waiting *waiting);

/* A request was handed on: its payload goes to the watcher. linked: it is of profiles, or has spans
 * with a link, or others of their trace. Does nothing while nobody watches. */
void watch_passed(struct watch *watch, const struct batch *batch, bool linked);

void watch_decided(struct watch *watch, const struct watch_decision *decision);
void watch_sampled(struct watch *watch, const struct watch_window *window,
                   const struct watch_sample *samples, size_t count);

#endif
