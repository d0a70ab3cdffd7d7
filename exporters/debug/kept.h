/* Traces that wait to be shown, for the debug exporter. */
#ifndef EXPORTERS_DEBUG_KEPT_H
#define EXPORTERS_DEBUG_KEPT_H

#include "exporters/debug/debug.h"

/* A span kept for its trace's tree. */
struct kept_span {
    uint64_t id, parent;
    uint64_t start_ns, end_ns;
    uint64_t profile; /* value of pyroscope.profile.id; 0: none */
    char name[SPAN_NAME_SIZE];
    char service[SPAN_NAME_SIZE];
    bool shown;
};

/* One trace whose spans are being collected. */
struct kept_trace {
    uint8_t id[16];
    uint64_t last_seen; /* monotonic */
    struct kept_span *spans;
    size_t count, capacity;
    size_t omitted; /* spans that were not kept */
    size_t judged;  /* as many spans there were when complete was set */
    bool complete;  /* its root came, and the parents of all spans */
    struct kept_trace *next;
};

enum { SHOWN_TRACES = 256 };

/* Traces that are still receiving spans, with a limit on traces and spans; zero is empty. One
 * thread. */
struct kept_traces {
    struct kept_trace *first; /* most recently seen first */
    size_t trace_count, span_count;
    uint8_t shown[SHOWN_TRACES][16]; /* ids of the latest that were shown; a ring */
    size_t shown_count;              /* ever */
};

/* Keeps the spans of a checked request. Traces evicted to make room are written to out. */
void kept_traces_add(struct kept_traces *traces, struct view request, uint64_t now,
                     const struct span_profiles *profiles, struct bytes *out);

/* Writes and frees the traces that have been quiet for long enough. Returns the time when the next
 * one will be due. now TIME_NEVER writes all. */
uint64_t kept_traces_show(struct kept_traces *traces, uint64_t now,
                          const struct span_profiles *profiles, struct bytes *out);

/* Writes a trace as an indented tree, then the flame graphs of its costliest linked spans. ends:
 * nothing comes any more, so that a span without samples was not decided, and is not linked. */
void tree_write(struct kept_trace *trace, const struct span_profiles *profiles, bool ends,
                struct bytes *out);

/* That of the profile with its samples; NULL: none. */
const struct span_profile *kept_profile_of(const struct kept_span *span,
                                           const struct span_profiles *profiles);

#endif
