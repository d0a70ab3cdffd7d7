/*
 * Reads Java Flight Recorder uploads of one or several chunks, as written by async-profiler (or the
 * JDK itself), just enough to find the span of each sample. Classes and fields are looked up by
 * name in each chunk's metadata. Reads in place; the plans for reading classes come from an arena.
 * Pure.
 */
#ifndef LIB_WIRE_JFR_JFR_H
#define LIB_WIRE_JFR_JFR_H

#include "lib/base/arena.h"
#include "lib/base/view.h"

enum jfr_kind {
    JFR_EXECUTION,          /* jdk.ExecutionSample */
    JFR_WALL,               /* profiler.WallClockSample */
    JFR_ALLOCATION,         /* jdk.ObjectAllocationInNewTLAB */
    JFR_ALLOCATION_OUTSIDE, /* jdk.ObjectAllocationOutsideTLAB */
    JFR_LOCK                /* jdk.JavaMonitorEnter */
};

struct jfr_event {
    enum jfr_kind kind;
    bool has_stack;  /* refers to a stack trace */
    bool counts_cpu; /* Pyroscope counts it in process_cpu: a sample of a thread that does not sleep
                      */
    bool counts_wall;   /* Pyroscope counts it in wall */
    uint64_t span_id;   /* the value of its 16 hex digits; 0: none */
    uint64_t trace_hi;  /* the trace id's first 16 hex digits; both 0: none */
    uint64_t trace_lo;  /* its last 16 hex digits */
    uint64_t span_name; /* key of a string in jfr_labels; 0: none */
    uint64_t context;   /* key of a context in jfr_labels; 0: none */
    uint64_t stack;     /* key of its stack trace, for jfr_stacks.h */
    uint32_t chunk;     /* index in the upload */
    int64_t time_nanos; /* since the epoch; the chunk's start if the event's time is out of range */
    uint64_t samples;   /* number of samples that the event represents, usually 1 */
    uint64_t amount;    /* allocation: bytes; lock: how long a thread waited for it, ns; else 0 */
};

/* Why an upload was refused; texts are static. */
struct jfr_fault {
    const char *part;   /* "chunk", "metadata", "constant pool" or "event" */
    const char *reason; /* e.g. "truncated" */
    size_t offset;      /* bytes from the start of the upload */
};

struct jfr_chunk;

struct jfr {
    struct view raw;
    struct jfr_chunk *chunks; /* in the arena */
    size_t chunk_count;
    size_t event_count;  /* events that jfr_next_event will return */
    int64_t start_nanos; /* the earliest start of any chunk */
    int64_t end_nanos;   /* the latest end of any chunk */
    struct view mode;    /* async-profiler's setting `event`, e.g. "itimer"; data NULL: none */
    bool has_span_ids;   /* a class has a field for span ids */
};

/* Position of an iteration over events. */
struct jfr_scan {
    const struct jfr_chunk *chunk;
    const uint8_t *at;
    bool wall; /* the last setting `event` was "wall" */
};

/* Checks raw (inflated) bytes and prepares the iteration over their events. raw is borrowed; about
 * 2 KiB a chunk stay in the arena, whose free space also bounds temporary memory. False: fault is
 * set; lack of space is reason "too large". Also refuses unfinished chunks, uncompressed integers
 * and bytes after the last chunk. Takes time linear in the bytes. */
bool jfr_open(struct jfr *jfr, struct view raw, struct arena *arena, struct jfr_fault *fault);

/* Iterate over the events of an open upload in byte order, which is not time order. Events of other
 * classes are skipped. */
struct jfr_scan jfr_scan_begin(const struct jfr *jfr);
bool jfr_next_event(const struct jfr *jfr, struct jfr_scan *scan, struct jfr_event *event);

#endif
