/*
 * The debug exporter: telemetry for people on standard output. In detailed verbosity spans wait
 * until their trace is quiet, so that a trace is shown as one tree with what its profiles said.
 */
#ifndef EXPORTERS_DEBUG_H
#define EXPORTERS_DEBUG_H

#include "base/bytes.h"
#include "pipeline/component.h"
#include "wire/otlp_span.h"

enum { HOT_FUNCTIONS = 8, FUNCTION_NAME_SIZE = 64, SPAN_NAME_SIZE = 64 };

/* What profiles said of one span id. */
struct hot_function {
    char name[FUNCTION_NAME_SIZE];
    uint64_t samples;
};

struct span_profile {
    uint64_t id;
    uint64_t samples;
    uint64_t cpu_ns;
    struct hot_function hot[HOT_FUNCTIONS];
};

/* The latest span ids with samples, a bounded number of them. One thread. */
struct span_profiles;
struct span_profiles *span_profiles_new(void);
void span_profiles_free(struct span_profiles *profiles);
void span_profiles_add(struct span_profiles *profiles, struct view pprof);
const struct span_profile *span_profiles_get(const struct span_profiles *profiles, uint64_t id);

/* A span kept for its trace's tree. */
struct kept_span {
    uint64_t id, parent;
    uint64_t start_ns, end_ns;
    uint64_t profile; /* the id that pyroscope.profile.id names; 0: none */
    char name[SPAN_NAME_SIZE];
    char service[SPAN_NAME_SIZE];
    bool local_root;
    bool shown;
};

/* One trace whose spans are being collected. */
struct kept_trace {
    uint8_t id[16];
    uint64_t last_seen; /* monotonic */
    struct kept_span *spans;
    size_t count, capacity;
    struct kept_trace *next;
};

/* Writes a trace as an indented tree. */
void tree_write(struct kept_trace *trace, const struct span_profiles *profiles,
                struct bytes *out);

#endif
