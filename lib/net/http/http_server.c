#include "lib/net/http/http_server.h"

#include <errno.h>
#include <gnutls/abstract.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/net/http/http_peer.h"
#include "lib/net/listeners.h"
#include "lib/net/room.h"

#define CONNECTION_COST (HTTP_CONNECTION_MEMORY + (4u << 10))

#define BODY_TIMEOUT (10 * NS_PER_S)
#define BODY_RATE    1024

static void on_log(void *cls, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));

static void on_log(void *cls, const char *format, va_list args)
{
    (void)cls;
    char text[512];
    if (!log_enabled(LOG_DEBUG))
        return;
    vsnprintf(text, sizeof text, format, args);
    text[strcspn(text, "\n")] = '\0';
    log_debug("http: %s", text);
}

/* The library requires this callback but never calls it: sessions get their credentials from
 * tls_server_configure. */
static int on_certificate(gnutls_session_t session, const gnutls_datum_t *names, int name_count,
                          const gnutls_pk_algorithm_t *algorithms, int algorithm_count,
                          gnutls_pcert_st **certificate, unsigned *certificate_size,
                          gnutls_privkey_t *key)
{
    (void)session, (void)names, (void)name_count, (void)algorithms, (void)algorithm_count;
    (void)certificate, (void)certificate_size, (void)key;
    return -1;
}

static void free_peer(struct http_server *server, struct http_peer *peer)
{
    if (peer->place)
        http_connections_remove(server->connections, peer->place);
    tls_identity_unref(peer->identity);
    free(peer);
}

/* NULL: no memory. The handshake has not begun. */
static struct http_peer *make_peer(struct http_server *server, struct MHD_Connection *connection,
                                   int fd)
{
    struct tls_server *tls = server->options.tls;
    struct http_peer *peer = calloc(1, sizeof *peer);
    if (!peer)
        return NULL;
    peer->server = server;
    if (tls) {
        gnutls_session_t session =
            MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION)->tls_session;
        http_tls_watch(peer);
        peer->identity = tls_server_configure(tls, session, &peer->mark);
    }
    peer->place = !tls || peer->identity ? http_connections_add(server->connections, fd) : NULL;
    if (peer->place && !tls)
        http_opening_await(peer, fd);
    if (peer->place)
        return peer;
    free_peer(server, peer);
    return NULL;
}

static void on_connection(void *cls, struct MHD_Connection *connection, void **context,
                          enum MHD_ConnectionNotificationCode what)
{
    struct http_server *server = cls;
    int fd = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
    if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
        if (*context) {
            http_tls_end(*context);
            http_opening_end(*context, fd);
            free_peer(server, *context);
        }
        return;
    }
    struct http_peer *peer = make_peer(server, connection, fd);
    *context = peer;
    if (peer)
        peer->address = peer_of(
            MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS)->client_addr);
    else
        shutdown(fd, SHUT_RDWR);
}

static bool on_accepted(void *ctx, int fd, const struct sockaddr *address, socklen_t size)
{
    struct http_server *server = ctx;
    return MHD_add_connection(server->daemon, fd, address, size) == MHD_YES;
}

/* Since 1.0 the library has a strict mode, and leaves parsed headers in another form. Checked at
 * run time, as it may be a shared library. */
static bool library_is_strict(void)
{
    return strtoul(MHD_get_version(), NULL, 10) >= 1;
}

/* The library's limits are set above ours, because at its limit it stops accepting. */
static struct MHD_Daemon *start_daemon(struct http_server *server)
{
    unsigned threads = server->options.threads > 1 ? server->options.threads : 0;
    unsigned limit = 1u << 30;
    struct MHD_OptionItem options[] = {
        {MHD_OPTION_EXTERNAL_LOGGER, (intptr_t)on_log, NULL},
        {MHD_OPTION_URI_LOG_CALLBACK, (intptr_t)http_exchange_uri, server},
        {MHD_OPTION_NOTIFY_COMPLETED, (intptr_t)http_exchange_completed, server},
        {MHD_OPTION_NOTIFY_CONNECTION, (intptr_t)on_connection, server},
        {MHD_OPTION_CONNECTION_LIMIT, (intptr_t)limit, NULL},
        {MHD_OPTION_CONNECTION_MEMORY_LIMIT, HTTP_CONNECTION_MEMORY, NULL},
        {MHD_OPTION_STRICT_FOR_CLIENT, server->strict, NULL},
        {threads ? MHD_OPTION_THREAD_POOL_SIZE : MHD_OPTION_END, (intptr_t)threads, NULL},
        {MHD_OPTION_END, 0, NULL},
    };
    const unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_NO_LISTEN_SOCKET | MHD_USE_ITC |
                           MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG;
    /* The array of options does not support the certificate callback. */
    if (server->options.tls)
        return MHD_start_daemon(flags | MHD_USE_TLS, 0, NULL, NULL, http_exchange_request, server,
                                MHD_OPTION_ARRAY, options, MHD_OPTION_HTTPS_CERT_CALLBACK,
                                on_certificate, MHD_OPTION_END);
    return MHD_start_daemon(flags, 0, NULL, NULL, http_exchange_request, server, MHD_OPTION_ARRAY,
                            options, MHD_OPTION_END);
}

