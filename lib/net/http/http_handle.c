#include "lib/net/http/http_handle.h"

#include "lib/base/clock.h"
#include "lib/late/late.h"
#include "lib/net/loopback.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <unistd.h>

#define CONNECT_TIMEOUT_NS (10 * NS_PER_S)

enum { UPLOAD_BUFFER = 256 * 1024, PATIENCE_MS = 3600 * 1000 };

/* ---- lifecycle ---- */

static size_t on_line(char *data, size_t size, size_t count, void *ctx)
{
    const struct http_handle *handle = ctx;
    if (handle->reply)
        http_reply_line(handle->reply, (struct view){(const uint8_t *)data, size * count},
                        clock_wall(&clock_system) / NS_PER_S);
    return size * count;
}

static size_t on_body(char *data, size_t size, size_t count, void *ctx)
{
    const struct http_handle *handle = ctx;
    if (handle->reply)
        http_reply_data(handle->reply, (struct view){(const uint8_t *)data, size * count});
    return size * count;
}

static size_t http_handle_read_body(char *out, size_t size, size_t count, void *ctx)
{
    struct http_handle *handle = ctx;
    return pieces_read(&handle->unsent, out, size * count);
}

/* A persistent connection had died: libcurl sends the body again from its start. */
static int rewind_body(void *ctx, curl_off_t offset, int origin)
{
    struct http_handle *handle = ctx;
    if (offset != 0 || origin != SEEK_SET)
        return CURL_SEEKFUNC_CANTSEEK;
    handle->unsent = pieces_read_begin(handle->body);
    return CURL_SEEKFUNC_OK;
}

bool http_handle_withholds(struct http_handle *handle)
{
    bool vetoed = veto_is_given(handle->veto);
    if (vetoed)
        handle->reply->withheld = true;
    return vetoed;
}

/* Called for each connection to which libcurl is about to write the request, and for those that it
 * makes for http_handle_h2.c. */
static int before_request(void *ctx, char *peer, char *own, int peer_port, int own_port)
{
    struct http_handle *handle = ctx;
    (void)peer, (void)own, (void)peer_port, (void)own_port;
    bool withheld = !handle->own_h2 && http_handle_withholds(handle);
    return withheld ? CURL_PREREQFUNC_ABORT : CURL_PREREQFUNC_OK;
}

static long milliseconds(uint64_t ns)
{
    const uint64_t most = UINT64_C(24) * PATIENCE_MS;
    uint64_t ms = ns / NS_PER_MS + (ns % NS_PER_MS != 0);
    return (long)(ms < most ? ms : most);
}

static curl_socket_t open_socket(void *ctx, curlsocktype purpose, struct curl_sockaddr *to)
{
    (void)purpose;
    int fd = socket(to->family, to->socktype | SOCK_CLOEXEC, to->protocol);
    if (fd >= 0)
        loopback_unpace(fd, &to->addr);
    else
        *(int *)ctx = errno;
    return fd;
}

static bool is_proxied(const struct http_client_options *options)
{
    return options->proxy_url && *options->proxy_url;
}

static void set_limits(CURL *easy, const struct http_client_options *options)
{
    uint64_t timeout = options->timeout_ns;
    uint64_t connect = timeout && timeout < CONNECT_TIMEOUT_NS ? timeout : CONNECT_TIMEOUT_NS;
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, milliseconds(timeout));
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, milliseconds(connect));
    curl_easy_setopt(easy, CURLOPT_UPLOAD_BUFFERSIZE, (long)UPLOAD_BUFFER);
    curl_easy_setopt(easy, CURLOPT_TCP_NODELAY, 1L);
    curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open_socket);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L); /* do not wait for a hanging resolver */
    curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    bool proxied = is_proxied(options);
    curl_easy_setopt(easy, CURLOPT_PROXY, proxied ? options->proxy_url : "");
    curl_easy_setopt(easy, CURLOPT_NOPROXY, proxied ? "" : "*");
}

static void set_files(CURL *easy, const struct tls_material *material)
{
    /* Debian's libcurl reads the CA directory, certificate by certificate, for each connection; the
     * bundle has the same ones. Without a bundle, use libcurl's default. */
    const char *ca = *material->paths[TLS_CA] ? material->paths[TLS_CA] : tls_system_ca();
    if (ca) {
        curl_easy_setopt(easy, CURLOPT_CAINFO, ca);
        curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
    }
    if (*material->paths[TLS_CERT]) {
        curl_easy_setopt(easy, CURLOPT_SSLCERT, material->paths[TLS_CERT]);
        curl_easy_setopt(easy, CURLOPT_SSLKEY, material->paths[TLS_KEY]);
    }
}

