#include "lib/net/http/http_cors.h"

#include <stdio.h>
#include <strings.h>

#include "lib/net/http/http_host.h"
#include "lib/net/http/http_server.h"

const struct key cors_keys[] = {
    KEY_LIST(struct cors_settings, allowed_origins, "allowed_origins", NULL,
             "origins that may send, such as https://*.example.com; * for all; none: no CORS"),
    KEY_LIST(struct cors_settings, allowed_headers, "allowed_headers", NULL,
             "request headers that pages may set; * for all"),
    KEY_LIST(struct cors_settings, exposed_headers, "exposed_headers", NULL,
             "response headers that pages may read"),
    KEY_INT(struct cors_settings, max_age, "max_age", "0", -1, 1 << 30,
            "seconds a browser may cache a preflight response; 0: the browser's default, -1: none"),
    KEY_END,
};

bool http_cors_is_preflight(const struct http_request *request)
{
    const char *method = http_request_header(request, "Access-Control-Request-Method");
    return strcmp(http_request_method(request), "OPTIONS") == 0 && method && *method;
}

static bool matches(const char *pattern, const char *origin)
{
    const char *star = strchr(pattern, '*');
    size_t size = strlen(origin), head = star ? (size_t)(star - pattern) : 0;
    if (!star)
        return strcasecmp(pattern, origin) == 0;
    size_t tail = strlen(star + 1);
    return size >= head + tail && strncasecmp(origin, pattern, head) == 0 &&
           strcasecmp(origin + size - tail, star + 1) == 0;
}

static bool http_cors_has(const struct key_list *list, const char *word)
{
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->items[i], word) == 0)
            return true;
    return false;
}

static bool allows_origin(const struct cors_settings *cors, const char *origin)
{
    for (size_t i = 0; i < cors->allowed_origins.count; i++)
        if (matches(cors->allowed_origins.items[i], origin))
            return true;
    return false;
}

static bool allows_method(const char *method)
{
    return strcmp(method, "POST") == 0 || strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0;
}

static bool allows_header(const struct key_list *allowed, struct view name)
{
    static char *const usual[] = {"accept", "content-type", "x-requested-with"};
    char *const *items = allowed->count ? allowed->items : usual;
    size_t count = allowed->count ? allowed->count : sizeof usual / sizeof *usual;
    for (size_t i = 0; i < count; i++)
        if (strlen(items[i]) == name.size &&
            strncasecmp(items[i], (const char *)name.data, name.size) == 0)
            return true;
    return false;
}

/* Checks a comma-separated list of names. */
static bool allows_headers(const struct key_list *allowed, const char *names)
{
    if (http_cors_has(allowed, "*"))
        return true;
    while (*names) {
        names += strspn(names, " \t,");
        size_t size = strcspn(names, " \t,");
        if (size && !allows_header(allowed, (struct view){(const uint8_t *)names, size}))
            return false;
        names += size;
    }
    return true;
}

static void allow_origin(const struct cors_settings *cors, struct http_request *request,
                         const char *origin)
{
    http_response_header(request, "Access-Control-Allow-Origin",
                         http_cors_has(&cors->allowed_origins, "*") ? "*" : origin);
    http_response_header(request, "Access-Control-Allow-Credentials", "true");
}

static void allow_preflight(const struct cors_settings *cors, struct http_request *request,
                            const char *origin)
{
    const char *method = http_request_header(request, "Access-Control-Request-Method");
    const char *headers = http_request_header(request, "Access-Control-Request-Headers");
    char age[24];
    if (!allows_origin(cors, origin) || !allows_method(method) ||
        (headers && !allows_headers(&cors->allowed_headers, headers)))
        return;
    allow_origin(cors, request, origin);
    http_response_header(request, "Access-Control-Allow-Methods", method);
    if (headers && *headers)
        http_response_header(request, "Access-Control-Allow-Headers", headers);
    snprintf(age, sizeof age, "%lld", (long long)(cors->max_age > 0 ? cors->max_age : 0));
    if (cors->max_age)
        http_response_header(request, "Access-Control-Max-Age", age);
}

static void expose(const struct cors_settings *cors, struct http_request *request)
{
    char names[1024];
    size_t size = 0;
    for (size_t i = 0; i < cors->exposed_headers.count && size < sizeof names; i++)
        size += (size_t)snprintf(names + size, sizeof names - size, "%s%s", size ? ", " : "",
                                 cors->exposed_headers.items[i]);
    if (size && size < sizeof names)
        http_response_header(request, "Access-Control-Expose-Headers", names);
}

bool http_cors_handle(const struct cors_settings *cors, struct http_request *request)
{
    if (!cors || cors->allowed_origins.count == 0)
        return false;
    const char *origin = http_request_header(request, "Origin");
    if (http_cors_is_preflight(request)) {
        http_response_header(request, "Vary",
                             "Origin, Access-Control-Request-Method, "
                             "Access-Control-Request-Headers");
        if (origin && *origin)
            allow_preflight(cors, request, origin);
        http_respond(request, 204, NULL, (struct view){0}, 0);
        return true;
    }
    http_response_header(request, "Vary", "Origin");
    if (origin && *origin && allows_origin(cors, origin) &&
        allows_method(http_request_method(request))) {
        allow_origin(cors, request, origin);
        expose(cors, request);
    }
    return false;
}

/* Whether the host and port in an origin are those that were asked for. The scheme may differ, as a
 * proxy may end TLS. */
static bool is_own_origin(const char *origin, const char *authority)
{
    const char *mark = strstr(origin, "://");
    return mark && authority && strcasecmp(mark + 3, authority) == 0;
}

bool http_cors_refuses(const struct cors_settings *cors, const char *configured,
                       const struct http_request *request)
{
    const char *origin = http_request_header(request, "Origin");
    const char *site = http_request_header(request, "Sec-Fetch-Site");
    bool repeats = http_request_header_repeats(request, "Origin") ||
                   http_request_header_repeats(request, "Sec-Fetch-Site");
    if ((!origin && !site) || http_cors_is_preflight(request))
        return false;
    if (repeats || (cors && allows_origin(cors, origin ? origin : "")))
        return repeats;
    /* Also right behind a proxy that asks with another Host. Browsers send it only to addresses
     * that they trust, of https or localhost, so no page has it whose name was bound to this
     * address. */
    if (site)
        return strcmp(site, "same-origin") != 0 && strcmp(site, "none") != 0;
    const char *authority = http_request_authority(request);
    return !is_own_origin(origin, authority) || !http_host_is_own(authority, configured);
}
