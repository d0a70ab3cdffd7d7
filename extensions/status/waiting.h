/* Spans that correlation holds until their samples arrive: they are not kept yet. Any thread. */
#ifndef EXTENSIONS_STATUS_WAITING_H
#define EXTENSIONS_STATUS_WAITING_H

#include "extensions/status/status.h"

struct waiting {
    uint64_t spans;    /* that fit */
    uint64_t due;      /* when the last of these is decided at the latest, wall; 0: not known */
    bool all;          /* false: more spans are held than were looked at */
    uint64_t *lows;    /* the last eight bytes of the trace id of each held span, sorted; ... */
    size_t low_count;  /* ... NULL unless asked for */
    size_t low_places; /* private */
};

/* Whether a held span is asked for; called under the hold's lock. */
typedef bool waiting_fits_fn(const void *ctx, const struct watch_held *held);

/* Looks at the spans that wait. by_trace: for waiting_in. Release it afterwards. */
void waiting_look(struct status *self, waiting_fits_fn *fits, const void *ctx, bool by_trace,
                  struct waiting *out);
void waiting_release(struct waiting *waiting);

/* Those of a trace. */
void waiting_of_trace(struct status *self, const uint8_t id[16], struct waiting *out);

/* A span by its id. service: whose; "": any. */
void waiting_of_span(struct status *self, uint64_t id, const char *service, struct waiting *out);

/* How many spans wait of the trace whose id ends with these eight bytes. */
size_t waiting_in(const struct waiting *waiting, uint64_t low);

/* Writes the member `waiting` of a response. */
void waiting_put(const struct waiting *waiting, struct json *json);

/* Responds 404: with what waits of it, or, if that is nothing, with a sentence. */
void waiting_answer(struct status *self, struct http_request *request,
                    const struct waiting *waiting, const char *unknown);

#endif
