/*
 * Reassembles values that were too large for one record (pipeline/native_record.h). The parts are
 * in one partition, in order, perhaps with records of other producers between them. Not
 * thread-safe.
 */
#ifndef RECEIVERS_KAFKA_RECORD_PARTS_H
#define RECEIVERS_KAFKA_RECORD_PARTS_H

#include "lib/base/bytes.h"
#include "pipeline/native_record.h"

/* PARTS_OPEN: how many values of a partition may be incomplete. If there are more, the oldest is
 * dropped. PARTS_DONE: how many that were completed are remembered. */
enum { PARTS_OPEN = 8, PARTS_DONE = 16 };

/* A value whose parts are arriving. */
struct partial_record {
    uint64_t id; /* of struct native_part */
    uint32_t count, got;
    struct bytes value;
    uint64_t *numbers; /* of the parts' entries in struct offsets; owned */
    uint32_t number_count;
    int64_t offset; /* of its first part's record; the caller's */
    uint64_t since; /* when its first part was recorded, unix ns */
    size_t last;    /* size of the last part added */
};

struct record_parts {
    struct partial_record open[PARTS_OPEN];
    size_t count;
    _Atomic uint64_t since;    /* of the oldest of these, for any thread; 0: there is none */
    uint64_t done[PARTS_DONE]; /* ids of values completed last, in a ring */
    size_t done_at;
    struct budget *budget;
};

void record_parts_init(struct record_parts *parts, struct budget *budget);
void record_parts_release(struct record_parts *parts);

enum record_parts_result {
    PARTS_MORE,     /* more parts follow */
    PARTS_WHOLE,    /* *partial is complete; record_parts_close follows */
    PARTS_REPEATED, /* it came before: its producer sends again what may not have arrived */
    PARTS_STRAY,    /* an earlier part is missing */
    PARTS_NO_MEMORY /* nothing changed */
};

/* Adds a part. MORE and WHOLE: *partial is where it went, valid until the next call. */
enum record_parts_result record_parts_add(struct record_parts *parts,
                                          const struct native_part *part, struct view value,
                                          uint64_t time, struct partial_record **partial);

/* Returns the incomplete value that the part replaces, as its producer has cut the value anew and
 * sends all of it again: it must be closed before the part is added. NULL: none. */
struct partial_record *record_parts_replaced(struct record_parts *parts,
                                             const struct native_part *part);

/* Removes the part added last. */
void record_parts_undo(struct record_parts *parts, struct partial_record *partial);

/* Adds the number of a part's entry in struct offsets. False: no memory. */
bool partial_record_note(struct partial_record *partial, uint64_t number);

/* Frees one. */
void record_parts_close(struct record_parts *parts, struct partial_record *partial);

/* Returns the oldest value if it must be dropped: there are PARTS_OPEN values, or its first part
 * was recorded before that time. NULL: none. */
struct partial_record *record_parts_stale(struct record_parts *parts, uint64_t before);

#endif
