/*
 * Who serves a client: gives it records and calls its callbacks. One thread at a time has the turn:
 * of those that wait for results one, which has to wake up for them anyway, and while nobody waits,
 * now and then, a thread of its own.
 */
#ifndef EXPORTERS_KAFKA_TURNS_H
#define EXPORTERS_KAFKA_TURNS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/queue.h>

/* Results that one thread waits for. */
struct flight {
    TAILQ_ENTRY(flight) of_turns;
    _Atomic size_t waiting;
    pthread_cond_t woken; /* landed, or it may be its turn */
    bool landed;
};

/* A turn. waits: for results, or until there is something to do, for up to about a second. */
typedef void turns_serve_fn(void *ctx, bool waits);

struct turns {
    turns_serve_fn *serve;
    void *ctx;
    pthread_t thread;
    bool started;
    pthread_mutex_t lock; /* guards the rest */
    bool taken;           /* somebody has the turn */
    bool stopping;
    pthread_cond_t stops;
    TAILQ_HEAD(flights, flight) flights; /* that have not landed */
};

void turns_init(struct turns *turns, turns_serve_fn *serve, void *ctx);
void turns_release(struct turns *turns);

/* Starts and ends the thread. False: it cannot be started. Nobody waits meanwhile. */
bool turns_start(struct turns *turns);
void turns_stop(struct turns *turns);

/* Begins to wait for `count` results, at least one. The flight is the caller's until turns_wait has
 * returned true. Any thread. */
void turns_begin(struct turns *turns, struct flight *flight, size_t count);

/* One result of a flight is there. Any thread, also in a turn. */
void turns_land(struct turns *turns, struct flight *flight);

/* Takes the turn once, or waits for up to a second while another has it. True: all results are
 * there. Any thread. */
bool turns_wait(struct turns *turns, struct flight *flight);

#endif
