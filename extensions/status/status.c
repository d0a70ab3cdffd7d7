/* The status page and its API: traces, flame graphs, decisions, costs and pipelines of this
 * process. */
#include "extensions/status/status.h"

#include "extensions/status/known_find.h"
#include "extensions/status/page.h"
#include "lib/base/heap.h"
#include "lib/base/thread.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MIB          ((size_t)1 << 20)
#define DENIED_QUIET (60 * NS_PER_S)

enum { MAX_BODY = 4096, MAX_CONNECTIONS = 256, THREADS = 3, DENIED_OFTEN = 3 };

static const struct key keys[] = {
    KEY_STRING(struct status, endpoint, "endpoint", "localhost:13134", KEY_REQUIRED,
               "where to listen: host:port, [ipv6]:port or unix:/path"),
    KEY_INT(struct status, keep_mib, "keep_mib", "16", 1, 65536,
            "ceiling of the traces and profiles that are kept to be looked at, MiB; the oldest "
            "give way"),
    AUTH_SERVER_KEY(struct status, auth),
    TLS_SERVER_KEY(struct status, tls),
    KEY_END,
};

static struct listen_on status_place(const struct status *self)
{
    return (struct listen_on){.key = "endpoint",
                              .endpoint = self->endpoint,
                              .tls_key = "tls",
                              .tls = &self->tls,
                              .id = self->env ? self->env->id : "",
                              .kind = self->env ? self->env->kind : NULL,
                              .yields = self->env ? &self->env->yields : NULL,
                              .what = "the page of traces, flame graphs and pipelines",
                              .is_page = true};
}

static void status_places(const void *config, place_visit_fn *visit, void *ctx)
{
    struct listen_on on = status_place(config);
    listen_place(&on, visit, ctx);
}

static void status_rehearse(const void *config, struct key_report *report)
{
    struct listen_on on = status_place(config);
    listen_rehearse(&on, report);
}

static void status_check(const void *config, struct key_report *report)
{
    struct listen_on on = status_place(config);
    listen_check(&on, report);
}

/* ---- requests ---- */

static void answer_file(struct http_request *request, const struct page_file *file)
{
    const char *known = http_request_header(request, "If-None-Match");
    bool same = known && strstr(known, file->etag);
    if (!answer_has_none(request))
        return;
    answer_headers(request, false);
    http_response_header(request, "ETag", file->etag);
    http_response_header(request, "Cache-Control", "no-cache");
    http_respond(request, same ? 304 : 200, file->type,
                 same ? (struct view){0} : (struct view){file->data, file->size}, 0);
}

static bool find_file(struct http_request *request, const char *path)
{
    for (const struct page_file *file = page_files; file->path; file++)
        if (strcmp(file->path, path) == 0) {
            answer_file(request, file);
            return true;
        }
    return false;
}

/* How a request is answered: most read what is kept, and take turns. */
enum way { IN_TURN, AT_ONCE, ON_GRAPHS_THREAD };

struct route {
    const char *path;
    enum way way;
    void (*answer)(struct status *self, struct http_request *request);
    void (*answer_one)(struct status *self, struct http_request *request, const char *rest);
};

static const struct route routes[] = {
    {"/api/traces", IN_TURN, traces_answer, NULL},
    {"/api/traces/", IN_TURN, NULL, trace_answer},
    {"/api/spans/", IN_TURN, NULL, span_answer},
    {"/api/flamegraph", ON_GRAPHS_THREAD, flame_answer, NULL},
    {"/api/services", IN_TURN, services_answer, NULL},
    {"/api/cost", IN_TURN, cost_answer, NULL},
    {"/api/pipelines", AT_ONCE, pipelines_answer, NULL},
    {"/api/config", IN_TURN, config_answer, NULL},
    {"/docs/", IN_TURN, NULL, docs_answer},
};

/* Those that read what is kept take turns: a mutex alone would be had again and again by the thread
 * of the flame graphs. False: the configuration was reloaded, and the request is answered. */
static bool take_turn(struct status *self, struct http_request *request)
{
    gather_take(self);
    gather_settle(self, true);
    self->looked_at = clock_mono(self->env->clock);
    pthread_mutex_lock(&self->turn);
    pthread_mutex_lock(&self->looking);
    pthread_mutex_unlock(&self->turn);
    if (!self->retired)
        return true;
    pthread_mutex_unlock(&self->looking);
    answer_error(request, 503, "the configuration was reloaded: ask again");
    return false;
}

static void end_turn(struct status *self)
{
    pthread_mutex_unlock(&self->looking);
}

static void draw_graph(void *ctx, struct http_request *request)
{
    struct status *self = ctx;
    if (!take_turn(self, request))
        return;
    flame_answer(self, request);
    end_turn(self);
}

static void run_route(struct status *self, struct http_request *request, const struct route *route,
                      const char *rest)
{
    if (route->answer)
        route->answer(self, request);
    else
        route->answer_one(self, request, rest);
}

static void answer_route(struct status *self, struct http_request *request,
                         const struct route *route, const char *rest)
{
    if (route->way == ON_GRAPHS_THREAD) {
        if (!graphs_put(&self->graphs, request))
            answer_error(request, 503, "other flame graphs are being drawn: try again in a second");
    } else if (route->way == AT_ONCE && !self->retired) {
        run_route(self, request, route, rest);
    } else if (take_turn(self, request)) {
        run_route(self, request, route, rest);
        end_turn(self);
    }
}

static bool find_route(struct status *self, struct http_request *request, const char *path)
{
    for (size_t i = 0; i < sizeof routes / sizeof *routes; i++) {
        size_t size = strlen(routes[i].path);
        bool whole = strcmp(routes[i].path, path) == 0;
        bool front = strncmp(routes[i].path, path, size) == 0;
        if (!(routes[i].answer ? whole : front))
            continue;
        answer_route(self, request, &routes[i], path + size);
        return true;
    }
    return false;
}

