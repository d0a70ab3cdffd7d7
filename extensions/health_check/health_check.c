/* Answers 200 while the pipelines run and take requests, and 503 otherwise; it listens until the
 * process exits. */
#include "lib/net/server/listen.h"
#include "lib/wire/proto/text.h"
#include "pipeline/component.h"
#include "pipeline/life/runtime.h"

#include <string.h>

enum { MAX_BODY = 4096, MAX_CONNECTIONS = 64 };

struct health_check {
    char *endpoint;
    char *path;
    struct tls_server_settings tls;
    const struct env *env;
    struct http_server *server;
};

static const struct key keys[] = {
    KEY_STRING(struct health_check, endpoint, "endpoint", "localhost:13133", KEY_REQUIRED,
               "where to listen: host:port, [ipv6]:port or unix:/path"),
    KEY_STRING(struct health_check, path, "path", "/", KEY_REQUIRED, "path that is answered"),
    TLS_SERVER_KEY(struct health_check, tls),
    KEY_IGNORED("response_body", "accepted; the body is JSON with a status"),
    KEY_IGNORED("check_collector_pipeline", "accepted; it has no effect in the Collector either"),
    KEY_END,
};

static struct listen_on place(const struct health_check *self)
{
    return (struct listen_on){.key = "endpoint",
                              .endpoint = self->endpoint,
                              .tls_key = "tls",
                              .tls = &self->tls,
                              .id = self->env ? self->env->id : "",
                              .yields = self->env ? &self->env->yields : NULL,
                              .what = "health checks"};
}

static void places(const void *config, place_visit_fn *visit, void *ctx)
{
    struct listen_on on = place(config);
    listen_place(&on, visit, ctx);
}

static void rehearse(const void *config, struct key_report *report)
{
    struct listen_on on = place(config);
    listen_rehearse(&on, report);
}

static void check(const void *config, struct key_report *report)
{
    const struct health_check *self = config;
    struct listen_on on = place(self);
    listen_check(&on, report);
    if (*self->path != '/')
        key_report_add(report, "path", "expected a path that begins with /");
}

/* why: for people; empty: there is nothing to say. */
static void answer(struct http_request *request, bool available, struct view why)
{
    struct bytes body;
    bytes_init(&body, 4096, NULL);
    bytes_printf(&body, "{\"status\":\"Server %s\"", available ? "available" : "not available");
    if (why.size && (bytes_append(&body, ",\"error\":", 9) != BYTES_OK || !text_json(why, &body)))
        bytes_clear(&body);
    bytes_append(&body, "}", body.size > 0);
    http_respond(request, available ? 200 : 503, "application/json", bytes_view(&body), 0);
    bytes_release(&body);
}

static void handle(void *ctx, struct http_request *request)
{
    struct health_check *self = ctx;
    struct bytes why;
    if (strcmp(http_request_path(request), self->path) != 0) {
        http_respond(request, 404, "text/plain", VIEW("404 page not found\n"), 0);
        return;
    }
    bytes_init(&why, 1024, NULL);
    bool available =
        runtime_ready(self->env->runtime) && !runtime_trouble(self->env->runtime, &why);
    answer(request, available, bytes_view(&why));
    bytes_release(&why);
}

static bool health_check_open(void *instance, const struct env *env, char *error, size_t error_size)
{
    struct health_check *self = instance;
    struct http_server_options options = {
        .max_body = MAX_BODY,
        .threads = 1,
        .max_connections = MAX_CONNECTIONS,
        .header_timeout_ns = 10 * NS_PER_S,
        .idle_timeout_ns = 60 * NS_PER_S,
        .handler = handle,
        .ctx = self,
    };
    self->env = env;
    struct listen_on on = place(self);
    self->server = listen_http(&on, &options, error, error_size);
    return self->server != NULL;
}

static void health_check_retire(void *instance)
{
    const struct health_check *self = instance;
    if (self->server)
        http_server_retire(self->server);
}

static void health_check_close(void *instance)
{
    struct health_check *self = instance;
    if (self->server)
        http_server_close(self->server, 0);
    self->server = NULL;
}

const struct component extension_health_check = {
    .type = "health_check",
    .text = "answers 200 while the pipelines run, else 503",
    .stability = "beta",
    .kind = COMPONENT_EXTENSION,
    .size = sizeof(struct health_check),
    .keys = keys,
    .check = check,
    .places = places,
    .rehearse = rehearse,
    .open = health_check_open,
    .retire = health_check_retire,
    .close = health_check_close,
};
