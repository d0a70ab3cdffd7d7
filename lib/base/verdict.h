/* What became of a batch: the result of every consume, send and intake. */
#ifndef LIB_BASE_VERDICT_H
#define LIB_BASE_VERDICT_H

#include <stdbool.h>
#include <stdint.h>

enum verdict {
    VERDICT_OK,
    VERDICT_RETRY, /* not now: the same batch may be offered again */
    VERDICT_REJECT /* never: offering it again is useless */
};

/* The reason; it decides the status that a client gets and what an exporter does next. */
enum cause {
    CAUSE_NONE,
    CAUSE_INVALID,     /* malformed data */
    CAUSE_TOO_LARGE,   /* too large; smaller parts may be accepted */
    CAUSE_UNSUPPORTED, /* a format, signal or path that the peer does not support */
    CAUSE_AUTH,        /* missing or wrong credentials */
    CAUSE_FORBIDDEN,   /* not permitted */
    CAUSE_FULL,        /* a queue is full */
    CAUSE_MEMORY,      /* the memory budget is used up */
    CAUSE_UNAVAILABLE, /* the peer is down, restarting or overloaded */
    CAUSE_SHUTDOWN,    /* this process is stopping */
    CAUSE_INTERNAL,    /* an unexplained error, here or at the peer */
    CAUSE_ENCODING,    /* a compression that the peer does not support */
    CAUSE_SLOW,        /* the data did not arrive in time */
    CAUSE_NO_PIPELINE, /* no pipeline takes this signal */
    CAUSE_TLS,         /* the TLS handshake failed */
    CAUSE_LOOP,        /* the request came from this process */
    CAUSE_REVOKED,     /* another process delivers the data now */
    CAUSE_INCOMPLETE,  /* the client left before its request was complete */
    CAUSE_COUNT
};

struct outcome {
    enum verdict verdict;
    enum cause cause;
    uint64_t retry_after_ns;  /* RETRY: the delay that the peer asked for; 0: none given */
    uint64_t retry_within_ns; /* RETRY: the longest wait that makes sense; 0: by the settings */
    unsigned max_tries; /* RETRY: give up after this many tries in total; 0: by the settings */
    bool part_may_pass; /* REJECT: perhaps only a part of the request was the reason */
    uint32_t rejected;  /* OK: items that the peer rejected (partial success) */
    uint64_t took_ns;   /* an attempt's, from its beginning; 0: not known */
    char text[192];     /* human-readable; may be "" */
};

#define OUTCOME_OK ((struct outcome){.verdict = VERDICT_OK})

/* The minimum delay that clients are asked for before they retry (Retry-After, RetryInfo), and the
 * maximum where memory was short: clients with large requests that all come back at once would keep
 * each other out again. */
enum { RETRY_AFTER_S = 1, RETRY_MEMORY_MOST_S = 3 };

/* The delay to ask a client for, in whole seconds: the outcome's retry_after_ns, rounded up, at
 * least RETRY_AFTER_S; where none is given and memory was short, any up to RETRY_MEMORY_MOST_S; 0
 * if it is not RETRY. */
unsigned outcome_retry_seconds(const struct outcome *outcome);

/* Returns an outcome with a printf-formatted text. */
struct outcome outcome_of(enum verdict verdict, enum cause cause, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A RETRY outcome: the memory budget has no room for the data. */
struct outcome outcome_no_memory(void);

#endif
