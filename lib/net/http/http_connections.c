#include "lib/net/http/http_connections.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/net/http/http_socket.h"
#include "lib/net/listeners.h"
#include "lib/net/loopback.h"
#include "lib/net/room.h"

#define ACCEPT_BATCH 64
#define BACKLOG      4096
#define ACCEPT_PAUSE (100 * NS_PER_MS) /* when the process is out of file descriptors */
#define CATCH_UP                                                                                   \
    (2 * NS_PER_MS) /* while many connections were accepted or shut down but not handled yet */
#define UNSEEN_MAX  64
#define PAUSES_MAX  100 /* then those that have not been added are forgotten */
#define PHASE_BITS  3
#define LOOK        (300 * NS_PER_MS) /* between checks of connections that are not idle */
#define QUIET       (150 * NS_PER_MS) /* after this, nothing is in transit through the library */
#define LEAST_PAUSE NS_PER_MS
#define TELL_PAUSE  (60 * NS_PER_S)

struct http_connection {
    struct http_connection *next, *prev;
    int fd;
    _Atomic uint64_t mark;     /* start time of the phase, and the phase */
    _Atomic uint64_t received; /* bytes of the body */
    _Atomic enum http_shut why;

    /* Under the table's mutex. */
    uint64_t seen_mark, seen_received; /* at the last check */
    uint64_t changed_ns;               /* when one of them was last seen to change */
    uint64_t looked_ns;                /* when that was */
    uint64_t unread_ns;                /* how long its bytes waited for a busy thread since then */
    bool registered;                   /* with epoll, for the first byte of a request */
    bool watched;                      /* that byte has not arrived yet */
    uint64_t watch_mark;               /* mark at the start of the watch */
    uint64_t woken_ns;                 /* when the byte arrived */
};

struct http_connections {
    struct http_connections_options options;
    pthread_t thread;
    int epoll, wake, listener;
    uint64_t accept_again_ns; /* TIME_NEVER: accepting is not paused */
    uint64_t visit_ns;        /* when the table is scanned next */

    pthread_mutex_t mutex;
    pthread_cond_t refused;
    struct http_connection open; /* ring, in order of age */
    unsigned count, shut;
    unsigned coming;              /* accepted but not added yet */
    uint64_t full;                /* connections closed for room that no line has told yet; ... */
    uint64_t tell_ns, lack_ns;    /* ... mono: no line about them before; see room_tell_lack */
    unsigned pauses;              /* in a row; looks for such connections count too */
    struct http_connection *gone; /* freed by the thread once no event can refer to them */
    bool refuse, closed, stop;
};

static uint64_t now_ns(void)
{
    return clock_mono(&clock_system);
}

static uint64_t mark_of(uint64_t since, enum http_phase phase)
{
    return since << PHASE_BITS | phase;
}

static enum http_phase mark_phase(uint64_t mark)
{
    return (enum http_phase)(mark & ((1u << PHASE_BITS) - 1));
}

static uint64_t later(uint64_t since, uint64_t timeout)
{
    return timeout && timeout < TIME_NEVER - since ? since + timeout : TIME_NEVER;
}

static uint64_t http_connections_least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

bool http_connection_mark(struct http_connection *connection, enum http_phase phase)
{
    uint64_t old = atomic_load_explicit(&connection->mark, memory_order_relaxed), since = now_ns();
    if (phase == HTTP_BODY)
        atomic_store_explicit(&connection->received, 0, memory_order_relaxed);
    do {
        if (mark_phase(old) == HTTP_SHUT)
            return false;
        if (phase == HTTP_HEADER && mark_phase(old) == HTTP_FRESH)
            since = old >> PHASE_BITS;
    } while (!atomic_compare_exchange_weak(&connection->mark, &old, mark_of(since, phase)));
    return true;
}

enum http_shut http_connection_shut(const struct http_connection *connection)
{
    bool shut = mark_phase(atomic_load(&connection->mark)) == HTTP_SHUT;
    return shut ? atomic_load(&connection->why) : HTTP_SHUT_NOT;
}

bool http_connection_receive(struct http_connection *connection, uint64_t bytes)
{
    atomic_store_explicit(&connection->received, bytes, memory_order_relaxed);
    return mark_phase(atomic_load_explicit(&connection->mark, memory_order_relaxed)) != HTTP_SHUT;
}

