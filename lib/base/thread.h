/* Threads with a name, a small stack and all signals blocked. */
#ifndef LIB_BASE_THREAD_H
#define LIB_BASE_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* Starts a thread that executes run(ctx). name: at most 15 characters. False: the system cannot
 * create one. */
bool thread_start(pthread_t *thread, const char *name, void *(*run)(void *), void *ctx);

/* Initialises a condition variable whose timed waits use the monotonic clock. */
void thread_cond_init(pthread_cond_t *cond);

/* Waits until signalled or until mono_ns on clock_system's monotonic clock; TIME_NEVER: no
 * limit. */
void thread_cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *lock, uint64_t mono_ns);

#endif
