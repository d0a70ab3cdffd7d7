#include "lib/net/server/listen.h"

#include "lib/base/announce.h"

#include <stdio.h>
#include <unistd.h>

enum { REASON_SIZE = 256, ADDRESS_SIZE = 300 };

const char *const listen_transports[] = {"tcp", "tcp4", "tcp6", "unix", NULL};

static bool parse(const struct listen_on *on, struct endpoint *endpoint, char *reason)
{
    return endpoint_parse(on->endpoint, on->transport == LISTEN_UNIX, endpoint, reason,
                          REASON_SIZE);
}

void listen_check(const struct listen_on *on, struct key_report *report)
{
    struct endpoint endpoint;
    char reason[REASON_SIZE];
    if (!parse(on, &endpoint, reason))
        key_report_add(report, on->key, "%s", reason);
    if (on->tls)
        tls_server_check(on->tls, on->tls_key, report);
}

/* False: error is a sentence. *tls NULL: cleartext. */
static bool open_tls(const struct listen_on *on, struct tls_server **tls, char *error,
                     size_t error_size)
{
    *tls = NULL;
    if (!on->tls || !on->tls->given)
        return true;
    *tls = tls_server_new(on->tls, on->id, on->tls_key, TLS_LOOK_NS, error, error_size);
    return *tls;
}

void listen_rehearse(const struct listen_on *on, struct key_report *report)
{
    char error[512];
    struct tls_server *tls;
    if (open_tls(on, &tls, error, sizeof error))
        tls_server_free(tls);
    else
        key_report_sentence(report, error);
}

static bool is_free(const struct place *place, char *error, size_t error_size)
{
    struct endpoint endpoint = {.beside = false};
    memcpy(endpoint.host, place->host, sizeof endpoint.host);
    memcpy(endpoint.service, place->port, sizeof endpoint.service);
    memcpy(endpoint.unix_path, place->unix_path, sizeof endpoint.unix_path);
    int fd = endpoint_listen(&endpoint, NULL, 0, error, error_size);
    if (fd < 0)
        return false;
    endpoint_unlink(&endpoint);
    close(fd);
    return true;
}

void listen_place(const struct listen_on *on, place_visit_fn *visit, void *ctx)
{
    char reason[REASON_SIZE];
    struct endpoint endpoint;
    struct place place = {
        .key = on->key, .listens = true, .tls = on->tls && on->tls->given, .is_free = is_free};
    if (!parse(on, &endpoint, reason))
        return;
    memcpy(place.host, endpoint.host, sizeof place.host);
    memcpy(place.port, endpoint.service, sizeof place.port);
    memcpy(place.unix_path, endpoint.unix_path, sizeof place.unix_path);
    visit(ctx, &place);
}

/* Prepares the endpoint and TLS of a server. False: error is a sentence. */
static bool prepare(const struct listen_on *on, struct endpoint *endpoint, struct tls_server **tls,
                    char *error, size_t error_size)
{
    char reason[REASON_SIZE];
    if (!open_tls(on, tls, error, error_size))
        return false;
    if (parse(on, endpoint, reason))
        return true;
    snprintf(error, error_size, "%s: %s", on->key, reason);
    tls_server_free(*tls);
    return false;
}

/* Logs the address in text of an open server, or makes an error from the reason in text. */
static void listen_log(const struct listen_on *on, bool open, const char *text,
                       struct tls_server *tls, char *error, size_t error_size)
{
    if (open) {
        const struct log_source source = {.id = on->id, .kind = on->kind};
        char line[ADDRESS_SIZE + 128];
        bool is_url = on->is_page && !strchr(text, '/'); /* not the path of a socket */
        snprintf(line, sizeof line, "%s%s, listening on %s%s%s", on->what, tls ? " with TLS" : "",
                 !is_url ? ""
                 : tls   ? "https://"
                         : "http://",
                 text, is_url ? "/" : "");
        announce(&source, line);
        return;
    }
    snprintf(error, error_size, "%s: %s", on->key, text);
    tls_server_free(tls);
}

struct http_server *listen_http(const struct listen_on *on, struct http_server_options *options,
                                char *error, size_t error_size)
{
    char reason[REASON_SIZE], bound[ADDRESS_SIZE];
    options->yields = on->yields;
    options->source = (struct log_source){.id = on->id, .kind = on->kind};
    if (!prepare(on, &options->endpoint, &options->tls, error, error_size))
        return NULL;
    struct http_server *server =
        http_server_open(options, bound, sizeof bound, reason, sizeof reason);
    listen_log(on, server, server ? bound : reason, options->tls, error, error_size);
    return server;
}

struct grpc_server *listen_grpc(const struct listen_on *on, struct grpc_server_options *options,
                                char *error, size_t error_size)
{
    char reason[REASON_SIZE], bound[ADDRESS_SIZE];
    options->yields = on->yields;
    options->source = (struct log_source){.id = on->id, .kind = on->kind};
    if (!prepare(on, &options->endpoint, &options->tls, error, error_size))
        return NULL;
    struct grpc_server *server =
        grpc_server_open(options, bound, sizeof bound, reason, sizeof reason);
    listen_log(on, server, server ? bound : reason, options->tls, error, error_size);
    return server;
}