/* Under the mutex. False: the connection has made progress meanwhile. */
static bool shut_down(struct http_connections *all, struct http_connection *connection,
                      uint64_t seen, enum http_shut why)
{
    atomic_store(&connection->why, why);
    if (!atomic_compare_exchange_strong(&connection->mark, &seen, mark_of(0, HTTP_SHUT)))
        return false;
    /* Best effort: the client may have left, and the library may be about to answer by itself. */
    if (all->options.cleartext)
        http_socket_say(connection->fd, mark_phase(seen), why);
    shutdown(connection->fd, SHUT_RDWR);
    all->shut++;
    return true;
}

/* Under the mutex. The time of the last known activity. */
static uint64_t activity(const struct http_connection *connection, uint64_t mark)
{
    uint64_t since = mark >> PHASE_BITS;
    bool same = connection->seen_mark == mark && connection->changed_ns > since;
    return same ? connection->changed_ns : since;
}

/* Under the mutex. The connection without activity for longest; NULL: all are busy. One that has
 * sent what nobody has read yet, or has just come, is taken only if all are such. */
static struct http_connection *oldest(struct http_connections *all, uint64_t *seen)
{
    struct http_connection *found = NULL;
    uint64_t since = TIME_NEVER, quiet = now_ns() - QUIET;
    bool waits = true;
    for (struct http_connection *it = all->open.next; it != &all->open; it = it->next) {
        uint64_t mark = atomic_load_explicit(&it->mark, memory_order_relaxed);
        enum http_phase phase = mark_phase(mark);
        uint64_t active = activity(it, mark);
        if (phase == HTTP_BUSY || phase == HTTP_SHUT || (!waits && active >= since))
            continue;
        bool awaited = active > quiet || http_socket_unread(it->fd);
        if (found && awaited && (!waits || active >= since))
            continue;
        found = it;
        since = active;
        waits = awaited;
        *seen = mark;
    }
    return found;
}

/* Under the mutex. */
static void tell_full(struct http_connections *all)
{
    uint64_t now = now_ns();
    all->full++;
    if (now < all->tell_ns)
        return;
    log_of(&all->options.source, LOG_WARN,
           "%" PRIu64 " connection%s closed to make room for new ones: more than %u at once, or "
           "than the memory budget has room for",
           all->full, all->full == 1 ? "" : "s", all->options.max);
    all->full = 0;
    all->tell_ns = now + TELL_PAUSE;
}

/* Under the mutex. */
static bool http_connections_make_room(struct http_connections *all)
{
    uint64_t seen = 0;
    struct http_connection *victim;
    while ((victim = oldest(all, &seen)) && !shut_down(all, victim, seen, HTTP_SHUT_FOR_ROOM)) {
    }
    return victim;
}

struct http_connection *http_connections_add(struct http_connections *all, int fd)
{
    struct http_connection *connection = calloc(1, sizeof *connection);
    if (!connection)
        return NULL;
    connection->fd = fd;
    atomic_init(&connection->mark, mark_of(now_ns(), HTTP_FRESH));
    bool had_room = room_charge(all->options.budget, all->options.cost);
    pthread_mutex_lock(&all->mutex);
    all->coming -= all->coming > 0;
    connection->next = &all->open;
    connection->prev = all->open.prev;
    connection->prev->next = all->open.prev = connection;
    unsigned open = ++all->count - all->shut;
    bool full = open > all->options.max ||
                room_is_short(all->options.budget, all->options.cost, open, had_room);
    if (full && http_connections_make_room(all))
        tell_full(all);
    pthread_mutex_unlock(&all->mutex);
    return connection;
}

void http_connections_remove(struct http_connections *all, struct http_connection *connection)
{
    pthread_mutex_lock(&all->mutex);
    if (connection->registered)
        epoll_ctl(all->epoll, EPOLL_CTL_DEL, connection->fd, NULL);
    connection->next->prev = connection->prev;
    connection->prev->next = connection->next;
    connection->next = all->gone;
    all->gone = connection;
    all->count--;
    if (mark_phase(connection->mark) == HTTP_SHUT)
        all->shut--;
    pthread_mutex_unlock(&all->mutex);
    room_return(all->options.budget, all->options.cost);
}

/* Under the mutex: from now on the first byte wakes the thread, once. */
static void http_connections_watch(struct http_connections *all, struct http_connection *connection,
                                   uint64_t mark)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLET | EPOLLONESHOT, .data.ptr = connection};
    int how = connection->registered ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
    if (epoll_ctl(all->epoll, how, connection->fd, &event) != 0)
        return;
    connection->registered = connection->watched = true;
    connection->watch_mark = mark;
}

