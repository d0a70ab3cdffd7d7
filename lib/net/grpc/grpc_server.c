#include "lib/net/grpc/grpc_connection.h"

#include "lib/base/clock.h"
#include "lib/net/listeners.h"
#include "lib/net/loopback.h"
#include "lib/net/room.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

enum { EVENTS_AT_ONCE = 64, ACCEPTS_AT_ONCE = 64, LAST_ACCEPTS = 64 };

#define ACCEPT_PAUSE_NS    (100 * NS_PER_MS) /* when the process is out of file descriptors */
#define MESSAGE_TIMEOUT_NS (10 * NS_PER_S)
#define MESSAGE_RATE       1024
#define BUSY_LONG          (100 * NS_PER_MS)

/* ---- loops ---- */

void grpc_loop_wake(struct grpc_loop *loop)
{
    const uint64_t one = 1;
    ssize_t written = write(loop->wake, &one, sizeof one);
    (void)written; /* can only fail if a wakeup is already pending */
}

void grpc_loop_due(struct grpc_loop *loop, uint64_t deadline)
{
    if (deadline < loop->next_check)
        loop->next_check = deadline;
}

static bool grpc_server_watch(struct grpc_loop *loop, int fd, void *what)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = what};
    return epoll_ctl(loop->epoll, EPOLL_CTL_ADD, fd, &event) == 0;
}

static void evict_longest_idle(struct grpc_loop *loop)
{
    struct grpc_connection *each, *idle = NULL;
    TAILQ_FOREACH(each, &loop->connections, of_loop)
    if (each->handled == 0 && (!idle || each->progress < idle->progress))
        idle = each;
    if (idle)
        grpc_connection_evict(idle);
}

static void discard(struct grpc_connection *connection)
{
    struct grpc_loop *loop = connection->loop;
    struct grpc_server *server = loop->server;
    close(connection->fd);
    free(connection);
    atomic_fetch_sub(&loop->connection_count, 1);
    grpc_server_unref(server);
}

static size_t count_open(const struct grpc_server *server)
{
    size_t count = 0;
    for (unsigned i = 0; i < server->loop_count; i++)
        count += atomic_load(&server->loops[i].connection_count);
    return count;
}

static void adopt(struct grpc_loop *loop, struct grpc_connection *connection)
{
    struct budget *budget = loop->server->options.budget;
    bool had_room = room_charge(budget, GRPC_CONNECTION_COST);
    size_t open = count_open(loop->server);
    if (atomic_load(&loop->connection_count) > loop->room ||
        room_is_short(budget, GRPC_CONNECTION_COST, open, had_room))
        evict_longest_idle(loop);
    connection->charged = GRPC_CONNECTION_COST;
    bool full = atomic_load(&loop->connection_count) > loop->room;
    bool late = loop->draining && !atomic_load(&loop->server->retiring);
    if (full || late || !grpc_server_watch(loop, connection->fd, connection)) {
        room_return(budget, connection->charged);
        discard(connection);
    } else {
        grpc_connection_start(connection);
    }
}

static struct grpc_loop *roomiest_loop(struct grpc_server *server)
{
    struct grpc_loop *best = &server->loops[0];
    size_t best_count = atomic_load(&best->connection_count);
    for (unsigned i = 1; i < server->loop_count; i++) {
        struct grpc_loop *loop = &server->loops[i];
        size_t count = atomic_load(&loop->connection_count);
        if (count * best->room < best_count * loop->room) {
            best = loop;
            best_count = count;
        }
    }
    return best;
}

static void hand_over(struct grpc_loop *loop, int fd, const struct sockaddr *peer)
{
    const int one = 1;
    struct grpc_loop *to = roomiest_loop(loop->server);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    struct grpc_connection *connection = grpc_connection_new(to, fd, peer);
    if (!connection)
        return;
    if (to == loop) {
        adopt(loop, connection);
        return;
    }
    pthread_mutex_lock(&to->mutex);
    STAILQ_INSERT_TAIL(&to->inbox, connection, of_inbox);
    pthread_mutex_unlock(&to->mutex);
    grpc_loop_wake(to);
}

static void pause_accepting(struct grpc_loop *loop)
{
    if (loop->accepting)
        epoll_ctl(loop->epoll, EPOLL_CTL_DEL, loop->server->listener, NULL);
    loop->accepting = false;
}

