/*
 * The debug exporter: human-readable telemetry on standard output. With detailed verbosity, spans
 * wait until no more spans of their trace arrive, so that the trace is shown as one tree, with the
 * data of its profiles.
 */
#ifndef EXPORTERS_DEBUG_H
#define EXPORTERS_DEBUG_H

#include "lib/base/bytes.h"
#include "lib/base/output.h"
#include "lib/wire/otlp/otlp_span.h"
#include "pipeline/component.h"

enum {
    CALLS_MAX = 256,
    STACK_DEPTH = 256,
    HOT_FUNCTIONS = 8,
    FUNCTION_NAME_SIZE = 64,
    SPAN_NAME_SIZE = 64
};

/* A function called along one path from the root of the stacks. */
struct call {
    uint64_t path;                     /* hash of the names along it */
    uint64_t samples, cpu_ns, wall_ns; /* taken in it; call_tree_write adds up what it calls */
    uint16_t parent;
    char name[FUNCTION_NAME_SIZE];
};

/* The stacks of a span's samples as one tree; zero is empty. Calls beyond CALLS_MAX count in their
 * caller. */
struct call_tree {
    struct call *calls; /* parents first; 0 is the root, which is named "total" */
    uint16_t count, capacity;
};

/* A stack that was sampled while a span ran. */
struct span_stack {
    uint64_t id, samples, cpu_ns, wall_ns;
    uint64_t wall_samples; /* instead of samples: of a profile of wall time alone, and where another
                              profile may count the same ones */
    bool times_cpu;        /* its profile measures CPU time */
    struct view service;   /* that its profile is of; empty: not known */
    struct view names[STACK_DEPTH]; /* leaf first */
    size_t count;
};

/* Copies a function's name as it may be shown; of a long one the end, where names differ. */
void function_name_copy(struct view name, char text[FUNCTION_NAME_SIZE]);

/* What all trees together may still take: bytes, and those of the budget. */
struct call_room {
    struct budget *budget;
    size_t left;
};

/* Without room for another call, the stack counts in the calls that there are. */
void call_tree_add(struct call_tree *tree, struct call_room *room, const struct span_stack *stack);
void call_tree_release(struct call_tree *tree, struct call_room *room);

/* Writes a flame graph as text: a line for each call of at least 2 % of the whole, up to 16, each
 * with its share as a number and a bar, below its caller; the costlier first. Calls behind one
 * another of which each makes but the next are counted in one line. By CPU time if there
 * is any, else by wall time, else by samples. */
void call_tree_write(const struct call_tree *tree, struct bytes *out);

/* Profile data of one span id in the profiles of one service. */
struct hot_function {
    char name[FUNCTION_NAME_SIZE];
    uint64_t samples, cpu_ns, wall_ns;
};

struct span_profile {
    uint64_t id;
    uint64_t samples, wall_samples; /* see span_stack */
    uint64_t cpu_ns, wall_ns;
    bool times_cpu;               /* some of its profiles measure CPU time */
    char service[SPAN_NAME_SIZE]; /* as shown; "": not known */
    struct hot_function hot[HOT_FUNCTIONS];
    struct call_tree tree;
    bool treeless; /* it gave its tree away */
};

/* What a function of the profile is measured by: CPU time if there is any, else wall time, else
 * samples. */
static inline uint64_t span_profile_measure(const struct span_profile *profile,
                                            const struct hot_function *function)
{
    return profile->cpu_ns    ? function->cpu_ns
           : profile->wall_ns ? function->wall_ns
                              : function->samples;
}

/* The most recent span ids with samples, up to a fixed number, and their stacks while there is
 * room: the oldest lose theirs first. One thread. */
struct span_profiles;
struct span_profiles *span_profiles_new(struct budget *budget); /* NULL: no memory */
/* What reading a profile takes is charged to it; NULL: nothing is. */
struct budget *span_profiles_budget(const struct span_profiles *profiles);
void span_profiles_free(struct span_profiles *profiles);
/* Whether a profile with this hash is among the latest; notes it. An upload that is repeated counts
 * once. */
bool span_profiles_repeats(struct span_profiles *profiles, uint64_t hash);
/* Notes the time that a profile of a service covers (wall); 0: not known. */
void span_profiles_cover(struct span_profiles *profiles, struct view service, uint64_t from,
                         uint64_t until);
/* Whether no profile of its service covers the end of a span with samples yet (wall). due, if not
 * NULL: until when (monotonic) such a one should have come; 0: it is not to be waited for, since
 * the samples would soon give way to others. */
bool span_profiles_may_grow(const struct span_profiles *profiles,
                            const struct span_profile *profile, uint64_t end, uint64_t *due);
/* When the profiles that are added from now on arrived: monotonic. */
void span_profiles_at(struct span_profiles *profiles, uint64_t now);
/* Whether any profile came. */
bool span_profiles_came(const struct span_profiles *profiles);
/* service: that the profile is of; empty: not known. */
void span_profiles_add(struct span_profiles *profiles, struct view service, struct view pprof);
void span_profiles_add_otlp(struct span_profiles *profiles, struct view request);
/* The same for a body of /ingest, of which JFR names spans. content_type NULL: none. */
void span_profiles_add_ingest(struct span_profiles *profiles, struct view service,
                              const char *query, const char *content_type, struct view body);
void span_profiles_count(struct span_profiles *profiles, const struct span_stack *stack);
/* That of this service (as shown), else any of the id; NULL: none. */
const struct span_profile *span_profiles_get(const struct span_profiles *profiles, uint64_t id,
                                             const char *service);

#endif