/* Time until the next check of unwatched connections: at most a timeout. */
static uint64_t look_after(const struct http_connections *all)
{
    const struct http_connections_options *options = &all->options;
    uint64_t timeout = http_connections_least(later(0, options->header_timeout_ns),
                                              later(0, options->idle_timeout_ns));
    return http_connections_least(
        LOOK, http_connections_least(timeout, later(0, options->body_timeout_ns)));
}

/* Under the mutex. A connection that has been idle for a while is watched: then only its first byte
 * or its deadline causes a wakeup. */
static uint64_t idle_deadline(struct http_connections *all, struct http_connection *connection,
                              uint64_t mark, uint64_t now)
{
    uint64_t since = mark >> PHASE_BITS;
    if (!connection->watched && connection->watch_mark == mark)
        return later(connection->woken_ns + connection->unread_ns, all->options.header_timeout_ns);
    if (!connection->watched && later(since, look_after(all)) <= now)
        http_connections_watch(all, connection, mark);
    return later(since, all->options.idle_timeout_ns);
}

/* Under the mutex. */
static uint64_t body_deadline(const struct http_connections *all,
                              const struct http_connection *connection, uint64_t since)
{
    uint64_t timeout = all->options.body_timeout_ns, rate = all->options.body_rate;
    uint64_t earned = rate ? connection->seen_received / rate * NS_PER_S : TIME_NEVER;
    uint64_t slow = later(since + connection->unread_ns, earned > timeout ? earned : timeout);
    return http_connections_least(later(connection->changed_ns, timeout), rate ? slow : TIME_NEVER);
}

/* Under the mutex. */
static uint64_t deadline(struct http_connections *all, struct http_connection *connection,
                         uint64_t mark, uint64_t now)
{
    uint64_t since = mark >> PHASE_BITS;
    switch (mark_phase(mark)) {
    case HTTP_FRESH:
    case HTTP_HEADER:
        return later(since + connection->unread_ns, all->options.header_timeout_ns);
    case HTTP_IDLE:
        return idle_deadline(all, connection, mark, now);
    case HTTP_BODY:
        return body_deadline(all, connection, since);
    case HTTP_REPLY:
        return later(since, all->options.idle_timeout_ns);
    case HTTP_BUSY:
    case HTTP_SHUT:
        break;
    }
    return TIME_NEVER;
}

static bool awaits_bytes(enum http_phase phase)
{
    return phase == HTTP_FRESH || phase == HTTP_IDLE || phase == HTTP_HEADER || phase == HTTP_BODY;
}

/* Under the mutex. Bytes that nobody reads are not late: then it is this process that is busy. */
static void http_connections_look(struct http_connection *connection, uint64_t mark, uint64_t now)
{
    uint64_t received = atomic_load_explicit(&connection->received, memory_order_relaxed);
    if (mark != connection->seen_mark) {
        connection->changed_ns = connection->looked_ns = mark >> PHASE_BITS;
        connection->unread_ns = 0;
    } else if (received != connection->seen_received) {
        connection->changed_ns = now;
    }
    uint64_t looked = connection->looked_ns, changed = connection->changed_ns;
    if (changed < now && !connection->watched && awaits_bytes(mark_phase(mark)) &&
        http_socket_unread(connection->fd)) {
        connection->unread_ns += now - (looked > changed ? looked : changed);
        connection->changed_ns = now;
    }
    connection->seen_mark = mark;
    connection->seen_received = received;
    connection->looked_ns = now;
}

/* Under the mutex. Whether the client has left before the end of its request. */
static bool is_dead(const struct http_connection *connection, uint64_t mark, uint64_t now)
{
    return awaits_bytes(mark_phase(mark)) && !connection->watched &&
           now >= connection->changed_ns + QUIET && http_socket_left(connection->fd);
}

/* Under the mutex. Shuts down an overdue connection; returns when to check again. */
static uint64_t visit(struct http_connections *all, struct http_connection *connection,
                      uint64_t now)
{
    uint64_t mark = atomic_load_explicit(&connection->mark, memory_order_relaxed);
    http_connections_look(connection, mark, now);
    uint64_t due = deadline(all, connection, mark, now), again = later(now, look_after(all));
    bool dead = is_dead(connection, mark, now);
    if (mark_phase(mark) == HTTP_SHUT)
        return TIME_NEVER;
    if ((dead || due <= now) &&
        shut_down(all, connection, mark, dead ? HTTP_SHUT_LEFT : HTTP_SHUT_LATE))
        return TIME_NEVER;
    return connection->watched ? due : http_connections_least(again, due);
}

