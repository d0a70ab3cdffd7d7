/*
 * Records that were too large for the broker arrive in parts (pipeline/native_record.h), one behind
 * the other in one partition, though records of other producers may be between them. Not
 * synchronised.
 */
#ifndef RECEIVERS_KAFKA_PARTS_H
#define RECEIVERS_KAFKA_PARTS_H

#include "lib/base/bytes.h"
#include "pipeline/native_record.h"

/* The most unfinished ones of a partition; beyond it the oldest is given up. */
enum { PARTS_OPEN = 8 };

/* A record whose parts are arriving. */
struct parted {
    uint64_t id; /* of struct native_part */
    uint32_t count, got;
    struct bytes value;
    uint64_t *numbers; /* of the parts in the ledger; owned */
    uint32_t number_count;
    uint64_t since; /* when its first part was recorded, unix ns */
    size_t last;    /* size of the last part added */
};

struct parts {
    struct parted open[PARTS_OPEN];
    size_t count;
    struct budget *budget;
};

void parts_init(struct parts *parts, struct budget *budget);
void parts_release(struct parts *parts);

enum parts_result {
    PARTS_MORE,     /* others are to come */
    PARTS_WHOLE,    /* *parted is complete; parts_close follows */
    PARTS_STRAY,    /* an earlier part is missing */
    PARTS_NO_MEMORY /* nothing changed */
};

/* Adds a part. MORE and WHOLE: *parted is where it went, valid until the next call. */
enum parts_result parts_add(struct parts *parts, const struct native_part *part, struct view value,
                            uint64_t time, struct parted **parted);

/* Takes the last added part back. */
void parts_undo(struct parts *parts, struct parted *parted);

/* Remembers a part's number in the ledger. False: no memory. */
bool parted_note(struct parted *parted, uint64_t number);

/* Forgets one. */
void parts_close(struct parts *parts, struct parted *parted);

/* The oldest one, if it is to be given up: there are PARTS_OPEN, or its first part was recorded
 * before a time. NULL: none. */
struct parted *parts_stale(struct parts *parts, uint64_t before);

#endif
