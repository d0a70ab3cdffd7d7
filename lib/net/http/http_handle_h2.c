/* Calls over h2_session instead of libcurl's HTTP (lib/net/http/http_handle.h). */
#include "lib/net/http/http_handle.h"

#include "lib/base/clock.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/uio.h>

struct url_parts {
    char *scheme;
    char *host;
    char *port;
    char *path;
    char *query;
    const char *name; /* expected in the server's certificate */
};

enum { IN_SIZE = 16 * 1024, PATIENCE_MS = 3600 * 1000 };

/* ---- the connection; libcurl makes it: names, unix sockets, timeouts. TLS is done here, because
 * libcurl would use its own HTTP/2 if it negotiated that. ---- */

void http_handle_disconnect(struct http_handle *handle)
{
    if (!handle->h2)
        return;
    h2_session_free(handle->h2);
    handle->h2 = NULL;
    tls_session_free(handle->tls);
    handle->tls = NULL;
    h2_output_end(&handle->out);
    curl_multi_remove_handle(handle->multi, handle->easy); /* closes the connection */
}

static int patience(const struct http_handle *handle)
{
    uint64_t now = clock_mono(&clock_system);
    if (handle->deadline == TIME_NEVER)
        return PATIENCE_MS;
    uint64_t ms = handle->deadline > now ? (handle->deadline - now) / NS_PER_MS + 1 : 0;
    return ms < PATIENCE_MS ? (int)ms : PATIENCE_MS;
}

static int socket_of(const struct http_handle *handle)
{
    curl_socket_t fd = CURL_SOCKET_BAD;
    curl_easy_getinfo(handle->easy, CURLINFO_ACTIVESOCKET, &fd);
    return fd;
}

static CURLcode wait_for_peer(struct http_handle *handle, short events)
{
    int ms = patience(handle);
    if (atomic_load(&handle->life->aborted))
        return CURLE_ABORTED_BY_CALLBACK;
    if (ms == 0)
        return CURLE_OPERATION_TIMEDOUT;
    struct curl_waitfd wait = {.fd = socket_of(handle), .events = events};
    CURLMcode code = curl_multi_poll(handle->multi, &wait, 1, ms, NULL);
    return code == CURLM_OK ? CURLE_OK : CURLE_OUT_OF_MEMORY;
}

static CURLcode http_handle_h2_shake_hands(struct http_handle *handle)
{
    for (;;) {
        CURLcode code = CURLE_OK;
        switch (tls_session_handshake(handle->tls, handle->problem, sizeof handle->problem)) {
        case TLS_READY:
            return CURLE_OK;
        case TLS_FAILED:
            return CURLE_SSL_CONNECT_ERROR;
        case TLS_READS:
            code = wait_for_peer(handle, CURL_WAIT_POLLIN);
            break;
        case TLS_WRITES:
            code = wait_for_peer(handle, CURL_WAIT_POLLOUT);
            break;
        }
        if (code != CURLE_OK)
            return code;
    }
}

static CURLcode begin_tls(struct http_handle *handle, const char *name)
{
    handle->tls =
        tls_session_connect(handle->material, &handle->options->tls, socket_of(handle), "h2", name);
    return handle->tls ? http_handle_h2_shake_hands(handle) : CURLE_OUT_OF_MEMORY;
}

static bool begin_h2(struct http_handle *handle, bool tls)
{
    handle->h2 = h2_session_new();
    return handle->h2 && h2_output_begin(&handle->out, tls);
}

static CURLcode connect_to(struct http_handle *handle, const struct url_parts *to)
{
    char url[512];
    snprintf(url, sizeof url, "http://%s:%s/", to->host, to->port);
    curl_easy_setopt(handle->easy, CURLOPT_URL, url);
    curl_easy_setopt(handle->easy, CURLOPT_CONNECT_ONLY, 1L);
    CURLcode code = http_handle_run(handle);
    bool tls = strcmp(to->scheme, "https") == 0;
    if (code == CURLE_OK && !begin_h2(handle, tls))
        code = CURLE_OUT_OF_MEMORY;
    if (code == CURLE_OK && tls)
        code = begin_tls(handle, to->name);
    if (code == CURLE_OK)
        return CURLE_OK;
    http_handle_disconnect(handle);
    curl_multi_remove_handle(handle->multi, handle->easy);
    return code;
}