/* Under the mutex. When to look for connections that were accepted, but that a busy thread has not
 * added yet: until then this thread does not see them. */
static uint64_t look_for_new(struct http_connections *all, uint64_t now)
{
    if (!all->coming)
        return TIME_NEVER;
    if (++all->pauses > PAUSES_MAX)
        all->coming = all->pauses = 0;
    return later(now, look_after(all));
}

static void visit_all(struct http_connections *all)
{
    uint64_t now = now_ns(), next, pause = look_after(all) / 8;
    pthread_mutex_lock(&all->mutex);
    next = look_for_new(all, now);
    for (struct http_connection *it = all->open.next; it != &all->open; it = it->next)
        next = http_connections_least(next, visit(all, it, now));
    pthread_mutex_unlock(&all->mutex);
    /* Deadlines close together share a wakeup. */
    pause = pause < LEAST_PAUSE ? LEAST_PAUSE : pause;
    all->visit_ns = next < now + pause ? now + pause : next;
}

static void visit_by(struct http_connections *all, uint64_t when)
{
    if (when < all->visit_ns)
        all->visit_ns = when;
}

static void listen_for(struct http_connections *all, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.ptr = &all->listener};
    epoll_ctl(all->epoll, EPOLL_CTL_MOD, all->listener, &event);
}

static void pause_accepting(struct http_connections *all, int why)
{
    room_tell_lack(&all->lack_ns, &all->options.source, why);
    pthread_mutex_lock(&all->mutex);
    http_connections_make_room(all);
    pthread_mutex_unlock(&all->mutex);
    listen_for(all, 0);
    all->accept_again_ns = now_ns() + ACCEPT_PAUSE;
}

static void comes(struct http_connections *all, int change)
{
    pthread_mutex_lock(&all->mutex);
    if (change > 0)
        all->coming++;
    else if (all->coming)
        all->coming--;
    pthread_mutex_unlock(&all->mutex);
}

/* False: no pending connection is left. */
static bool accept_one(struct http_connections *all)
{
    struct sockaddr_storage address;
    socklen_t size = sizeof address;
    int fd =
        accept4(all->listener, (struct sockaddr *)&address, &size, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd >= 0) {
        loopback_unpace(fd, (const struct sockaddr *)&address);
        comes(all, 1);
        if (!all->options.admit(all->options.ctx, fd, (struct sockaddr *)&address, size))
            comes(all, -1);
        return true;
    }
    if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
        pause_accepting(all, errno);
    return errno == ECONNABORTED || errno == EINTR;
}

/* Connections just accepted or shut down take memory in addition to those within the maximum, until
 * the serving threads have handled them. */
static bool is_ahead(struct http_connections *all)
{
    pthread_mutex_lock(&all->mutex);
    bool ahead = all->coming + all->shut >= UNSEEN_MAX;
    all->pauses = ahead ? all->pauses + 1 : 0;
    if (all->pauses > PAUSES_MAX)
        all->coming = all->pauses = 0;
    pthread_mutex_unlock(&all->mutex);
    if (ahead) {
        listen_for(all, 0);
        all->accept_again_ns = now_ns() + CATCH_UP;
    }
    return ahead;
}

static void accept_some(struct http_connections *all)
{
    for (int i = 0; i < ACCEPT_BATCH && !is_ahead(all) && accept_one(all); i++) {
    }
    visit_by(all, later(now_ns(), look_after(all)));
}

static void first_byte(struct http_connections *all, struct http_connection *connection)
{
    pthread_mutex_lock(&all->mutex);
    connection->watched = false;
    connection->woken_ns = now_ns();
    pthread_mutex_unlock(&all->mutex);
    visit_by(all, later(connection->woken_ns, look_after(all)));
}

static void http_connections_handle(struct http_connections *all, const struct epoll_event *event)
{
    eventfd_t ignored;
    if (event->data.ptr == &all->wake) {
        eventfd_read(all->wake, &ignored);
    } else if (event->data.ptr == &all->listener) {
        if (all->listener >= 0)
            accept_some(all);
    } else {
        first_byte(all, event->data.ptr);
    }
}

