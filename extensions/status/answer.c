#include "extensions/status/answer.h"

#include "extensions/status/names.h"
#include "lib/base/clock.h"
#include "lib/base/utf8.h"
#include "lib/net/http/http_host.h"
#include "lib/wire/http/http_query.h"
#include "lib/wire/proto/text.h"

#include <ctype.h>
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

static void say_unknown(const struct parameter *list, const char *name, char *error)
{
    size_t size = (size_t)snprintf(error, ANSWER_ERROR, "unknown parameter \"%s\": ", name);
    if (!list->name)
        snprintf(error + size, ANSWER_ERROR - size, "there are none here");
    for (const struct parameter *each = list; each->name && size < ANSWER_ERROR; each++)
        size += (size_t)snprintf(error + size, ANSWER_ERROR - size, "%s%s",
                                 each == list           ? "expected "
                                 : each[1].name == NULL ? " or "
                                                        : ", ",
                                 each->name);
}

bool answer_parameters(const char *query, const struct parameter *list, char *error)
{
    unsigned seen = 0;
    for (const struct parameter *each = list; each->name; each++)
        if (each->value)
            *each->value = '\0';
    while (*query) {
        size_t all = strcspn(query, "&"), name = strcspn(query, "=&");
        const struct parameter *found = answer_find(list, query, name);
        char shown[64];
        text_cut((struct view){(const uint8_t *)query, name}, shown, sizeof shown);
        if (all > 0 && !found) {
            say_unknown(list, shown, error);
            return false;
        }
        if (found && seen & 1u << (found - list)) {
            snprintf(error, ANSWER_ERROR, "the parameter %s is given twice, expected once",
                     found->name);
            return false;
        }
        if (found && found->value &&
            !http_query_get(query, found->name, found->value, found->size)) {
            snprintf(error, ANSWER_ERROR, "the parameter %s is too long, expected up to %zu bytes",
                     found->name, found->size - 1);
            return false;
        }
        if (found)
            seen |= 1u << (found - list);
        query += all + (query[all] == '&');
    }
    return true;
}

bool answer_has_values(const char *query, const char *const *names, char *error)
{
    for (; *query; query += strcspn(query, "&"), query += *query == '&') {
        size_t size = strcspn(query, "=&"), all = strcspn(query, "&");
        for (const char *const *name = names; *name && all <= size + 1; name++)
            if (strlen(*name) == size && memcmp(*name, query, size) == 0) {
                snprintf(error, ANSWER_ERROR, "%s: expected a value, or no such parameter", *name);
                return false;
            }
    }
    return true;
}

void answer_name(const char *query, const char *parameter, struct asked_name *asked)
{
    ptrdiff_t size = http_query_copy(query, parameter, asked->text, sizeof asked->text);
    asked->given = size >= 0;
    asked->size = size > 0 ? (size_t)size : 0;
}

bool answer_is_name(const struct asked_name *asked, struct view name)
{
    struct view text = {asked->text, asked->size};
    name = names_cut(name);
    if (view_eq(names_cut(text), name))
        return true;
    if (text.size < name.size || utf8_valid(name))
        return false;
    struct bytes shown;
    bytes_init(&shown, 4 * NAME_CUT, NULL);
    bool is = utf8_repair(name, &shown) && view_eq(bytes_view(&shown), text);
    bytes_release(&shown);
    return is;
}