static void set_tls(CURL *easy, const struct tls_client_settings *settings)
{
    static const long least[] = {CURL_SSLVERSION_TLSv1_2, CURL_SSLVERSION_TLSv1_3};
    static const long most[] = {CURL_SSLVERSION_MAX_DEFAULT, CURL_SSLVERSION_MAX_TLSv1_2,
                                CURL_SSLVERSION_MAX_TLSv1_3};
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, settings->insecure_skip_verify ? 0L : 1L);
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, settings->insecure_skip_verify ? 0L : 2L);
    curl_easy_setopt(easy, CURLOPT_SSLVERSION,
                     least[settings->min_version] | most[settings->max_version]);
}

static struct http_handle *handle_of(struct tls_mark *mark)
{
    return (struct http_handle *)((char *)mark - offsetof(struct http_handle, mark));
}

/* libcurl verifies too, after the handshake, but does not report what is wrong. With a proxy the
 * session may be the proxy's. */
static int http_handle_shake_hands(struct tls_mark *mark, gnutls_session_t session)
{
    struct http_handle *handle = handle_of(mark);
    if (!handle->options->tls.insecure_skip_verify && !is_proxied(handle->options) &&
        *handle->tls_name)
        gnutls_session_set_verify_cert(session, handle->tls_name, 0);
    int code = tls_handshake_real(session);
    if (code < 0 && gnutls_error_is_fatal(code))
        tls_explain(session, "the server", code, handle->tls_problem, sizeof handle->tls_problem);
    return code;
}

static void note_alert(struct tls_mark *mark, gnutls_session_t session)
{
    struct http_handle *handle = handle_of(mark);
    tls_explain_alert((int)gnutls_alert_get(session), "the server", handle->tls_problem,
                      sizeof handle->tls_problem);
}

/* Sets no priorities if none are configured: libcurl has its own defaults. */
static struct tls_mark mark_of(const struct tls_client_settings *settings)
{
    const struct tls_suite_settings *suites = &settings->suites;
    bool any = suites->cipher_suites.count || suites->curve_preferences.count;
    return (struct tls_mark){.suites = any ? suites : NULL,
                             .min = settings->min_version,
                             .max = settings->max_version,
                             .shake = http_handle_shake_hands,
                             .alerted = note_alert,
                             .plain = !any};
}

void http_handle_free(struct http_handle *handle)
{
    http_handle_disconnect(handle);
    curl_easy_cleanup(handle->easy);
    curl_multi_cleanup(handle->multi);
    curl_slist_free_all(handle->detour);
    tls_material_unref(handle->material);
    free(handle);
}

