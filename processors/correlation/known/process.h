/*
 * Spans of one service that share their resource, normally those of one process: which windows have
 * its samples, and which of its spans wait. Not thread-safe.
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
    bool identified;     /* its resource identifies a process, so other processes have others */
    bool shared;         /* shared by all resources for which there was no memory */
    uint64_t first_seen; /* mono */
    uint32_t sequence; /* serial of the sequence in which its spans last had samples; 0: none yet */
    unsigned matches;  /* spans that had samples in it */
    uint64_t mixed;    /* mono; when two sequences at a time had them; 0: never */
    struct segment *oldest, *newest; /* waiting, in the order of their arrival */
    struct heap ends;                /* the same by when their first span ended */
    struct heap_node due;            /* in the instance's; key: mono */
    uint64_t children_due;           /* mono; when waiting children are checked next */
    unsigned small;                  /* segments since gather.h last ran ... */
    uint64_t small_since;            /* ... and when the first of them arrived, mono */
};

/* Returns the process of a resource (process_hash), making it if it is new, and marks it as seen
 * now. entry: ResourceSpans. NULL: no memory. */
struct process *process_see(struct service *service, uint64_t resource, struct view entry,
                            uint64_t mono, struct budget *budget);

/* Frees all processes of a service; none may have spans in the hold. */
void processes_release(struct service *service, struct budget *budget);

/* Notes that a span had a sample in this sequence. */
void process_note_match(struct process *process, struct timeline *timeline, uint32_t serial,
                        uint64_t mono);

/* Whether, as far as can be told, all its samples are in one sequence. */
bool process_is_bound(const struct process *process, uint64_t mono, uint64_t remember);

/* Hashes a resource's bytes. */
uint64_t process_hash(struct view bytes);

#endif
