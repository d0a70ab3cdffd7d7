/*
 * Pulls profiles. A job is one profile of one target. A timetable thread queues jobs when they are
 * due; workers, started on demand, run one pull at a time each.
 */
#ifndef RECEIVERS_PPROF_SCRAPER_H
#define RECEIVERS_PPROF_SCRAPER_H

#include "lib/net/dns.h"
#include "lib/wire/pprof/pprof_delta.h"
#include "receivers/pprof/pprof.h"

#include <pthread.h>

/* A profile of a target. The fields above `due` do not change. */
struct job {
    struct target *target;
    struct series *series;
    char *url;
    char *shown;     /* the URL without user and password, for logs */
    bool by_types;   /* __name__ is the service; the profile's sample types determine the type */
    bool cumulative; /* send the delta since the last pull */
    struct http_client *client; /* borrowed */
    uint64_t interval;

    uint64_t due;       /* mono; from here to fault, under the scraper's lock */
    bool queued;        /* or running */
    bool waits;         /* for a worker */
    bool fault_logged;  /* its fault was logged */
    bool silent_logged; /* that it has no answer was logged */
    struct job *next;
    uint64_t pulled, failed;
    char fault[200]; /* of the last pull; "": none */

    struct pprof_delta delta; /* used by the worker that runs the job */
};

/* All fields are under the scraper's lock. */
struct target {
    struct target *next;
    const void *source; /* the dns entry or file that lists it; NULL: the configuration */
    char *place;        /* its identity in the source: "host:port", or its text in the file */
    bool seen;          /* in the last lookup or poll */
    bool gone;          /* removed; freed once none of its jobs is queued */
    bool silent;        /* its last pull had no answer */
    size_t job_count;
    struct job *jobs;
};

struct lookup {
    struct scraper *scraper;
    const struct dns_settings *settings; /* invalid after the stop */
    char *name;
    enum dns_type type;
    unsigned port;
    uint64_t due;
    bool busy;
    bool failing;
};

/* Refcounted, because a lookup thread or a callback of the intake may outlive the stop. */
struct scraper {
    _Atomic unsigned refs;
    const struct pprof_receiver *self;
    const struct env *env;
    struct http_client *clients[3]; /* for instant profiles, for timed profiles, for `remote` */

    pthread_mutex_t lock;
    pthread_cond_t timetable; /* wakes the timetable thread */
    pthread_cond_t work;      /* wakes workers */
    pthread_cond_t answered;  /* wakes workers that wait for an intake; signalled at the stop too */
    bool stopping;
    struct target *targets;
    struct job *first, **last; /* queue of due jobs without a worker */
    struct lookup *lookups;    /* one per dns entry */
    size_t lookup_count;
    struct sd_file *sd_files; /* used only by the timetable thread */
    uint64_t sd_due;
    pthread_t waiter;
    pthread_t *workers;
    unsigned worker_count, idle, queue_size;
    bool waiting, late_logged;
};

/* NULL: failed; error is a sentence. */
struct scraper *scraper_open(const struct pprof_receiver *self, char *error, size_t error_size);
/* Aborts running pulls. May be NULL. */
void scraper_close(struct scraper *scraper);
void scraper_explain(struct scraper *scraper, struct bytes *out);
void scraper_unref(struct scraper *scraper);

/* targets.c: writes the base URL of a configured endpoint, without a trailing slash. False: out is
 * too small. */
bool target_url(const char *endpoint, const char *scheme, char *out, size_t out_size);
/* Creates the configuration's targets. False: no memory. */
bool targets_open(struct scraper *scraper);
/* Replaces the targets of a DNS name by places ("host:port", each with its NUL). Under the lock. */
void targets_sync(struct scraper *scraper, const struct dns_settings *dns, struct view places);
void target_free(struct target *target);

/* A target listed in a file. */
struct sd_target {
    const char *address; /* host:port */
    const char *scheme;
    const char *service_name; /* NULL: the configuration's */
    const char *text;         /* all of its settings; identifies it across polls */
    const struct key_map *labels;
    const struct key_map *params; /* override those of the configuration */
};
/* Replaces the targets of a file. Under the lock. */
void targets_sync_file(struct scraper *scraper, const void *file, const char *service_name,
                       const struct sd_target *found, size_t count);

/* files.c: whether a path is valid for a file of targets; its suffix selects JSON or YAML. */
bool sd_file_name(const char *path);
/* Polls all files and applies changes. Without the lock; on the timetable thread. */
void sd_files_poll(struct scraper *scraper, uint64_t mono_ns);
void sd_files_free(struct scraper *scraper);

/* lookups.c: starts a lookup on its own detached thread. Under the lock. */
void lookup_start(struct lookup *lookup);

/* pull.c: runs one pull. On a worker, without the lock. */
void pull_run(struct scraper *scraper, struct job *job);

#endif