static void accept_some(struct grpc_loop *loop)
{
    for (int i = 0; i < ACCEPTS_AT_ONCE; i++) {
        struct sockaddr_storage peer;
        socklen_t size = sizeof peer;
        int fd = accept4(loop->server->listener, (struct sockaddr *)&peer, &size,
                         SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0) {
            loopback_unpace(fd, (const struct sockaddr *)&peer);
            hand_over(loop, fd, (const struct sockaddr *)&peer);
        } else if (errno != EINTR && errno != ECONNABORTED) {
            if (errno == EAGAIN)
                return;
            room_tell_lack(&loop->lack_ns, &loop->server->options.source, errno);
            pause_accepting(loop);
            grpc_loop_due(loop, loop->now + ACCEPT_PAUSE_NS);
            return;
        }
    }
}

/* A server that retires gives up its socket immediately, to the server that has taken it over or to
 * none; in the latter case pending connections are still accepted. */
static void stop_accepting(struct grpc_loop *loop)
{
    struct grpc_server *server = loop->server;
    bool leaves = loop == server->loops && atomic_load(&server->retiring);
    bool shared = leaves && listeners_share(server->listener);
    for (int i = 0; leaves && !shared && loop->accepting && i < LAST_ACCEPTS; i++)
        accept_some(loop);
    pause_accepting(loop);
    if (leaves) {
        listeners_close(server->listener);
        server->listener = -1;
    }
}

static void adopt_inbox(struct grpc_loop *loop)
{
    struct grpc_inbox inbox = STAILQ_HEAD_INITIALIZER(inbox);
    struct grpc_connection *connection;
    pthread_mutex_lock(&loop->mutex);
    STAILQ_CONCAT(&inbox, &loop->inbox);
    pthread_mutex_unlock(&loop->mutex);
    while ((connection = STAILQ_FIRST(&inbox))) {
        STAILQ_REMOVE_HEAD(&inbox, of_inbox);
        adopt(loop, connection);
    }
}

void grpc_loop_answer(struct grpc_loop *loop)
{
    struct grpc_answers answered = STAILQ_HEAD_INITIALIZER(answered);
    struct grpc_call *call;
    pthread_mutex_lock(&loop->mutex);
    STAILQ_CONCAT(&answered, &loop->answered);
    pthread_mutex_unlock(&loop->mutex);
    while ((call = STAILQ_FIRST(&answered))) {
        STAILQ_REMOVE_HEAD(&answered, of_answered);
        grpc_call_submit(call);
    }
}

static void begin_drain(struct grpc_loop *loop)
{
    struct grpc_connection *each, *next;
    loop->draining = true;
    stop_accepting(loop);
    for (each = TAILQ_FIRST(&loop->connections); each; each = next) {
        next = TAILQ_NEXT(each, of_loop);
        grpc_connection_drain(each);
    }
}

/* Deadlines are postponed far more often than they expire, so they are only scanned when the
 * earliest known one is reached. */
static void expire(struct grpc_loop *loop)
{
    struct grpc_connection *each, *next;
    if (loop->now < loop->next_check)
        return;
    loop->next_check = TIME_NEVER;
    for (each = TAILQ_FIRST(&loop->connections); each; each = next) {
        next = TAILQ_NEXT(each, of_loop);
        if (each->calls_due <= loop->now)
            grpc_calls_check_deadlines(each);
        if (each->keepalive.due <= loop->now)
            grpc_keepalive_expire(each);
        else
            grpc_loop_due(loop, each->keepalive.due);
        if (each->deadline <= loop->now)
            grpc_connection_expire(each);
        else
            grpc_loop_due(loop, each->deadline);
        grpc_loop_due(loop, each->calls_due);
    }
    if (loop == loop->server->loops && !loop->accepting && !loop->draining)
        loop->accepting = grpc_server_watch(loop, loop->server->listener, loop->server);
}

static void flush_dirty(struct grpc_loop *loop)
{
    struct grpc_connection *connection;
    while ((connection = STAILQ_FIRST(&loop->dirty))) {
        STAILQ_REMOVE_HEAD(&loop->dirty, of_dirty);
        connection->dirty = false;
        grpc_connection_flush(connection);
    }
}

void grpc_loop_reap(struct grpc_loop *loop)
{
    struct grpc_connection *connection;
    while ((connection = TAILQ_FIRST(&loop->dead))) {
        TAILQ_REMOVE(&loop->dead, connection, of_loop);
        free(connection);
        grpc_server_unref(loop->server);
    }
}

static void dispatch(struct grpc_loop *loop, const struct epoll_event *event)
{
    uint64_t count;
    if (event->data.ptr == loop->server) {
        accept_some(loop);
    } else if (event->data.ptr == loop) {
        ssize_t got = read(loop->wake, &count, sizeof count);
        (void)got;
    } else {
        grpc_connection_event(event->data.ptr, event->events);
    }
}

