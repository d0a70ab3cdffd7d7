/* A request and its body (lib/net/http/http_server.h, http_internal.h). */
#include "lib/net/http/http_internal.h"

#include <stdlib.h>
#include <strings.h>

#include "lib/net/http/http_head.h"
#include "lib/wire/codec/inflate_final.h"

#define HEADERS_MAX (128u << 10) /* the library's own limit per connection is lower */
#define DISCARD_MIN (UINT64_C(16) << 20)
#define DISCARD_TIME                                                                               \
    NS_PER_S /* time for clients that only read once they have written everything */

/* The start of the path in a request target: "/x", or "http://host/x" from proxies, of which the
 * host moves a byte ahead and is ended by a NUL. */
static char *split_target(char *uri, const char **authority)
{
    char *mark = strstr(uri, "://");
    *authority = NULL;
    if (uri[0] == '/' || !mark)
        return uri;
    size_t size = strcspn(mark + 3, "/?");
    memmove(mark + 2, mark + 3, size);
    mark[2 + size] = '\0';
    *authority = mark + 2;
    return mark + 3 + size;
}

struct http_request *http_request_new(struct http_server *server, const char *uri)
{
    size_t size = strlen(uri) + 1;
    struct http_request *request = malloc(sizeof *request + size);
    if (!request)
        return NULL;
    *request = (struct http_request){.server = server};
    atomic_init(&request->refs, 1);
    atomic_init(&request->state, HTTP_HANDLING);
    memcpy(request->uri, uri, size);
    request->target_size = size - 1;
    if (!http_head_is_target(uri))
        request->wrong = "the request target has a character that is not allowed there";
    char *path = split_target(request->uri, &request->authority), *mark = strchr(path, '?');
    if (mark)
        *mark = '\0';
    request->path = *path ? path : "/";
    request->query = mark ? mark + 1 : "";
    bytes_init(&request->headers, HEADERS_MAX, NULL);
    bytes_init(&request->body, 0, server->options.budget);
    atomic_fetch_add(&server->refs, 1);
    return request;
}

void http_request_unref(struct http_request *request)
{
    if (atomic_fetch_sub(&request->refs, 1) != 1)
        return;
    for (unsigned i = 0; i < request->extra_count; i++) {
        free(request->extra[i].name);
        free(request->extra[i].value);
    }
    http_response_free(request->server, request->response);
    bytes_release(&request->headers);
    arrival_drop(&request->arrival);
    bytes_release(&request->body);
    http_server_unref(request->server);
    free(request);
}

/* Result of scanning all headers. */
struct header_scan {
    struct http_request *request;
    const char *length, *coding, *expect;
    unsigned hosts;
    bool bad_host, two_lengths, two_codings, no_memory;
};

static bool is(const char *key, size_t size, const char *name, size_t name_size)
{
    return size == name_size && strncasecmp(key, name, size) == 0;
}

static void note_framing(struct header_scan *scan, const char *key, size_t size, const char *value)
{
    if (is(key, size, "content-length", 14)) {
        scan->two_lengths |= scan->length && strcmp(scan->length, value) != 0;
        scan->length = value;
    } else if (is(key, size, "transfer-encoding", 17)) {
        scan->two_codings |= scan->coding != NULL;
        scan->coding = value;
    } else if (is(key, size, "host", 4)) {
        scan->bad_host |= !http_head_is_host(value);
        scan->hosts++;
    } else if (is(key, size, "expect", 6)) {
        scan->expect = value;
    }
}

static enum MHD_Result note_header(void *cls, enum MHD_ValueKind kind, const char *key, size_t size,
                                   const char *value, size_t value_size)
{
    (void)kind;
    struct header_scan *scan = cls;
    struct bytes *headers = &scan->request->headers;
    value = value ? value : "";
    if (scan->request->server->strict && !scan->request->wrong)
        scan->request->wrong =
            http_head_field_fault((struct view){(const uint8_t *)key, size},
                                  (struct view){(const uint8_t *)value, value_size});
    note_framing(scan, key, size, value);
    scan->no_memory |= bytes_append(headers, key, size) != BYTES_OK ||
                       bytes_append(headers, "", 1) != BYTES_OK ||
                       bytes_append(headers, value, value_size) != BYTES_OK ||
                       bytes_append(headers, "", 1) != BYTES_OK;
    return MHD_YES;
}

