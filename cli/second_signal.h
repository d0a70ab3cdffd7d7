/* Watches for a second SIGINT or SIGTERM while the process drains, and cuts that short. */
#ifndef CLI_SECOND_SIGNAL_H
#define CLI_SECOND_SIGNAL_H

#include <pthread.h>
#include <stdbool.h>

struct second_signal {
    volatile int hurry; /* set by the second signal */
    pthread_t thread;
    bool started;
    int signals; /* signalfd */
    int done;    /* eventfd, written when the drain is over */
};

/* Starts the watch; SIGINT and SIGTERM must be blocked in every thread. If it cannot start, nothing
 * is watched. */
void second_signal_start(struct second_signal *second);

/* Ends the watch. */
void second_signal_stop(struct second_signal *second);

#endif
