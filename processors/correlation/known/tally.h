/*
 * What became of the spans of each service, for metrics pages: a hundred services by themselves,
 * the others as one. A service that has become busier than one of the hundred takes its place and
 * counts there from 0: no figure ever falls, but for one that starts anew under its own name.
 *
 * Written by one thread at a time (the owner's lock); read by any, without a lock.
 */
#ifndef PROCESSORS_CORRELATION_KNOWN_TALLY_H
#define PROCESSORS_CORRELATION_KNOWN_TALLY_H

#include "lib/base/view.h"
#include "processors/correlation/known/judge.h"

#include <stdatomic.h>

struct service;

/* The label of all others; a service of that name is one of them. */
#define TALLY_OTHERS "(others)"

enum { TALLY_SLOTS = 100, TALLY_TEXT = 256 };

/* What is counted: spans linked, then those that were not, by enum judge_reason. */
enum { TALLY_LINKED, TALLY_UNLINKED, TALLY_COUNTS = TALLY_UNLINKED + REASON_COUNT };

struct tally {
    _Atomic uint32_t version; /* odd while the service changes */
    _Atomic uint32_t tenant_size, size;
    _Atomic uint64_t text[TALLY_TEXT / 8]; /* tenant, then name */
    _Atomic uint64_t counts[TALLY_COUNTS];
    struct service *owner; /* NULL: forgotten; the writer's, like the rest */
    uint64_t recent;       /* spans in this minute, or as many as in the last one */
};

struct tallies {
    struct tally *_Atomic slots[TALLY_SLOTS]; /* NULL: never used */
    _Atomic uint64_t others[TALLY_COUNTS];
    uint64_t minute; /* mono; of the figures called recent */
};

void tallies_release(struct tallies *tallies);

/* n spans of a service. */
void tally_add(struct tallies *tallies, struct service *service, unsigned what, uint64_t n,
               uint64_t mono);

/* The service is about to be forgotten; what was counted stays. */
void tally_forget(struct service *service);

/* A copy of one slot at one moment. */
struct tally_copy {
    char text[TALLY_TEXT];
    struct view tenant, name; /* of the text */
    uint64_t counts[TALLY_COUNTS];
};

/* Any thread. False: the slot is empty, or its service just changes. */
bool tally_read(const struct tallies *tallies, unsigned slot, struct tally_copy *copy);

#endif
