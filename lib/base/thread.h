/* Threads of ours: named, small stack, no signals delivered to them. */
#ifndef LIB_BASE_THREAD_H
#define LIB_BASE_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* Starts run(ctx). name: at most 15 characters. False: the system has no thread for us. */
bool thread_start(pthread_t *thread, const char *name, void *(*run)(void *), void *ctx);

/* A condition whose timed waits are on the monotonic clock. */
void thread_cond_init(pthread_cond_t *cond);

/* Waits until signalled or until a time of clock_system's mono; TIME_NEVER: no limit. */
void thread_cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *lock, uint64_t mono_ns);

#endif
