#include "lib/base/thread.h"

#include "lib/base/clock.h"

#include <signal.h>

enum { STACK_SIZE = 512 * 1024 };

bool thread_start(pthread_t *thread, const char *name, void *(*run)(void *), void *ctx)
{
    pthread_attr_t attr;
    sigset_t all, before;
    if (pthread_attr_init(&attr) != 0)
        return false;
    pthread_attr_setstacksize(&attr, STACK_SIZE);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = pthread_create(thread, &attr, run, ctx) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
    if (started)
        pthread_setname_np(*thread, name);
    return started;
}

void thread_cond_init(pthread_cond_t *cond)
{
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(cond, &attr);
    pthread_condattr_destroy(&attr);
}

void thread_cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *lock, uint64_t mono_ns)
{
    if (mono_ns == TIME_NEVER) {
        pthread_cond_wait(cond, lock);
        return;
    }
    struct timespec until = {.tv_sec = (time_t)(mono_ns / NS_PER_S),
                             .tv_nsec = (long)(mono_ns % NS_PER_S)};
    pthread_cond_timedwait(cond, lock, &until);
}