/* RFC 9112, 3.2 and 6. NULL: valid. */
static const char *fault_of(const struct header_scan *scan, const char *version)
{
    bool old = strcmp(version, MHD_HTTP_VERSION_1_0) == 0;
    if (scan->hosts > 1 || scan->bad_host || (!old && scan->hosts == 0))
        return "HTTP/1.1 requires one Host header with a host and optionally a port";
    if (scan->two_lengths || scan->two_codings)
        return "the framing is ambiguous: two Content-Length or two Transfer-Encoding headers";
    if (scan->coding && scan->length)
        return "the framing is ambiguous: Content-Length beside Transfer-Encoding";
    if (scan->length && !http_head_length(view_of(scan->length), &scan->request->declared))
        return "Content-Length is not a number of bytes";
    return scan->coding && old ? "HTTP/1.0 has no Transfer-Encoding" : NULL;
}

/* Returns 0, or the status to refuse with. */
static unsigned status_of_header(struct http_request *request, const struct header_scan *scan,
                                 const char *version)
{
    if (scan->no_memory)
        return MHD_HTTP_SERVICE_UNAVAILABLE;
    if (!request->wrong)
        request->wrong = fault_of(scan, version);
    if (request->wrong)
        return MHD_HTTP_BAD_REQUEST;
    if (scan->coding && strcasecmp(scan->coding, "chunked") != 0)
        return MHD_HTTP_NOT_IMPLEMENTED;
    return 0;
}

static void note_too_large(struct http_request *request)
{
    if (!request->hopeless_at)
        request->hopeless_at = clock_mono(&clock_system);
    request->fault = HTTP_FAULT_TOO_LARGE;
}

static size_t header_size(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *size =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    return size ? size->header_size : 0;
}

/* What is malformed in the header; if it cannot be checked as a whole, note_header() checks the
 * fields. */
static const char *head_fault(const struct http_request *request, const char *method,
                              const char *version, size_t size)
{
    if (request->server->strict)
        return http_head_method_fault(method);
    if (size > HTTP_CONNECTION_MEMORY) /* the library moved it to join a continued line */
        return "a header's value continues on the next line";
    return http_head_fault(method, size, version, request->target_size);
}

unsigned http_request_headers(struct http_request *request, struct MHD_Connection *connection,
                              const char *method, const char *version)
{
    struct header_scan scan = {.request = request};
    size_t size = header_size(connection);
    if (!request->wrong)
        request->wrong = head_fault(request, method, version, size);
    bytes_reserve(&request->headers, size < HEADERS_MAX ? size + 16 : 0);
    scan.no_memory = bytes_append(&request->headers, method, strlen(method) + 1) != BYTES_OK;
    request->headers_at = request->headers.size;
    MHD_get_connection_values_n(connection, MHD_HEADER_KIND, note_header, &scan);
    unsigned refusal = status_of_header(request, &scan, version);
    if (refusal)
        return refusal;
    request->method = (const char *)request->headers.data;
    request->expects_continue = scan.expect && strcasecmp(scan.expect, "100-continue") == 0;
    if (scan.coding)
        request->declared = UINT64_MAX;
    const struct http_server_options *options = &request->server->options;
    size_t most = budget_cap(options->budget, options->max_body);
    if (scan.length && request->declared > most)
        note_too_large(request);
    else
        arrival_begin(&request->arrival, options->budget, most,
                      scan.coding ? SIZE_MAX : (size_t)request->declared);
    http_auth_look(request);
    return 0;
}

static uint64_t discard_limit(const struct http_request *request)
{
    uint64_t twice = 2 * (uint64_t)request->server->options.max_body;
    return twice > DISCARD_MIN ? twice : DISCARD_MIN;
}

bool http_request_hopeless(const struct http_request *request)
{
    if (!request->fault && !request->refused && !http_auth_denies(request))
        return false;
    return request->expects_continue ||
           (request->declared != UINT64_MAX && request->declared > discard_limit(request));
}

static bool never_fits(const struct http_request *request)
{
    const struct http_server_options *options = &request->server->options;
    uint64_t size = request->declared == UINT64_MAX ? request->received : request->declared;
    return size > budget_cap(options->budget, options->max_body);
}