static int patience_ms(const struct grpc_loop *loop)
{
    if (loop->next_check == TIME_NEVER)
        return -1;
    uint64_t now = clock_mono(&clock_system);
    uint64_t ms = loop->next_check > now ? (loop->next_check - now) / NS_PER_MS + 1 : 0;
    return ms < 3600000 ? (int)ms : 3600000;
}

/* What arrived while a call took long is not late: nobody read it. */
static void postpone(struct grpc_loop *loop)
{
    struct grpc_connection *each;
    uint64_t took = clock_mono(&clock_system) - loop->now;
    if (took < BUSY_LONG)
        return;
    TAILQ_FOREACH(each, &loop->connections, of_loop)
    {
        grpc_calls_postpone(each, took);
        grpc_keepalive_postpone(each, took);
        if (each->deadline != TIME_NEVER)
            each->deadline += took;
    }
}

static void turn(struct grpc_loop *loop)
{
    struct epoll_event events[EVENTS_AT_ONCE];
    int n = epoll_wait(loop->epoll, events, EVENTS_AT_ONCE, patience_ms(loop));
    loop->now = clock_mono(&clock_system);
    for (int i = 0; i < n; i++)
        dispatch(loop, &events[i]);
    adopt_inbox(loop);
    if (atomic_load(&loop->server->draining) && !loop->draining)
        begin_drain(loop);
    grpc_loop_answer(loop);
    expire(loop);
    flush_dirty(loop);
    grpc_loop_reap(loop);
    postpone(loop);
}

static void *run_loop(void *arg)
{
    struct grpc_loop *loop = arg;
    while (!atomic_load(&loop->server->stopping))
        turn(loop);
    return NULL;
}

/* ---- the server ---- */

static void init_loop(struct grpc_server *server, unsigned index)
{
    struct grpc_loop *loop = &server->loops[index];
    unsigned most = server->options.max_connections;
    loop->server = server;
    loop->epoll = loop->wake = -1;
    loop->room = most / server->loop_count + (index < most % server->loop_count);
    loop->next_check = TIME_NEVER;
    loop->thread = pthread_self();
    TAILQ_INIT(&loop->connections);
    TAILQ_INIT(&loop->dead);
    STAILQ_INIT(&loop->dirty);
    STAILQ_INIT(&loop->answered);
    STAILQ_INIT(&loop->inbox);
    pthread_mutex_init(&loop->mutex, NULL);
}

static void init_condition(struct grpc_server *server)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&server->quiet, &attributes);
    pthread_condattr_destroy(&attributes);
    pthread_mutex_init(&server->mutex, NULL);
}

struct grpc_server *grpc_server_new(const struct grpc_server_options *options)
{
    struct grpc_server *server = calloc(1, sizeof *server);
    unsigned most =
        room_for_connections(options->max_connections, options->budget, GRPC_CONNECTION_COST);
    unsigned loops = options->threads ? options->threads : 1;
    if (!server)
        return NULL;
    server->options = *options;
    server->options.max_connections = most;
    if (!options->message_timeout_ns)
        server->options.message_timeout_ns = MESSAGE_TIMEOUT_NS;
    if (!options->message_rate)
        server->options.message_rate = MESSAGE_RATE;
    server->listener = -1;
    server->loop_count = loops < most ? loops : most;
    server->loops = calloc(server->loop_count, sizeof *server->loops);
    atomic_init(&server->refs, 1);
    init_condition(server);
    if (!server->loops)
        server->loop_count = 0;
    for (unsigned i = 0; i < server->loop_count; i++)
        init_loop(server, i);
    if (server->loops && grpc_connection_setup(server))
        return server;
    grpc_server_unref(server);
    return NULL;
}

static void free_server(struct grpc_server *server)
{
    for (unsigned i = 0; i < server->loop_count; i++)
        pthread_mutex_destroy(&server->loops[i].mutex);
    nghttp2_session_callbacks_del(server->callbacks);
    nghttp2_option_del(server->settings);
    pthread_mutex_destroy(&server->mutex);
    pthread_cond_destroy(&server->quiet);
    free(server->loops);
    free(server);
}

void grpc_server_ref(struct grpc_server *server)
{
    atomic_fetch_add(&server->refs, 1);
}

void grpc_server_unref(struct grpc_server *server)
{
    size_t before = atomic_fetch_sub(&server->refs, 1);
    if (before == 1) {
        free_server(server);
    } else if (before == 2 && atomic_load(&server->draining)) {
        pthread_mutex_lock(&server->mutex);
        pthread_cond_broadcast(&server->quiet);
        pthread_mutex_unlock(&server->mutex);
    }
}

