/* A call over h2_session in place of libcurl's HTTP (lib/net/http/http_handle.h). */
#include "lib/net/http/http_handle.h"

#include "lib/base/clock.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

struct url_parts {
    char *scheme;
    char *host;
    char *port;
    char *path;
    char *query;
    const char *name; /* that the server's certificate is to bear */
};

enum { OUT_SIZE = 128 * 1024, IN_SIZE = 16 * 1024, PATIENCE_MS = 3600 * 1000 };

/* ---- the connection; libcurl makes it: names, unix sockets, time limits. TLS is ours, for where
 * it agrees on HTTP/2, libcurl would speak that itself. ---- */

void http_handle_hang_up(struct http_handle *line)
{
    if (!line->h2)
        return;
    h2_session_free(line->h2);
    line->h2 = NULL;
    tls_session_free(line->tls);
    line->tls = NULL;
    free(line->out);
    line->out = NULL;
    curl_multi_remove_handle(line->multi, line->easy); /* which closes the connection */
}

static int patience(const struct http_handle *line)
{
    uint64_t now = clock_mono(&clock_system);
    if (line->deadline == TIME_NEVER)
        return PATIENCE_MS;
    uint64_t ms = line->deadline > now ? (line->deadline - now) / NS_PER_MS + 1 : 0;
    return ms < PATIENCE_MS ? (int)ms : PATIENCE_MS;
}

static int socket_of(const struct http_handle *line)
{
    curl_socket_t fd = CURL_SOCKET_BAD;
    curl_easy_getinfo(line->easy, CURLINFO_ACTIVESOCKET, &fd);
    return fd;
}

static CURLcode wait_for_peer(struct http_handle *line, short events)
{
    int ms = patience(line);
    if (atomic_load(line->aborted))
        return CURLE_ABORTED_BY_CALLBACK;
    if (ms == 0)
        return CURLE_OPERATION_TIMEDOUT;
    struct curl_waitfd wait = {.fd = socket_of(line), .events = events};
    CURLMcode code = curl_multi_poll(line->multi, &wait, 1, ms, NULL);
    return code == CURLM_OK ? CURLE_OK : CURLE_OUT_OF_MEMORY;
}

static CURLcode http_handle_h2_shake_hands(struct http_handle *line)
{
    for (;;) {
        CURLcode code = CURLE_OK;
        switch (tls_session_handshake(line->tls, line->problem, sizeof line->problem)) {
        case TLS_READY:
            return CURLE_OK;
        case TLS_FAILED:
            return CURLE_SSL_CONNECT_ERROR;
        case TLS_READS:
            code = wait_for_peer(line, CURL_WAIT_POLLIN);
            break;
        case TLS_WRITES:
            code = wait_for_peer(line, CURL_WAIT_POLLOUT);
            break;
        }
        if (code != CURLE_OK)
            return code;
    }
}

static CURLcode begin_tls(struct http_handle *line, const char *name)
{
    line->tls =
        tls_session_connect(line->material, &line->options->tls, socket_of(line), "h2", name);
    return line->tls ? http_handle_h2_shake_hands(line) : CURLE_OUT_OF_MEMORY;
}

static bool begin_h2(struct http_handle *line)
{
    line->h2 = h2_session_new();
    line->out = line->h2 ? malloc(OUT_SIZE) : NULL;
    line->out_from = line->out_size = 0;
    return line->out;
}

static CURLcode connect_to(struct http_handle *line, const struct url_parts *to)
{
    char url[512];
    snprintf(url, sizeof url, "http://%s:%s/", to->host, to->port);
    curl_easy_setopt(line->easy, CURLOPT_URL, url);
    curl_easy_setopt(line->easy, CURLOPT_CONNECT_ONLY, 1L);
    CURLcode code = http_handle_run(line);
    if (code == CURLE_OK && !begin_h2(line))
        code = CURLE_OUT_OF_MEMORY;
    if (code == CURLE_OK && strcmp(to->scheme, "https") == 0)
        code = begin_tls(line, to->name);
    if (code == CURLE_OK)
        return CURLE_OK;
    http_handle_hang_up(line);
    curl_multi_remove_handle(line->multi, line->easy);
    return code;
}

/* ---- bytes ---- */

static CURLcode send_some(struct http_handle *line, const uint8_t *data, size_t size, size_t *sent)
{
    if (!line->tls)
        return curl_easy_send(line->easy, data, size, sent);
    ssize_t n = tls_session_send(line->tls, data, size);
    *sent = n > 0 ? (size_t)n : 0;
    return n >= 0 ? CURLE_OK : errno == EAGAIN ? CURLE_AGAIN : CURLE_SEND_ERROR;
}

static CURLcode receive_some(struct http_handle *line, uint8_t *out, size_t size, size_t *got)
{
    if (!line->tls)
        return curl_easy_recv(line->easy, out, size, got);
    ssize_t n = tls_session_recv(line->tls, out, size);
    *got = n > 0 ? (size_t)n : 0;
    if (n >= 0)
        return CURLE_OK;
    if (errno != EPROTO)
        return errno == EAGAIN ? CURLE_AGAIN : CURLE_RECV_ERROR;
    tls_session_refusal(line->tls, line->problem, sizeof line->problem);
    return CURLE_SSL_CONNECT_ERROR;
}

