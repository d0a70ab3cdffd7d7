#include "exporters/kafka/turns.h"

#include "tests/support/suite.h"

#include <semaphore.h>

enum { WAITERS = 8, ROUNDS = 200 };

/* The client that is served: results are asked for, and a turn that waits brings them. */
static struct client {
    struct turns turns;
    pthread_mutex_t lock;
    struct flight *asked[WAITERS];
    size_t count;
    _Atomic unsigned serving, most, waiting_turns, idle_turns;
    sem_t idled;
} client;

static void serve(void *ctx, bool waits)
{
    struct client *self = ctx;
    struct flight *ready[WAITERS];
    unsigned now = atomic_fetch_add(&self->serving, 1) + 1;
    if (now > atomic_load(&self->most))
        atomic_store(&self->most, now);
    atomic_fetch_add(waits ? &self->waiting_turns : &self->idle_turns, 1);
    if (!waits)
        sem_post(&self->idled);
    pthread_mutex_lock(&self->lock);
    size_t count = waits ? self->count : 0;
    memcpy(ready, self->asked, count * sizeof *ready);
    self->count -= count;
    pthread_mutex_unlock(&self->lock);
    atomic_fetch_sub(&self->serving, 1);
    for (size_t i = 0; i < count; i++)
        turns_land(&self->turns, ready[i]);
}

static void start(void)
{
    client = (struct client){0};
    pthread_mutex_init(&client.lock, NULL);
    sem_init(&client.idled, 0, 0);
    turns_init(&client.turns, serve, &client);
}

static void stop(void)
{
    turns_stop(&client.turns);
    turns_release(&client.turns);
    sem_destroy(&client.idled);
    pthread_mutex_destroy(&client.lock);
}

static void ask(struct flight *flight)
{
    pthread_mutex_lock(&client.lock);
    client.asked[client.count++] = flight;
    pthread_mutex_unlock(&client.lock);
}

static void *ask_often(void *ctx)
{
    (void)ctx;
    for (int i = 0; i < ROUNDS; i++) {
        struct flight flight;
        turns_begin(&client.turns, &flight, 1);
        ask(&flight);
        while (!turns_wait(&client.turns, &flight))
            ;
    }
    return NULL;
}

START_TEST(each_gets_its_result_and_one_at_a_time_serves)
{
    pthread_t waiters[WAITERS];
    start();
    ck_assert(turns_start(&client.turns));
    for (size_t i = 0; i < WAITERS; i++)
        ck_assert_int_eq(pthread_create(&waiters[i], NULL, ask_often, NULL), 0);
    for (size_t i = 0; i < WAITERS; i++)
        pthread_join(waiters[i], NULL);
    ck_assert_uint_eq(client.most, 1);
    ck_assert_uint_gt(client.waiting_turns, 0);
    stop();
}
END_TEST

START_TEST(a_flight_lands_with_its_last_result)
{
    struct flight flight;
    start();
    turns_begin(&client.turns, &flight, 3);
    ask(&flight);
    ck_assert(!turns_wait(&client.turns, &flight));
    ask(&flight);
    ask(&flight);
    ck_assert(turns_wait(&client.turns, &flight));
    ck_assert_uint_eq(client.waiting_turns, 2);
    stop();
}
END_TEST

START_TEST(while_nobody_waits_its_thread_serves)
{
    start();
    ck_assert(turns_start(&client.turns));
    sem_wait(&client.idled);
    sem_wait(&client.idled);
    ck_assert_uint_eq(client.waiting_turns, 0);
    stop();
}
END_TEST

SUITE_MAIN("kafka/turns", each_gets_its_result_and_one_at_a_time_serves,
           a_flight_lands_with_its_last_result, while_nobody_waits_its_thread_serves)
