#include "net/listen.h"

#include "base/log.h"

#include <stdio.h>

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
}

static void tell(const struct listen_on *on, bool open, const char *words, char *error,
                 size_t error_size)
{
    if (open)
        log_info("%s: %s, listening on %s", on->id, on->what, words);
    else
        snprintf(error, error_size, "%s: %s", on->key, words);
}

struct http_server *listen_http(const struct listen_on *on, struct http_server_options *options,
                                char *error, size_t error_size)
{
    char reason[REASON_SIZE], bound[ADDRESS_SIZE];
    struct http_server *server = NULL;
    options->yields = on->yields;
    if (parse(on, &options->endpoint, reason))
        server = http_server_open(options, bound, sizeof bound, reason, sizeof reason);
    tell(on, server != NULL, server ? bound : reason, error, error_size);
    return server;
}

struct grpc_server *listen_grpc(const struct listen_on *on, struct grpc_server_options *options,
                                char *error, size_t error_size)
{
    char reason[REASON_SIZE], bound[ADDRESS_SIZE];
    struct grpc_server *server = NULL;
    options->yields = on->yields;
    if (parse(on, &options->endpoint, reason))
        server = grpc_server_open(options, bound, sizeof bound, reason, sizeof reason);
    tell(on, server != NULL, server ? bound : reason, error, error_size);
    return server;
}
