#include <stdlib.h>
#include <strings.h>

#include "net/http_internal.h"

#define HEADERS_MAX (128u << 10) /* the library's own limit per connection is lower */
#define DISCARD_MIN (UINT64_C(16) << 20)

/* Where the path begins in a request target: "/x", or "http://host/x" as proxies send it. */
static char *path_of(char *uri)
{
    char *authority = strstr(uri, "://");
    if (uri[0] == '/' || !authority)
        return uri;
    return authority + 3 + strcspn(authority + 3, "/?");
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
    char *path = path_of(request->uri), *mark = strchr(path, '?');
    if (mark)
        *mark = '\0';
    request->path = *path ? path : "/";
    request->query = mark ? mark + 1 : "";
    bytes_init(&request->headers, HEADERS_MAX, NULL);
    bytes_init(&request->body, server->options.max_body, server->options.budget);
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
    bytes_release(&request->body);
    http_server_unref(request->server);
    free(request);
}

/* What a look at all headers finds. */
struct header_scan {
    struct http_request *request;
    const char *length, *coding, *expect;
    bool bad, twice, no_memory;
};

static bool is(const char *key, size_t size, const char *name, size_t name_size)
{
    return size == name_size && strncasecmp(key, name, size) == 0;
}

static void note_framing(struct header_scan *scan, const char *key, size_t size, const char *value)
{
    if (is(key, size, "content-length", 14)) {
        scan->bad |= scan->length && strcmp(scan->length, value) != 0;
        scan->length = value;
    } else if (is(key, size, "transfer-encoding", 17)) {
        scan->twice |= scan->coding != NULL;
        scan->coding = value;
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
    /* The library takes "Content-Length : 5" for another name. */
    scan->bad |= size == 0 || key[size - 1] == ' ' || key[size - 1] == '\t';
    note_framing(scan, key, size, value);
    scan->no_memory |= bytes_append(headers, key, size) != BYTES_OK ||
                       bytes_append(headers, "", 1) != BYTES_OK ||
                       bytes_append(headers, value, value_size) != BYTES_OK ||
                       bytes_append(headers, "", 1) != BYTES_OK;
    return MHD_YES;
}

/* 0, or the status that the framing is refused with. */
static unsigned judge(const struct header_scan *scan, const char *version)
{
    if (scan->no_memory)
        return MHD_HTTP_SERVICE_UNAVAILABLE;
    if (scan->bad || scan->twice || (scan->coding && scan->length))
        return MHD_HTTP_BAD_REQUEST;
    if (scan->coding && strcmp(version, MHD_HTTP_VERSION_1_0) == 0)
        return MHD_HTTP_BAD_REQUEST;
    if (scan->coding && strcasecmp(scan->coding, "chunked") != 0)
        return MHD_HTTP_NOT_IMPLEMENTED;
    return 0;
}

unsigned http_request_headers(struct http_request *request, struct MHD_Connection *connection,
                              const char *method, const char *version)
{
    struct header_scan scan = {.request = request};
    const union MHD_ConnectionInfo *size =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    if (size)
        bytes_reserve(&request->headers, size->header_size + 16);
    scan.no_memory = bytes_append(&request->headers, method, strlen(method) + 1) != BYTES_OK;
    request->headers_at = request->headers.size;
    MHD_get_connection_values_n(connection, MHD_HEADER_KIND, note_header, &scan);
    unsigned refusal = judge(&scan, version);
    if (refusal)
        return refusal;
    request->method = (const char *)request->headers.data;
    request->expects_continue = scan.expect && strcasecmp(scan.expect, "100-continue") == 0;
    request->declared = scan.coding ? UINT64_MAX : 0;
    if (scan.length)
        request->declared = strtoull(scan.length, NULL, 10);
    if (scan.length && request->declared > request->server->options.max_body)
        request->fault = HTTP_FAULT_TOO_LARGE;
    else if (scan.length)
        request->body.max = (size_t)request->declared;
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

/* Makes room for all that was declared at once where memory is plenty; else grows to twice the
 * size, so that clients who declare and do not send cannot hold it. */
static enum bytes_result keep(struct http_request *request, const char *data, size_t size)
{
    struct bytes *body = &request->body;
    size_t rest = body->max - body->size, more = body->size > size ? body->size : size;
    if (request->declared != UINT64_MAX && budget_has_ease(body->budget, rest))
        more = rest;
    if (size <= rest && body->capacity - body->size < size)
        bytes_reserve(body, more < rest ? more : rest);
    return bytes_append(body, data, size);
}

/* The budget could never hold it, or just not now. */
static enum http_fault fault_of(const struct http_request *request, enum bytes_result result,
                                size_t size)
{
    const struct budget *budget = request->server->options.budget;
    size_t need = request->body.size + size;
    if (request->declared != UINT64_MAX)
        need = (size_t)request->declared;
    return result == BYTES_FULL || budget_never_fits(budget, need) ? HTTP_FAULT_TOO_LARGE
                                                                   : HTTP_FAULT_MEMORY;
}

bool http_request_receive(struct http_request *request, const char *data, size_t size)
{
    request->received += size;
    if (!request->fault && !request->refused && !http_auth_denies(request)) {
        enum bytes_result result = keep(request, data, size);
        if (result == BYTES_OK)
            return true;
        request->fault = fault_of(request, result, size);
        bytes_release(&request->body);
    }
    return request->received <= discard_limit(request);
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

const char *http_request_header(const struct http_request *request, const char *name)
{
    const char *at = (const char *)request->headers.data + request->headers_at;
    const char *end = (const char *)request->headers.data + request->headers.size;
    while (at < end) {
        const char *value = at + strlen(at) + 1;
        if (strcasecmp(at, name) == 0)
            return value;
        at = value + strlen(value) + 1;
    }
    return NULL;
}

struct view http_request_body(const struct http_request *request)
{
    return bytes_view(&request->body);
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
    if (options->refused && !request->told)
        options->refused(options->ctx, request->path, &request->peer, why);
    request->told = true;
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
    enum inflate_result result = inflate_append(encoding, bytes_view(&request->body), out);
    bytes_release(result == INFLATE_OK ? &request->body : out);
    return result;
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
