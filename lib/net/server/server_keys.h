/* What every HTTP server of a receiver is configured with beside its endpoint. */
#ifndef LIB_NET_SERVER_SERVER_KEYS_H
#define LIB_NET_SERVER_SERVER_KEYS_H

#include "lib/net/http/http_cors.h"
#include "lib/net/http/http_server.h"

struct server_http_settings {
    struct key_list compression_algorithms;
    struct key_map response_headers;
    bool has_cors;
    struct cors_settings cors;
    bool keep_alives_enabled;
};

/* max_request_body_size where 0 stands for it, as in the Collector. */
#define SERVER_BODY_DEFAULT (INT64_C(64) << 20)

/* Rows for member `server_http` (struct server_http_settings) of a server's struct T. */
#define SERVER_HTTP_KEYS(T, server_http)                                                           \
    KEY_LIST(T, server_http.compression_algorithms, "compression_algorithms", SERVER_ENCODINGS,    \
             "Content-Encodings that are read; \"\" is none"),                                     \
        KEY_SECRETS(T, server_http.response_headers, "response_headers",                           \
                    "headers sent with every answer"),                                             \
        KEY_SWITCHED(T, server_http.cors, struct cors_settings, server_http.has_cors, "cors",      \
                     cors_keys, "what pages of other origins may send; off: nothing"),             \
        KEY_BOOL(T, server_http.keep_alives_enabled, "keep_alives_enabled", "true",                \
                 "false: each connection ends with its first answer")
#define SERVER_ENCODINGS "[\"\", gzip, zstd, zlib, snappy, deflate, lz4, x-snappy-framed]"

/* Reports what cannot be: unknown encodings, headers that cannot be sent. key is what stands in
 * front of the rows, e.g. "protocols.http."; "" for none. */
void server_http_check(const struct server_http_settings *settings, const char *key,
                       struct key_report *report);

/* Sets what of the options comes from the settings, which outlive the server. A size of 0 becomes
 * the default. */
void server_http_apply(const struct server_http_settings *settings, int64_t *max_request_body_size,
                       struct http_server_options *options);

#endif