/* CURLE_AGAIN: the socket takes no more now. */
static CURLcode send_all(struct http_handle *line)
{
    for (;;) {
        size_t sent = 0;
        if (line->out_from == line->out_size) {
            ssize_t n = h2_session_gather(line->h2, line->out, OUT_SIZE);
            if (n <= 0)
                return n < 0 ? CURLE_OUT_OF_MEMORY : CURLE_OK;
            line->out_from = 0;
            line->out_size = (size_t)n;
        }
        CURLcode code =
            send_some(line, line->out + line->out_from, line->out_size - line->out_from, &sent);
        if (code != CURLE_OK)
            return code;
        line->out_from += sent;
    }
}

/* CURLE_OK: all that is there now was read. CURLE_GOT_NOTHING: the peer has closed. */
static CURLcode receive_all(struct http_handle *line)
{
    uint8_t in[IN_SIZE];
    for (;;) {
        size_t n = 0;
        CURLcode code = receive_some(line, in, sizeof in, &n);
        if (code != CURLE_OK)
            return code == CURLE_AGAIN ? CURLE_OK : code;
        if (n == 0)
            return CURLE_GOT_NOTHING;
        if (!h2_session_receive(line->h2, (struct view){in, n}))
            return CURLE_HTTP2;
    }
}

static bool is_alive(struct http_handle *line)
{
    return line->h2 && receive_all(line) == CURLE_OK && h2_session_usable(line->h2);
}

/* ---- a call ---- */

static CURLcode result_of(struct http_handle *line)
{
    switch (h2_session_state(line->h2)) {
    case H2_ANSWERED:
        send_all(line); /* the reset of what it did not want to have, as far as it goes */
        return CURLE_OK;
    case H2_RESET:
        snprintf(line->problem, sizeof line->problem, "%s", h2_session_reason(line->h2));
        return CURLE_HTTP2_STREAM;
    case H2_REFUSED:
        return CURLE_GOT_NOTHING;
    case H2_WAITING:
        break;
    }
    return CURLE_AGAIN;
}

static CURLcode talk(struct http_handle *line)
{
    while (!atomic_load(line->aborted)) {
        CURLcode sent = send_all(line);
        /* Also after a failure to send: the peer's last words may be there to read. */
        CURLcode received = receive_all(line);
        CURLcode result = result_of(line);
        if (result != CURLE_AGAIN)
            return result;
        if (received == CURLE_SSL_CONNECT_ERROR)
            return received;
        if (sent != CURLE_OK && sent != CURLE_AGAIN)
            return sent;
        if (received != CURLE_OK)
            return received;
        if ((result = send_all(line)) == CURLE_OK || result == CURLE_AGAIN)
            result =
                wait_for_peer(line, result == CURLE_AGAIN ? CURL_WAIT_POLLIN | CURL_WAIT_POLLOUT
                                                          : CURL_WAIT_POLLIN);
        if (result != CURLE_OK)
            return result;
    }
    return CURLE_ABORTED_BY_CALLBACK;
}

static CURLcode call_once(struct http_handle *line, const struct h2_request *request)
{
    if (!h2_session_begin(line->h2, request, line->reply))
        return CURLE_OUT_OF_MEMORY;
    CURLcode code = talk(line);
    h2_session_cancel(line->h2);
    /* A reset ends the call only; anything else leaves a connection that cannot be trusted. */
    if (code != CURLE_OK && code != CURLE_HTTP2_STREAM)
        http_handle_hang_up(line);
    return code;
}

static bool went_unnoticed(CURLcode code, const struct http_reply *reply)
{
    return reply->status == 0 &&
           (code == CURLE_GOT_NOTHING || code == CURLE_SEND_ERROR || code == CURLE_RECV_ERROR);
}

/* A kept connection may have died unseen, or its peer may be going: one more try then, on a new
 * one. */
static CURLcode call_any(struct http_handle *line, const struct url_parts *to,
                         const struct h2_request *request)
{
    if (is_alive(line)) {
        CURLcode code = call_once(line, request);
        if (!went_unnoticed(code, line->reply))
            return code;
    }
    http_handle_hang_up(line);
    CURLcode code = connect_to(line, to);
    return code == CURLE_OK ? call_once(line, request) : code;
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

/* Of "host:port"; an address of IPv6 keeps its brackets. */
static const char *http_handle_h2_host_of(const char *authority, char *out, size_t size)
{
    size_t n = *authority == '[' ? strcspn(authority, "]") + 1 : strcspn(authority, ":");
    snprintf(out, size, "%.*s", (int)n, authority);
    return out;
}

CURLcode http_handle_h2(struct http_handle *line, const struct http_call *call)
{
    struct url_parts parts = {0};
    char authority[300], path[2048];
    CURLcode code = CURLE_URL_MALFORMAT;
    if (split_url(call->url, &parts)) {
        const char *asked = line->options->authority;
        const char *name = http_handle_name(line, call->url);
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
        code = call_any(line, &parts, &request);
    }
    release_parts(&parts);
    return code;
}