struct http_handle *http_handle_new(const struct http_client_options *options,
                                    struct tls_material *material, struct http_life *life)
{
    struct http_handle *handle = calloc(1, sizeof *handle);
    if (!handle) {
        tls_material_unref(material);
        return NULL;
    }
    handle->options = options;
    handle->material = material;
    handle->life = life;
    handle->easy = curl_easy_init();
    handle->multi = curl_multi_init();
    if (!handle->easy || !handle->multi) {
        http_handle_free(handle);
        return NULL;
    }
    set_limits(handle->easy, options);
    curl_easy_setopt(handle->easy, CURLOPT_OPENSOCKETDATA, &handle->no_socket);
    set_tls(handle->easy, &options->tls);
    set_files(handle->easy, material);
    handle->mark = mark_of(&options->tls);
    if (options->unix_path && options->unix_path[0])
        curl_easy_setopt(handle->easy, CURLOPT_UNIX_SOCKET_PATH, options->unix_path);
    curl_easy_setopt(handle->easy, CURLOPT_ERRORBUFFER, handle->problem);
    curl_easy_setopt(handle->easy, CURLOPT_HEADERFUNCTION, on_line);
    curl_easy_setopt(handle->easy, CURLOPT_HEADERDATA, handle);
    curl_easy_setopt(handle->easy, CURLOPT_READFUNCTION, http_handle_read_body);
    curl_easy_setopt(handle->easy, CURLOPT_READDATA, handle);
    curl_easy_setopt(handle->easy, CURLOPT_SEEKFUNCTION, rewind_body);
    curl_easy_setopt(handle->easy, CURLOPT_SEEKDATA, handle);
    curl_easy_setopt(handle->easy, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(handle->easy, CURLOPT_WRITEDATA, handle);
    curl_easy_setopt(handle->easy, CURLOPT_PREREQFUNCTION, before_request);
    curl_easy_setopt(handle->easy, CURLOPT_PREREQDATA, handle);
    return handle;
}

/* ---- the address ---- */

static bool is_https(const char *url)
{
    return strncasecmp(url, "https:", 6) == 0;
}

const char *http_handle_name(const struct http_handle *handle, const char *url)
{
    const char *name = handle->options->tls.server_name_override;
    return name && *name && is_https(url) ? name : NULL;
}

/* Renames the host in the URL; the connection still goes to the original host. */
static CURLcode rename_host(struct http_handle *handle, CURLU *parts, const char *name)
{
    char *host = NULL, *port = NULL, *renamed = NULL, detour[512];
    CURLcode code = CURLE_URL_MALFORMAT;
    curl_slist_free_all(handle->detour);
    handle->detour = NULL;
    if (curl_url_get(parts, CURLUPART_HOST, &host, 0) == CURLUE_OK &&
        curl_url_get(parts, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) == CURLUE_OK &&
        curl_url_set(parts, CURLUPART_HOST, name, 0) == CURLUE_OK &&
        curl_url_get(parts, CURLUPART_URL, &renamed, 0) == CURLUE_OK) {
        snprintf(detour, sizeof detour, "::%s:%s", host, port);
        handle->detour = curl_slist_append(NULL, detour);
        curl_easy_setopt(handle->easy, CURLOPT_CONNECT_TO, handle->detour);
        curl_easy_setopt(handle->easy, CURLOPT_URL, renamed);
        code = handle->detour ? CURLE_OK : CURLE_OUT_OF_MEMORY;
    }
    curl_free(host);
    curl_free(port);
    curl_free(renamed);
    return code;
}

/* Stores the TLS name, without the brackets of an address. */
static void note_tls_name(struct http_handle *handle, const char *url)
{
    const char *name = http_handle_name(handle, url);
    CURLU *parts = curl_url();
    char *host = NULL;
    if (!name && parts && curl_url_set(parts, CURLUPART_URL, url, 0) == CURLUE_OK)
        curl_url_get(parts, CURLUPART_HOST, &host, 0);
    name = name ? name : host ? host : "";
    size_t bracket = *name == '[' && strlen(name) > 2;
    snprintf(handle->tls_name, sizeof handle->tls_name, "%.*s", (int)(strlen(name) - 2 * bracket),
             name + bracket);
    curl_free(host);
    curl_url_cleanup(parts);
}

/* Sets the URL, with the name that the server's certificate must have. */
static CURLcode http_handle_set_url(struct http_handle *handle, const char *url)
{
    const char *name = http_handle_name(handle, url);
    if (is_https(url))
        note_tls_name(handle, url);
    if (!name) {
        curl_easy_setopt(handle->easy, CURLOPT_URL, url);
        return CURLE_OK;
    }
    CURLU *parts = curl_url();
    CURLcode code = CURLE_URL_MALFORMAT;
    if (parts && curl_url_set(parts, CURLUPART_URL, url, 0) == CURLUE_OK)
        code = rename_host(handle, parts, name);
    curl_url_cleanup(parts);
    return code;
}

/* ---- HTTP with libcurl ---- */

static bool add_header(struct curl_slist **list, const struct http_header *header)
{
    char *text;
    /* "Name:" alone would remove a header; "Name;" sends an empty one. */
    if (asprintf(&text, *header->value ? "%s: %s" : "%s;", header->name, header->value) < 0)
        return false;
    struct curl_slist *longer = curl_slist_append(*list, text);
    free(text);
    if (longer)
        *list = longer;
    return longer;
}

/* The Host header must be the URL's own host, whatever libcurl uses. */
static bool add_host(struct curl_slist **list, const char *url)
{
    const char *from = strstr(url, "://");
    char host[300];
    if (!from)
        return false;
    from += strlen("://");
    snprintf(host, sizeof host, "%.*s", (int)strcspn(from, "/?#"), from);
    return add_header(list, &(struct http_header){"Host", host});
}

static struct curl_slist *make_list(const struct http_handle *handle, const struct http_call *call)
{
    struct curl_slist *list = curl_slist_append(NULL, "Expect:");
    if (list && http_handle_name(handle, call->url) && !add_host(&list, call->url)) {
        curl_slist_free_all(list);
        return NULL;
    }
    for (size_t i = 0; list && i < call->header_count; i++)
        if (!add_header(&list, &call->headers[i])) {
            curl_slist_free_all(list);
            return NULL;
        }
    return list;
}

/* CURLE_ABORTED_BY_CALLBACK: cancelled before it was complete. */
static CURLcode result_of(CURLM *multi)
{
    int left;
    const CURLMsg *message;
    while ((message = curl_multi_info_read(multi, &left)))
        if (message->msg == CURLMSG_DONE)
            return message->data.result;
    return CURLE_ABORTED_BY_CALLBACK;
}

CURLcode http_handle_run(struct http_handle *handle)
{
    int running = 1;
    tls_mark_next(&handle->mark);
    CURLMcode code = curl_multi_add_handle(handle->multi, handle->easy);
    while (code == CURLM_OK && !atomic_load(&handle->life->aborted)) {
        code = curl_multi_perform(handle->multi, &running);
        if (code != CURLM_OK || !running)
            break;
        code = curl_multi_poll(handle->multi, NULL, 0, PATIENCE_MS, NULL);
    }
    tls_mark_next(NULL);
    return code == CURLM_OK ? result_of(handle->multi) : CURLE_OUT_OF_MEMORY;
}

/* A contiguous body is sent in one write with the header if it is small. */
static void set_method(struct http_handle *handle, const struct http_call *call)
{
    CURL *easy = handle->easy;
    size_t size = pieces_size(call->body);
    const char *run = size == 0 ? "" : NULL;
    if (call->body.count == 1 && size > 0)
        run = (const char *)call->body.views[0].data;
    if (call->is_get) {
        curl_easy_setopt(easy, CURLOPT_HTTPGET, 1L);
        return;
    }
    handle->body = call->body;
    handle->unsent = pieces_read_begin(call->body);
    curl_easy_setopt(easy, CURLOPT_POST, 1L);
    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)size);
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, run);
}

