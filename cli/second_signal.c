#include "cli/second_signal.h"

#include "cli/cli.h"
#include "lib/base/log.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

enum { GRACE_MS = 700 };

/* True when fd is readable; false after the timeout. */
static bool wait_for(struct pollfd *fds, nfds_t count, int timeout_ms)
{
    int n;
    do
        n = poll(fds, count, timeout_ms);
    while (n < 0 && errno == EINTR);
    return n > 0;
}

static void *second_signal_watch(void *arg)
{
    struct second_signal *second = arg;
    struct pollfd fds[] = {{.fd = second->done, .events = POLLIN},
                           {.fd = second->signals, .events = POLLIN}};
    wait_for(fds, 2, -1);
    if (fds[0].revents)
        return NULL;
    log_warn("second signal: stopping immediately");
    __atomic_store_n(&second->hurry, 1, __ATOMIC_SEQ_CST);
    if (!wait_for(fds, 1, GRACE_MS)) {
        log_error("stopped before all held data were delivered");
        _exit(EXIT_LOST);
    }
    return NULL;
}

void second_signal_start(struct second_signal *second)
{
    *second = (struct second_signal){0};
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    second->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    second->done = eventfd(0, EFD_CLOEXEC);
    second->started = second->signals >= 0 && second->done >= 0 &&
                      pthread_create(&second->thread, NULL, second_signal_watch, second) == 0;
}

void second_signal_stop(struct second_signal *second)
{
    const uint64_t one = 1;
    if (second->started && write(second->done, &one, sizeof one) == sizeof one)
        pthread_join(second->thread, NULL);
    if (second->signals >= 0)
        close(second->signals);
    if (second->done >= 0)
        close(second->done);
}
