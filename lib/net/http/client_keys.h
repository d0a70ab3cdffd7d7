/* The configuration that all HTTP exporters share, and the client made from it. */
#ifndef LIB_NET_HTTP_CLIENT_KEYS_H
#define LIB_NET_HTTP_CLIENT_KEYS_H

#include "lib/base/place.h"
#include "lib/net/auth.h"
#include "lib/net/http/http_client.h"
#include "lib/settings/key.h"
#include "lib/wire/codec/compress.h"

struct client_settings {
    struct key_map headers;
    struct auth_settings auth;
    int compression;
    uint64_t timeout;
    struct tls_client_settings tls;
};

/* Rows for member `client` (struct client_settings) of an exporter's struct T. */
#define CLIENT_KEYS(T, client, default_timeout)                                                    \
    KEY_SECRETS(T, client.headers, "headers", "headers sent with every request"),                  \
        AUTH_CLIENT_KEY(T, client.auth),                                                           \
        KEY_CHOICE(T, client.compression, "compression", "gzip", compression_words,                \
                   "compression of request bodies"),                                               \
        KEY_DURATION(T, client.timeout, "timeout", default_timeout, 0,                             \
                     "time limit of one attempt; 0: none"),                                        \
        KEY_GROUP(T, client.tls, struct tls_client_settings, "tls", tls_client_keys,               \
                  "TLS of the connection to the backend")

/* The choices of `compression`, and the encoding that a configured one selects. */
extern const char *const compression_words[];
enum encoding_name compression_of(const struct client_settings *settings);

/* Reports a compression that is not in the set encodings (ENCODING_BITs), or whose library is
 * missing. peer: its name in the message, e.g. "Pyroscope". */
void compression_check(const struct client_settings *settings, unsigned encodings, const char *peer,
                       struct key_report *report);

/* The encodings that gRPC peers accept. */
#define COMPRESSIONS_GRPC                                                                          \
    (ENCODING_BIT(ENCODING_IDENTITY) | ENCODING_BIT(ENCODING_GZIP) | ENCODING_BIT(ENCODING_ZSTD) | \
     ENCODING_BIT(ENCODING_SNAPPY))

/* Appends the sender's tenant and authorization headers (NULL: none) after the count given, which
 * needs room for two more. Returns the new count. A header of that name in the `headers` key wins;
 * with `auth` the authorization is left out. */
size_t client_sender(const struct client_settings *settings, struct http_header *headers,
                     size_t count, const char *tenant, const char *authorization);

/* Reports contradictory settings of the tls group. */
void client_check(const struct client_settings *settings, struct key_report *report);

/* Creates the client of the component id (borrowed). NULL: error is a sentence. */
struct http_client *client_open(const struct client_settings *settings, const char *id, bool http2,
                                const char *unix_path, const char *authority, char *error,
                                size_t error_size);

/* Checks that TLS is available if url is https. False: error is a sentence. Call it when an
 * exporter opens, rather than fail when it first sends. */
bool client_reaches(const char *url, char *error, size_t error_size);

/* Joins base (a URL, with or without trailing slashes) and path; malloc'ed. NULL: no memory. */
char *url_join(const char *base, const char *path);

/* Calls visit with the host and port of a URL, if it can be parsed. */
void url_place(const char *key, const char *url, place_visit_fn *visit, void *ctx);

/* Whether a URL has this scheme and this port, explicit or by default. */
bool client_port_is(const char *url, const char *scheme, const char *port);

/* Checks a URL. False: not http://host... or https://host...; why says what was expected. */
bool url_check(const char *text, const char **why);

/* Reports a key's text that url_check refuses, with passwords redacted. "" is legal. */
void url_report(const char *key, const char *text, struct key_report *report);

#endif