/* The size of a discarded body shows in the end whether it could ever have been kept. */
static void note_fault(struct http_request *request)
{
    if (never_fits(request))
        note_too_large(request);
    else if (!request->fault)
        request->fault = HTTP_FAULT_MEMORY;
}

static bool is_kept(const struct http_request *request)
{
    return !request->fault && !request->refused && !http_auth_denies(request);
}

bool http_request_receive(struct http_request *request, const char *data, size_t size)
{
    request->received += size;
    if (is_kept(request)) {
        if (arrival_append(&request->arrival, data, size) == BYTES_OK)
            return true;
        note_fault(request);
    } else if (request->fault) {
        note_fault(request);
    }
    return request->received <= discard_limit(request) &&
           (!request->hopeless_at || http_request_may_discard(request));
}

bool http_request_may_discard(const struct http_request *request)
{
    return clock_mono(&clock_system) < request->hopeless_at + DISCARD_TIME;
}

void http_request_finish(struct http_request *request)
{
    if (is_kept(request) && !arrival_end(&request->arrival, &request->body))
        note_fault(request);
}

const char *http_request_method(const struct http_request *request)
{
    return request->method;
}

const char *http_request_path(const struct http_request *request)
{
    return request->path;
}

const char *http_request_query(const struct http_request *request)
{
    return request->query;
}

/* The value of the first field with this name from `at` on. NULL: none. */
static const char *header_from(const struct http_request *request, const char *at, const char *name)
{
    const char *end = (const char *)request->headers.data + request->headers.size;
    while (at < end) {
        const char *value = at + strlen(at) + 1;
        if (strcasecmp(at, name) == 0)
            return value;
        at = value + strlen(value) + 1;
    }
    return NULL;
}

const char *http_request_header(const struct http_request *request, const char *name)
{
    return header_from(request, (const char *)request->headers.data + request->headers_at, name);
}

const char *http_request_authority(const struct http_request *request)
{
    return request->authority ? request->authority : http_request_header(request, "Host");
}

bool http_request_header_repeats(const struct http_request *request, const char *name)
{
    const char *first = http_request_header(request, name);
    return first && header_from(request, first + strlen(first) + 1, name);
}

struct view http_request_all_headers(const struct http_request *request)
{
    return (struct view){request->headers.data + request->headers_at,
                         request->headers.size - request->headers_at};
}

enum http_fault http_request_fault(const struct http_request *request)
{
    return request->fault;
}

unsigned http_request_encodings(const struct http_request *request)
{
    unsigned encodings = request->server->options.encodings;
    return encodings ? encodings : ENCODINGS_ALL;
}

const struct peer *http_request_peer(const struct http_request *request)
{
    return &request->peer;
}

void http_request_refused(struct http_request *request, const struct outcome *why)
{
    const struct http_server_options *options = &request->server->options;
    if (options->refused && !request->reported)
        options->refused(options->ctx, request->path, &request->peer, why);
    request->reported = true;
}

enum inflate_result http_request_take_body(struct http_request *request, struct bytes *out)
{
    const struct http_server_options *options = &request->server->options;
    enum encoding_name encoding =
        encoding_parse(view_of(http_request_header(request, "content-encoding")));
    if (encoding == ENCODING_IDENTITY) {
        *out = request->body;
        out->max = options->max_body;
        bytes_init(&request->body, 0, options->budget);
        return INFLATE_OK;
    }
    bytes_init(out, budget_cap(options->budget, options->max_body), options->budget);
    struct view packed = bytes_view(&request->body);
    enum inflate_result result = inflate_append(encoding, packed, out);
    bytes_release(result == INFLATE_OK ? &request->body : out);
    return inflate_final(encoding, packed, out->max, options->budget, result);
}

void http_response_header(struct http_request *request, const char *name, const char *value)
{
    if (request->extra_count == HTTP_EXTRA_HEADERS)
        return;
    char *name_copy = strdup(name), *value_copy = strdup(value);
    if (!name_copy || !value_copy) {
        free(name_copy);
        free(value_copy);
        return;
    }
    request->extra[request->extra_count].name = name_copy;
    request->extra[request->extra_count++].value = value_copy;
}
