/*
 * Java Flight Recorder uploads: one or several chunks, as async-profiler writes them (the JDK's own
 * recordings are read too), far enough to tell which span each sample was taken in. Classes and
 * fields are found by the names in each chunk's metadata. Read in place; plans to read the classes
 * come from an arena. Pure.
 */
#ifndef LIB_WIRE_JFR_JFR_H
#define LIB_WIRE_JFR_JFR_H

#include "lib/base/arena.h"
#include "lib/base/view.h"

enum jfr_kind {
    JFR_EXECUTION,  /* jdk.ExecutionSample */
    JFR_WALL,       /* profiler.WallClockSample */
    JFR_ALLOCATION, /* jdk.ObjectAllocationInNewTLAB, jdk.ObjectAllocationOutsideTLAB */
    JFR_LOCK        /* jdk.JavaMonitorEnter */
};

struct jfr_event {
    enum jfr_kind kind;
    bool has_stack;     /* names a stack trace */
    bool counts_cpu;    /* Pyroscope counts it in process_cpu: a sample, the thread not asleep */
    bool counts_wall;   /* Pyroscope counts it in wall */
    uint64_t span_id;   /* as a number: its 16 hex digits in order; 0: none */
    uint64_t trace_hi;  /* the trace id's first 16 hex digits; both 0: none */
    uint64_t trace_lo;  /* its last 16 */
    uint64_t span_name; /* key among the strings of jfr_labels; 0: none */
    uint64_t context;   /* key among the contexts of jfr_labels; 0: none */
    int64_t time_nanos; /* since the epoch; the chunk's start where the event's own is absurd */
    uint64_t samples;   /* 1, or what the event says that it stands for */
};

/* Why an upload was refused; texts are static. */
struct jfr_fault {
    const char *part;   /* "chunk", "metadata", "constant pool" or "event" */
    const char *reason; /* e.g. "cut off" */
    size_t offset;      /* bytes from the start of the upload */
};

struct jfr_chunk;

struct jfr {
    struct view raw;
    struct jfr_chunk *chunks; /* in the arena */
    size_t chunk_count;
    size_t event_count;  /* what jfr_next_event yields in all */
    int64_t start_nanos; /* the earliest start of a chunk */
    int64_t end_nanos;   /* the latest end of one */
    struct view mode;    /* async-profiler's setting `event`, e.g. "itimer"; data NULL: none */
    bool has_span_ids;   /* a class has a field for them: samples without one are in no span */
};

/* Where a walk stands. */
struct jfr_scan {
    const struct jfr_chunk *chunk;
    const uint8_t *at;
    bool wall; /* the setting `event` was "wall" when last seen */
};

/* Checks raw (inflated) bytes as chunks and prepares to walk them; raw is borrowed, some 2 KiB a
 * chunk stay in the arena, and its free room bounds what is used meanwhile. False: fault says why;
 * too little room is reason "too large". Refused, too: a chunk that is not finished, integers that
 * are not compressed, bytes behind the last chunk. The time it takes is linear in the bytes. */
bool jfr_open(struct jfr *jfr, struct view raw, struct arena *arena, struct jfr_fault *fault);

/* Walks the events of an open upload, chunk by chunk in the order of the bytes (which is not that
 * of time). Events of other classes are passed over. */
struct jfr_scan jfr_scan_begin(const struct jfr *jfr);
bool jfr_next_event(const struct jfr *jfr, struct jfr_scan *scan, struct jfr_event *event);

#endif
