/*
 * What a reload closes for the moment in which it puts the pipelines together anew: threads that
 * hand data over wait before it, and none of them is inside. Any thread.
 */
#ifndef PIPELINE_GRAPH_GATE_H
#define PIPELINE_GRAPH_GATE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

struct gate {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    size_t inside; /* the rest is under lock */
    bool closed;
};

/* Whether a way behind the gate is in force. Written before its first use or while the gate is
 * closed. */
enum gate_mode {
    GATE_OPEN,
    GATE_WAITS, /* not yet: who comes waits */
    GATE_SHUT   /* no more */
};

void gate_init(struct gate *gate);
void gate_release(struct gate *gate);

/* Waits while the gate is closed or the way waits. True: inside until gate_leave, which may come
 * from another thread. False: the way is shut. Not from inside. */
bool gate_enter(struct gate *gate, const enum gate_mode *way);
void gate_leave(struct gate *gate);

/* Lets nobody in any more; returns when the last one has left. One thread at a time. */
void gate_close(struct gate *gate);
void gate_open(struct gate *gate);

#endif
