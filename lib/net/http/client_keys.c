#include "lib/net/http/client_keys.h"

#include "lib/base/redact.h"

#include "lib/late/late.h"
#include "lib/net/http/http_header.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MAX_REPLY = 64 << 10 };

const char *const compression_words[] = {
    "gzip", "zstd", "snappy", "x-snappy-framed", "zlib", "deflate", "lz4", "none", "", NULL};

enum encoding_name compression_of(const struct client_settings *settings)
{
    static const enum encoding_name encodings[] = {
        ENCODING_GZIP,    ENCODING_ZSTD, ENCODING_SNAPPY,   ENCODING_SNAPPY_FRAMED, ENCODING_ZLIB,
        ENCODING_DEFLATE, ENCODING_LZ4,  ENCODING_IDENTITY, ENCODING_IDENTITY};
    return encodings[settings->compression];
}

/* The key's names of a set: "none" for identity. */
static const char *words_of(unsigned encodings, char *out, size_t size)
{
    char *identity = strstr(encoding_words(encodings, out, size), "identity");
    if (identity)
        memcpy(identity, "none", sizeof "none");
    return out;
}

/* The library is only loaded if it is needed. */
void compression_check(const struct client_settings *settings, unsigned encodings, const char *peer,
                       struct key_report *report)
{
    char words[128];
    enum encoding_name encoding = compression_of(settings);
    if (!(encodings & ENCODING_BIT(encoding)))
        key_report_add(report, "compression", "is %s, which %s does not support, expected %s",
                       encoding_text(encoding), peer, words_of(encodings, words, sizeof words));
    else if (!encoding_ready(encoding))
        key_report_add(report, "compression", "is %s, whose library cannot be loaded",
                       encoding_text(encoding));
}

size_t client_sender(const struct client_settings *settings, struct http_header *headers,
                     size_t count, const char *tenant, const char *authorization)
{
    if (tenant)
        headers[count++] = (struct http_header){"X-Scope-OrgID", tenant};
    if (authorization && !settings->auth.on)
        headers[count++] = (struct http_header){"Authorization", authorization};
    return count;
}

void client_check(const struct client_settings *settings, struct key_report *report)
{
    http_headers_check(&settings->headers, "headers", report);
    tls_client_check(&settings->tls, "tls", report);
}

struct http_client *client_open(const struct client_settings *settings, const char *id, bool http2,
                                const char *unix_path, const char *authority, char *error,
                                size_t error_size)
{
    struct http_client_options options = {
        .id = id,
        .http2 = http2,
        .timeout_ns = settings->timeout,
        .unix_path = unix_path,
        .authority = authority,
        .tls = settings->tls,
        .headers = &settings->headers,
        .auth = settings->auth.by,
        .sends_process = true,
        .follows = !http2,
        .max_reply = MAX_REPLY,
    };
    return http_client_new(&options, error, error_size);
}

bool client_reaches(const char *url, char *error, size_t error_size)
{
    return strncasecmp(url, "https:", 6) != 0 || late_has_tls(error, error_size);
}

char *url_join(const char *base, const char *path)
{
    size_t size = strlen(base);
    char *url = NULL;
    while (size > 0 && base[size - 1] == '/')
        size--;
    if (asprintf(&url, "%.*s%s", (int)size, base, path) < 0)
        return NULL;
    return url;
}

bool url_check(const char *text, const char **why)
{
    const char *host = NULL;
    *why = "expected a URL such as http://host:port or https://host";
    if (strncasecmp(text, "http://", 7) == 0)
        host = text + 7;
    else if (strncasecmp(text, "https://", 8) == 0)
        host = text + 8;
    bool ok = host && *host && *host != '/' && *host != ':' && !strpbrk(host, " \t\r\n");
    CURLU *parts = ok ? curl_url() : NULL;
    ok = parts && curl_url_set(parts, CURLUPART_URL, text, 0) == CURLUE_OK;
    curl_url_cleanup(parts);
    return ok;
}

bool client_port_is(const char *url, const char *scheme, const char *port)
{
    CURLU *parts = curl_url();
    char *its_scheme = NULL, *its_port = NULL;
    bool is = parts && curl_url_set(parts, CURLUPART_URL, url, 0) == CURLUE_OK &&
              curl_url_get(parts, CURLUPART_SCHEME, &its_scheme, 0) == CURLUE_OK &&
              curl_url_get(parts, CURLUPART_PORT, &its_port, CURLU_DEFAULT_PORT) == CURLUE_OK &&
              strcasecmp(its_scheme, scheme) == 0 && strcmp(its_port, port) == 0;
    curl_free(its_scheme);
    curl_free(its_port);
    curl_url_cleanup(parts);
    return is;
}

void url_place(const char *key, const char *url, place_visit_fn *visit, void *ctx)
{
    CURLU *parts = curl_url();
    char *host = NULL, *port = NULL;
    if (parts && curl_url_set(parts, CURLUPART_URL, url, 0) == CURLUE_OK &&
        curl_url_get(parts, CURLUPART_HOST, &host, 0) == CURLUE_OK &&
        curl_url_get(parts, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) == CURLUE_OK) {
        struct place place = {.key = key};
        size_t bracket = *host == '[';
        snprintf(place.host, sizeof place.host, "%.*s", (int)(strlen(host) - 2 * bracket),
                 host + bracket);
        snprintf(place.port, sizeof place.port, "%s", port);
        visit(ctx, &place);
    }
    curl_free(host);
    curl_free(port);
    curl_url_cleanup(parts);
}

void url_report(const char *key, const char *text, struct key_report *report)
{
    char shown[256];
    const char *why;
    if (!*text || url_check(text, &why))
        return;
    redact_address(text, shown, sizeof shown);
    key_report_add(report, key, "\"%s\" is not a URL, %s", shown, why);
}
