/* What the process says of itself, over HTTP: /debug/explain, also under the Collector's
 * /debug/pipelinez. */
#include "lib/net/server/listen.h"
#include "pipeline/component.h"
#include "pipeline/life/runtime.h"

#include <string.h>

enum { MAX_BODY = 4096, MAX_CONNECTIONS = 64, MAX_PAGE = 4 << 20 };

struct zpages {
    char *endpoint;
    struct tls_server_settings tls;
    const struct env *env;
    struct http_server *server;
};

static const struct key keys[] = {
    KEY_STRING(struct zpages, endpoint, "endpoint", "localhost:55679", KEY_REQUIRED,
               "where to listen: host:port, [ipv6]:port or unix:/path"),
    TLS_SERVER_KEY(struct zpages, tls),
    KEY_IGNORED("expvar", "accepted, without effect"),
    KEY_END,
};

static struct listen_on place(const struct zpages *self)
{
    return (struct listen_on){.key = "endpoint",
                              .endpoint = self->endpoint,
                              .tls_key = "tls",
                              .tls = &self->tls,
                              .id = self->env ? self->env->id : "",
                              .yields = self->env ? &self->env->yields : NULL,
                              .what = "/debug/explain"};
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
    const struct zpages *self = config;
    struct listen_on on = place(self);
    listen_check(&on, report);
}

static void handle(void *ctx, struct http_request *request)
{
    struct zpages *self = ctx;
    const char *path = http_request_path(request);
    if (strcmp(path, "/debug/explain") != 0 && strcmp(path, "/debug/pipelinez") != 0) {
        http_respond(request, 404, "text/plain", VIEW("404 page not found\n"), 0);
        return;
    }
    struct bytes page;
    bytes_init(&page, MAX_PAGE, NULL);
    runtime_explain(self->env->runtime, &page);
    http_response_header(request, "X-Content-Type-Options", "nosniff");
    http_respond(request, 200, "text/plain; charset=utf-8", bytes_view(&page), 0);
    bytes_release(&page);
}

static bool zpages_open(void *instance, const struct env *env, char *error, size_t error_size)
{
    struct zpages *self = instance;
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

static void zpages_retire(void *instance)
{
    const struct zpages *self = instance;
    if (self->server)
        http_server_retire(self->server);
}

static void zpages_close(void *instance)
{
    struct zpages *self = instance;
    if (self->server)
        http_server_close(self->server, 0);
    self->server = NULL;
}

const struct component extension_zpages = {
    .type = "zpages",
    .text = "what every component did and why, at /debug/explain",
    .stability = "beta",
    .kind = COMPONENT_EXTENSION,
    .size = sizeof(struct zpages),
    .keys = keys,
    .check = check,
    .places = places,
    .rehearse = rehearse,
    .open = zpages_open,
    .retire = zpages_retire,
    .close = zpages_close,
};
