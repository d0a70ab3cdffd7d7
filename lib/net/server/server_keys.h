/* The configuration that the HTTP servers of all receivers share. */
#ifndef LIB_NET_SERVER_SERVER_KEYS_H
#define LIB_NET_SERVER_SERVER_KEYS_H

#include "lib/net/auth.h"
#include "lib/net/http/http_cors.h"
#include "lib/net/http/http_server.h"
#include "lib/net/server/listen.h"

struct server_http_settings {
    char *endpoint;
    int transport; /* index of listen_transports */
    int64_t max_request_body_size;
    int64_t threads;
    struct auth_settings auth;
    bool include_metadata;
    uint64_t read_header_timeout;
    uint64_t idle_timeout;
    struct key_list compression_algorithms;
    struct key_map response_headers;
    bool has_cors;
    struct cors_settings cors;
    bool keep_alives_enabled;
    struct tls_server_settings tls;
};

/* The default of max_request_body_size, also selected by 0, as in the Collector. */
#define SERVER_BODY_DEFAULT (INT64_C(64) << 20)

/* Rows for member `http` (struct server_http_settings) of a server's struct T. */
#define SERVER_HTTP_KEYS(T, http, default_endpoint)                                                \
    KEY_STRING(T, http.endpoint, "endpoint", default_endpoint, KEY_REQUIRED,                       \
               "where to listen: host:port, [ipv6]:port or unix:/path"),                           \
        KEY_CHOICE(T, http.transport, "transport", "tcp", listen_transports,                       \
                   "tcp, or unix with a path as endpoint"),                                        \
        KEY_INT(T, http.max_request_body_size, "max_request_body_size", "67108864", 0, 2147483647, \
                "largest body in bytes, before and after decompression; 0: the default"),          \
        KEY_INT(T, http.threads, "threads", "1", 1, 64, "threads that read connections"),          \
        AUTH_SERVER_KEY(T, http.auth),                                                             \
        KEY_BOOL(T, http.include_metadata, "include_metadata", "false",                            \
                 "forward the client's X-Scope-OrgID and, without auth, Authorization"),           \
        KEY_DURATION(T, http.read_header_timeout, "read_header_timeout", "10s", 0,                 \
                     "time for a request's header; 0: none"),                                      \
        KEY_DURATION(T, http.idle_timeout, "idle_timeout", "120s", 0,                              \
                     "time limit between requests, and for sending a response; 0: none"),          \
        KEY_LIST(T, http.compression_algorithms, "compression_algorithms", SERVER_ENCODINGS,       \
                 "Content-Encodings that are read; \"\" is none"),                                 \
        KEY_SECRETS(T, http.response_headers, "response_headers",                                  \
                    "headers sent with every response"),                                           \
        KEY_SWITCHED(T, http.cors, struct cors_settings, http.has_cors, "cors", cors_keys,         \
                     "cross-origin requests from web pages; off: none are allowed"),               \
        KEY_BOOL(T, http.keep_alives_enabled, "keep_alives_enabled", "true",                       \
                 "false: each connection is closed after its first response"),                     \
        TLS_SERVER_KEY(T, http.tls)
#define SERVER_ENCODINGS "[\"\", gzip, zstd, zlib, snappy, deflate, lz4, x-snappy-framed]"

/* Reports unknown encodings and headers that cannot be sent. key is the prefix of the rows' names,
 * e.g. "protocols.http."; may be "". */
void server_http_check(const struct server_http_settings *settings, const char *key,
                       struct key_report *report);

/* Applies the settings, which must outlive the server, to options. A max_request_body_size of 0
 * becomes the default. */
void server_http_apply(struct server_http_settings *settings, struct http_server_options *options);

#endif
