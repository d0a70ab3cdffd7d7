#include "pipeline/telemetry/telemetry.h"

#include "lib/base/clock.h"
#include "lib/base/heap.h"
#include "lib/base/log.h"
#include "lib/metrics/metrics_otlp.h"
#include "lib/net/server/listen.h"
#include "lib/settings/node.h"
#include "pipeline/telemetry/periodic.h"
#include "pipeline/telemetry/process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_BODY = 4096, MAX_CONNECTIONS = 16, MAX_PAGE = 16 << 20 };

#define READERS      "telemetry.metrics.readers"
#define DEFAULT_PAGE "localhost:8888"

struct page;

struct telemetry {
    telemetry_measure_fn *measure;
    void *ctx;
    enum metric_level level;
    struct process_resource resource;
    _Atomic bool yields;
    struct page **pages;
    size_t page_count;
    struct periodic **periodics;
    size_t periodic_count;
};

/* ---- pages ---- */

struct page {
    struct telemetry *telemetry;
    struct page_style style;
    struct metric_label *constant;
    struct http_server *server;
};

static void page_free(struct page *page)
{
    if (page->server)
        http_server_close(page->server, 0);
    free(page->constant);
    free(page);
}

static bool write_page(const struct page *page, enum page_format format, struct bytes *out)
{
    struct telemetry *telemetry = page->telemetry;
    struct metrics metrics;
    metrics_init(&metrics, telemetry->level);
    process_measure(&telemetry->resource, &metrics);
    telemetry->measure(telemetry->ctx, &metrics);
    bool written = page_write(&metrics, format, &page->style, out);
    metrics_release(&metrics);
    return written;
}

static void telemetry_handle(void *ctx, struct http_request *request)
{
    const struct page *page = ctx;
    struct bytes out;
    const char *method = http_request_method(request);
    if (strcmp(http_request_path(request), "/metrics") != 0) {
        http_respond(request, 404, "text/plain", VIEW("404 page not found; try /metrics\n"), 0);
        return;
    }
    if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0) {
        http_response_header(request, "Allow", "GET, HEAD");
        http_respond(request, 405, "text/plain", VIEW("405 only GET and HEAD\n"), 0);
        return;
    }
    enum page_format format = page_format_of(http_request_header(request, "Accept"));
    bytes_init(&out, MAX_PAGE, NULL);
    bytes_reserve(&out, HEAP_MAPPED);
    http_response_header(request, "X-Content-Type-Options", "nosniff");
    if (write_page(page, format, &out))
        http_respond_bytes(request, 200, page_media_type(format), &out, 0);
    else
        http_respond(request, 503, "text/plain", VIEW("503 out of memory\n"), RETRY_AFTER_S);
    bytes_release(&out);
}

static bool listed(const struct key_list *list, const char *name)
{
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->items[i], name) == 0)
            return true;
    return false;
}

/* False: no memory. */
static bool set_style(struct page *page, const struct telemetry_pull *pull)
{
    const struct process_resource *resource = &page->telemetry->resource;
    size_t count = 0;
    page->style.type_suffix = !pull->without_type_suffix;
    page->style.unit_suffix = !pull->without_units;
    if (!pull->constant.given)
        return true;
    page->constant = calloc(resource->count + 1, sizeof *page->constant);
    for (size_t i = 0; page->constant && i < resource->count; i++) {
        const struct process_attribute *attribute = &resource->attributes[i];
        if (listed(&pull->constant.included, attribute->name) &&
            !listed(&pull->constant.excluded, attribute->name))
            page->constant[count++] =
                (struct metric_label){attribute->name, view_of(attribute->value)};
    }
    page->style.constant = page->constant;
    return page->constant;
}

/* Makes room for one more page, too. pull NULL: the default style. NULL: no memory. */
static struct page *page_new(struct telemetry *telemetry, const struct telemetry_pull *pull)
{
    struct page **pages =
        realloc(telemetry->pages, (telemetry->page_count + 1) * sizeof(struct page *));
    struct page *page = pages ? calloc(1, sizeof *page) : NULL;
    if (pages)
        telemetry->pages = pages;
    if (!page)
        return NULL;
    page->telemetry = telemetry;
    if (!pull || set_style(page, pull))
        return page;
    page_free(page);
    return NULL;
}