/* The library's threads inherit the caller's signal mask; they must not handle signals. */
static struct MHD_Daemon *start_unsignalled(struct http_server *server)
{
    sigset_t every, before;
    sigfillset(&every);
    pthread_sigmask(SIG_SETMASK, &every, &before);
    struct MHD_Daemon *daemon = start_daemon(server);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return daemon;
}

static struct http_server *server_new(const struct http_server_options *options)
{
    struct http_server *server = calloc(1, sizeof *server);
    struct MHD_Response *accepted =
        server ? http_response_new(HTTP_PROTOBUF, (struct view){0}, 0) : NULL;
    if (!accepted) {
        free(server);
        return NULL;
    }
    server->accepted = accepted;
    atomic_init(&server->refs, 1);
    server->options = *options;
    if (!options->body_timeout_ns)
        server->options.body_timeout_ns = BODY_TIMEOUT;
    if (!options->body_rate)
        server->options.body_rate = BODY_RATE;
    http_response_add_common_headers(server, accepted);
    server->options.max_connections =
        room_for_connections(options->max_connections, options->budget, CONNECTION_COST);
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&server->quiet, &monotonic);
    pthread_condattr_destroy(&monotonic);
    pthread_mutex_init(&server->mutex, NULL);
    return server;
}

void http_server_unref(struct http_server *server)
{
    if (atomic_fetch_sub(&server->refs, 1) != 1)
        return;
    pthread_cond_destroy(&server->quiet);
    pthread_mutex_destroy(&server->mutex);
    MHD_destroy_response(server->accepted);
    free(server);
}

/* Takes ownership of the listener. */
static bool start(struct http_server *server, int listener)
{
    const struct http_connections_options table = {
        .listener = listener,
        .max = server->options.max_connections,
        .budget = server->options.budget,
        .cost = CONNECTION_COST,
        .cleartext = !server->options.tls,
        .header_timeout_ns = server->options.header_timeout_ns,
        .idle_timeout_ns = server->options.idle_timeout_ns,
        .body_timeout_ns = server->options.body_timeout_ns,
        .body_rate = server->options.body_rate,
        .admit = on_accepted,
        .ctx = server,
        .source = server->options.source,
    };
    server->connections = http_connections_new(&table);
    if (!server->connections)
        return false;
    server->strict = library_is_strict();
    server->daemon = start_unsignalled(server);
    if (server->daemon && http_connections_start(server->connections))
        return true;
    if (server->daemon)
        MHD_stop_daemon(server->daemon);
    http_connections_free(server->connections);
    return false;
}

struct http_server *http_server_open(const struct http_server_options *options, char *bound,
                                     size_t bound_size, char *error, size_t error_size)
{
    int listener =
        listeners_open(&options->endpoint, options->yields, bound, bound_size, error, error_size);
    if (listener < 0)
        return NULL;
    struct http_server *server = server_new(options);
    if (!server) {
        listeners_close(listener);
    } else if (start(server, listener)) {
        return server;
    } else {
        http_server_unref(server);
    }
    snprintf(error, error_size, "cannot start an HTTP server: no memory, thread or descriptor");
    return NULL;
}

void http_server_drain(struct http_server *server)
{
    if (!atomic_exchange(&server->draining, true))
        http_connections_stop_accepting(server->connections);
}

void http_server_retire(struct http_server *server)
{
    atomic_store(&server->retiring, true);
    http_connections_stop_accepting(server->connections);
}

static void wait_until_quiet(struct http_server *server, uint64_t deadline_mono_ns)
{
    struct timespec until = {.tv_sec = (time_t)(deadline_mono_ns / NS_PER_S),
                             .tv_nsec = (long)(deadline_mono_ns % NS_PER_S)};
    int result = 0;
    pthread_mutex_lock(&server->mutex);
    while (atomic_load(&server->active) && result != ETIMEDOUT)
        result = pthread_cond_timedwait(&server->quiet, &server->mutex, &until);
    pthread_mutex_unlock(&server->mutex);
}

void http_server_close(struct http_server *server, uint64_t deadline_mono_ns)
{
    if (!server)
        return;
    http_server_drain(server);
    wait_until_quiet(server, deadline_mono_ns);
    http_connections_stop(server->connections);
    http_exchange_abandon(server);
    MHD_stop_daemon(server->daemon);
    http_connections_free(server->connections);
    tls_server_free(server->options.tls);
    http_server_unref(server);
}
