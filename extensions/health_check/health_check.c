/* Answers 200 while the pipelines run and accept requests, and 503 otherwise; it listens until the
 * process exits. */
#include "lib/base/log.h"
#include "lib/net/endpoint.h"
#include "lib/net/server/page_server.h"
#include "lib/wire/proto/text.h"
#include "pipeline/component.h"
#include "pipeline/life/runtime.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

enum { SLICES = 16 };

struct response_body {
    char *healthy;
    char *unhealthy;
};

struct pipeline_check {
    bool enabled;
    uint64_t interval;
    int64_t threshold;
};

struct health_check {
    struct page_server pages;
    char *path;
    bool has_body;
    struct response_body body;
    struct pipeline_check check;
    const struct env *env;
    uint64_t since_wall, since_mono;   /* when it was opened, nanoseconds */
    _Atomic uint64_t failures[SLICES]; /* at the beginning of each slice of the interval, a ring */
    _Atomic size_t slice;              /* the latest one */
    bool ticked;
};

static const struct key body_keys[] = {
    KEY_STRING(struct response_body, healthy, "healthy", "", 0, "the body of 200"),
    KEY_STRING(struct response_body, unhealthy, "unhealthy", "", 0, "the body of 503"),
    KEY_END,
};

static const struct key check_keys[] = {
    KEY_BOOL(struct pipeline_check, enabled, "enabled", "false",
             "also answer 503 while exporters keep failing"),
    KEY_DURATION(struct pipeline_check, interval, "interval", "5m", 0,
                 "how far back failures count"),
    KEY_INT(struct pipeline_check, threshold, "exporter_failure_threshold", "5", 1, 2147483647,
            "failed attempts and dropped requests of all exporters"),
    KEY_END,
};

static const struct key keys[] = {
    PAGE_SERVER_KEYS(struct health_check, pages, "localhost:13133"),
    KEY_STRING(struct health_check, path, "path", "/", KEY_REQUIRED, "path of the health check"),
    KEY_SWITCHED(struct health_check, body, struct response_body, has_body, "response_body",
                 body_keys, "bodies instead of the JSON status"),
    KEY_GROUP(struct health_check, check, struct pipeline_check, "check_collector_pipeline",
              check_keys, "whether failing exporters affect the status"),
    KEY_END,
};

static void check(const void *config, struct key_report *report)
{
    const struct health_check *self = config;
    page_server_check(self, report);
    if (self->check.interval == 0)
        key_report_add(report, "check_collector_pipeline.interval", "must be positive");
    if (*self->path != '/')
        key_report_add(report, "path", "expected a path that begins with /");
}

/* ---- whether exporters fail ---- */

static uint64_t health_check_tick(void *instance, uint64_t mono_ns)
{
    struct health_check *self = instance;
    size_t slice = (self->slice + 1) % SLICES;
    if (!self->check.enabled)
        return TIME_NEVER;
    uint64_t failures = runtime_failures(self->env->runtime);
    for (size_t i = 0; i < SLICES; i++)
        if (!self->ticked || i == slice)
            self->failures[i] = failures;
    self->ticked = true;
    self->slice = slice;
    return mono_ns + (self->check.interval + SLICES - 2) / (SLICES - 1);
}

/* If so, writes it to why. A counter that decreased belonged to an exporter that a reload
 * removed. */
static bool exporters_fail(struct health_check *self, struct bytes *why)
{
    uint64_t now = self->check.enabled ? runtime_failures(self->env->runtime) : 0;
    uint64_t then = self->failures[(self->slice + 1) % SLICES];
    uint64_t failures = now > then ? now - then : 0;
    if (!self->check.enabled || failures < (uint64_t)self->check.threshold)
        return false;
    bytes_printf(why, "%" PRIu64 " exporter failures", failures);
    return true;
}

/* ---- answers ---- */

