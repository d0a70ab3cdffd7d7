#include "exporters/kafka/turns.h"

#include "lib/base/clock.h"

#include <time.h>

#define IDLE_NS (500 * NS_PER_MS) /* between turns while nobody waits */
#define WAIT_NS NS_PER_S

void turns_init(struct turns *turns, turns_serve_fn *serve, void *ctx)
{
    *turns = (struct turns){.serve = serve, .ctx = ctx};
    pthread_mutex_init(&turns->lock, NULL);
    pthread_cond_init(&turns->stops, NULL);
    TAILQ_INIT(&turns->flights);
}

void turns_release(struct turns *turns)
{
    pthread_cond_destroy(&turns->stops);
    pthread_mutex_destroy(&turns->lock);
}

/* Under the lock, which it leaves meanwhile. */
static void take_turn(struct turns *turns, bool waits)
{
    turns->taken = true;
    pthread_mutex_unlock(&turns->lock);
    turns->serve(turns->ctx, waits);
    pthread_mutex_lock(&turns->lock);
    turns->taken = false;
}

/* Under the lock. */
static void hand_on(struct turns *turns)
{
    if (!turns->taken && !TAILQ_EMPTY(&turns->flights))
        pthread_cond_signal(&TAILQ_FIRST(&turns->flights)->woken);
}

static void wait_for(struct turns *turns, pthread_cond_t *woken, uint64_t ns)
{
    uint64_t until = clock_mono(&clock_system) + ns;
    struct timespec at = {(time_t)(until / NS_PER_S), (long)(until % NS_PER_S)};
    pthread_cond_clockwait(woken, &turns->lock, CLOCK_MONOTONIC, &at);
}

static void *serve_idle(void *ctx)
{
    struct turns *turns = ctx;
    pthread_mutex_lock(&turns->lock);
    while (!turns->stopping) {
        if (!turns->taken) {
            take_turn(turns, false);
            hand_on(turns);
        }
        if (!turns->stopping)
            wait_for(turns, &turns->stops, IDLE_NS);
    }
    pthread_mutex_unlock(&turns->lock);
    return NULL;
}

bool turns_start(struct turns *turns)
{
    turns->stopping = false;
    turns->started = pthread_create(&turns->thread, NULL, serve_idle, turns) == 0;
    return turns->started;
}

void turns_stop(struct turns *turns)
{
    pthread_mutex_lock(&turns->lock);
    turns->stopping = true;
    pthread_cond_signal(&turns->stops);
    pthread_mutex_unlock(&turns->lock);
    if (turns->started)
        pthread_join(turns->thread, NULL);
    turns->started = false;
}

void turns_begin(struct turns *turns, struct flight *flight, size_t count)
{
    *flight = (struct flight){.waiting = count};
    pthread_cond_init(&flight->woken, NULL);
    pthread_mutex_lock(&turns->lock);
    TAILQ_INSERT_TAIL(&turns->flights, flight, of_turns);
    pthread_mutex_unlock(&turns->lock);
}

void turns_land(struct turns *turns, struct flight *flight)
{
    if (atomic_fetch_sub(&flight->waiting, 1) > 1)
        return;
    pthread_mutex_lock(&turns->lock);
    flight->landed = true;
    TAILQ_REMOVE(&turns->flights, flight, of_turns);
    pthread_cond_signal(&flight->woken);
    pthread_mutex_unlock(&turns->lock);
}

bool turns_wait(struct turns *turns, struct flight *flight)
{
    pthread_mutex_lock(&turns->lock);
    if (!flight->landed && turns->taken)
        wait_for(turns, &flight->woken, WAIT_NS);
    else if (!flight->landed)
        take_turn(turns, true);
    bool landed = flight->landed;
    if (landed)
        hand_on(turns);
    pthread_mutex_unlock(&turns->lock);
    if (landed)
        pthread_cond_destroy(&flight->woken);
    return landed;
}
