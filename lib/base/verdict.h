/* What became of a batch: the answer of every consume, send and intake. */
#ifndef LIB_BASE_VERDICT_H
#define LIB_BASE_VERDICT_H

#include <stdint.h>

enum verdict {
    VERDICT_OK,
    VERDICT_RETRY, /* not now: the same batch may be offered again */
    VERDICT_REJECT /* never: offering it again is useless */
};

/* Why; decides the status that a client sees and what an exporter does next. */
enum cause {
    CAUSE_NONE,
    CAUSE_INVALID,     /* the data are wrong */
    CAUSE_TOO_LARGE,   /* the data are too large; smaller parts may pass */
    CAUSE_UNSUPPORTED, /* a form, signal or path that the peer does not have */
    CAUSE_AUTH,        /* who are you */
    CAUSE_FORBIDDEN,   /* you may not */
    CAUSE_FULL,        /* a queue is full */
    CAUSE_MEMORY,      /* the memory budget is used up */
    CAUSE_UNAVAILABLE, /* the peer is down, restarting or overloaded */
    CAUSE_SHUTDOWN,    /* this process is stopping */
    CAUSE_INTERNAL,    /* our fault or the peer's, unexplained */
    CAUSE_ENCODING,    /* a compression that the peer does not have */
    CAUSE_SLOW,        /* the data did not arrive in time */
    CAUSE_NO_PIPELINE, /* the signal goes nowhere here */
    CAUSE_TLS,         /* no TLS came about */
    CAUSE_LOOP,        /* this process sent it itself */
    CAUSE_COUNT
};

struct outcome {
    enum verdict verdict;
    enum cause cause;
    uint64_t retry_after_ns; /* RETRY: what the peer asked to wait; 0: it said nothing */
    unsigned max_tries;      /* RETRY: give up after so many tries in all; 0: by the settings */
    uint32_t rejected;       /* OK: items that the peer refused (partial success) */
    char text[192];          /* for people; "" where there is nothing to say */
};

#define OUTCOME_OK ((struct outcome){.verdict = VERDICT_OK})

/* The least that a client is asked to wait before it sends again (Retry-After, RetryInfo). */
enum { RETRY_AFTER_S = 1 };

/* What a client is asked to wait that gets this outcome, in whole seconds: its retry_after_ns,
 * rounded up, at least RETRY_AFTER_S; 0 where it is not RETRY. */
unsigned outcome_retry_seconds(const struct outcome *outcome);

/* An outcome with a text made by printf. */
struct outcome outcome_of(enum verdict verdict, enum cause cause, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* RETRY: the memory budget has no room for the data. */
struct outcome outcome_no_memory(void);

#endif
