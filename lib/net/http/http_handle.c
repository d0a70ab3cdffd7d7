#include "lib/net/http/http_handle.h"

#include "lib/base/clock.h"
#include "lib/late/late.h"
#include "lib/net/loopback.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <unistd.h>

#define CONNECT_TIMEOUT_NS (10 * NS_PER_S)

enum { UPLOAD_BUFFER = 256 * 1024, PATIENCE_MS = 3600 * 1000 };

/* ---- life ---- */

static size_t on_line(char *data, size_t size, size_t count, void *ctx)
{
    const struct http_handle *line = ctx;
    if (line->reply)
        http_reply_line(line->reply, (struct view){(const uint8_t *)data, size * count},
                        clock_wall(&clock_system) / NS_PER_S);
    return size * count;
}

static size_t on_body(char *data, size_t size, size_t count, void *ctx)
{
    const struct http_handle *line = ctx;
    if (line->reply)
        http_reply_data(line->reply, (struct view){(const uint8_t *)data, size * count});
    return size * count;
}

static size_t http_handle_read_body(char *out, size_t size, size_t count, void *ctx)
{
    struct http_handle *line = ctx;
    return pieces_read(&line->unsent, out, size * count);
}

/* A kept connection had died: the body is sent once more, from its start. */
static int rewind_body(void *ctx, curl_off_t offset, int origin)
{
    struct http_handle *line = ctx;
    if (offset != 0 || origin != SEEK_SET)
        return CURL_SEEKFUNC_CANTSEEK;
    line->unsent = pieces_read_begin(line->body);
    return CURL_SEEKFUNC_OK;
}

static long milliseconds(uint64_t ns)
{
    const uint64_t most = UINT64_C(24) * PATIENCE_MS;
    uint64_t ms = ns / NS_PER_MS + (ns % NS_PER_MS != 0);
    return (long)(ms < most ? ms : most);
}

static curl_socket_t open_socket(void *ctx, curlsocktype purpose, struct curl_sockaddr *to)
{
    (void)ctx, (void)purpose;
    int fd = socket(to->family, to->socktype | SOCK_CLOEXEC, to->protocol);
    if (fd >= 0)
        loopback_unpace(fd, &to->addr);
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
    curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L); /* no waiting for a resolver that is stuck */
    curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    bool proxied = is_proxied(options);
    curl_easy_setopt(easy, CURLOPT_PROXY, proxied ? options->proxy_url : "");
    curl_easy_setopt(easy, CURLOPT_NOPROXY, proxied ? "" : "*");
}

