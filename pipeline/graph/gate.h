/*
 * A gate that a reload closes while it swaps the pipelines: threads that deliver data wait until it
 * reopens, and none is inside. Any thread.
 */
#ifndef PIPELINE_GRAPH_GATE_H
#define PIPELINE_GRAPH_GATE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

struct gate {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    size_t inside; /* this and the rest: under lock */
    bool closed;
};

/* Whether what the gate protects may be entered. Written before its first use or while the gate is
 * closed. */
enum gate_mode {
    GATE_OPEN,
    GATE_WAITS, /* not yet: callers wait */
    GATE_SHUT   /* no longer */
};

void gate_init(struct gate *gate);
void gate_release(struct gate *gate);

/* Waits while the gate is closed or the mode is GATE_WAITS. True: the caller is inside until
 * gate_leave, which another thread may call. False: the mode is GATE_SHUT. Not from inside. */
bool gate_enter(struct gate *gate, const enum gate_mode *mode);
void gate_leave(struct gate *gate);

/* Enters without waiting. False: the gate is closed. Also from inside. */
bool gate_try_enter(struct gate *gate);

/* Lets no thread in any more; returns when the last one has left. One thread at a time. */
void gate_close(struct gate *gate);
void gate_open(struct gate *gate);

#endif