bool answer_duration(const char *text, uint64_t *ns)
{
    static const struct {
        const char *unit;
        double ns;
    } units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"m", 60e9}, {"h", 3600e9}};
    char digits[32];
    size_t size = strspn(text, "0123456789.");
    if (*text < '0' || *text > '9' || size >= sizeof digits)
        return false;
    memcpy(digits, text, size);
    digits[size] = '\0';
    char *end = NULL;
    double number = strtod(digits, &end);
    for (size_t i = 0; !*end && i < sizeof units / sizeof *units; i++)
        if (strcmp(text + size, units[i].unit) == 0) {
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

bool answer_range(const char *from_text, const char *to_text, uint64_t now, uint64_t *from,
                  uint64_t *to, char *error)
{
    const char *wrong = NULL;
    if (*from_text && !answer_time(from_text, now, from))
        wrong = "from: expected unix nanoseconds, now, or a duration before now such as -5m";
    else if (*to_text && !answer_time(to_text, now, to))
        wrong = "to: expected unix nanoseconds, now, or a duration before now such as -5m";
    else if (*from > *to)
        wrong = *to_text ? "from: expected a time that is not after `to`"
                         : "from: expected a time that is not after now";
    if (wrong)
        snprintf(error, ANSWER_ERROR, "%s", wrong);
    return !wrong;
}

bool answer_count(const char *text, size_t max, size_t *count)
{
    if (!*text || strlen(text) != strspn(text, "0123456789"))
        return false;
    errno = 0;
    *count = strtoul(text, NULL, 10);
    return !errno && *count >= 1 && *count <= max;
}

bool answer_hex(const char *text, uint8_t *out, size_t size)
{
    return text_hex_bytes(view_of(text), out, size);
}

/* ---- Host and Origin ---- */

/* Fetch Metadata: a browser says that a page of another origin asks. A link to here may be
 * followed, as X-Frame-Options keeps what it opens from that page. */
static bool is_from_another_page(const struct http_request *request)
{
    const char *site = http_request_header(request, "Sec-Fetch-Site");
    const char *mode = http_request_header(request, "Sec-Fetch-Mode");
    if (http_request_header_repeats(request, "Sec-Fetch-Site") ||
        http_request_header_repeats(request, "Sec-Fetch-Mode"))
        return true;
    return site && strcmp(site, "same-origin") != 0 && strcmp(site, "none") != 0 &&
           !(mode && strcmp(mode, "navigate") == 0);
}

bool answer_may(struct http_request *request, const char *host, bool tls)
{
    const char *authority = http_request_authority(request);
    const char *origin = http_request_header(request, "Origin");
    char own[512];
    snprintf(own, sizeof own, "%s://%s", tls ? "https" : "http", authority ? authority : "");
    if (!http_host_is_own(authority, host)) {
        answer_error(request, 403,
                     "the Host header is neither an IP address, localhost nor the configured "
                     "endpoint, with or without a port");
        return false;
    }
    if ((origin && strcasecmp(origin, own) != 0) ||
        http_request_header_repeats(request, "Origin") || is_from_another_page(request)) {
        answer_error(request, 403, "pages of another origin cannot read this API");
        return false;
    }
    return true;
}

/* ---- responses ---- */

bool answer_has_none(struct http_request *request)
{
    char error[ANSWER_ERROR];
    bool none =
        answer_parameters(http_request_query(request), (const struct parameter[]){{0}}, error);
    if (!none)
        answer_error(request, 400, error);
    return none;
}

void answer_headers(struct http_request *request, bool api)
{
    http_response_header(request, "Content-Security-Policy",
                         "default-src 'self'; base-uri 'none'; form-action 'none'; "
                         "frame-ancestors 'none'");
    http_response_header(request, "X-Content-Type-Options", "nosniff");
    http_response_header(request, "Referrer-Policy", "no-referrer");
    http_response_header(request, "X-Frame-Options", "DENY");
    http_response_header(request, "Cross-Origin-Resource-Policy", "same-origin");
    if (api)
        http_response_header(request, "Cache-Control", "no-store");
}

void answer_file_name(struct http_request *request, const char *how, const char *name,
                      const char *ending)
{
    char value[320];
    size_t size = (size_t)snprintf(value, sizeof value, "%s; filename=\"", how);
    for (; *name && size < sizeof value - 16; name++) {
        bool kept = (unsigned char)*name < 0x80 &&
                    (isalnum((unsigned char)*name) || *name == '.' || *name == '-');
        if (kept || value[size - 1] != '_')
            value[size++] = kept ? *name : '_';
    }
    snprintf(value + size, sizeof value - size, "%s\"", ending);
    http_response_header(request, "Content-Disposition", value);
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

/* ---- spare memory ---- */

/* A response in the spare memory, which it gives back. */
struct spare_sending {
    struct answer_spare *spare;
    struct bytes out;
    size_t sent;
};

static ptrdiff_t spare_read(void *ctx, uint8_t *out, size_t size)
{
    struct spare_sending *sending = ctx;
    size_t left = sending->out.size - sending->sent, n = left < size ? left : size;
    if (n)
        memcpy(out, sending->out.data + sending->sent, n);
    sending->sent += n;
    return (ptrdiff_t)n;
}

static void spare_end(void *ctx)
{
    struct spare_sending *sending = ctx;
    bytes_release(&sending->out);
    sending->spare->used = false;
    free(sending);
}

void answer_spare_init(struct answer_spare *spare, struct budget *budget)
{
    spare->budget = budget;
    spare->charged = budget_take(budget, ANSWER_SPARE);
}

void answer_spare_release(struct answer_spare *spare)
{
    if (atomic_exchange(&spare->charged, false))
        budget_give(spare->budget, ANSWER_SPARE);
}

/* NULL: there is none to use. */
static struct spare_sending *spare_begin(struct answer_spare *spare)
{
    struct spare_sending *sending = NULL;
    if (!spare->charged || atomic_exchange(&spare->used, true))
        return NULL;
    if ((sending = calloc(1, sizeof *sending)))
        sending->spare = spare;
    else
        spare->used = false;
    return sending;
}

void answer_surely(struct http_request *request, struct answer_spare *spare, size_t max,
                   answer_write_fn *write, void *ctx)
{
    struct spare_sending *sending = NULL;
    struct bytes out;
    bytes_init(&out, max, spare->budget);
    struct json json = json_begin(&out);
    write(ctx, &json);
    if (!json.failed || !(sending = spare_begin(spare))) {
        answer_json(request, &json);
        return;
    }
    bytes_release(&out);
    bytes_init(&sending->out, ANSWER_SPARE, NULL);
    json = json_begin(&sending->out);
    write(ctx, &json);
    if (json.failed) {
        answer_error(request, 503, "not enough memory for the response");
        spare_end(sending);
        return;
    }
    answer_headers(request, true);
    http_respond_stream(request, 200, "application/json",
                        &(struct http_stream){spare_read, spare_end, sending});
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