/* ---- bytes ---- */

static ssize_t send_runs(const struct http_handle *handle, struct pieces runs)
{
    struct iovec parts[H2_OUTPUT_RUNS];
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = runs.count};
    for (size_t i = 0; i < runs.count; i++)
        parts[i] = (struct iovec){(void *)(uintptr_t)runs.views[i].data, runs.views[i].size};
    return sendmsg(socket_of(handle), &message, MSG_NOSIGNAL);
}

static CURLcode send_some(struct http_handle *handle)
{
    struct pieces unsent = h2_output_unsent(&handle->out);
    const struct view *first = unsent.views;
    ssize_t n = handle->tls ? tls_session_send(handle->tls, first->data, first->size)
                            : send_runs(handle, unsent);
    if (n < 0 && errno != EINTR)
        return errno == EAGAIN ? CURLE_AGAIN : CURLE_SEND_ERROR;
    if (n > 0)
        h2_output_sent(&handle->out, (size_t)n);
    return CURLE_OK;
}

static CURLcode receive_some(struct http_handle *handle, uint8_t *out, size_t size, size_t *got)
{
    if (!handle->tls)
        return curl_easy_recv(handle->easy, out, size, got);
    ssize_t n = tls_session_recv(handle->tls, out, size);
    *got = n > 0 ? (size_t)n : 0;
    if (n >= 0)
        return CURLE_OK;
    if (errno != EPROTO)
        return errno == EAGAIN ? CURLE_AGAIN : CURLE_RECV_ERROR;
    tls_session_refusal(handle->tls, handle->problem, sizeof handle->problem);
    return CURLE_SSL_CONNECT_ERROR;
}

/* CURLE_AGAIN: the socket is full. */
static CURLcode send_all(struct http_handle *handle)
{
    CURLcode code = CURLE_OK;
    while (code == CURLE_OK) {
        if (handle->out.count == 0 && !h2_session_output(handle->h2, &handle->out))
            return CURLE_OUT_OF_MEMORY;
        if (handle->out.count == 0)
            return CURLE_OK;
        code = send_some(handle);
    }
    return code;
}

/* CURLE_OK: all available bytes were read. CURLE_GOT_NOTHING: the peer has closed. */
static CURLcode receive_all(struct http_handle *handle)
{
    uint8_t in[IN_SIZE];
    for (;;) {
        size_t n = 0;
        CURLcode code = receive_some(handle, in, sizeof in, &n);
        if (code != CURLE_OK)
            return code == CURLE_AGAIN ? CURLE_OK : code;
        if (n == 0)
            return CURLE_GOT_NOTHING;
        if (!h2_session_receive(handle->h2, (struct view){in, n}))
            return CURLE_HTTP2;
    }
}

static bool is_alive(struct http_handle *handle)
{
    return handle->h2 && receive_all(handle) == CURLE_OK && h2_session_usable(handle->h2);
}

/* ---- a call ---- */

static CURLcode result_of(struct http_handle *handle)
{
    switch (h2_session_state(handle->h2)) {
    case H2_ANSWERED:
        send_all(handle); /* sends the reset of an unwanted stream, best effort */
        return CURLE_OK;
    case H2_RESET:
        snprintf(handle->problem, sizeof handle->problem, "%s", h2_session_reason(handle->h2));
        return CURLE_HTTP2_STREAM;
    case H2_REFUSED:
        return CURLE_GOT_NOTHING;
    case H2_WAITING:
        break;
    }
    return CURLE_AGAIN;
}

static CURLcode talk(struct http_handle *handle)
{
    while (!atomic_load(&handle->life->aborted)) {
        CURLcode sent = send_all(handle);
        /* Also after a failure to send: the peer's final response may be readable. */
        CURLcode received = receive_all(handle);
        CURLcode result = result_of(handle);
        if (result != CURLE_AGAIN)
            return result;
        if (received == CURLE_SSL_CONNECT_ERROR)
            return received;
        if (sent != CURLE_OK && sent != CURLE_AGAIN)
            return sent;
        if (received != CURLE_OK)
            return received;
        if ((result = send_all(handle)) == CURLE_OK || result == CURLE_AGAIN)
            result =
                wait_for_peer(handle, result == CURLE_AGAIN ? CURL_WAIT_POLLIN | CURL_WAIT_POLLOUT
                                                            : CURL_WAIT_POLLIN);
        if (result != CURLE_OK)
            return result;
    }
    return CURLE_ABORTED_BY_CALLBACK;
}

