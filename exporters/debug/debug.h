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

enum { HOT_FUNCTIONS = 8, FUNCTION_NAME_SIZE = 64, SPAN_NAME_SIZE = 64 };

/* Profile data of one span id. */
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

/* The most recent span ids with samples, up to a fixed number. One thread. */
struct span_profiles;
struct span_profiles *span_profiles_new(void); /* NULL: no memory */
void span_profiles_free(struct span_profiles *profiles);
void span_profiles_add(struct span_profiles *profiles, struct view pprof);
void span_profiles_add_otlp(struct span_profiles *profiles, struct view request);
const struct span_profile *span_profiles_get(const struct span_profiles *profiles, uint64_t id);

/* A span kept for its trace's tree. */
struct kept_span {
    uint64_t id, parent;
    uint64_t start_ns, end_ns;
    uint64_t profile; /* value of pyroscope.profile.id; 0: none */
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
    size_t omitted; /* spans that were not kept */
    struct kept_trace *next;
};

/* Traces that are still receiving spans, with a limit on traces and spans; zero is empty. One
 * thread. */
struct kept_traces {
    struct kept_trace *first; /* most recently seen first */
    size_t trace_count, span_count;
};

/* Keeps the spans of a checked request. Traces evicted to make room are written to out. */
void kept_traces_add(struct kept_traces *traces, struct view request, uint64_t now,
                     const struct span_profiles *profiles, struct bytes *out);

/* Writes and frees the traces that have been quiet for long enough. Returns the time when the next
 * one will be due. now TIME_NEVER writes all. */
uint64_t kept_traces_show(struct kept_traces *traces, uint64_t now,
                          const struct span_profiles *profiles, struct bytes *out);

/* Writes a trace as an indented tree. */
void tree_write(struct kept_trace *trace, const struct span_profiles *profiles, struct bytes *out);

/* Copies a text for display on a terminal: truncated to size, control characters replaced,
 * NUL-terminated. */
void shown_text(struct view text, char *out, size_t size);

#endif
