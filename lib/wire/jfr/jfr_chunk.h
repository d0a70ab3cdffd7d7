/*
 * One chunk: its header, and what is needed to iterate over its events. For lib/wire/jfr/jfr*.c
 * only.
 */
#ifndef LIB_WIRE_JFR_JFR_CHUNK_H
#define LIB_WIRE_JFR_JFR_CHUNK_H

#include "lib/wire/jfr/jfr_metadata.h"

enum { JFR_HEADER_SIZE = 68, JFR_STATES = 64 };

/* The classes whose events are read. */
enum jfr_class {
    JFR_CLASS_EXECUTION,
    JFR_CLASS_WALL,
    JFR_CLASS_NEW_TLAB,
    JFR_CLASS_OUTSIDE_TLAB,
    JFR_CLASS_MONITOR,
    JFR_CLASS_SETTING,
    JFR_CLASSES
};

enum jfr_state { JFR_STATE_UNKNOWN, JFR_STATE_RUNNABLE, JFR_STATE_SLEEPING, JFR_STATE_OTHER };

struct jfr_chunk {
    struct view bytes; /* header included */
    uint64_t pool_offset;
    uint64_t metadata_offset;
    int64_t start_nanos; /* since the epoch */
    int64_t end_nanos;
    uint64_t start_ticks;
    int64_t ticks_per_second;
    uint64_t types[JFR_CLASSES]; /* class ids; for a class that the metadata lacks 0, the id of the
                                    metadata event */
    struct jfr_plan plans[JFR_CLASSES];
    uint8_t states[JFR_STATES]; /* enum jfr_state by the constant's key */
};

/* Reads the header of the chunk at the start of rest. False: refused. */
bool jfr_chunk_header(struct jfr_chunk *chunk, struct jfr_reading *reading, struct view rest);

/* Makes the plans from the chunk's metadata, and reads its thread states. False: refused. */
bool jfr_chunk_prepare(struct jfr_chunk *chunk, struct jfr_reading *reading);

/* Reads the chunk's thread states from its constant pools. False: refused. */
bool jfr_pool_read(struct jfr_chunk *chunk, struct jfr_reading *reading,
                   struct jfr_metadata *metadata);

/* A checkpoint: an event with the pools of several classes, and the offset of the previous one. */
struct jfr_checkpoint {
    const uint8_t *start;
    const uint8_t *at; /* its first pool */
    const uint8_t *end;
    int64_t delta;
    uint64_t pool_count;
};

/* Reads the head of the checkpoint at a place in a chunk. False: there is none. */
bool jfr_checkpoint_read(struct jfr_checkpoint *checkpoint, const uint8_t *at, const uint8_t *end);

/* Converts ticks to nanoseconds since the epoch; the chunk's start if that is out of range. */
int64_t jfr_chunk_time(const struct jfr_chunk *chunk, uint64_t ticks);

#endif