static CURLcode call_once(struct http_handle *handle, const struct h2_request *request)
{
    if (http_handle_withholds(handle))
        return CURLE_ABORTED_BY_CALLBACK;
    if (!h2_session_begin(handle->h2, request, handle->reply))
        return CURLE_OUT_OF_MEMORY;
    CURLcode code = talk(handle);
    h2_session_cancel(handle->h2);
    /* A reset only ends the call; after any other error the connection is unusable. */
    if ((code != CURLE_OK && code != CURLE_HTTP2_STREAM) || !h2_output_keep(&handle->out))
        http_handle_disconnect(handle);
    return code;
}

static bool went_unnoticed(CURLcode code, const struct http_reply *reply)
{
    return reply->status == 0 &&
           (code == CURLE_GOT_NOTHING || code == CURLE_SEND_ERROR || code == CURLE_RECV_ERROR);
}

/* A persistent connection may have died unnoticed, or its peer may be shutting down: then tries
 * once more on a new one. */
static CURLcode call_any(struct http_handle *handle, const struct url_parts *to,
                         const struct h2_request *request)
{
    if (is_alive(handle)) {
        CURLcode code = call_once(handle, request);
        if (!went_unnoticed(code, handle->reply))
            return code;
    }
    http_handle_disconnect(handle);
    CURLcode code = connect_to(handle, to);
    return code == CURLE_OK ? call_once(handle, request) : code;
}

/* ---- the URL ---- */

static bool split_url(const char *url, struct url_parts *parts)
{
    CURLU *parsed = curl_url();
    bool ok = parsed && curl_url_set(parsed, CURLUPART_URL, url, 0) == CURLUE_OK &&
              curl_url_get(parsed, CURLUPART_SCHEME, &parts->scheme, 0) == CURLUE_OK &&
              curl_url_get(parsed, CURLUPART_HOST, &parts->host, 0) == CURLUE_OK &&
              curl_url_get(parsed, CURLUPART_PORT, &parts->port, CURLU_DEFAULT_PORT) == CURLUE_OK &&
              curl_url_get(parsed, CURLUPART_PATH, &parts->path, 0) == CURLUE_OK;
    if (ok)
        curl_url_get(parsed, CURLUPART_QUERY, &parts->query, 0);
    curl_url_cleanup(parsed);
    return ok;
}

static void release_parts(struct url_parts *parts)
{
    curl_free(parts->scheme);
    curl_free(parts->host);
    curl_free(parts->port);
    curl_free(parts->path);
    curl_free(parts->query);
}

/* The host of "host:port"; an IPv6 address keeps its brackets. */
static const char *http_handle_h2_host_of(const char *authority, char *out, size_t size)
{
    size_t n = *authority == '[' ? strcspn(authority, "]") + 1 : strcspn(authority, ":");
    snprintf(out, size, "%.*s", (int)n, authority);
    return out;
}

CURLcode http_handle_h2(struct http_handle *handle, const struct http_call *call)
{
    struct url_parts parts = {0};
    char authority[300], path[2048];
    CURLcode code = CURLE_URL_MALFORMAT;
    if (split_url(call->url, &parts)) {
        const char *asked = handle->options->authority;
        const char *name = http_handle_name(handle, call->url);
        char asked_host[256];
        parts.name = name ? name : parts.host;
        snprintf(authority, sizeof authority, "%s%s%s", name ? name : parts.host, name ? "" : ":",
                 name ? "" : parts.port);
        if (asked && *asked) {
            snprintf(authority, sizeof authority, "%s", asked);
            parts.name = name ? name : http_handle_h2_host_of(asked, asked_host, sizeof asked_host);
        }
        snprintf(path, sizeof path, "%s%s%s", parts.path, parts.query ? "?" : "",
                 parts.query ? parts.query : "");
        const struct h2_request request = {.scheme = parts.scheme,
                                           .authority = authority,
                                           .path = path,
                                           .headers = call->headers,
                                           .header_count = call->header_count,
                                           .body = call->body};
        code = call_any(handle, &parts, &request);
    }
    release_parts(&parts);
    return code;
}