static bool start_loop(struct grpc_loop *loop)
{
    loop->epoll = epoll_create1(EPOLL_CLOEXEC);
    loop->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    loop->scratch = malloc(GRPC_SCRATCH);
    loop->now = clock_mono(&clock_system);
    if (loop->epoll < 0 || loop->wake < 0 || !loop->scratch ||
        !grpc_server_watch(loop, loop->wake, loop))
        return false;
    if (loop == loop->server->loops)
        loop->accepting = grpc_server_watch(loop, loop->server->listener, loop->server);
    return loop == loop->server->loops ? loop->accepting : true;
}

/* Signals are handled by the main thread. */
static bool start_threads(struct grpc_server *server)
{
    sigset_t all, before;
    bool ok = true;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (unsigned i = 0; ok && i < server->loop_count; i++) {
        struct grpc_loop *loop = &server->loops[i];
        ok = loop->running = pthread_create(&loop->thread, NULL, run_loop, loop) == 0;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return ok;
}

static bool start(struct grpc_server *server)
{
    for (unsigned i = 0; i < server->loop_count; i++)
        if (!start_loop(&server->loops[i]))
            return false;
    return start_threads(server);
}

struct grpc_server *grpc_server_open(const struct grpc_server_options *options, char *bound,
                                     size_t bound_size, char *error, size_t error_size)
{
    struct grpc_server *server = grpc_server_new(options);
    if (!server) {
        snprintf(error, error_size, "out of memory");
        return NULL;
    }
    server->listener =
        listeners_open(&options->endpoint, options->yields, bound, bound_size, error, error_size);
    if (server->listener >= 0 && start(server))
        return server;
    if (server->listener >= 0)
        snprintf(error, error_size, "cannot start a thread: %s", strerror(errno));
    server->options.tls = NULL;
    grpc_server_close(server, 0);
    return NULL;
}

static void wake_all(struct grpc_server *server)
{
    for (unsigned i = 0; i < server->loop_count; i++)
        if (server->loops[i].running)
            grpc_loop_wake(&server->loops[i]);
}

void grpc_server_drain(struct grpc_server *server)
{
    if (!server || atomic_exchange(&server->draining, true))
        return;
    if (!atomic_load(&server->retiring) && server->listener >= 0)
        shutdown(server->listener, SHUT_RDWR); /* no connections from here on */
    wake_all(server);
}

void grpc_server_retire(struct grpc_server *server)
{
    atomic_store(&server->retiring, true);
    grpc_server_drain(server);
}

static void wait_quiet(struct grpc_server *server, uint64_t deadline)
{
    struct timespec until = {.tv_sec = (time_t)(deadline / NS_PER_S),
                             .tv_nsec = (long)(deadline % NS_PER_S)};
    pthread_mutex_lock(&server->mutex);
    while (atomic_load(&server->refs) > 1 &&
           pthread_cond_timedwait(&server->quiet, &server->mutex, &until) != ETIMEDOUT)
        continue;
    pthread_mutex_unlock(&server->mutex);
}

static void close_loop(struct grpc_loop *loop)
{
    struct grpc_connection *connection;
    grpc_loop_answer(loop);
    while ((connection = STAILQ_FIRST(&loop->inbox))) {
        STAILQ_REMOVE_HEAD(&loop->inbox, of_inbox);
        discard(connection);
    }
    while ((connection = TAILQ_FIRST(&loop->connections)))
        grpc_connection_evict(connection);
    grpc_loop_reap(loop);
    if (loop->epoll >= 0)
        close(loop->epoll);
    if (loop->wake >= 0)
        close(loop->wake);
    free(loop->scratch);
}

/* From here on, a late answer only frees its call. */
static void shut_answers(struct grpc_loop *loop)
{
    pthread_mutex_lock(&loop->mutex);
    loop->closed = true;
    pthread_mutex_unlock(&loop->mutex);
}

static void remove_socket(const struct grpc_server *server)
{
    if (server->listener >= 0)
        listeners_close(server->listener);
}

void grpc_server_close(struct grpc_server *server, uint64_t deadline_mono_ns)
{
    if (!server)
        return;
    grpc_server_drain(server);
    wait_quiet(server, deadline_mono_ns);
    atomic_store(&server->stopping, true);
    wake_all(server);
    for (unsigned i = 0; i < server->loop_count; i++) {
        if (server->loops[i].running)
            pthread_join(server->loops[i].thread, NULL);
        shut_answers(&server->loops[i]);
        close_loop(&server->loops[i]);
    }
    remove_socket(server);
    tls_server_free(server->options.tls);
    grpc_server_unref(server);
}
