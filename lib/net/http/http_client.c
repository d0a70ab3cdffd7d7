#include "lib/net/http/http_client.h"

#include "lib/base/clock.h"
#include "lib/base/redact.h"
#include "lib/net/http/http_follow.h"
#include "lib/net/http/http_handle.h"
#include "lib/net/http/http_header.h"
#include "lib/net/http/http_secrets.h"
#include "lib/net/loop.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

enum { HEADERS_MAX = 48, CREDENTIALS_MAX = 64 << 10 };

struct http_client {
    struct http_client_options options;
    struct tls_client *tls;
    struct http_life life;
    pthread_mutex_t mutex; /* guards the rest */
    struct http_handle *made;
    struct http_handle *idle;
};

static void init_curl(void)
{
    curl_global_init(CURL_GLOBAL_DEFAULT);
}

/* The sessions of a shared libcurl cannot be configured. */
static bool suites_reach(const struct tls_client_settings *tls, char *error, size_t error_size)
{
#ifdef SPANLINK_CURL_STATIC
    (void)tls, (void)error, (void)error_size;
    return true;
#else
    bool any = tls->suites.cipher_suites.count || tls->suites.curve_preferences.count;
    if (any)
        snprintf(error, error_size,
                 "tls: cipher_suites and curve_preferences cannot be set over HTTP in this build, "
                 "which has libcurl as a shared library");
    return !any;
#endif
}

struct http_client *http_client_new(const struct http_client_options *options, char *error,
                                    size_t error_size)
{
    /* libcurl must be initialised once, before its first use; processes without a client never pay
     * for it. */
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct http_client *client = calloc(1, sizeof *client);
    if (!client) {
        snprintf(error, error_size, "out of memory");
        return NULL;
    }
    pthread_once(&once, init_curl);
    if (!options->http2 && !suites_reach(&options->tls, error, error_size)) {
        free(client);
        return NULL;
    }
    client->options = *options;
    client->tls = tls_client_new(&client->options.tls, options->id ? options->id : "",
                                 options->tls_key ? options->tls_key : "tls",
                                 options->looks_always ? 0 : TLS_LOOK_NS, error, error_size);
    if (!client->tls) {
        free(client);
        return NULL;
    }
    pthread_mutex_init(&client->mutex, NULL);
    return client;
}

/* ---- the pool ---- */

/* Takes ownership of the material. */
static struct http_handle *make_handle(struct http_client *client, struct tls_material *material)
{
    struct http_handle *handle = http_handle_new(&client->options, material, &client->life);
    if (!handle)
        return NULL;
    pthread_mutex_lock(&client->mutex);
    handle->next_made = client->made;
    client->made = handle;
    pthread_mutex_unlock(&client->mutex);
    return handle;
}

/* Takes the handle used last: its connection is the likeliest to be alive. */
static struct http_handle *take_idle(struct http_client *client)
{
    pthread_mutex_lock(&client->mutex);
    struct http_handle *handle = client->idle;
    if (handle)
        client->idle = handle->next_idle;
    pthread_mutex_unlock(&client->mutex);
    return handle;
}

/* Drops a handle that is not idle. */
static void drop_handle(struct http_client *client, struct http_handle *handle)
{
    pthread_mutex_lock(&client->mutex);
    struct http_handle **at = &client->made;
    while (*at != handle)
        at = &(*at)->next_made;
    *at = handle->next_made;
    pthread_mutex_unlock(&client->mutex);
    http_handle_free(handle);
}

/* Drops handles whose certificates were replaced, with their connections. */
static struct http_handle *take_handle(struct http_client *client)
{
    struct tls_material *material = tls_client_material(client->tls);
    struct http_handle *handle;
    while ((handle = take_idle(client)) && handle->material != material)
        drop_handle(client, handle);
    if (!handle)
        return make_handle(client, material);
    tls_material_unref(material);
    return handle;
}

static void give_handle(struct http_client *client, struct http_handle *handle)
{
    pthread_mutex_lock(&client->mutex);
    handle->next_idle = client->idle;
    client->idle = handle;
    pthread_mutex_unlock(&client->mutex);
}

/* ---- headers ---- */

struct header_list {
    struct http_header headers[HEADERS_MAX];
    size_t count;
};

static bool http_client_has(const struct header_list *list, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcasecmp(list->headers[i].name, name) == 0)
            return true;
    return false;
}

static bool http_client_add(struct header_list *list, const char *name, const char *value)
{
    if (list->count == HEADERS_MAX || !http_header_value_fits(value))
        return false;
    list->headers[list->count++] = (struct http_header){name, value};
    return true;
}

/* The client's headers are the user's configuration and win over the call's; those already in the
 * list win over all. */
static bool collect(const struct http_client *client, const struct http_header *headers,
                    size_t count, struct header_list *list)
{
    const struct key_map *own = client->options.headers;
    bool ok = true;
    size_t first = list->count;
    for (size_t i = 0; ok && own && i < own->count; i++)
        if (!http_client_has(list, first, own->pairs[i].name))
            ok = http_client_add(list, own->pairs[i].name, own->pairs[i].value);
    size_t owned = list->count;
    for (size_t i = 0; ok && i < count; i++)
        if (!http_client_has(list, owned, headers[i].name))
            ok = http_client_add(list, headers[i].name, headers[i].value);
    if (ok && !http_client_has(list, list->count, "user-agent"))
        ok = http_client_add(list, "user-agent", "spanlink");
    if (ok && client->options.sends_process && *loop_value())
        ok = http_client_add(list, LOOP_HEADER, loop_value());
    return ok;
}

