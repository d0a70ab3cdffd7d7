#include "net/http_client.h"

#include "base/clock.h"
#include "net/http_reply.h"

#include <curl/curl.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#define CONNECT_TIMEOUT_NS (10 * NS_PER_S)

enum { UPLOAD_BUFFER = 512 * 1024, PATIENCE_MS = 3600 * 1000 };

/* A handle with a multi of its own: the multi keeps the connection between calls, and its wakeup
 * ends a wait at once, so that nothing has to look around while a call is under way. */
struct line {
    struct line *next;      /* of those that are free */
    struct line *next_made; /* of all */
    struct http_client *client;
    CURL *easy;
    CURLM *multi;
    struct http_reply *reply; /* of the call under way */
    bool reusing;             /* no connection may be made; see perform_any */
    bool connected;           /* a connection was made and may still be there */
    bool ended;               /* the answer is whole, whatever is left to send */
    char problem[CURL_ERROR_SIZE];
};

struct http_client {
    struct http_client_options options;
    pthread_mutex_t mutex; /* guards the rest */
    struct line *made;
    struct line *idle;
    bool aborted;
};

static void init_curl(void)
{
    curl_global_init(CURL_GLOBAL_DEFAULT);
}

/* ---- making ---- */

struct http_client *http_client_new(const struct http_client_options *options, char *error,
                                    size_t error_size)
{
    /* libcurl wants to be initialised once, before its first use; processes that have no client
     * never pay for it. */
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    const char *ca_file = options->ca_file;
    if (ca_file && ca_file[0] && access(ca_file, R_OK) != 0) {
        snprintf(error, error_size, "cannot read the CA file %s: %s", ca_file, strerror(errno));
        return NULL;
    }
    struct http_client *client = calloc(1, sizeof *client);
    if (!client) {
        snprintf(error, error_size, "out of memory");
        return NULL;
    }
    pthread_once(&once, init_curl);
    client->options = *options;
    pthread_mutex_init(&client->mutex, NULL);
    return client;
}

static size_t on_line(char *data, size_t size, size_t count, void *ctx)
{
    struct line *line = ctx;
    struct view text = {(const uint8_t *)data, size * count};
    http_reply_line(line->reply, text, clock_wall(&clock_system) / NS_PER_S);
    line->ended = http_reply_is_trailers_only(line->reply, text);
    return size * count;
}

static curl_socket_t on_open(void *ctx, curlsocktype purpose, struct curl_sockaddr *address)
{
    const struct line *line = ctx;
    (void)purpose;
    if (line->reusing)
        return CURL_SOCKET_BAD;
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

static size_t on_body(char *data, size_t size, size_t count, void *ctx)
{
    const struct line *line = ctx;
    http_reply_data(line->reply, (struct view){(const uint8_t *)data, size * count});
    return size * count;
}

static long milliseconds(uint64_t ns)
{
    uint64_t ms = ns / NS_PER_MS + (ns % NS_PER_MS != 0);
    return ms < PATIENCE_MS * UINT64_C(24) ? (long)ms : PATIENCE_MS * 24L;
}

static void set_limits(CURL *easy, const struct http_client_options *options)
{
    uint64_t timeout = options->timeout_ns;
    uint64_t connect = timeout && timeout < CONNECT_TIMEOUT_NS ? timeout : CONNECT_TIMEOUT_NS;
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, milliseconds(timeout));
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, milliseconds(connect));
    curl_easy_setopt(easy, CURLOPT_UPLOAD_BUFFERSIZE, (long)UPLOAD_BUFFER);
    curl_easy_setopt(easy, CURLOPT_TCP_NODELAY, 1L);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L); /* no waiting for a resolver that is stuck */
    curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_PROXY, "");
    curl_easy_setopt(easy, CURLOPT_NOPROXY, "*");
    curl_easy_setopt(easy, CURLOPT_USERAGENT, "spanlink");
}