static void stop_listening(struct http_connections *all)
{
    bool shared = listeners_share(all->listener);
    for (int i = 0; !shared && i < 2 * BACKLOG && accept_one(all); i++) {
    }
    epoll_ctl(all->epoll, EPOLL_CTL_DEL, all->listener, NULL);
    listeners_close(all->listener);
    all->listener = -1;
    all->accept_again_ns = TIME_NEVER;
    visit_by(all, later(now_ns(), look_after(all)));
    pthread_mutex_lock(&all->mutex);
    all->closed = true;
    pthread_cond_broadcast(&all->refused);
    pthread_mutex_unlock(&all->mutex);
}

static void free_gone(struct http_connection *gone)
{
    while (gone) {
        struct http_connection *next = gone->next;
        free(gone);
        gone = next;
    }
}

/* Runs between two waits. False: stop. */
static bool housekeeping(struct http_connections *all)
{
    uint64_t now = now_ns();
    if (all->accept_again_ns <= now) {
        all->accept_again_ns = TIME_NEVER;
        listen_for(all, EPOLLIN);
    }
    if (all->visit_ns <= now)
        visit_all(all);
    pthread_mutex_lock(&all->mutex);
    bool refuse = all->refuse, go_on = !all->stop;
    free_gone(all->gone);
    all->gone = NULL;
    pthread_mutex_unlock(&all->mutex);
    if (refuse && all->listener >= 0)
        stop_listening(all);
    return go_on;
}

static int wait_ms(const struct http_connections *all)
{
    uint64_t until = all->visit_ns, now = now_ns();
    if (all->accept_again_ns < until)
        until = all->accept_again_ns;
    if (until == TIME_NEVER)
        return -1;
    uint64_t ms = until <= now ? 0 : (until - now + NS_PER_MS - 1) / NS_PER_MS;
    return ms > 3600000 ? 3600000 : (int)ms;
}

static void *http_connections_run(void *arg)
{
    struct http_connections *all = arg;
    struct epoll_event events[ACCEPT_BATCH];
    while (housekeeping(all)) {
        int n = epoll_wait(all->epoll, events, ACCEPT_BATCH, wait_ms(all));
        for (int i = 0; i < n; i++)
            http_connections_handle(all, &events[i]);
    }
    return NULL;
}

bool http_connections_start(struct http_connections *all)
{
    struct epoll_event listener = {.events = EPOLLIN, .data.ptr = &all->listener};
    struct epoll_event wake = {.events = EPOLLIN, .data.ptr = &all->wake};
    if (all->epoll < 0 || all->wake < 0 ||
        epoll_ctl(all->epoll, EPOLL_CTL_ADD, all->listener, &listener) != 0 ||
        epoll_ctl(all->epoll, EPOLL_CTL_ADD, all->wake, &wake) != 0)
        return false;
    sigset_t every, before;
    sigfillset(&every);
    pthread_sigmask(SIG_SETMASK, &every, &before);
    int failed = pthread_create(&all->thread, NULL, http_connections_run, all);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return !failed;
}

struct http_connections *http_connections_new(const struct http_connections_options *options)
{
    struct http_connections *all = calloc(1, sizeof *all);
    if (!all) {
        listeners_close(options->listener);
        return NULL;
    }
    all->options = *options;
    all->listener = options->listener;
    all->epoll = epoll_create1(EPOLL_CLOEXEC);
    all->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    all->visit_ns = all->accept_again_ns = TIME_NEVER;
    all->open.next = all->open.prev = &all->open;
    pthread_mutex_init(&all->mutex, NULL);
    pthread_cond_init(&all->refused, NULL);
    return all;
}

void http_connections_stop_accepting(struct http_connections *all)
{
    pthread_mutex_lock(&all->mutex);
    all->refuse = true;
    eventfd_write(all->wake, 1);
    while (!all->closed)
        pthread_cond_wait(&all->refused, &all->mutex);
    pthread_mutex_unlock(&all->mutex);
}

void http_connections_stop(struct http_connections *all)
{
    pthread_mutex_lock(&all->mutex);
    all->stop = true;
    pthread_mutex_unlock(&all->mutex);
    eventfd_write(all->wake, 1);
    pthread_join(all->thread, NULL);
}

void http_connections_free(struct http_connections *all)
{
    free_gone(all->gone);
    if (all->listener >= 0)
        listeners_close(all->listener);
    if (all->wake >= 0)
        close(all->wake);
    if (all->epoll >= 0)
        close(all->epoll);
    pthread_mutex_destroy(&all->mutex);
    pthread_cond_destroy(&all->refused);
    free(all);
}