static bool open_page(struct telemetry *telemetry, const struct telemetry_pull *pull,
                      const char *key, const char *endpoint, char *error, size_t error_size)
{
    struct page *page = page_new(telemetry, pull);
    if (!page) {
        snprintf(error, error_size, "out of memory");
        return false;
    }
    struct http_server_options options = {
        .max_body = MAX_BODY,
        .threads = 1,
        .max_connections = MAX_CONNECTIONS,
        .header_timeout_ns = 10 * NS_PER_S,
        .idle_timeout_ns = 300 * NS_PER_S,
        .handler = telemetry_handle,
        .ctx = page,
    };
    const struct listen_on on = {.key = key,
                                 .endpoint = endpoint,
                                 .id = "telemetry",
                                 .yields = &telemetry->yields,
                                 .what = "metrics at /metrics"};
    page->server = listen_http(&on, &options, error, error_size);
    if (!page->server) {
        page_free(page);
        return false;
    }
    telemetry->pages[telemetry->page_count++] = page;
    return true;
}

/* ---- readers ---- */

/* Adds a problem; error starts with the key unless memory ran out. */
static void report(const struct telemetry_options *options, const char *key, const char *error,
                   struct problems *problems)
{
    char path[160];
    size_t n = strlen(key);
    const char *sentence = strncmp(error, key, n) == 0 && error[n] == ':' ? error + n + 2 : error;
    snprintf(path, sizeof path, "service.%s", key);
    problems_add(problems, options->section ? node_nearest(options->section, key) : NULL, path,
                 "%s", sentence);
}

static bool write_otlp(void *ctx, struct bytes *out, uint32_t *points)
{
    struct telemetry *telemetry = ctx;
    const struct process_resource *resource = &telemetry->resource;
    struct metric_label *labels = calloc(resource->count + 1, sizeof *labels);
    struct metrics metrics;
    if (!labels)
        return false;
    for (size_t i = 0; i < resource->count; i++)
        labels[i] = (struct metric_label){resource->attributes[i].name,
                                          view_of(resource->attributes[i].value)};
    const struct metrics_origin origin = {.resource = labels,
                                          .scope = "spanlink",
                                          .version = SPANLINK_VERSION,
                                          .started = process_started(),
                                          .now = clock_wall(&clock_system)};
    metrics_init(&metrics, telemetry->level);
    process_measure(resource, &metrics);
    telemetry->measure(telemetry->ctx, &metrics);
    bool written = metrics_write_otlp(&metrics, &origin, out, points);
    metrics_release(&metrics);
    free(labels);
    return written;
}

static void periodic_key(const struct telemetry_periodic *settings, size_t number, char *out,
                         size_t size)
{
    snprintf(out, size, "service." READERS "[%zu].periodic.exporter.%s", number,
             settings->otlp.given ? "otlp" : "console");
}

static bool open_periodic(struct telemetry *telemetry, const struct telemetry_periodic *settings,
                          size_t number, const struct node *section, struct problems *problems)
{
    char key[128];
    struct periodic **periodics =
        realloc(telemetry->periodics, (telemetry->periodic_count + 1) * sizeof(struct periodic *));
    if (!periodics)
        return false;
    telemetry->periodics = periodics;
    periodic_key(settings, number, key, sizeof key);
    const struct periodic_place place = {key, section};
    struct periodic *periodic = periodic_open(settings, &place, write_otlp, telemetry, problems);
    if (periodic)
        periodics[telemetry->periodic_count++] = periodic;
    return periodic;
}