/* In the Collector's form: RFC 3339, and a Go duration. */
static void print_uptime(const struct health_check *self, struct bytes *body)
{
    char since[32];
    struct tm utc;
    time_t seconds = (time_t)(self->since_wall / NS_PER_S);
    uint64_t up = clock_mono(self->env->clock) - self->since_mono, s = up / NS_PER_S;
    strftime(since, sizeof since, "%Y-%m-%dT%H:%M:%S", gmtime_r(&seconds, &utc));
    bytes_printf(body, ",\"upSince\":\"%s.%09" PRIu64 "Z\",\"uptime\":\"", since,
                 self->since_wall % NS_PER_S);
    if (s >= 3600)
        bytes_printf(body, "%" PRIu64 "h", s / 3600);
    if (s >= 60)
        bytes_printf(body, "%" PRIu64 "m", s / 60 % 60);
    bytes_printf(body, "%" PRIu64 ".%09" PRIu64 "s\"", s % 60, up % NS_PER_S);
}

/* why: for people; empty: nothing to report. */
static void health_check_answer(const struct health_check *self, struct http_request *request,
                                bool available, struct view why)
{
    struct bytes body;
    bytes_init(&body, 4096, NULL);
    bytes_printf(&body, "{\"status\":\"Server %s\"", available ? "available" : "not available");
    if (available)
        print_uptime(self, &body);
    if (why.size && (bytes_append(&body, ",\"error\":", 9) != BYTES_OK || !text_json(why, &body)))
        bytes_clear(&body);
    bytes_append(&body, "}", body.size > 0);
    http_respond(request, available ? 200 : 503, "application/json", bytes_view(&body), 0);
    bytes_release(&body);
}

static void health_check_handle(void *ctx, struct http_request *request)
{
    struct health_check *self = ctx;
    struct runtime *runtime = self->env->runtime;
    struct bytes why;
    if (strcmp(http_request_path(request), self->path) != 0) {
        http_respond(request, 404, "text/plain", VIEW("404 page not found\n"), 0);
        return;
    }
    bytes_init(&why, 1024, NULL);
    bool available =
        runtime_ready(runtime) && !runtime_trouble(runtime, &why) && !exporters_fail(self, &why);
    if (self->has_body)
        http_respond(request, available ? 200 : 503, "text/plain; charset=utf-8",
                     view_of(available ? self->body.healthy : self->body.unhealthy), 0);
    else
        health_check_answer(self, request, available, bytes_view(&why));
    bytes_release(&why);
}

/* ---- life ---- */

/* httpGet probes are sent from the node to the pod's address. */
static void tell_pod(const struct health_check *self)
{
    struct endpoint endpoint;
    char reason[256];
    if (!getenv("KUBERNETES_SERVICE_HOST") ||
        !endpoint_parse(self->pages.endpoint, false, &endpoint, reason, sizeof reason) ||
        (strcasecmp(endpoint.host, "localhost") != 0 && strcmp(endpoint.host, "::1") != 0 &&
         strncmp(endpoint.host, "127.", 4) != 0))
        return;
    env_info(self->env,
             "%s cannot be reached by httpGet probes, which use the pod's address: listen "
             "on ${env:POD_IP}:%s, or probe with exec: spanlink health",
             self->pages.endpoint, endpoint.service);
}

static bool health_check_open(void *instance, const struct env *env, char *error, size_t error_size)
{
    struct health_check *self = instance;
    const struct page_server_use use = {.id = env->id,
                                        .kind = env->kind,
                                        .yields = &env->yields,
                                        .what = "health checks",
                                        .handler = health_check_handle,
                                        .ctx = self};
    self->env = env;
    self->since_wall = clock_wall(env->clock);
    self->since_mono = clock_mono(env->clock);
    if (!page_server_open(&self->pages, &use, error, error_size))
        return false;
    tell_pod(self);
    return true;
}

const struct component extension_health_check = {
    .type = "health_check",
    .text = "answers 200 while the pipelines run, else 503",
    .stability = "beta",
    .kind = COMPONENT_EXTENSION,
    .size = sizeof(struct health_check),
    .keys = keys,
    .check = check,
    .places = page_server_places,
    .rehearse = page_server_rehearse,
    .open = health_check_open,
    .tick = health_check_tick,
    .retire = page_server_retire,
    .close = page_server_close,
};
