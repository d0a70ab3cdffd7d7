/*
 * Reports to extensions what correlation does: requests that it forwards, decisions about spans,
 * and samples that it counted. Without a watcher the cost is one load, in watch_on. Any thread.
 */
#ifndef PIPELINE_WATCH_H
#define PIPELINE_WATCH_H

#include "pipeline/batch.h"

#include <pthread.h>

/* Why a span has no link; static. */
struct watch_reason {
    const char *word; /* "no_sample" */
    const char *text; /* a sentence for people */
    const char *fix;  /* what to do about it, a sentence; NULL: nothing */
};

enum watch_action { WATCH_WAITING, WATCH_AS_CAME, WATCH_LINKED, WATCH_NOT_LINKED };

struct watch_service {
    uint64_t key; /* unique for a tenant and name */
    struct view name;
    const char *language; /* its telemetry.sdk.language; static; NULL: not known */
    struct view tenant;   /* empty: none, or tenants are not separated */
};

/* A decision about a span. Times are wall time, ns; 0: not known. */
struct watch_decision {
    uint64_t span_id, link_id; /* link_id: the id that the link's samples have; 0: no link */
    struct watch_service service;
    enum watch_action action;
    bool unproven;                     /* linked without a sample that names it, as configured */
    const struct watch_reason *reason; /* NULL: linked, or waiting */
    uint64_t ended, arrived, decided;
    uint64_t hold; /* how long spans of its service wait at most; 0: not known */
    uint32_t lane; /* partition + 1; 0: none */
};

/* A span that is held until its profile arrives. Times as above. */
struct watch_waiting {
    char service[256], tenant[256]; /* its name and tenant, cut to fit; "": no tenant */
    char name[257]; /* of the span, the same; "": it has none, or it cannot be read */
    uint64_t ended, arrived;
    uint64_t due; /* when the hold ends; 0: not known */
};

/* A held span as a visitor sees it; valid during the call. */
struct watch_held {
    uint64_t span_id;
    struct view span, service; /* the Span message, and its service's name */
    uint64_t due;              /* when the hold ends at the latest, wall; 0: not known */
};
typedef void watch_held_fn(void *ctx, const struct watch_held *held);

/* A profile upload. Duplicates are not reported, but for those of kinds that confirm no links,
 * which are beside: their samples explain no link, but their CPU and wall time counts. */
struct watch_window {
    struct watch_service service;
    const char *kind; /* "process_cpu"; static */
    uint64_t start, end, arrived;
    uint32_t lane;          /* as a decision's */
    bool times_cpu, beside; /* times_cpu: its samples have CPU time */
    bool untimed;  /* beside, of a kind other than CPU and wall time: its samples have an id only */
    bool recalled; /* it came to an earlier process, or owner of its lane: only its ids are new */
    uint64_t content; /* of one that is beside: a hash, equal for duplicates; 0: it is none */
    uint64_t upload;  /* a hash of it, the same from every instance that it passes; 0: not known */
    const void *source;                    /* the instance that tells of it */
    uint64_t hold;                         /* as of a decision, before this window counts */
    const struct watch_reason *roots_only; /* why only local roots get links; NULL: all may */
};

/* A sample of an upload that names a span. Several samples of an upload may name the same one. */
struct watch_sample {
    uint64_t id;              /* 0: it is the sum of all that name none */
    uint32_t samples;         /* of CPU or wall time; 0: of another kind */
    uint64_t cpu_ns, wall_ns; /* 0: not measured */
};

/* Callbacks of a watcher, called under the watch's lock. They must not block. Their arguments are
 * valid during the call only; a payload may be referenced. */
struct watcher {
    struct watcher *next; /* the watch's */
    void *ctx;
    void (*passed)(void *ctx, const struct batch *batch, bool linked);
    void (*decided)(void *ctx, const struct watch_decision *decision);
    /* Called first with a window and count 0, then with its samples in batches. */
    void (*sampled)(void *ctx, const struct watch_window *window,
                    const struct watch_sample *samples, size_t count);
    void (*refused)(void *ctx, struct view service, int64_t ahead_ns); /* may be NULL */
};

/* A component that holds spans. waits returns whether it holds one now, and then fills waiting.
 * visit calls the function for held spans, the newest first, until *left, which it lowers, is 0;
 * false: there are more, or some cannot be read. NULL: none can. */
struct watch_holder {
    struct watch_holder *next; /* the watch's */
    void *ctx;
    bool (*waits)(void *ctx, uint64_t span_id, struct watch_waiting *waiting);
    bool (*visit)(void *ctx, size_t *left, watch_held_fn *visit, void *visitor);
};

struct watch {
    _Atomic bool on;
    pthread_mutex_t lock; /* held during callbacks; watchers may guard their own data with it */
    struct watcher *watchers;
    pthread_mutex_t holders_lock; /* taken before a holder's own locks */
    struct watch_holder *holders;
    bool held; /* a holder was added, ever */
};

void watch_init(struct watch *watch);
void watch_release(struct watch *watch);

/* Whether a watcher is attached; false for NULL. */
static inline bool watch_on(const struct watch *watch)
{
    return watch && atomic_load_explicit(&watch->on, memory_order_relaxed);
}

/* Borrows the watcher until it is detached: no callback runs after watch_detach, which does nothing
 * if it is not attached. */
void watch_attach(struct watch *watch, struct watcher *watcher);
void watch_detach(struct watch *watch, struct watcher *watcher);

/* Borrows the holder until it is removed. watch_has_held: one was ever added. watch may be NULL. */
bool watch_has_held(struct watch *watch);
void watch_add_holder(struct watch *watch, struct watch_holder *holder);
void watch_remove_holder(struct watch *watch, struct watch_holder *holder);

/* Whether any holder holds the span; fills waiting if so. */
bool watch_waits(struct watch *watch, uint64_t span_id, struct watch_waiting *waiting);

/* Visits up to `most` spans of all holders, under whose locks visit is called: it must be quick and
 * take none. A holder may let go of its lock in between. Returns whether these are all. */
bool watch_visit(struct watch *watch, size_t most, watch_held_fn *visit, void *visitor);

/* Reports a forwarded request. linked: it has profiles, or spans with a link or of the same trace
 * as one. Does nothing without a watcher. */
void watch_passed(struct watch *watch, const struct batch *batch, bool linked);

/* Reports a profile that was refused for its time, so far ahead of our clock; below 0: behind. */
void watch_refused(struct watch *watch, struct view service, int64_t ahead_ns);

/* Both require a watcher: check watch_on first. */
void watch_decided(struct watch *watch, const struct watch_decision *decision);
void watch_sampled(struct watch *watch, const struct watch_window *window,
                   const struct watch_sample *samples, size_t count);

#endif
