/*
 * What a profiles batch says to correlation: per profile its service, kind, window and the span ids
 * of its samples. Pure; everything lives in the arena or the batch.
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
    uint64_t start;   /* 0: not told */
    uint64_t end;     /* already not past the time of arrival; 0: not told */
    bool capped;      /* the profile says that it ends later */
    uint64_t length;  /* ns; 0: a moment, or not told */
    uint64_t labels;  /* hash of what names its sender */
    uint64_t content; /* hash: a second upload of it has the same */
};

struct upload {
    struct upload *next;
    struct view tenant; /* empty where tenants are not told apart */
    struct view service;
    const char
        *unread;      /* why its spans cannot be read, static: nothing else is known; NULL: read */
    bool from_go;     /* pyroscope-go sent it */
    bool has_samples; /* with or without ids */
    struct window window;
    /* Wall; of a pprof's window. 0: not known, not past, or its time already. */
    uint64_t middle;
    struct span_figures *ids; /* a row per sample with an id; several may have the same */
    size_t count;
};

/* series: remapped. kinds: those whose ids are wanted. now: wall. NULL: no room. */
struct upload *uploads_of_pprof(const struct batch *batch, const struct series *series,
                                const struct pprof *pprof, unsigned kinds, uint64_t now,
                                struct arena *arena);

/* The same where the profile could not be read for want of room. */
struct upload *uploads_of_unread(const struct batch *batch, const struct series *series,
                                 struct arena *arena);

/* A list, NULL for none; all unread where the request is in an older layout. False: no room. */
bool uploads_of_otlp(struct view request, unsigned kinds, uint64_t now, struct arena *arena,
                     struct upload **uploads);

/* Of a body for /ingest, whose service stands in the query: JFR is read, a list of one a kind; any
 * other format is unread, and so is JFR that cannot be read or has no field for span ids. budget:
 * for what is inflated meanwhile. NULL: no room, or no name. */
struct upload *uploads_of_opaque(const struct batch *batch, unsigned kinds, uint64_t now,
                                 struct budget *budget, struct arena *arena);

/* What the uploads*.c files share. */

/* Times as a profile states them, 0 where it does not. */
struct stated {
    uint64_t time, duration, from, until;
};

/* A window ends where the profile says, yet never past `until` or the time of arrival: Node puts
 * the end into time_nanos, and a clock may be ahead. */
void upload_set_window(struct window *window, const struct stated *stated, uint64_t now);

/* Of the times that were stated, the samples and their ids: equal for equal uploads. */
uint64_t upload_content(const struct upload *upload, const struct stated *stated, size_t count);

/* uploads_jfr.c: the list without its service. NULL: *why says why it cannot be read. */
struct upload *uploads_of_jfr(const struct batch *batch, unsigned kinds, uint64_t now,
                              struct budget *budget, struct arena *arena, const char **why);

#endif
