#include "lib/net/server/server_keys.h"

#include "lib/net/http/http_header.h"

#include <stdio.h>
#include <strings.h>

enum { MAX_CONNECTIONS = 4096 };

/* The encoding of one item of compression_algorithms; UNKNOWN: not an encoding. */
static enum encoding_name algorithm(const char *word)
{
    return strcasecmp(word, "identity") == 0 ? ENCODING_UNKNOWN : encoding_parse(view_of(word));
}

static void check_origins(const struct cors_settings *cors, const char *key,
                          struct key_report *report)
{
    char path[256];
    snprintf(path, sizeof path, "%scors.allowed_origins", key);
    for (size_t i = 0; i < cors->allowed_origins.count; i++) {
        const char *star = strchr(cors->allowed_origins.items[i], '*');
        if (star && strchr(star + 1, '*'))
            key_report_add(report, path, "\"%s\" has more than one *",
                           cors->allowed_origins.items[i]);
    }
    if (cors->allowed_origins.count == 0 && cors->allowed_headers.count > 0)
        key_report_add(report, path, "is not given, so allowed_headers has no effect");
}

void server_http_check(const struct server_http_settings *settings, const char *key,
                       struct key_report *report)
{
    char path[256], words[128];
    snprintf(path, sizeof path, "%scompression_algorithms", key);
    for (size_t i = 0; i < settings->compression_algorithms.count; i++)
        if (algorithm(settings->compression_algorithms.items[i]) == ENCODING_UNKNOWN)
            key_report_add(report, path, "\"%s\" is unknown, expected \"\", %s",
                           settings->compression_algorithms.items[i],
                           encoding_words(ENCODINGS_ALL & ~ENCODING_BIT(ENCODING_IDENTITY), words,
                                          sizeof words));
    snprintf(path, sizeof path, "%sresponse_headers", key);
    http_headers_check(&settings->response_headers, path, report);
    if (settings->has_cors)
        check_origins(&settings->cors, key, report);
}

void server_http_apply(struct server_http_settings *settings, struct http_server_options *options)
{
    options->threads = (unsigned)settings->threads;
    options->max_connections = MAX_CONNECTIONS;
    options->header_timeout_ns = settings->read_header_timeout;
    options->idle_timeout_ns = settings->idle_timeout;
    options->auth = settings->auth.by;
    for (size_t i = 0; i < settings->compression_algorithms.count; i++)
        options->encodings |= ENCODING_BIT(algorithm(settings->compression_algorithms.items[i]));
    if (settings->compression_algorithms.count == 0)
        options->encodings = ENCODING_BIT(ENCODING_IDENTITY);
    if (settings->max_request_body_size == 0)
        settings->max_request_body_size = SERVER_BODY_DEFAULT;
    options->max_body = (size_t)settings->max_request_body_size;
    options->refuses_pages = true;
    options->cors = settings->has_cors ? &settings->cors : NULL;
    options->response_headers = &settings->response_headers;
    options->closes = !settings->keep_alives_enabled;
}
