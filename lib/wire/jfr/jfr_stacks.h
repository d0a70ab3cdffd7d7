/* The stacks of a JFR upload's events, from the constant pools of its chunks. Pure. */
#ifndef LIB_WIRE_JFR_JFR_STACKS_H
#define LIB_WIRE_JFR_JFR_STACKS_H

#include "lib/wire/jfr/jfr.h"

struct jfr_stack_frame {
    struct view class; /* "java/lang/Thread"; empty: none */
    struct view method;
};

struct jfr_stack_tables;

struct jfr_stacks {
    const struct jfr *jfr;
    struct jfr_stack_tables *chunks; /* in the arena */
};

/* Indexes the pools of an open upload: some 24 bytes a constant in the arena, whose room bounds
 * what is used meanwhile. False: no room, or pools that cannot be read. */
bool jfr_stacks_open(struct jfr_stacks *stacks, const struct jfr *jfr, struct arena *arena);

/* Fills frames with the stack of an event, the leaf first; returns how many, at most max. Where
 * there are more, those at the root are left out. */
size_t jfr_stacks_read(const struct jfr_stacks *stacks, const struct jfr_event *event,
                       struct jfr_stack_frame *frames, size_t max);

#endif