/* The views have their addresses behind a '#', which is easily forgotten. */
static bool find_view(struct http_request *request, const char *path)
{
    static const char *const views[] = {"/traces", "/flame", "/why", "/cost", "/pipeline"};
    for (size_t i = 0; i < sizeof views / sizeof *views; i++) {
        char place[32];
        if (strcmp(path, views[i]) != 0)
            continue;
        snprintf(place, sizeof place, "/#%s", views[i]);
        answer_headers(request, false);
        http_response_header(request, "Location", place);
        http_respond(request, 302, "text/plain", VIEW(""), 0);
        return true;
    }
    return false;
}

static void status_handle(void *ctx, struct http_request *request)
{
    struct status *self = ctx;
    const char *method = http_request_method(request), *path = http_request_path(request);
    if (!answer_may(request, self->host, self->tls.given))
        return;
    if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0) {
        http_response_header(request, "Allow", "GET, HEAD");
        answer_error(request, 405, "only GET and HEAD: there is nothing to change here");
    } else if (!find_file(request, path) && !find_route(self, request, path) &&
               !find_view(request, path)) {
        answer_error(request, 404, "there is nothing here; the API is described in openapi.yaml");
    }
}

/* A browser that asks for a password is refused once or twice before it has it. */
static void status_refused(void *ctx, const char *path, const struct peer *peer,
                           const struct outcome *why)
{
    struct status *self = ctx;
    char text[PEER_TEXT];
    uint64_t now = clock_mono(self->env->clock), next = atomic_load(&self->denied_next);
    (void)path;
    if (why->cause != CAUSE_AUTH || atomic_fetch_add(&self->denied, 1) + 1 < DENIED_OFTEN ||
        now < next ||
        !atomic_compare_exchange_strong(&self->denied_next, &next, now + DENIED_QUIET))
        return;
    env_warn(self->env, "%" PRIu64 " requests refused: %s (the last from %s)",
             atomic_exchange(&self->denied, 0), why->text, peer_text(peer, text));
}

/* ---- life ---- */

static bool status_open(void *instance, const struct env *env, char *error, size_t error_size)
{
    struct status *self = instance;
    struct http_server_options options = {
        .max_body = MAX_BODY,
        .threads = THREADS,
        .max_connections = MAX_CONNECTIONS,
        .header_timeout_ns = 10 * NS_PER_S,
        .idle_timeout_ns = 60 * NS_PER_S,
        .budget = env->budget,
        .handler = status_handle,
        .refused = status_refused,
        .auth = self->auth.by,
        .ctx = self,
    };
    struct endpoint endpoint;
    char reason[256];
    self->env = env;
    watch_init(&self->idle);
    self->watch = env->watch ? env->watch : &self->idle;
    self->opened = clock_wall(env->clock);
    self->reloaded = watch_has_held(env->watch) ? self->opened : 0;
    pthread_mutex_init(&self->taking, NULL);
    pthread_mutex_init(&self->turn, NULL);
    pthread_mutex_init(&self->looking, NULL);
    thread_cond_init(&self->wake);
    answer_spare_init(&self->small_answers, env->budget);
    keep_init(&self->keep, (size_t)self->keep_mib * MIB, env->budget);
    if (endpoint_parse(self->endpoint, false, &endpoint, reason, sizeof reason))
        snprintf(self->host, sizeof self->host, "%s", endpoint.host);
    self->attached = true;
    bool ready = known_init(&self->known, env->budget);
    self->known.reloaded = self->reloaded;
    if (!ready || !gather_open(self) || !graphs_open(&self->graphs, draw_graph, self)) {
        snprintf(error, error_size, "out of memory");
        return false;
    }
    struct listen_on on = status_place(self);
    self->server = listen_http(&on, &options, error, error_size);
    return self->server != NULL;
}

/* Its clients may stay connected for long, and its successor needs the memory. */
static void status_retire(void *instance)
{
    struct status *self = instance;
    if (self->server)
        http_server_retire(self->server);
    gather_close(self);
    pthread_mutex_lock(&self->looking);
    self->retired = true;
    pthread_mutex_unlock(&self->looking);
    answer_spare_release(&self->small_answers);
    looked_forget(self, true);
    pthread_mutex_lock(&self->taking);
    keep_shrink(&self->keep, 0);
    status_lock(self);
    known_release(&self->known);
    status_unlock(self);
    pthread_mutex_unlock(&self->taking);
    heap_trim();
}

static void status_close(void *instance)
{
    struct status *self = instance;
    if (self->server)
        http_server_close(self->server, 0);
    self->server = NULL;
    if (!self->attached)
        return;
    graphs_close(&self->graphs);
    answer_spare_release(&self->small_answers);
    gather_close(self);
    looked_forget(self, true);
    keep_release(&self->keep);
    known_release(&self->known);
    pthread_cond_destroy(&self->wake);
    pthread_mutex_destroy(&self->looking);
    pthread_mutex_destroy(&self->turn);
    pthread_mutex_destroy(&self->taking);
    watch_release(&self->idle);
    self->attached = false;
}

const struct component extension_status = {
    .type = "status",
    .text = "a page of traces, flame graphs, decisions and pipelines, with an API",
    .stability = "beta",
    .kind = COMPONENT_EXTENSION,
    .size = sizeof(struct status),
    .keys = keys,
    .check = status_check,
    .places = status_places,
    .rehearse = status_rehearse,
    .charges = sizeof(struct known_tables) + ANSWER_SPARE,
    .open = status_open,
    .metrics = status_metrics,
    .measure = status_measure,
    .retire = status_retire,
    .close = status_close,
};