/* Stores a redirect's target. */
static void note_redirect(struct http_handle *handle)
{
    char *url = NULL;
    if (handle->reply->status / 100 == 3 &&
        curl_easy_getinfo(handle->easy, CURLINFO_REDIRECT_URL, &url) == CURLE_OK && url)
        handle->reply->redirect = strdup(url);
}

/* 0 would mean no timeout. */
static long rest_ms(const struct http_handle *handle)
{
    return handle->deadline > handle->started ? milliseconds(handle->deadline - handle->started)
                                              : 1;
}

static CURLcode by_libcurl(struct http_handle *handle, const struct http_call *call)
{
    struct curl_slist *list = make_list(handle, call);
    if (!list)
        return CURLE_OUT_OF_MEMORY;
    CURLcode code = http_handle_set_url(handle, call->url);
    curl_easy_setopt(handle->easy, CURLOPT_CONNECT_ONLY, 0L);
    curl_easy_setopt(handle->easy, CURLOPT_HTTP_VERSION,
                     handle->options->http2 ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(handle->easy, CURLOPT_HTTPHEADER, list);
    set_method(handle, call);
    if (handle->deadline != TIME_NEVER)
        curl_easy_setopt(handle->easy, CURLOPT_TIMEOUT_MS, rest_ms(handle));
    if (code == CURLE_OK)
        code = http_handle_run(handle);
    curl_easy_getinfo(handle->easy, CURLINFO_RESPONSE_CODE, &handle->reply->status);
    note_redirect(handle);
    curl_multi_remove_handle(handle->multi, handle->easy);
    curl_easy_setopt(handle->easy, CURLOPT_HTTPHEADER, NULL);
    curl_slist_free_all(list);
    return code;
}

/* ---- a call ---- */

bool http_handle_call(struct http_handle *handle, const struct http_call *call,
                      struct http_reply *reply)
{
    uint64_t timeout = handle->options->timeout_ns;
    if (is_https(call->url) && !late_has_tls(reply->error, sizeof reply->error))
        return false;
    handle->reply = reply;
    handle->veto = call->veto;
    handle->problem[0] = handle->tls_problem[0] = '\0';
    handle->no_socket = 0;
    handle->started = clock_mono(&clock_system);
    handle->deadline = timeout ? handle->started + timeout : TIME_NEVER;
    if (call->deadline)
        handle->deadline = call->deadline;
    handle->own_h2 = handle->options->http2 && !call->is_get;
    CURLcode code = handle->own_h2 ? http_handle_h2(handle, call) : by_libcurl(handle, call);
    /* An error status counts even if the peer cut off the rest, as it may in the middle of a
     * body. */
    bool answered =
        reply->status && (code == CURLE_OK || reply->status >= 400 || reply->grpc_status > 0);
    if (answered)
        atomic_store_explicit(&handle->life->answered, true, memory_order_relaxed);
    else
        http_problem_explain(handle, call->url, code);
    handle->reply = NULL;
    return answered;
}