/* Removes what another host must not see. */
static void drop_credentials(const struct http_client *client, struct header_list *list)
{
    const struct authenticator *auth = client->options.auth;
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i++) {
        const char *name = list->headers[i].name;
        if (!redact_name(name) && strcasecmp(name, "www-authenticate") != 0 &&
            !(auth && strcasecmp(name, auth->header) == 0))
            list->headers[kept++] = list->headers[i];
    }
    list->count = kept;
}

static bool add_credentials(const struct authenticator *auth, struct bytes *value,
                            struct header_list *list)
{
    return auth->give(auth->self, value) && bytes_append(value, "", 1) == BYTES_OK &&
           http_client_add(list, auth->header, (const char *)value->data);
}

/* ---- a call ---- */

static bool call_handle(struct http_client *client, const struct http_call *call,
                        const struct header_list *list, struct http_reply *reply)
{
    struct http_handle *handle = take_handle(client);
    if (!handle) {
        snprintf(reply->error, sizeof reply->error, "out of memory");
        return false;
    }
    struct http_call whole = *call;
    whole.headers = list->headers;
    whole.header_count = list->count;
    bool answered = http_handle_call(handle, &whole, reply);
    give_handle(client, handle);
    return answered;
}

static void init_reply(const struct http_client *client, struct http_reply *reply)
{
    http_reply_init(reply, client->options.max_reply);
    reply->body.budget = client->options.budget;
}

/* Follows redirects. The call's deadline covers all its requests. */
static bool call_on(struct http_client *client, const struct http_call *call,
                    struct header_list *list, struct http_reply *reply)
{
    struct http_call next = *call;
    char *url = NULL;
    if (client->options.timeout_ns)
        next.deadline = clock_mono(&clock_system) + client->options.timeout_ns;
    bool answered = call_handle(client, &next, list, reply);
    for (unsigned requests = 1; answered && http_follow_is_due(&client->options, call, reply);
         requests++) {
        char *to = reply->redirect;
        reply->redirect = NULL;
        if (requests == HTTP_FOLLOW_MAX) {
            http_follow_give_up(to, reply);
            free(to);
            answered = false;
            break;
        }
        if (!http_follow_keeps_credentials(next.url, to))
            drop_credentials(client, list);
        free(url);
        next.url = url = to;
        http_reply_release(reply);
        init_reply(client, reply);
        answered = call_handle(client, &next, list, reply);
    }
    if (answered && (reply->status / 100 != 2 || reply->grpc_status > 0))
        reply->from = redact_urls(next.url);
    free(url);
    return answered;
}

static bool collect_and_call(struct http_client *client, const struct http_call *call,
                             struct header_list *list, struct http_reply *reply)
{
    if (collect(client, call->headers, call->header_count, list))
        return call_on(client, call, list, reply);
    reply->unsendable = true;
    snprintf(reply->error, sizeof reply->error, "a header's value cannot be sent");
    return false;
}

/* Makes a call; its headers are added to the client's. */
static bool exchange(struct http_client *client, const struct http_call *call,
                     struct http_reply *reply)
{
    const struct authenticator *auth = client->options.auth;
    struct header_list list = {.count = 0};
    struct bytes credentials;
    bool answered = false;
    init_reply(client, reply);
    bytes_init(&credentials, CREDENTIALS_MAX, NULL);
    if (!auth || add_credentials(auth, &credentials, &list))
        answered = collect_and_call(client, call, &list, reply);
    else
        snprintf(reply->error, sizeof reply->error, "there are no credentials to send");
    /* The value ends with a NUL. */
    http_secrets_hide(&client->options, call,
                      (struct view){credentials.data, credentials.size - (credentials.size > 0)},
                      reply);
    if (credentials.data)
        explicit_bzero(credentials.data, credentials.size);
    bytes_release(&credentials);
    return answered;
}

bool http_client_post(struct http_client *client, const char *url,
                      const struct http_header *headers, size_t header_count, struct view body,
                      struct http_reply *reply)
{
    return http_client_post_pieces(client, url, headers, header_count, (struct pieces){&body, 1},
                                   VETO_NONE, reply);
}

bool http_client_post_pieces(struct http_client *client, const char *url,
                             const struct http_header *headers, size_t header_count,
                             struct pieces body, struct veto veto, struct http_reply *reply)
{
    const struct http_call call = {url, headers, header_count, body, .veto = veto};
    return exchange(client, &call, reply);
}

bool http_client_get(struct http_client *client, const char *url, const struct http_header *headers,
                     size_t header_count, struct http_reply *reply)
{
    const struct http_call call = {url, headers, header_count, {0}, .is_get = true};
    return exchange(client, &call, reply);
}

/* ---- the end ---- */

void http_client_abort(struct http_client *client)
{
    atomic_store(&client->life.aborted, true);
    pthread_mutex_lock(&client->mutex);
    for (struct http_handle *handle = client->made; handle; handle = handle->next_made)
        curl_multi_wakeup(handle->multi);
    pthread_mutex_unlock(&client->mutex);
}

void http_client_free(struct http_client *client)
{
    if (!client)
        return;
    for (struct http_handle *handle = client->made, *next; handle; handle = next) {
        next = handle->next_made;
        http_handle_free(handle);
    }
    tls_client_free(client->tls);
    pthread_mutex_destroy(&client->mutex);
    free(client);
}