static void set_peer(CURL *easy, const struct http_client_options *options)
{
    if (options->unix_path && options->unix_path[0])
        curl_easy_setopt(easy, CURLOPT_UNIX_SOCKET_PATH, options->unix_path);
    if (options->ca_file && options->ca_file[0]) {
        curl_easy_setopt(easy, CURLOPT_CAINFO, options->ca_file);
        curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
    }
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, options->insecure_skip_verify ? 0L : 1L);
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, options->insecure_skip_verify ? 0L : 2L);
}

static void free_line(struct line *line)
{
    curl_easy_cleanup(line->easy);
    curl_multi_cleanup(line->multi);
    free(line);
}

static struct line *new_line(struct http_client *client)
{
    struct line *line = calloc(1, sizeof *line);
    if (!line)
        return NULL;
    line->client = client;
    line->easy = curl_easy_init();
    line->multi = curl_multi_init();
    if (!line->easy || !line->multi) {
        free_line(line);
        return NULL;
    }
    set_limits(line->easy, &client->options);
    set_peer(line->easy, &client->options);
    curl_easy_setopt(line->easy, CURLOPT_OPENSOCKETFUNCTION, on_open);
    curl_easy_setopt(line->easy, CURLOPT_OPENSOCKETDATA, line);
    curl_easy_setopt(line->easy, CURLOPT_ERRORBUFFER, line->problem);
    curl_easy_setopt(line->easy, CURLOPT_HEADERFUNCTION, on_line);
    curl_easy_setopt(line->easy, CURLOPT_HEADERDATA, line);
    curl_easy_setopt(line->easy, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(line->easy, CURLOPT_WRITEDATA, line);
    return line;
}

/* The last one used comes first: its connection is the likeliest to be alive. */
static struct line *take_line(struct http_client *client)
{
    pthread_mutex_lock(&client->mutex);
    struct line *line = client->idle;
    if (line)
        client->idle = line->next;
    pthread_mutex_unlock(&client->mutex);
    if (line || !(line = new_line(client)))
        return line;
    pthread_mutex_lock(&client->mutex);
    line->next_made = client->made;
    client->made = line;
    pthread_mutex_unlock(&client->mutex);
    return line;
}

static void give_line(struct line *line)
{
    struct http_client *client = line->client;
    line->reply = NULL;
    pthread_mutex_lock(&client->mutex);
    line->next = client->idle;
    client->idle = line;
    pthread_mutex_unlock(&client->mutex);
}

/* ---- headers ---- */

static bool is_legal_value(const char *value)
{
    for (; *value; value++)
        if ((unsigned char)*value < 0x20 && *value != '\t')
            return false;
    return true;
}

static bool add_header(struct curl_slist **list, const char *name, const char *value)
{
    char line[8192];
    /* "Name:" alone would take a header away; "Name;" sends an empty one. */
    int size = snprintf(line, sizeof line, *value ? "%s: %s" : "%s;", name, value);
    if (size < 0 || (size_t)size >= sizeof line || !is_legal_value(value))
        return false;
    struct curl_slist *longer = curl_slist_append(*list, line);
    if (longer)
        *list = longer;
    return longer;
}

static bool client_has(const struct key_map *map, const char *name)
{
    for (size_t i = 0; map && i < map->count; i++)
        if (strcasecmp(map->pairs[i].name, name) == 0)
            return true;
    return false;
}

static struct curl_slist *make_headers(const struct http_client *client,
                                       const struct http_header *headers, size_t count)
{
    const struct key_map *own = client->options.headers;
    struct curl_slist *list = curl_slist_append(NULL, "Expect:");
    bool ok = list;
    for (size_t i = 0; ok && own && i < own->count; i++)
        ok = add_header(&list, own->pairs[i].name, own->pairs[i].value);
    for (size_t i = 0; ok && i < count; i++)
        if (!client_has(own, headers[i].name))
            ok = add_header(&list, headers[i].name, headers[i].value);
    if (ok)
        return list;
    curl_slist_free_all(list);
    return NULL;
}

/* ---- one exchange ---- */

static bool is_aborted(struct http_client *client)
{
    pthread_mutex_lock(&client->mutex);
    bool aborted = client->aborted;
    pthread_mutex_unlock(&client->mutex);
    return aborted;
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

static CURLcode perform(struct line *line)
{
    int running = 1;
    CURLMcode code = curl_multi_add_handle(line->multi, line->easy);
    while (code == CURLM_OK && !is_aborted(line->client)) {
        code = curl_multi_perform(line->multi, &running);
        if (code != CURLM_OK || !running || line->ended)
            break;
        code = curl_multi_poll(line->multi, NULL, 0, PATIENCE_MS, NULL);
    }
    CURLcode result = code == CURLM_OK ? result_of(line->multi) : CURLE_OUT_OF_MEMORY;
    curl_easy_getinfo(line->easy, CURLINFO_RESPONSE_CODE, &line->reply->status);
    curl_multi_remove_handle(line->multi, line->easy);
    return result;
}

static bool is_tls(const char *url)
{
    return strncasecmp(url, "https:", 6) == 0;
}

static void set_request(const struct line *line, const char *url, struct view body)
{
    curl_easy_setopt(line->easy, CURLOPT_URL, url);
    curl_easy_setopt(line->easy, CURLOPT_POST, 1L);
    curl_easy_setopt(line->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body.size);
    curl_easy_setopt(line->easy, CURLOPT_POSTFIELDS, body.size ? (const char *)body.data : "");
}

static CURLcode perform_as(struct line *line, long version, bool reusing)
{
    curl_easy_setopt(line->easy, CURLOPT_HTTP_VERSION, version);
    line->reusing = reusing;
    line->ended = false;
    line->problem[0] = '\0';
    return perform(line);
}

/* libcurl 7.88 fails every second use of a connection that is HTTP/2 by prior knowledge, but not
 * where the request asks for plain HTTP/2, which on a new connection would mean an upgrade from
 * HTTP/1.1. So a kept connection is asked for first, with new ones forbidden. */
static CURLcode perform_any(struct line *line, const char *url)
{
    if (!line->client->options.http2)
        return perform_as(line, CURL_HTTP_VERSION_1_1, false);
    if (is_tls(url))
        return perform_as(line, CURL_HTTP_VERSION_2TLS, false);
    if (line->connected) {
        CURLcode code = perform_as(line, CURL_HTTP_VERSION_2_0, true);
        if (code != CURLE_COULDNT_CONNECT)
            return code;
    }
    line->connected = true;
    return perform_as(line, CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE, false);
}

/* ---- why not ---- */

/* "host:port" of a URL, or the unix socket. */
static void name_peer(const struct http_client *client, const char *url, char *out, size_t size)
{
    CURLU *parts = curl_url();
    char *host = NULL, *port = NULL;
    if (client->options.unix_path && client->options.unix_path[0])
        snprintf(out, size, "unix:%s", client->options.unix_path);
    else if (parts && curl_url_set(parts, CURLUPART_URL, url, 0) == CURLUE_OK &&
             curl_url_get(parts, CURLUPART_HOST, &host, 0) == CURLUE_OK &&
             curl_url_get(parts, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) == CURLUE_OK)
        snprintf(out, size, "%s:%s", host, port);
    else
        snprintf(out, size, "%s", url);
    curl_free(host);
    curl_free(port);
    curl_url_cleanup(parts);
}

/* strerror's words inside a sentence. */
static void lower_error(long number, char *out, size_t size)
{
    snprintf(out, size, "%s", number ? strerror((int)number) : "no address could be reached");
    if (out[0] >= 'A' && out[0] <= 'Z')
        out[0] = (char)(out[0] + ('a' - 'A'));
}

static void explain_timeout(const struct line *line, const char *peer, struct http_reply *reply)
{
    curl_off_t total = 0, connected = 0;
    curl_easy_getinfo(line->easy, CURLINFO_TOTAL_TIME_T, &total);
    curl_easy_getinfo(line->easy, CURLINFO_PRETRANSFER_TIME_T, &connected);
    reply->timed_out = true;
    snprintf(reply->error, sizeof reply->error, "%s%s: no answer within %.3g s",
             connected ? "" : "connect to ", peer, (double)total / 1e6);
}

static void explain(const struct line *line, const char *url, CURLcode code,
                    struct http_reply *reply)
{
    char peer[128], reason[96];
    long number = 0;
    const char *problem = line->problem[0] ? line->problem : curl_easy_strerror(code);
    char *text = reply->error;
    size_t size = sizeof reply->error;
    name_peer(line->client, url, peer, sizeof peer);
    switch ((int)code) {
    case CURLE_OPERATION_TIMEDOUT:
        explain_timeout(line, peer, reply);
        break;
    case CURLE_COULDNT_CONNECT:
        curl_easy_getinfo(line->easy, CURLINFO_OS_ERRNO, &number);
        lower_error(number, reason, sizeof reason);
        snprintf(text, size, "connect to %.80s: %.90s", peer, reason);
        break;
    case CURLE_COULDNT_RESOLVE_HOST:
        snprintf(text, size, "connect to %s: the name cannot be resolved", peer);
        break;
    case CURLE_GOT_NOTHING:
        snprintf(text, size, "%s closed the connection without an answer", peer);
        break;
    case CURLE_HTTP2_STREAM:
        snprintf(text, size, "%.80s ended the call before it had read the request", peer);
        break;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CONNECT_ERROR:
        snprintf(text, size, "TLS with %.80s: %.90s", peer, problem);
        break;
    default:
        snprintf(text, size, "%.80s: %.90s", peer, problem);
        break;
    }
}

/* ---- a call ---- */

/* An answer that came whole as far as it matters: a status of its own, or the gRPC trailers, before
 * the peer cut the rest short (as it may when it refuses in the middle of a body). */
static bool answered(CURLcode code, const struct http_reply *reply)
{
    return reply->status > 0 &&
           (code == CURLE_OK || reply->grpc_status >= 0 || reply->status >= 400);
}

static bool exchange(struct line *line, const char *url, struct http_reply *reply)
{
    line->reply = reply;
    CURLcode code = perform_any(line, url);
    if (answered(code, reply))
        return true;
    reply->status = 0;
    reply->cut_short = code == CURLE_HTTP2_STREAM;
    if (code == CURLE_ABORTED_BY_CALLBACK)
        snprintf(reply->error, sizeof reply->error, "the call was given up for shutdown");
    else
        explain(line, url, code, reply);
    return false;
}

bool http_client_post(struct http_client *client, const char *url,
                      const struct http_header *headers, size_t header_count, struct view body,
                      struct http_reply *reply)
{
    http_reply_init(reply, client->options.max_reply);
    struct curl_slist *list = make_headers(client, headers, header_count);
    if (!list) {
        snprintf(reply->error, sizeof reply->error, "a header's value cannot be sent");
        return false;
    }
    struct line *line = take_line(client);
    bool ok = false;
    if (line) {
        set_request(line, url, body);
        curl_easy_setopt(line->easy, CURLOPT_HTTPHEADER, list);
        ok = exchange(line, url, reply);
        curl_easy_setopt(line->easy, CURLOPT_HTTPHEADER, NULL);
        give_line(line);
    } else {
        snprintf(reply->error, sizeof reply->error, "out of memory");
    }
    curl_slist_free_all(list);
    return ok;
}

/* ---- the end ---- */

void http_client_abort(struct http_client *client)
{
    pthread_mutex_lock(&client->mutex);
    client->aborted = true;
    for (struct line *line = client->made; line; line = line->next_made)
        curl_multi_wakeup(line->multi);
    pthread_mutex_unlock(&client->mutex);
}

void http_client_free(struct http_client *client)
{
    if (!client)
        return;
    for (struct line *line = client->made, *next; line; line = next) {
        next = line->next_made;
        free_line(line);
    }
    pthread_mutex_destroy(&client->mutex);
    free(client);
}
