/* Opens a component's server from its endpoint key: checks the key, listens, and logs the
 * address. */
#ifndef LIB_NET_SERVER_LISTEN_H
#define LIB_NET_SERVER_LISTEN_H

#include "lib/base/place.h"
#include "lib/net/grpc/grpc_server.h"
#include "lib/net/http/http_server.h"
#include "lib/net/tls/tls_server.h"
#include "lib/settings/key.h"

/* The choices of `transport`: "tcp", "tcp4", "tcp6", "unix"; LISTEN_UNIX is the index of the
 * last. */
extern const char *const listen_transports[];
enum { LISTEN_UNIX = 3 };

/* Where a server listens, and its names in messages. */
struct listen_on {
    const char *key;                       /* of the endpoint, e.g. "protocols.grpc.endpoint" */
    const char *endpoint;                  /* its value */
    int transport;                         /* index of listen_transports */
    const char *tls_key;                   /* of the tls group, e.g. "protocols.grpc.tls" */
    const struct tls_server_settings *tls; /* NULL: cleartext; borrowed for the server's life */
    const char *id, *kind;                 /* the component's, of env; kind NULL: before open */
    const char *what;                      /* what is served, e.g. "OTLP over gRPC" */
    bool is_page;                          /* for a browser: the log has its address as a URL */
    const _Atomic bool *yields;            /* of env; NULL: before open */
};

/* The listen_on of settings with the members endpoint, transport and tls; prefix is the prefix of
 * those keys, e.g. "protocols.grpc.", and service what is served. The component must set id,
 * kind and yields before it opens. */
#define LISTEN_ON(settings, prefix, service)                                                       \
    ((struct listen_on){.key = prefix "endpoint",                                                  \
                        .endpoint = (settings)->endpoint,                                          \
                        .transport = (settings)->transport,                                        \
                        .tls_key = prefix "tls",                                                   \
                        .tls = &(settings)->tls,                                                   \
                        .id = "",                                                                  \
                        .what = (service)})

/* Reports an endpoint that cannot be parsed, and contradictory TLS settings. */
void listen_check(const struct listen_on *on, struct key_report *report);

/* Reports certificates and keys that cannot be read or do not match. */
void listen_rehearse(const struct listen_on *on, struct key_report *report);

/* Calls visit with the address, if it can be parsed. */
void listen_place(const struct listen_on *on, place_visit_fn *visit, void *ctx);

/* Set options->endpoint and options->tls and open the server; the address is logged at info. NULL:
 * error is a sentence that begins with the key at fault. */
struct http_server *listen_http(const struct listen_on *on, struct http_server_options *options,
                                char *error, size_t error_size);
struct grpc_server *listen_grpc(const struct listen_on *on, struct grpc_server_options *options,
                                char *error, size_t error_size);

#endif
