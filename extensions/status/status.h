/*
 * The extension's instance, shared by its files: status.c (configuration, life, routing), gather.c
 * (from watcher callbacks to keep and known), and a file for each part of the API.
 */
#ifndef EXTENSIONS_STATUS_STATUS_H
#define EXTENSIONS_STATUS_STATUS_H

#include "extensions/status/answer.h"
#include "extensions/status/flame_write.h"
#include "extensions/status/graphs.h"
#include "extensions/status/keep.h"
#include "extensions/status/known.h"
#include "extensions/status/left_out.h"
#include "lib/net/auth.h"
#include "lib/net/server/listen.h"
#include "pipeline/component.h"
#include "pipeline/life/runtime.h"

/* A forwarded request, queued for the extension's thread. */
struct gathered {
    struct gathered *next;
    enum kept_kind kind;
    enum kept_class class;
    bool passing; /* not to be kept: only its spans are looked at, for their routes */
    struct buffer *payload;
    struct series *series;
    char *query, *content;
    struct metadata *tenant; /* NULL: none */
    bool by_ingest;
    bool again; /* replayed from the journal: an earlier process had it */
    uint64_t arrived;
    uint64_t starts; /* batch->starts */
    size_t spans;
};

/* The table of kept traces (looked.h). */
struct looked;

struct status {
    char *endpoint;
    int64_t keep_mib;
    struct auth_settings auth;
    struct tls_server_settings tls;

    const struct env *env;
    struct http_server *server;
    struct watch *watch; /* env's, or `idle` if it has none */
    struct watch idle;
    struct watcher watcher;
    bool attached, threaded;
    struct graphs graphs;         /* requests for flame graphs */
    _Atomic uint64_t denied;      /* requests without good credentials that were not logged yet */
    _Atomic uint64_t denied_next; /* mono: no line about them before */
    char host[256];               /* of the endpoint */

    /* Guarded by the watch's lock. */
    struct known known;
    struct gathered *first, **last;
    uint64_t opened;   /* wall */
    uint64_t reloaded; /* the same where a reload opened it, and what came before is not known; or 0
                        */
    size_t gathered;   /* bytes */
    size_t granted;    /* what may be taken until the thread looks again, ... */
    size_t allowed;    /* ... and what is left of it */
    size_t offered;    /* bytes that came since it looked last */
    uint64_t skipped, skipped_spans; /* requests that were not, and the spans in them; ... */
    uint64_t unseen, unseen_spans;   /* ... of these, those that were not even looked at */
    size_t lookable;                 /* spans of such requests that may be looked at */
    struct left_outs left_outs, skipped_when; /* of profiles, of traces without linked spans */
    struct left_outs skipped_linked;          /* of traces with such */
    bool spare;  /* there is credit for a profile larger than that, or than granted */
    bool asleep; /* the thread waits to be woken */
    bool stopping;
    pthread_cond_t wake;

    pthread_t thread;
    pthread_mutex_t taking; /* held while what was gathered is worked on */
    uint64_t spent;         /* CPU time of that, ns; ... */
    uint64_t worked;        /* ... and the bytes */
    uint64_t look_spent;    /* CPU time for requests that are not kept, ns; ... */
    uint64_t looked_spans;  /* ... and their spans; ... */
    int64_t look_credit;    /* ... and what may yet be spent for them, ns */
    uint64_t trimmed;       /* keep.freed when free memory was last returned */
    int64_t credit;         /* CPU time that may be spent, ns; negative after a large profile */
    uint64_t process_cpu;   /* of the process when that was last reckoned; ... */
    uint64_t reckoned;      /* ... mono */
    uint64_t busy;          /* the last time when more had come than is kept completely, mono */

    struct keep keep;
    struct answer_spare small_answers;

    pthread_mutex_t turn;       /* held while waiting for the next */
    pthread_mutex_t looking;    /* one answer that reads what is kept at a time; guards the rest */
    struct looked *looked;      /* NULL: nobody looks */
    _Atomic bool retired;       /* by a reload: what was kept and known is gone */
    _Atomic uint64_t looked_at; /* mono */
    /* for metrics pages */
    _Atomic uint64_t kept_bytes, kept_evicted, kept_skipped, kept_skipped_spans;
    _Atomic bool sending; /* a large flame graph; set under `looking`, cleared without it */
    _Atomic uint64_t broken, broken_next; /* of these, since a line about them; mono, as denied */
};

/* gather.c */
bool gather_open(struct status *self);
void gather_close(struct status *self);
/* Processes everything queued so far. Any thread but data threads. */
void gather_take(struct status *self);

/* gather_join.c: attributes samples to the routes of a request's local roots and linked spans. */
void gather_join(struct status *self, struct view request, struct view tenant, bool again);
/* Gives samples that have waited to their spans. looks: for an answer. Likewise. */
void gather_settle(struct status *self, bool looks);

/* The parts of the API: each answers. */
void traces_answer(struct status *self, struct http_request *request);
void trace_answer(struct status *self, struct http_request *request, const char *id);
void span_answer(struct status *self, struct http_request *request, const char *id);
void flame_answer(struct status *self, struct http_request *request);
void services_answer(struct status *self, struct http_request *request);
void cost_answer(struct status *self, struct http_request *request);
void pipelines_answer(struct status *self, struct http_request *request);
void config_answer(struct status *self, struct http_request *request);
void docs_answer(struct status *self, struct http_request *request, const char *path);

/* flame_send.c: answers with a finished flame graph, which is taken over. title: of an SVG. name:
 * of the file to save it as, without its ending. */
enum { FLAME_TITLE = 512 };
void flame_send(struct status *self, struct http_request *request, struct flame *flame,
                enum flame_format format, const char *title, const char *name);

/* traces.c: forgets what was looked at when nobody has looked for a while; always: at once. */
void looked_forget(struct status *self, bool always);

/* cost.c */
extern const struct metric status_metrics[];
void status_measure(void *self, struct metrics *metrics);

static inline void status_lock(struct status *self)
{
    pthread_mutex_lock(&self->watch->lock);
}

static inline void status_unlock(struct status *self)
{
    pthread_mutex_unlock(&self->watch->lock);
}

#define ANSWER_MAX ((size_t)64 << 20) /* maximum size of a response, bytes */

#endif
