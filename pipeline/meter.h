/*
 * Counters of one component instance, including items that were acknowledged and then not
 * delivered. Adding is lock-free. Any thread.
 */
#ifndef PIPELINE_METER_H
#define PIPELINE_METER_H

#include "pipeline/admission.h"

enum meter_count {
    METER_RECEIVED, /* items of requests received in full */
    METER_ACCEPTED, /* items answered with success */
    METER_REFUSED,  /* items answered with a refusal (retryable or not) */
    METER_SENT,     /* items that a backend accepted */
    METER_DROPPED,  /* items acknowledged and then not delivered */
    METER_RETRIES,  /* requests retried */
    METER_PASSED,   /* items of an encoding that only other exporters accept */
    METER_SHOWN, /* counts before this one appear in explain output, later ones only in metrics */
    METER_INCOMING = METER_SHOWN, /* batch_counted of batches that a processor was given */
    METER_OUTGOING,               /* the same of those that it handed on and that were taken */
    METER_UNQUEUED,               /* the same of those that a full queue refused */
    METER_LOST,                   /* batches that were dropped, in part or whole */
    METER_COUNT
};

struct meter {
    _Atomic unsigned refs;       /* of a meter from meter_new */
    const char *id;              /* the instance's, borrowed */
    struct admission *admission; /* a receiver's; NULL: not a receiver */
    _Atomic uint64_t counts[METER_COUNT][COUNTED_SIGNALS];
    _Atomic uint64_t dropped_by_cause[CAUSE_COUNT][COUNTED_SIGNALS];
    _Atomic uint64_t last_drop[CAUSE_COUNT]; /* as meter_last_drop */
    _Atomic uint64_t tells_loss_at;          /* of meter_tells_loss: the next time, mono */
    _Atomic uint64_t refusals_passed[CAUSE_COUNT][COUNTED_SIGNALS];
    void *area; /* meter_area; NULL: none */
    void (*release_area)(void *area);
};

void meter_init(struct meter *meter, const char *id);

/* Frees what a meter from meter_init has got since. */
void meter_release(struct meter *meter);

/* Makes a shared meter with one reference and a copy of the id, so that a replacement instance
 * continues the counters. NULL: no memory. */
struct meter *meter_new(const char *id);
struct meter *meter_ref(struct meter *meter);
void meter_unref(struct meter *meter); /* may be NULL */

/* The zeroed bytes in which a type of component keeps counters of its own, made at the first call
 * and freed with a meter from meter_new, after `release`: a replacement instance gets the same.
 * Only from open; the size and `release` never change. NULL: no memory. */
void *meter_area(struct meter *meter, size_t size, void (*release)(void *area));

/* Adds request counters to a receiver's meter unless it has them; freed with it. False: no memory.
 */
bool meter_admits(struct meter *meter, const struct clock *clock, struct ticker *ticker);

/* Counts items acknowledged to a client; and a request that was refused, in whole or in part. */
void meter_accepted(struct meter *meter, enum admission_transport transport, enum signal signal,
                    uint64_t items);
void meter_refused(struct meter *meter, const struct refusal *refusal);
/* The same of profiles that came over HTTP; items: those of the request that were refused. */
void meter_refused_profiles(struct meter *meter, const struct peer *peer, const struct outcome *why,
                            uint32_t items);
/* The same in samples of profiles, beside meter_accepted. */
void meter_accepted_samples(struct meter *meter, enum admission_transport transport,
                            uint64_t samples);

/* signal: enum signal, or COUNTED_SAMPLES. */
void meter_add(struct meter *meter, enum meter_count what, int signal, uint64_t n);
void meter_drop(struct meter *meter, enum cause cause, int signal, uint64_t n);
uint64_t meter_dropped(const struct meter *meter, enum cause cause, int signal);
/* Whether a line about losses may be written now (mono, ns): none was for so long. */
bool meter_tells_loss(struct meter *meter, uint64_t now, uint64_t every_ns);
/* When items were last dropped for a cause, wall, ns by the system's clock; 0: never. */
uint64_t meter_last_drop(const struct meter *meter, enum cause cause);
/* Counts items that a backend refused, when the refusal is passed on to a waiting client. */
void meter_pass_refusal(struct meter *meter, enum cause cause, int signal, uint64_t n);
uint64_t meter_passed_refusals(const struct meter *meter, enum cause cause, int signal);
uint64_t meter_get(const struct meter *meter, enum meter_count what, int signal);

/* Appends "id: spans accepted 10, sent 9, dropped 1 (invalid 1)", a line for each signal with any
 * count, then the lines of refused requests. */
void meter_explain(const struct meter *meter, struct bytes *out);

/* A short name of the cause for log lines. */
const char *cause_name(enum cause cause);

/* Appends "20 spans, 3 profiles" for items by signal, nothing for none. */
void meter_put_items(const uint64_t items[SIGNAL_COUNT], struct bytes *out);

#endif
