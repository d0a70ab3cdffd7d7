#include "extensions/status/answer.h"

#include "lib/base/clock.h"
#include "lib/wire/http/http_query.h"
#include "lib/wire/proto/text.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

/* ---- parameters ---- */

static const struct parameter *answer_find(const struct parameter *list, const char *name,
                                           size_t size)
{
    for (; list->name; list++)
        if (strlen(list->name) == size && memcmp(list->name, name, size) == 0)
            return list;
    return NULL;
}

bool answer_parameters(const char *query, const struct parameter *list, char *error)
{
    unsigned seen = 0;
    for (const struct parameter *each = list; each->name; each++)
        *each->value = '\0';
    while (*query) {
        size_t all = strcspn(query, "&"), name = strcspn(query, "=&");
        const struct parameter *found = answer_find(list, query, name);
        char shown[64];
        text_cut((struct view){(const uint8_t *)query, name}, shown, sizeof shown);
        if (all > 0 && !found) {
            snprintf(error, ANSWER_ERROR, "unknown parameter \"%s\"", shown);
            return false;
        }
        if (found && seen & 1u << (found - list)) {
            snprintf(error, ANSWER_ERROR, "the parameter %s is given twice", found->name);
            return false;
        }
        if (found && !http_query_get(query, found->name, found->value, found->size)) {
            snprintf(error, ANSWER_ERROR, "the parameter %s is too long", found->name);
            return false;
        }
        if (found)
            seen |= 1u << (found - list);
        query += all + (query[all] == '&');
    }
    return true;
}

bool answer_duration(const char *text, uint64_t *ns)
{
    static const struct {
        const char *unit;
        double ns;
    } units[] = {{"ns", 1},   {"us", 1e3},   {"ms", 1e6}, {"s", 1e9},
                 {"m", 60e9}, {"h", 3600e9}, {"", 1}};
    char *end = NULL;
    errno = 0;
    if (*text < '0' || *text > '9')
        return false;
    double number = strtod(text, &end);
    if (errno)
        return false;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(end, units[i].unit) == 0) {
            number *= units[i].ns;
            *ns = number < 9e18 ? (uint64_t)number : 0;
            return number < 9e18;
        }
    return false;
}

bool answer_time(const char *text, uint64_t now, uint64_t *ns)
{
    uint64_t ago;
    char *end;
    if (strcmp(text, "now") == 0) {
        *ns = now;
        return true;
    }
    if (*text == '-') {
        bool good = answer_duration(text + 1, &ago);
        *ns = good && ago < now ? now - ago : 0;
        return good;
    }
    errno = 0;
    *ns = strtoull(text, &end, 10);
    return *text >= '0' && *text <= '9' && !*end && !errno;
}

bool answer_hex(const char *text, uint8_t *out, size_t size)
{
    if (strlen(text) != 2 * size)
        return false;
    for (size_t i = 0; i < size; i++) {
        int high = text_hex_digit((uint8_t)text[2 * i]);
        int low = text_hex_digit((uint8_t)text[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        out[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

/* ---- Host and Origin ---- */

/* The host of "host:port" or "[ipv6]:port". */
static void host_of(const char *authority, char *out, size_t size)
{
    const char *from = authority, *end;
    if (*from == '[') {
        from++;
        end = strchr(from, ']');
    } else {
        end = strrchr(from, ':');
    }
    size_t n = end ? (size_t)(end - from) : strlen(from);
    snprintf(out, size, "%.*s", (int)(n < size ? n : size - 1), from);
}

static bool is_good_host(const char *authority, const char *configured)
{
    char host[256];
    uint8_t address[16];
    host_of(authority, host, sizeof host);
    return inet_pton(AF_INET, host, address) == 1 || inet_pton(AF_INET6, host, address) == 1 ||
           strcasecmp(host, "localhost") == 0 || (*configured && strcasecmp(host, configured) == 0);
}

/* Fetch Metadata: a browser says that a page of another origin asks. A link to here may be
 * followed, as X-Frame-Options keeps what it opens from that page. */
static bool is_from_another_page(const struct http_request *request)
{
    const char *site = http_request_header(request, "Sec-Fetch-Site");
    const char *mode = http_request_header(request, "Sec-Fetch-Mode");
    return site && strcmp(site, "same-origin") != 0 && strcmp(site, "none") != 0 &&
           !(mode && strcmp(mode, "navigate") == 0);
}

bool answer_may(struct http_request *request, const char *host, bool tls)
{
    const char *authority = http_request_header(request, "Host");
    const char *origin = http_request_header(request, "Origin");
    char own[512];
    snprintf(own, sizeof own, "%s://%s", tls ? "https" : "http", authority ? authority : "");
    if (!authority || !is_good_host(authority, host)) {
        answer_error(request, 403,
                     "the Host header is neither an IP address, localhost nor the configured "
                     "endpoint");
        return false;
    }
    if ((origin && strcasecmp(origin, own) != 0) || is_from_another_page(request)) {
        answer_error(request, 403, "pages of another origin cannot read this API");
        return false;
    }
    return true;
}

/* ---- responses ---- */

void answer_headers(struct http_request *request, bool api)
{
    http_response_header(request, "Content-Security-Policy", "default-src 'self'");
    http_response_header(request, "X-Content-Type-Options", "nosniff");
    http_response_header(request, "Referrer-Policy", "no-referrer");
    http_response_header(request, "X-Frame-Options", "DENY");
    http_response_header(request, "Cross-Origin-Resource-Policy", "same-origin");
    if (api)
        http_response_header(request, "Cache-Control", "no-store");
}

void answer_error(struct http_request *request, unsigned status, const char *sentence)
{
    struct bytes out;
    bytes_init(&out, 4096, NULL);
    struct json json = json_begin(&out);
    json_open(&json, NULL, '{');
    json_text(&json, "error", view_of(sentence));
    json_close(&json, '}');
    answer_headers(request, true);
    http_respond(request, status, "application/json", bytes_view(&out), status == 503);
    bytes_release(&out);
}

void answer_json(struct http_request *request, const struct json *json)
{
    if (json->failed) {
        bytes_release(json->out);
        answer_error(request, 503, "not enough memory for the response");
        return;
    }
    answer_headers(request, true);
    http_respond_bytes(request, 200, "application/json", json->out, 0);
}
