/* What every exporter over HTTP is configured with, and the client made from it. */
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
                   "of request bodies"),                                                           \
        KEY_DURATION(T, client.timeout, "timeout", default_timeout, 0, "of one try; 0: none"),     \
        KEY_GROUP(T, client.tls, struct tls_client_settings, "tls", tls_client_keys,               \
                  "TLS of the connection to the backend")

/* The words of `compression`, and what one means: over gRPC or HTTP. */
extern const char *const compression_words[];
enum encoding_name compression_of(const struct client_settings *settings);

/* Reports a compression that is not in a set (ENCODING_BITs), or whose library is missing; whom:
 * who reads no other, e.g. "Pyroscope". */
void compression_check(const struct client_settings *settings, unsigned encodings, const char *whom,
                       struct key_report *report);

/* What gRPC's peers read. */
#define COMPRESSIONS_GRPC                                                                          \
    (ENCODING_BIT(ENCODING_IDENTITY) | ENCODING_BIT(ENCODING_GZIP) | ENCODING_BIT(ENCODING_ZSTD) | \
     ENCODING_BIT(ENCODING_SNAPPY))

/* What a request's sender wants known of itself (NULL: nothing), behind the headers given; room for
 * two more. Returns the new count. A header of that name in `headers` wins; with `auth` the
 * authorization is left out. */
size_t client_sender(const struct client_settings *settings, struct http_header *headers,
                     size_t count, const char *tenant, const char *authorization);

/* Reports what of the tls group does not go together. */
void client_check(const struct client_settings *settings, struct key_report *report);

/* NULL: error is a sentence. */
struct http_client *client_open(const struct client_settings *settings, bool http2,
                                const char *unix_path, const char *authority, char *error,
                                size_t error_size);

/* False: url is one of https, and there is no TLS to be had; error is a sentence. To be asked when
 * an exporter opens, not when it first sends. */
bool client_reaches(const char *url, char *error, size_t error_size);

/* base (a URL, trailing slashes or not) and path joined; malloc'ed, NULL without memory. */
char *url_join(const char *base, const char *path);

/* Calls visit with the host and port of a URL, if it can be read. */
void url_place(const char *key, const char *url, place_visit_fn *visit, void *ctx);

/* Whether a URL has that scheme and, given or not, that port. */
bool client_port_is(const char *url, const char *scheme, const char *port);

/* False: text is not http://host... or https://host...; why says what was expected. */
bool url_check(const char *text, const char **why);

/* Reports a key's text ("": none) that url_check refuses, without a password in it. */
void url_report(const char *key, const char *text, struct key_report *report);

#endif
