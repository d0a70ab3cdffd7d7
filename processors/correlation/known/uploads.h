/*
 * What correlation reads from a profiles batch: for each profile its service, kind, window and the
 * span ids of its samples. Pure; everything is in the arena or the batch.
 */
#ifndef PROCESSORS_CORRELATION_KNOWN_UPLOADS_H
#define PROCESSORS_CORRELATION_KNOWN_UPLOADS_H

#include "lib/wire/pprof/pprof.h"
#include "pipeline/batch.h"
#include "processors/correlation/known/remap.h"
#include "processors/correlation/known/services.h"
#include "processors/correlation/known/span_index.h"

/* One uploaded window. Times are wall time. */
struct window {
    enum kind kind;
    uint64_t start;  /* 0: not given */
    uint64_t end;    /* capped at the time of arrival; 0: not given */
    bool capped;     /* the profile gave a later end */
    uint64_t ahead;  /* by how much, where its clock must be ahead: its time is after its arrival */
    uint64_t length; /* ns; 0: a single moment, or not given */
    uint64_t labels; /* hash of the labels that identify its sender */
    uint64_t content; /* digest: a repeated upload has the same */
    bool wrong;       /* it lasts longer, or ends later, than any can: it then has no length */
};

struct upload {
    struct upload *next;
    struct view tenant; /* empty if tenants are not separated */
    struct view service;
    const char *unread; /* why its span ids cannot be read, static; nothing else is then known;
                           NULL: read */
    bool from_go;       /* pyroscope-go sent it */
    bool unsymbolized;  /* samples with ids do not count, since no frame of theirs has symbols */
    bool has_samples;   /* with or without ids */
    bool recalled;      /* it came to an earlier process, or owner of its lane */
    struct window window;
    struct view type; /* of OTLP: its sample type */
    /* Wall; the middle of a pprof's window, and its start. 0: unknown, or its middle is not in the
     * past; of the middle also: it already is its time. */
    uint64_t middle, starts;
    struct span_figures *ids; /* one for each sample with an id; ids may repeat */
    size_t count;
    uint64_t *wall_ns; /* wall time of each of these; NULL: not measured */
    /* Rows from `beside` to `rows`: samples with wall time alone in a profile that confirms by CPU
     * time. They do not count, but for that time. */
    size_t beside, rows;
    bool times_cpu; /* it measures CPU time */
    /* All samples that no row has, if wanted: they name no span, or the server would not show them.
     */
    struct span_figures rest;
    uint64_t rest_wall_ns;
    /* What was known of its service when it came, for notes: see struct service. */
    uint64_t wide_at; /* wall; 0: not wide */
    uint64_t skew;
};

/* How profiles are read. */
struct upload_reading {
    unsigned kinds;  /* whose ids are wanted */
    bool symbolizes; /* samples of which no frame has symbols count */
    unsigned rest;   /* of which what no row has is wanted, too */
    uint64_t now;    /* wall */
};

/* Reads a pprof. series: remapped. NULL: no memory. */
struct upload *uploads_of_pprof(const struct batch *batch, const struct series *series,
                                const struct pprof *pprof, const struct upload_reading *reading,
                                struct arena *arena);

/* The same for a profile that could not be read for lack of memory. */
struct upload *uploads_of_unread(const struct batch *batch, const struct series *series,
                                 struct arena *arena);

/* Reads an OTLP request into a list, NULL if empty; all are unread if the request is in an older
 * layout. False: no memory. */
bool uploads_of_otlp(struct view request, const struct upload_reading *reading, struct arena *arena,
                     struct upload **uploads);

/* Reads a body for /ingest, whose service is in the query. JFR gives a list with one upload a kind;
 * any other format is unread, and so is JFR that is malformed or has no field for span ids. budget:
 * for data inflated meanwhile. NULL: no memory, or no name. */
struct upload *uploads_of_opaque(const struct batch *batch, unsigned kinds, uint64_t now,
                                 struct budget *budget, struct arena *arena);

/* Shared by the uploads*.c files. */

/* Times given in a profile, 0 if absent. */
struct stated {
    uint64_t time, duration, from, until;
};

/* Sets a window's times, unless they are wrong: of more than an hour, or beyond 10 minutes from now
 * (as the receivers' reject_newer_than) although its start is not. It ends where the profile says,
 * but not after `until` or the time of arrival, since Node puts the end into time_nanos and a clock
 * may be ahead. */
void upload_set_window(struct window *window, const struct stated *stated, uint64_t now);

/* Digests the kind, the given times, and the bytes: equal for equal uploads. */
uint64_t upload_content(const struct upload *upload, const struct stated *stated,
                        struct view bytes);

/* Mixes a word into a hash. */
uint64_t upload_mix(uint64_t hash, uint64_t word);

/* Makes the rows of `count` samples with an id, which count as soon as they are filled. wall: also
 * those of their wall time. False: no memory. */
bool upload_make_rows(struct upload *upload, size_t count, bool wall, struct arena *arena);

/* Adds samples that no row has. */
void upload_add_rest(struct upload *upload, uint64_t count, uint64_t cpu_ns, uint64_t wall_ns);

/* A time: a * b, at most PPROF_TIME_MAX. */
uint64_t upload_product(uint64_t a, uint64_t b);

/* uploads_jfr.c: the list without its service. NULL: *why says why it cannot be read. */
struct upload *uploads_of_jfr(const struct batch *batch, unsigned kinds, uint64_t now,
                              struct budget *budget, struct arena *arena, const char **why);

#endif
