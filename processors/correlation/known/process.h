/*
 * Spans of one service that share their resource, as a rule those of one process: which windows
 * have its samples, and which of its spans wait. Not thread-safe.
 */
#ifndef PROCESSORS_CORRELATION_KNOWN_PROCESS_H
#define PROCESSORS_CORRELATION_KNOWN_PROCESS_H

#include "lib/base/budget.h"
#include "lib/base/pairing_heap.h"
#include "lib/base/view.h"

#include <stdbool.h>
#include <stdint.h>

struct segment;
struct service;
struct timeline;

enum { PROCESSES_MAX = 64 };

struct process {
    struct process *next; /* of its service, seen less recently */
    struct service *service;
    uint64_t resource;   /* hash of its bytes */
    bool identified;     /* its resource names a process, so that others have another one */
    bool shared;         /* stands for all resources that there was no room for */
    uint64_t first_seen; /* mono */
    uint32_t sequence;   /* serial of the one whose samples its spans had last; 0: none yet */
    unsigned matches;    /* spans that had samples in it */
    uint64_t mixed;      /* mono; when two sequences at once had them; 0: never */
    struct segment *oldest, *newest; /* that wait, in the order of their arrival */
    struct heap ends;                /* the same by when their first span ended */
    struct heap_node due;            /* in the instance's; key: mono */
    uint64_t children_due;           /* mono; when waiting children are looked at */
    unsigned small;                  /* segments since gather.h looked last ... */
    uint64_t small_since;            /* ... and when the first of them came, mono */
};

/* The process of a resource (process_hash), made where it is new; seen now. entry: ResourceSpans.
 * NULL: no memory. */
struct process *process_see(struct service *service, uint64_t resource, struct view entry,
                            uint64_t mono, struct budget *budget);

/* Frees all of a service; none has spans in the hold. */
void processes_release(struct service *service, struct budget *budget);

/* A span had a sample in this sequence. */
void process_note_match(struct process *process, struct timeline *timeline, uint32_t serial,
                        uint64_t mono);

/* Whether all its samples come in one sequence, as far as can be told. */
bool process_is_bound(const struct process *process, uint64_t mono, uint64_t remember);

/* A hash of a resource's bytes. */
uint64_t process_hash(struct view bytes);

#endif
