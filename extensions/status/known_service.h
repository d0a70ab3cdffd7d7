/* The sizes of known.h's tables, and what a service has. */
#ifndef EXTENSIONS_STATUS_KNOWN_SERVICE_H
#define EXTENSIONS_STATUS_KNOWN_SERVICE_H

#include "lib/base/clock.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    KNOWN_SPANS = 40000,
    KNOWN_SERVICES = 256,
    KNOWN_NAMED = 512,                  /* routes with a name, ... */
    KNOWN_UNNAMED = 3 * KNOWN_SERVICES, /* ... and before them, of each service three */
    KNOWN_ROUTES = KNOWN_UNNAMED + KNOWN_NAMED,
    KNOWN_WINDOWS = 1024,
    KNOWN_REASONS = 40,
    KNOWN_BESIDE = 16,
    KNOWN_UPLOADS = 16,  /* of a service, the newest */
    KNOWN_HISTORY = 40,  /* steps of a service's history */
    KNOWN_SERIES = 80,   /* steps of a route's */
    KNOWN_METERED = 100, /* routes that the metrics page has */
    KNOWN_ROWS = 512,    /* decisions that spans do not have yet */
    KNOWN_GONE = 8192    /* numbers of forgotten spans that nobody has taken yet */
};
static_assert(KNOWN_SPANS < UINT16_MAX, "numbers of spans are uint16_t");
#define KNOWN_HISTORY_STEP (30 * NS_PER_S)
#define KNOWN_SERIES_STEP  (15 * NS_PER_S)

struct known_service {
    uint64_t key;
    uint32_t name, tenant; /* tenant: 0: none */
    uint32_t hash;         /* of its name, for known_figures */
    const char *language;  /* of its SDK; static; NULL: not known */
    bool has_spans, has_profiles;
    bool times_cpu; /* some of its profiles measure CPU time */
    bool reversed;  /* its profiles have had span ids with the bytes reversed, as old .NET ones */
    uint64_t linked, not_linked, cpu_ns, wall_ns;
    uint64_t samples, wall_samples; /* as a span's */
    uint64_t uses, last; /* decisions and profiles, with those of what gave way to it; the newest */
    uint64_t reasons[KNOWN_REASONS];
    uint8_t beside_kinds; /* of the samples of the last span that was told to have such only */
    uint8_t no_ids; /* the reason of known->reasons that says so; 0: samples name spans, or may */
    uint8_t unmatched; /* the reason that says that samples name no span that came; or 0 */
    const struct watch_reason *roots_only; /* as its last window's */
    uint64_t linked_at;                    /* when the last link was decided, wall */
    uint64_t hold;                         /* how long its spans wait at most; 0: not known */
    uint64_t sent_after;                   /* how long after its end the last span arrived */
    uint64_t ahead;       /* how long before its end the last local root arrived, ... */
    uint32_t ahead_run;   /* ... and how many in a row did so by long */
    uint64_t late;        /* how late the last profile with samples of its spans came ... */
    uint64_t late_window; /* ... and how long it is */
    uint64_t vain_at;    /* when a span last waited in vain for a profile that was long due; wall */
    uint32_t apart_run;  /* spans in a row whose samples are far from their time, ... */
    uint32_t lane_spans; /* whose samples came in another lane */
    const char *apart_fix;      /* ... and which clock is wrong; static */
    uint16_t profiles_under;    /* where samples of its spans came instead; 0: nowhere */
    uint16_t tenant_under;      /* the same where that is a service of another tenant */
    uint32_t windows;           /* came so far */
    uint64_t first_came;        /* the oldest profile */
    uint64_t began;             /* its start, of those that confirm; 1: not known; 0: none came */
    uint64_t lanes;             /* bit n: such came in a lane that is n modulo 64 */
    uint64_t lane_at;           /* when a span was decided last whose samples are in another lane */
    uint64_t confirms_from;     /* when the oldest of those that confirm arrived */
    uint64_t any_came, any_end; /* of the newest profile: when it arrived, and its end */
    uint64_t last_end;          /* the latest end of a profile */
    uint64_t last_came;         /* the newest of a kind that confirms */
    uint64_t beside[KNOWN_BESIDE], beside_count; /* hashes of the newest of other kinds */
    bool repeats;                                /* the last of these came before */
    struct {
        uint64_t upload;
        const void *source; /* who told of it first */
    } uploads[KNOWN_UPLOADS];
    uint64_t upload_count;
    uint64_t apart;   /* linked spans whose samples are far from their time, ... */
    int64_t apart_ns; /* ... and how far those of the last: below 0, before it */
    uint64_t step;    /* the newest of the history, in steps since 1970 */
    struct known_step {
        uint32_t linked, reasons[KNOWN_REASONS];
    } history[KNOWN_HISTORY]; /* by step modulo its length */
};

#endif
