/*
 * What a profiles batch says to correlation: per profile its service, kind, window and the span ids
 * of its samples. Pure; everything lives in the arena or the batch.
 */
#ifndef CORRELATION_UPLOADS_H
#define CORRELATION_UPLOADS_H

#include "pipeline/batch.h"
#include "processors/correlation/remap.h"
#include "processors/correlation/services.h"
#include "processors/correlation/span_index.h"
#include "wire/pprof.h"

struct upload {
    struct upload *next;
    struct view service;
    bool unread;  /* in a format that is not read: nothing else is known */
    bool from_go; /* pyroscope-go sent it */
    struct window window;
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

/* Of a body in another format, whose service stands in the query. NULL: no room, or no name. */
struct upload *uploads_of_opaque(const struct opaque_request *request, struct arena *arena);

#endif