static void set_files(CURL *easy, const struct tls_material *material)
{
    /* Debian's libcurl reads the folder, certificate by certificate, at each connection; the bundle
     * holds the same ones. Where there is none, libcurl's own default stands. */
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

static struct http_handle *line_of(struct tls_mark *mark)
{
    return (struct http_handle *)((char *)mark - offsetof(struct http_handle, mark));
}

/* libcurl verifies too, once the handshake is over, but does not tell what is wrong. Through a
 * proxy the session may be the proxy's. */
static int http_handle_shake_hands(struct tls_mark *mark, gnutls_session_t session)
{
    struct http_handle *line = line_of(mark);
    if (!line->options->tls.insecure_skip_verify && !is_proxied(line->options) && *line->tls_name)
        gnutls_session_set_verify_cert(session, line->tls_name, 0);
    int code = tls_handshake_itself(session);
    if (code < 0 && gnutls_error_is_fatal(code))
        tls_explain(session, "the server", code, line->tls_problem, sizeof line->tls_problem);
    return code;
}

static void note_alert(struct tls_mark *mark, gnutls_session_t session)
{
    struct http_handle *line = line_of(mark);
    tls_tell_alert((int)gnutls_alert_get(session), "the server", line->tls_problem,
                   sizeof line->tls_problem);
}

/* No priorities are set where nothing is asked for: libcurl has its own way to the usual. */
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

void http_handle_free(struct http_handle *line)
{
    http_handle_hang_up(line);
    curl_easy_cleanup(line->easy);
    curl_multi_cleanup(line->multi);
    curl_slist_free_all(line->detour);
    tls_material_unref(line->material);
    free(line);
}

struct http_handle *http_handle_new(const struct http_client_options *options,
                                    struct tls_material *material, const _Atomic bool *aborted)
{
    struct http_handle *line = calloc(1, sizeof *line);
    if (!line) {
        tls_material_unref(material);
        return NULL;
    }
    line->options = options;
    line->material = material;
    line->aborted = aborted;
    line->easy = curl_easy_init();
    line->multi = curl_multi_init();
    if (!line->easy || !line->multi) {
        http_handle_free(line);
        return NULL;
    }
    set_limits(line->easy, options);
    set_tls(line->easy, &options->tls);
    set_files(line->easy, material);
    line->mark = mark_of(&options->tls);
    if (options->unix_path && options->unix_path[0])
        curl_easy_setopt(line->easy, CURLOPT_UNIX_SOCKET_PATH, options->unix_path);
    curl_easy_setopt(line->easy, CURLOPT_ERRORBUFFER, line->problem);
    curl_easy_setopt(line->easy, CURLOPT_HEADERFUNCTION, on_line);
    curl_easy_setopt(line->easy, CURLOPT_HEADERDATA, line);
    curl_easy_setopt(line->easy, CURLOPT_READFUNCTION, http_handle_read_body);
    curl_easy_setopt(line->easy, CURLOPT_READDATA, line);
    curl_easy_setopt(line->easy, CURLOPT_SEEKFUNCTION, rewind_body);
    curl_easy_setopt(line->easy, CURLOPT_SEEKDATA, line);
    curl_easy_setopt(line->easy, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(line->easy, CURLOPT_WRITEDATA, line);
    return line;
}

/* ---- the address ---- */

static bool is_https(const char *url)
{
    return strncasecmp(url, "https:", 6) == 0;
}

const char *http_handle_name(const struct http_handle *line, const char *url)
{
    const char *name = line->options->tls.server_name_override;
    return name && *name && is_https(url) ? name : NULL;
}

/* The connection goes to the URL's own host. */
static CURLcode rename_host(struct http_handle *line, CURLU *parts, const char *name)
{
    char *host = NULL, *port = NULL, *renamed = NULL, detour[512];
    CURLcode code = CURLE_URL_MALFORMAT;
    curl_slist_free_all(line->detour);
    line->detour = NULL;
    if (curl_url_get(parts, CURLUPART_HOST, &host, 0) == CURLUE_OK &&
        curl_url_get(parts, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) == CURLUE_OK &&
        curl_url_set(parts, CURLUPART_HOST, name, 0) == CURLUE_OK &&
        curl_url_get(parts, CURLUPART_URL, &renamed, 0) == CURLUE_OK) {
        snprintf(detour, sizeof detour, "::%s:%s", host, port);
        line->detour = curl_slist_append(NULL, detour);
        curl_easy_setopt(line->easy, CURLOPT_CONNECT_TO, line->detour);
        curl_easy_setopt(line->easy, CURLOPT_URL, renamed);
        code = line->detour ? CURLE_OK : CURLE_OUT_OF_MEMORY;
    }
    curl_free(host);
    curl_free(port);
    curl_free(renamed);
    return code;
}

/* Without the brackets of an address. */
static void note_tls_name(struct http_handle *line, const char *url)
{
    const char *name = http_handle_name(line, url);
    CURLU *parts = curl_url();
    char *host = NULL;
    if (!name && parts && curl_url_set(parts, CURLUPART_URL, url, 0) == CURLUE_OK)
        curl_url_get(parts, CURLUPART_HOST, &host, 0);
    name = name ? name : host ? host : "";
    size_t bracket = *name == '[' && strlen(name) > 2;
    snprintf(line->tls_name, sizeof line->tls_name, "%.*s", (int)(strlen(name) - 2 * bracket),
             name + bracket);
    curl_free(host);
    curl_url_cleanup(parts);
}

CURLcode http_handle_aim(struct http_handle *line, const char *url)
{
    const char *name = http_handle_name(line, url);
    if (is_https(url))
        note_tls_name(line, url);
    if (!name) {
        curl_easy_setopt(line->easy, CURLOPT_URL, url);
        return CURLE_OK;
    }
    CURLU *parts = curl_url();
    CURLcode code = CURLE_URL_MALFORMAT;
    if (parts && curl_url_set(parts, CURLUPART_URL, url, 0) == CURLUE_OK)
        code = rename_host(line, parts, name);
    curl_url_cleanup(parts);
    return code;
}

/* ---- HTTP as libcurl speaks it ---- */

static bool add_header(struct curl_slist **list, const struct http_header *header)
{
    char *text;
    /* "Name:" alone would take a header away; "Name;" sends an empty one. */
    if (asprintf(&text, *header->value ? "%s: %s" : "%s;", header->name, header->value) < 0)
        return false;
    struct curl_slist *longer = curl_slist_append(*list, text);
    free(text);
    if (longer)
        *list = longer;
    return longer;
}

/* The server is to see the URL's own host, whatever libcurl takes for it. */
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

static struct curl_slist *make_list(const struct http_handle *line, const struct http_call *call)
{
    struct curl_slist *list = curl_slist_append(NULL, "Expect:");
    if (list && http_handle_name(line, call->url) && !add_host(&list, call->url)) {
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

/* CURLE_ABORTED_BY_CALLBACK: it was not done when it was given up. */
static CURLcode result_of(CURLM *multi)
{
    int left;
    const CURLMsg *message;
    while ((message = curl_multi_info_read(multi, &left)))
        if (message->msg == CURLMSG_DONE)
            return message->data.result;
    return CURLE_ABORTED_BY_CALLBACK;
}

CURLcode http_handle_run(struct http_handle *line)
{
    int running = 1;
    tls_mark_next(&line->mark);
    CURLMcode code = curl_multi_add_handle(line->multi, line->easy);
    while (code == CURLM_OK && !atomic_load(line->aborted)) {
        code = curl_multi_perform(line->multi, &running);
        if (code != CURLM_OK || !running)
            break;
        code = curl_multi_poll(line->multi, NULL, 0, PATIENCE_MS, NULL);
    }
    tls_mark_next(NULL);
    return code == CURLM_OK ? result_of(line->multi) : CURLE_OUT_OF_MEMORY;
}

/* A body in one run goes with the header in one write, where it is small. */
static void set_method(struct http_handle *line, const struct http_call *call)
{
    CURL *easy = line->easy;
    size_t size = pieces_size(call->body);
    const char *run = size == 0 ? "" : NULL;
    if (call->body.count == 1 && size > 0)
        run = (const char *)call->body.views[0].data;
    if (call->is_get) {
        curl_easy_setopt(easy, CURLOPT_HTTPGET, 1L);
        return;
    }
    line->body = call->body;
    line->unsent = pieces_read_begin(call->body);
    curl_easy_setopt(easy, CURLOPT_POST, 1L);
    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)size);
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, run);
}

/* Where an answer points. */
static void note_redirect(struct http_handle *line)
{
    char *url = NULL;
    if (line->reply->status / 100 == 3 &&
        curl_easy_getinfo(line->easy, CURLINFO_REDIRECT_URL, &url) == CURLE_OK && url)
        line->reply->redirect = strdup(url);
}

/* 0 would be none. */
static long rest_ms(const struct http_handle *line)
{
    return line->deadline > line->started ? milliseconds(line->deadline - line->started) : 1;
}

static CURLcode by_libcurl(struct http_handle *line, const struct http_call *call)
{
    struct curl_slist *list = make_list(line, call);
    if (!list)
        return CURLE_OUT_OF_MEMORY;
    CURLcode code = http_handle_aim(line, call->url);
    curl_easy_setopt(line->easy, CURLOPT_CONNECT_ONLY, 0L);
    curl_easy_setopt(line->easy, CURLOPT_HTTP_VERSION,
                     line->options->http2 ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(line->easy, CURLOPT_HTTPHEADER, list);
    set_method(line, call);
    if (line->deadline != TIME_NEVER)
        curl_easy_setopt(line->easy, CURLOPT_TIMEOUT_MS, rest_ms(line));
    if (code == CURLE_OK)
        code = http_handle_run(line);
    curl_easy_getinfo(line->easy, CURLINFO_RESPONSE_CODE, &line->reply->status);
    note_redirect(line);
    curl_multi_remove_handle(line->multi, line->easy);
    curl_easy_setopt(line->easy, CURLOPT_HTTPHEADER, NULL);
    curl_slist_free_all(list);
    return code;
}

/* ---- a call ---- */

bool http_handle_call(struct http_handle *line, const struct http_call *call,
                      struct http_reply *reply)
{
    uint64_t timeout = line->options->timeout_ns;
    if (is_https(call->url) && !late_has_tls(reply->error, sizeof reply->error))
        return false;
    line->reply = reply;
    line->problem[0] = line->tls_problem[0] = '\0';
    line->started = clock_mono(&clock_system);
    line->deadline = timeout ? line->started + timeout : TIME_NEVER;
    if (call->deadline)
        line->deadline = call->deadline;
    line->own_h2 = line->options->http2 && !call->is_get;
    CURLcode code = line->own_h2 ? http_handle_h2(line, call) : by_libcurl(line, call);
    /* A refusal stands, even where the peer cut off the rest of it, as it may in the middle of a
     * body. */
    bool answered =
        reply->status && (code == CURLE_OK || reply->status >= 400 || reply->grpc_status > 0);
    if (!answered)
        http_problem_explain(line, call->url, code);
    line->reply = NULL;
    return answered;
}
