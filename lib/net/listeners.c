#include "lib/net/listeners.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct listener {
    struct listener *next;
    int fd;
    const _Atomic bool *yields;
    struct endpoint endpoint;
    char bound[300];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct listener *listeners; /* under lock */

static bool listeners_same(const struct endpoint *a, const struct endpoint *b)
{
    return strcmp(a->host, b->host) == 0 && strcmp(a->service, b->service) == 0 &&
           strcmp(a->unix_path, b->unix_path) == 0;
}

static bool yields(const struct listener *listener)
{
    return listener->yields && *listener->yields;
}

/* Listeners that yield allow others on their port, which must set SO_REUSEPORT too. */
static void allow_others(bool allow)
{
    int on = allow;
    for (const struct listener *at = listeners; at; at = at->next)
        if (yields(at) && !at->endpoint.unix_path[0])
            setsockopt(at->fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
}

static bool any_yields(void)
{
    for (const struct listener *at = listeners; at; at = at->next)
        if (yields(at))
            return true;
    return false;
}

static int listen_beside(const struct endpoint *endpoint, char *bound, size_t bound_size,
                         char *error, size_t error_size)
{
    struct endpoint beside = *endpoint;
    int off = 0;
    beside.beside = any_yields();
    allow_others(true);
    int fd = endpoint_listen(&beside, bound, bound_size, error, error_size);
    if (fd >= 0 && beside.beside && !endpoint->unix_path[0])
        setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &off, sizeof off);
    allow_others(false);
    return fd;
}

/* Whether the system chooses the port, which is a new one each time. */
static bool any_port(const struct endpoint *endpoint)
{
    return strcmp(endpoint->service, "0") == 0;
}

/* -1: nothing to take over, or no descriptor. */
static int take_over(struct listener *by)
{
    for (const struct listener *at = listeners; at; at = at->next)
        if (yields(at) &&
            ((listeners_same(&at->endpoint, &by->endpoint) && !any_port(&by->endpoint)) ||
             strcmp(at->bound, by->bound) == 0)) {
            snprintf(by->bound, sizeof by->bound, "%s", at->bound);
            return fcntl(at->fd, F_DUPFD_CLOEXEC, 0);
        }
    return -1;
}

static int open_listener(struct listener *listener, char *error, size_t error_size)
{
    int fd = take_over(listener);
    if (fd >= 0)
        return fd;
    fd = listen_beside(&listener->endpoint, listener->bound, sizeof listener->bound, error,
                       error_size);
    /* The same address, spelled differently. */
    int taken = fd >= 0 ? take_over(listener) : -1;
    if (taken < 0)
        return fd;
    close(fd);
    return taken;
}

int listeners_open(const struct endpoint *endpoint, const _Atomic bool *yields_to_others,
                   char *bound, size_t bound_size, char *error, size_t error_size)
{
    struct listener *listener = calloc(1, sizeof *listener);
    if (!listener) {
        snprintf(error, error_size, "out of memory");
        return -1;
    }
    listener->endpoint = *endpoint;
    pthread_mutex_lock(&lock);
    int fd = open_listener(listener, error, error_size);
    if (fd >= 0) {
        if (bound)
            snprintf(bound, bound_size, "%s", listener->bound);
        listener->fd = fd;
        listener->yields = yields_to_others;
        listener->next = listeners;
        listeners = listener;
    } else {
        free(listener);
    }
    pthread_mutex_unlock(&lock);
    return fd;
}

static struct listener **listeners_find(int fd)
{
    struct listener **at = &listeners;
    while (*at && (*at)->fd != fd)
        at = &(*at)->next;
    return at;
}

/* Whether another listener has the same address, and thus the same socket. */
static bool shared(const struct listener *listener)
{
    for (const struct listener *at = listeners; at; at = at->next)
        if (at != listener && strcmp(at->bound, listener->bound) == 0)
            return true;
    return false;
}

bool listeners_share(int fd)
{
    pthread_mutex_lock(&lock);
    const struct listener *listener = *listeners_find(fd);
    bool is = listener && shared(listener);
    pthread_mutex_unlock(&lock);
    return is;
}

void listeners_close(int fd)
{
    pthread_mutex_lock(&lock);
    struct listener **at = listeners_find(fd), *listener = *at;
    if (listener) {
        if (!shared(listener))
            endpoint_unlink(&listener->endpoint);
        *at = listener->next;
        free(listener);
    }
    close(fd);
    pthread_mutex_unlock(&lock);
}
