/*
 * How the spans of each service left, for metrics pages: a hundred services each on their own, the
 * others together. A service that becomes busier than one of the hundred replaces it and counts
 * from 0 there: no counter ever decreases, except that one restarts under its own name.
 *
 * Written by one thread at a time (under the owner's lock); read by any, without a lock.
 */
#ifndef PROCESSORS_CORRELATION_KNOWN_TALLY_H
#define PROCESSORS_CORRELATION_KNOWN_TALLY_H

#include "lib/base/view.h"
#include "processors/correlation/known/judge.h"

#include <stdatomic.h>

struct service;

/* The label of all others; a service with this name is among them. */
#define TALLY_OTHERS "(others)"

enum { TALLY_SLOTS = 100, TALLY_TEXT = 256 };

/* The counters: spans linked, then spans not linked by enum judge_reason. */
enum { TALLY_LINKED, TALLY_UNLINKED, TALLY_COUNTS = TALLY_UNLINKED + REASON_COUNT };

struct tally {
    _Atomic uint32_t version; /* odd while the service changes */
    _Atomic uint32_t tenant_size, size;
    _Atomic uint64_t text[TALLY_TEXT / 8]; /* tenant, then name */
    _Atomic uint64_t counts[TALLY_COUNTS];
    struct service *owner; /* NULL: forgotten; for the writer only, like the rest */
    uint64_t recent;       /* spans in this minute, or in the last one if that is more */
};

struct tallies {
    struct tally *_Atomic slots[TALLY_SLOTS]; /* NULL: never used */
    _Atomic uint64_t others[TALLY_COUNTS];
    uint64_t minute; /* mono; of the `recent` counts */
};

void tallies_release(struct tallies *tallies);

/* Counts n spans of a service; NULL: among the others. */
void tally_add(struct tallies *tallies, struct service *service, unsigned what, uint64_t n,
               uint64_t mono);

/* Called before a service is forgotten; its counts stay. */
void tally_forget(struct service *service);

/* A consistent copy of one slot. */
struct tally_copy {
    char text[TALLY_TEXT];
    struct view tenant, name; /* of the text */
    uint64_t counts[TALLY_COUNTS];
};

/* Copies a slot. Any thread. False: it is empty, or its service is changing. */
bool tally_read(const struct tallies *tallies, unsigned slot, struct tally_copy *copy);

#endif
