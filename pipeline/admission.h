/*
 * Counts what a receiver accepted and refused, by transport, signal and cause: requests, and the
 * items in them. Logs each distinct message of a cause at most once a minute, with at most four
 * distinct messages per cause. The items of a request are known only once it has been read; one
 * refused before that counts as a request only. Any thread. Counting never blocks, except briefly
 * in the calls that schedule or write the once-a-minute line.
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
    ADMISSION_PULL, /* fetched by the receiver itself */
    ADMISSION_TRANSPORTS
};

/* The signals, and one more for requests refused before their signal was known. */
enum { ADMISSION_NO_SIGNAL = SIGNAL_COUNT, ADMISSION_SIGNALS };

/* Profiles are also counted in samples, under an extra signal number. */
enum { COUNTED_SAMPLES = SIGNAL_COUNT, COUNTED_SIGNALS };

/* Valid for the call. */
struct refusal {
    enum admission_transport transport;
    int signal;                /* enum signal, or ADMISSION_NO_SIGNAL */
    const struct outcome *why; /* verdict OK: accepted except for `items` items */
    uint32_t items;            /* read and not accepted; 0: none was read */
    uint32_t samples;          /* the same in samples of profiles; 0: unknown */
    const struct peer *peer;   /* NULL: unknown */
};

struct admission;
struct ticker;

/* id is borrowed. `ticker` (NULL: none) flushes pending lines when no request arrives. NULL: no
 * memory. */
struct admission *admission_new(const char *id, const struct clock *clock, struct ticker *ticker);
/* Logs what was counted since the last lines. May be NULL. Must not be called from a tick. */
void admission_free(struct admission *admission);

/* Logs what was counted since the last lines, without waiting for the minute to pass. */
void admission_flush(struct admission *admission);

void admission_accept(struct admission *admission, enum admission_transport transport, int signal,
                      uint64_t items);

/* Counts a refusal, and logs it unless the receiver fetches the data itself (it logs what is lost
 * by name) or the process is stopping (CAUSE_SHUTDOWN). */
void admission_refuse(struct admission *admission, const struct refusal *refusal);

/* Requests are refused for want of memory or of room in a queue. It lasts until one is accepted and
 * none was refused for five seconds, or for a minute if none comes. */
struct admission_pressure {
    uint64_t since;    /* wall, ns; 0: they are not */
    uint64_t last;     /* wall, ns: when one was refused last */
    uint64_t requests; /* refused since then */
    enum cause cause;  /* of the last one, as is the text */
    char text[sizeof((struct outcome *)0)->text];
};
struct admission_pressure admission_pressure(struct admission *admission);

/* signal: enum signal, or COUNTED_SAMPLES. */
uint64_t admission_accepted(const struct admission *admission, enum admission_transport transport,
                            int signal);
uint64_t admission_items(const struct admission *admission, enum admission_transport transport,
                         int signal, enum cause cause);
uint64_t admission_requests(const struct admission *admission, enum admission_transport transport,
                            int signal, enum cause cause);
/* When a request was last refused for a cause, wall, ns; 0: never. */
uint64_t admission_last_refusal(const struct admission *admission, enum cause cause);
/* The sentence of a late refusal for a cause, as in the log; "": there was none. */
struct outcome admission_last_outcome(struct admission *admission, enum cause cause);

/* Appends " (invalid 1, queue full 2)" for the items of a signal, nothing if none was refused. */
void admission_explain_items(const struct admission *admission, enum signal signal,
                             struct bytes *out);
/* Appends "otlp: 3 requests of traces refused over HTTP (invalid 1, queue full 2)", a line for each
 * transport and signal with refusals. */
void admission_explain(const struct admission *admission, struct bytes *out);

#endif
