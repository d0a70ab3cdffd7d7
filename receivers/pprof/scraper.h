/*
 * Pulls of profiles: a timetable of jobs (a profile of a target), a thread that waits for the next
 * one due, and workers, made when there is work, that each run one pull at a time.
 */
#ifndef RECEIVERS_PPROF_SCRAPER_H
#define RECEIVERS_PPROF_SCRAPER_H

#include "lib/net/dns.h"
#include "lib/wire/pprof/pprof_delta.h"
#include "receivers/pprof/pprof.h"

#include <pthread.h>

/* A profile of a target. What stands above `due` does not change. */
struct job {
    struct target *target;
    struct series *series;
    char *url;
    char *shown;     /* the URL without a user and password, for people */
    bool by_types;   /* the series' __name__ is the service: the type follows from the profile */
    bool cumulative; /* send what it has grown by */
    struct http_client *client; /* borrowed */
    uint64_t interval;

    uint64_t due; /* mono; these under the scraper's lock */
    bool queued;  /* or under way */
    bool waits;   /* for a worker */
    bool said;    /* its fault was logged */
    struct job *next;
    uint64_t pulled, failed;
    char fault[200]; /* of the last pull; "": none */

    struct pprof_delta delta; /* of whoever pulls */
};

/* Unless said otherwise, under the scraper's lock. */
struct target {
    struct target *next;
    const void *source; /* the dns entry or file that it is from; NULL: the configuration */
    char *place;        /* as looked up, or all that the file says of it */
    bool seen;          /* in the last look */
    bool gone;          /* freed once none of its jobs is queued */
    bool silent;        /* it does not answer, and that was said */
    size_t job_count;
    struct job *jobs;
};

struct lookup {
    struct scraper *scraper;
    const struct dns_settings *settings; /* gone after the stop */
    char *name;
    enum dns_type type;
    unsigned port;
    uint64_t due;
    bool busy;
    bool failing;
};

/* Refcounted, as the resolver and an intake may keep one of its threads or callbacks for longer
 * than a stop may last. */
struct scraper {
    _Atomic unsigned refs;
    const struct pprof_receiver *self;
    const struct env *env;
    struct http_client *clients[3]; /* for moments, for timed profiles, for `remote` */

    pthread_mutex_t lock;
    pthread_cond_t timetable; /* for the waiting thread */
    pthread_cond_t work;      /* for workers */
    pthread_cond_t answered;  /* for those who wait for an intake, and at the stop */
    bool stopping;
    struct target *targets;
    struct job *first, **last; /* due, without a worker yet */
    struct lookup *lookups;    /* one of each dns entry */
    size_t lookup_count;
    struct sd_file *sd_files; /* of the timetable's thread */
    uint64_t sd_due;
    pthread_t waiter;
    pthread_t *workers;
    unsigned worker_count, idle, queue_size;
    bool waiting, said_late;
};

/* NULL: error is a sentence. */
struct scraper *scraper_open(const struct pprof_receiver *self, char *error, size_t error_size);
/* Ends pulls under way at once. NULL is legal. */
void scraper_close(struct scraper *scraper);
void scraper_explain(struct scraper *scraper, struct bytes *out);
void scraper_unref(struct scraper *scraper);

/* targets.c. The URL of an endpoint as users write it, without a slash at its end. False: it does
 * not fit. */
bool target_url(const char *endpoint, const char *scheme, char *out, size_t out_size);
/* The targets of the configuration. False: no memory. */
bool targets_open(struct scraper *scraper);
/* Lets the targets of a name be those places ("host:port", each with its NUL). Under the lock. */
void targets_sync(struct scraper *scraper, const struct dns_settings *dns, struct view places);
void target_free(struct target *target);

/* A target of a file. */
struct sd_target {
    const char *address; /* host:port */
    const char *scheme;
    const char *service_name; /* NULL: as the configuration says */
    const char *text;         /* all of it, by which it is known again */
    const struct key_map *labels;
    const struct key_map *params; /* in front of those of the configuration */
};
/* Lets the targets of a file be these. Under the lock. */
void targets_sync_file(struct scraper *scraper, const void *file, const char *service_name,
                       const struct sd_target *found, size_t count);

/* files.c: files of targets. Whether a path may name such: what it ends in says how it is read. */
bool sd_file_name(const char *path);
/* Looks at all of them, and takes over what changed. Without the lock; the timetable's thread. */
void sd_files_look(struct scraper *scraper, uint64_t mono_ns);
void sd_files_free(struct scraper *scraper);

/* lookups.c: look-ups, each on a thread of its own that nobody waits for. Under the lock. */
void lookup_start(struct lookup *lookup);

/* pull.c: one pull, from a worker, without the lock. */
void pull_run(struct scraper *scraper, struct job *job);

#endif
