/*
 * What a receiver took and what it did not: counters by transport, signal and cause, of requests
 * and of the items in them, and one warning a minute, cause and kind of sentence (four of a cause).
 * What a request holds is known only once it has been read: one that is refused before counts as a
 * request alone. Any thread; adding
 * takes no lock and never waits, but for who writes the line of that minute.
 */
#ifndef PIPELINE_ADMISSION_H
#define PIPELINE_ADMISSION_H

#include "lib/base/bytes.h"
#include "lib/base/clock.h"
#include "lib/base/peer.h"
#include "lib/base/verdict.h"
#include "lib/wire/otlp/signal.h"

enum admission_transport {
    ADMISSION_HTTP,
    ADMISSION_GRPC,
    ADMISSION_PULL, /* what the receiver fetches itself */
    ADMISSION_TRANSPORTS
};

/* Signals, and one more for requests that never got so far as to have one. */
enum { ADMISSION_NO_SIGNAL = SIGNAL_COUNT, ADMISSION_SIGNALS };

/* Items are also counted in samples of profiles, in the place of a signal of their own. */
enum { COUNTED_SAMPLES = SIGNAL_COUNT, COUNTED_SIGNALS };

/* Lives for the call. */
struct refusal {
    enum admission_transport transport;
    int signal;                /* enum signal, or ADMISSION_NO_SIGNAL */
    const struct outcome *why; /* OK: the request was taken, but for `items` of it */
    uint32_t items;            /* that were read and not taken; 0: none was read */
    uint32_t samples;          /* the same in samples of profiles; 0: not known */
    const struct peer *peer;   /* NULL: not known */
};

struct admission;
struct ticker;

/* id is borrowed. ticker (NULL: none) brings lines that are due with nothing new to say. NULL: no
 * memory. */
struct admission *admission_new(const char *id, const struct clock *clock, struct ticker *ticker);
/* Writes what was counted since the last lines. NULL is legal. Not from a tick. */
void admission_free(struct admission *admission);

/* Writes what was counted since the last lines, now. */
void admission_tell(struct admission *admission);

void admission_accept(struct admission *admission, enum admission_transport transport, int signal,
                      uint64_t items);

/* Counts alone where the receiver fetches itself, and so can name what is lost, and at a stop
 * (CAUSE_SHUTDOWN). */
void admission_refuse(struct admission *admission, const struct refusal *refusal);

/* signal: enum signal, or COUNTED_SAMPLES. */
uint64_t admission_accepted(const struct admission *admission, enum admission_transport transport,
                            int signal);
uint64_t admission_items(const struct admission *admission, enum admission_transport transport,
                         int signal, enum cause cause);
uint64_t admission_requests(const struct admission *admission, enum admission_transport transport,
                            int signal, enum cause cause);

/* " (invalid 1, queue full 2)" over the items of a signal; nothing where none was refused. */
void admission_explain_items(const struct admission *admission, enum signal signal,
                             struct bytes *out);
/* "otlp: 3 requests of traces refused over HTTP (invalid 1, queue full 2)": a line per transport
 * and signal with any. */
void admission_explain(const struct admission *admission, struct bytes *out);

#endif
