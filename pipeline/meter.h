/*
 * Counters of one component instance, and the process's account of what was acknowledged and then
 * not delivered. Adding is lock-free. Any thread.
 */
#ifndef PIPELINE_METER_H
#define PIPELINE_METER_H

#include "pipeline/admission.h"

enum meter_count {
    METER_RECEIVED, /* items of requests that came whole */
    METER_ACCEPTED, /* items answered with success */
    METER_REFUSED,  /* items refused with an answer that says so (retryable or not) */
    METER_SENT,     /* items that a backend took */
    METER_DROPPED,  /* items acknowledged and then not delivered */
    METER_RETRIES,  /* requests tried again */
    METER_PASSED,   /* items that went to other exporters alone: this one takes no such encoding */
    METER_SHOWN,    /* those before are in the lines for people, those behind on metrics pages */
    METER_INCOMING = METER_SHOWN, /* batch_counted that a processor was given */
    METER_OUTGOING,               /* the same that it handed on, and that was taken */
    METER_UNQUEUED,               /* the same that a full queue did not take */
    METER_COUNT
};

struct meter {
    _Atomic unsigned refs;       /* of one from meter_new */
    const char *id;              /* the instance's, borrowed */
    struct admission *admission; /* a receiver's; NULL: another's */
    _Atomic uint64_t counts[METER_COUNT][COUNTED_SIGNALS];
    _Atomic uint64_t dropped_by_cause[CAUSE_COUNT][COUNTED_SIGNALS];
};

void meter_init(struct meter *meter, const char *id);

/* One that several share, with one reference and an id of its own: an instance that takes another's
 * place counts on. NULL: no memory. */
struct meter *meter_new(const char *id);
struct meter *meter_ref(struct meter *meter);
void meter_unref(struct meter *meter); /* NULL is legal */

/* Gives a receiver's meter the counters of its requests, if it has none yet; they end with it.
 * False: no memory. */
bool meter_admits(struct meter *meter, const struct clock *clock, struct ticker *ticker);

/* Items that a client was told are taken; and a request that was not, or not whole. */
void meter_accepted(struct meter *meter, enum admission_transport transport, enum signal signal,
                    uint64_t items);
void meter_refused(struct meter *meter, const struct refusal *refusal);
/* The same of profiles in samples, beside meter_accepted. */
void meter_accepted_samples(struct meter *meter, enum admission_transport transport,
                            uint64_t samples);

/* signal: enum signal, or COUNTED_SAMPLES. */
void meter_add(struct meter *meter, enum meter_count what, int signal, uint64_t n);
void meter_drop(struct meter *meter, enum cause cause, int signal, uint64_t n);
uint64_t meter_dropped(const struct meter *meter, enum cause cause, int signal);
uint64_t meter_get(const struct meter *meter, enum meter_count what, int signal);

/* "id: spans accepted 10, sent 9, dropped 1 (invalid 1)": a line per signal with any count, and
 * those of the requests refused. */
void meter_explain(const struct meter *meter, struct bytes *out);

/* A cause in a word or two. */
const char *cause_name(enum cause cause);

#endif