static bool open_reader(struct telemetry *telemetry, const struct telemetry_options *options,
                        size_t number, struct problems *problems)
{
    const struct telemetry_reader *reader =
        (const struct telemetry_reader *)options->settings->metrics.readers.items + number;
    char key[128], endpoint[300], error[512];
    if (reader->periodic.given)
        return open_periodic(telemetry, &reader->periodic, number, options->section, problems);
    const char *host = reader->pull.host;
    snprintf(key, sizeof key, READERS "[%zu].pull.exporter.prometheus.port", number);
    snprintf(endpoint, sizeof endpoint, strchr(host, ':') && *host != '[' ? "[%s]:%d" : "%s:%d",
             host, (int)reader->pull.port);
    bool opened = open_page(telemetry, &reader->pull, key, endpoint, error, sizeof error);
    if (!opened)
        report(options, key, error, problems);
    return opened;
}

static bool open_address(struct telemetry *telemetry, const struct telemetry_options *options,
                         struct problems *problems)
{
    static const char key[] = "telemetry.metrics.address";
    char error[512];
    bool opened =
        open_page(telemetry, NULL, key, options->settings->metrics.address, error, sizeof error);
    if (!opened)
        report(options, key, error, problems);
    return opened;
}

/* Nobody asked for the default page, so whatever uses its port matters more. */
static void open_default(struct telemetry *telemetry)
{
    char error[512];
    if (open_page(telemetry, NULL, "", DEFAULT_PAGE, error, sizeof error))
        return;
    const char *why = strncmp(error, ": ", 2) == 0 ? error + 2 : error;
    log_warn("telemetry: no metrics page: %s; set another port in "
             "service.telemetry.metrics.readers, or level: none to turn the page off",
             why);
}

static bool open_readers(struct telemetry *telemetry, const struct telemetry_options *options,
                         struct problems *problems)
{
    const struct telemetry_metrics *metrics = &options->settings->metrics;
    bool opened = true;
    if (telemetry->level == METRIC_NONE)
        return true;
    for (size_t i = 0; i < metrics->readers.count; i++)
        opened = open_reader(telemetry, options, i, problems) && opened;
    if (*metrics->address)
        opened = open_address(telemetry, options, problems) && opened;
    else if (!metrics->readers_given && options->has_default)
        open_default(telemetry);
    return opened;
}

struct telemetry *telemetry_open(const struct telemetry_options *options, struct problems *problems)
{
    struct telemetry *telemetry = calloc(1, sizeof *telemetry);
    if (!telemetry || !process_resource_init(&telemetry->resource, &options->settings->resource)) {
        problems_add(problems, NULL, NULL, "out of memory");
        free(telemetry);
        return NULL;
    }
    telemetry->measure = options->measure;
    telemetry->ctx = options->ctx;
    telemetry->level = (enum metric_level)options->settings->metrics.level;
    if (open_readers(telemetry, options, problems))
        return telemetry;
    telemetry_close(telemetry);
    return NULL;
}

void telemetry_probe(const struct telemetry_options *options, struct problems *problems, FILE *out)
{
    const struct telemetry_metrics *metrics = &options->settings->metrics;
    const struct telemetry_reader *readers = metrics->readers.items;
    char key[128];
    for (size_t i = 0; metrics->level != METRIC_NONE && i < metrics->readers.count; i++) {
        const struct telemetry_periodic *periodic = &readers[i].periodic;
        periodic_key(periodic, i, key, sizeof key);
        if (periodic->otlp.given)
            periodic_probe(periodic, &(struct periodic_place){key, options->section}, problems,
                           out);
        else if (periodic->given)
            fprintf(out, "%s: has no backend\n", key);
    }
}

void telemetry_yield(struct telemetry *telemetry, bool yields)
{
    telemetry->yields = yields;
}

void telemetry_close(struct telemetry *telemetry)
{
    if (!telemetry)
        return;
    for (size_t i = 0; i < telemetry->periodic_count; i++)
        periodic_close(telemetry->periodics[i]);
    free(telemetry->periodics);
    for (size_t i = 0; i < telemetry->page_count; i++)
        page_free(telemetry->pages[i]);
    free(telemetry->pages);
    process_resource_release(&telemetry->resource);
    free(telemetry);
}
