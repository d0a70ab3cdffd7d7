#include "pipeline/graph/gate.h"

void gate_init(struct gate *gate)
{
    *gate = (struct gate){0};
    pthread_mutex_init(&gate->lock, NULL);
    pthread_cond_init(&gate->changed, NULL);
}

void gate_release(struct gate *gate)
{
    pthread_mutex_destroy(&gate->lock);
    pthread_cond_destroy(&gate->changed);
}

bool gate_enter(struct gate *gate, const enum gate_mode *mode)
{
    pthread_mutex_lock(&gate->lock);
    while (gate->closed || *mode == GATE_WAITS)
        pthread_cond_wait(&gate->changed, &gate->lock);
    bool entered = *mode == GATE_OPEN;
    if (entered)
        gate->inside++;
    pthread_mutex_unlock(&gate->lock);
    return entered;
}

bool gate_try_enter(struct gate *gate)
{
    pthread_mutex_lock(&gate->lock);
    bool entered = !gate->closed;
    gate->inside += entered;
    pthread_mutex_unlock(&gate->lock);
    return entered;
}

void gate_leave(struct gate *gate)
{
    pthread_mutex_lock(&gate->lock);
    if (--gate->inside == 0 && gate->closed)
        pthread_cond_broadcast(&gate->changed);
    pthread_mutex_unlock(&gate->lock);
}

void gate_close(struct gate *gate)
{
    pthread_mutex_lock(&gate->lock);
    gate->closed = true;
    while (gate->inside)
        pthread_cond_wait(&gate->changed, &gate->lock);
    pthread_mutex_unlock(&gate->lock);
}

void gate_open(struct gate *gate)
{
    pthread_mutex_lock(&gate->lock);
    gate->closed = false;
    pthread_cond_broadcast(&gate->changed);
    pthread_mutex_unlock(&gate->lock);
}
