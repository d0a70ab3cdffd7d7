/* The running components and their own reports over HTTP, under the Collector's paths: tables, as
 * text for curl and as HTML for a browser; and /debug/explain, always text. */
#include "lib/net/server/page_server.h"
#include "pipeline/component.h"
#include "pipeline/life/runtime.h"

#include <string.h>

enum { MAX_PAGE = 4 << 20 };

struct zpages {
    struct page_server pages;
    bool expvar;
    const struct env *env;
};

static const struct key expvar_keys[] = {
    KEY_BOOL(struct zpages, expvar, "enabled", "false",
             "true has no effect: these are variables of Go"),
    KEY_END,
};

static const struct key keys[] = {
    PAGE_SERVER_KEYS(struct zpages, pages, "localhost:55679"),
    {.name = "expvar", .type = KEY_TYPE_GROUP, .rows = expvar_keys, .text = "/debug/expvarz"},
    KEY_END,
};

static void zpages_check(const void *config, struct key_report *report)
{
    const struct zpages *self = config;
    page_server_check(config, report);
    if (self->expvar)
        key_report_warn(report, "expvar.enabled",
                        "has no effect: /debug/expvarz would show variables of Go, which spanlink "
                        "does not have; its memory and CPU time are in its metrics "
                        "(service.telemetry.metrics)");
}

/* ---- tables ---- */

struct table {
    struct bytes *out;
    bool html;
    bool pipelines;   /* those rows, or else ... */
    const char *kind; /* ... the instances of a kind; NULL: of all */
};

static void put(struct bytes *out, const char *text)
{
    bytes_append_view(out, view_of(text));
}

static void put_escaped(struct bytes *out, const char *text)
{
    for (; *text; text++) {
        const char *escaped = *text == '<' ? "&lt;" : *text == '>' ? "&gt;" : NULL;
        escaped = *text == '&' ? "&amp;" : *text == '"' ? "&quot;" : escaped;
        bytes_append_view(out,
                          escaped ? view_of(escaped) : (struct view){(const uint8_t *)text, 1});
    }
}

static void put_row(const struct table *table, const char *tag, const char *const cells[],
                    size_t count)
{
    put(table->out, table->html ? "<tr>" : "");
    for (size_t i = 0; i < count; i++) {
        if (table->html) {
            bytes_printf(table->out, "<%s>", tag);
            put_escaped(table->out, cells[i]);
            bytes_printf(table->out, "</%s>", tag);
        } else {
            bytes_printf(table->out, "%-*s%s", i + 1 < count ? 28 : 0, cells[i],
                         i + 1 < count ? " " : "");
        }
    }
    put(table->out, table->html ? "</tr>\n" : "\n");
}

static void visit_row(void *ctx, const struct runtime_row *row)
{
    const struct table *table = ctx;
    if (table->pipelines && !row->kind) {
        const char *const cells[] = {row->name, row->parts[0], row->parts[1], row->parts[2]};
        put_row(table, "td", cells, 4);
    } else if (!table->pipelines && row->kind &&
               (!table->kind || strcmp(table->kind, row->kind) == 0)) {
        const char *const cells[] = {row->kind, row->name};
        put_row(table, "td", cells, 2);
    }
}

static void put_table(const struct zpages *self, struct table *table, const char *const head[],
                      size_t count)
{
    put(table->out, table->html ? "<table border=\"1\" cellpadding=\"4\">\n" : "");
    put_row(table, "th", head, count);
    runtime_rows(self->env->runtime, visit_row, table);
    put(table->out, table->html ? "</table>\n" : "\n");
}

static void put_instances(const struct zpages *self, struct table *table, const char *kind)
{
    static const char *const head[] = {"KIND", "ID"};
    table->pipelines = false;
    table->kind = kind;
    put_table(self, table, head, 2);
}

static void put_pipelines(const struct zpages *self, struct table *table)
{
    static const char *const head[] = {"PIPELINE", "RECEIVERS", "PROCESSORS", "EXPORTERS"};
    table->pipelines = true;
    put_table(self, table, head, 4);
}

/* The components' own reports. */
static void put_words(const struct zpages *self, struct table *table)
{
    struct bytes text;
    bytes_init(&text, MAX_PAGE, NULL);
    runtime_explain(self->env->runtime, &text);
    bytes_append(&text, "", 1);
    put(table->out, table->html ? "<pre>" : "");
    if (text.size && table->html)
        put_escaped(table->out, (const char *)text.data);
    else if (text.size)
        bytes_append(table->out, text.data, text.size - 1);
    put(table->out, table->html ? "</pre>\n" : "");
    bytes_release(&text);
}

/* ---- pages ---- */

static void put_index(const struct zpages *self, struct table *table);

static void put_servicez(const struct zpages *self, struct table *table)
{
    static const char *const head[] = {"SERVICE", "STATE"};
    bool ready = runtime_ready(self->env->runtime);
    const char *const cells[] = {"spanlink " SPANLINK_VERSION, ready ? "ready" : "not ready"};
    put(table->out, table->html ? "<table border=\"1\" cellpadding=\"4\">\n" : "");
    put_row(table, "th", head, 2);
    put_row(table, "td", cells, 2);
    put(table->out, table->html ? "</table>\n<p>\n" : "\n");
    put_instances(self, table, NULL);
}

static void put_pipelinez(const struct zpages *self, struct table *table)
{
    put_pipelines(self, table);
    put_words(self, table);
}

static void put_extensionz(const struct zpages *self, struct table *table)
{
    put_instances(self, table, "extension");
}

static const struct {
    const char *path, *what;
    void (*put)(const struct zpages *self, struct table *table);
} pages[] = {
    {"/", "this index", put_index},
    {"/debug/servicez", "the process and its components", put_servicez},
    {"/debug/pipelinez", "pipelines, and what each component did and why", put_pipelinez},
    {"/debug/extensionz", "extensions", put_extensionz},
    {"/debug/explain", "what each component did and why, always as text", put_words},
};

enum { PAGES = sizeof pages / sizeof *pages, EXPLAIN = PAGES - 1 };

static void put_index(const struct zpages *self, struct table *table)
{
    (void)self;
    for (size_t i = 0; i < PAGES; i++)
        if (table->html)
            bytes_printf(table->out, "<p><a href=\"%s\">%s</a> %s\n", pages[i].path, pages[i].path,
                         pages[i].what);
        else
            bytes_printf(table->out, "%-20s %s\n", pages[i].path, pages[i].what);
}

static void respond(const struct zpages *self, struct http_request *request, size_t page)
{
    const char *accept = http_request_header(request, "Accept");
    struct bytes out;
    bytes_init(&out, MAX_PAGE, NULL);
    struct table table = {.out = &out};
    table.html = page != EXPLAIN && accept && strstr(accept, "text/html");
    if (table.html)
        bytes_printf(&out,
                     "<!DOCTYPE html>\n<html lang=\"en\"><meta charset=\"utf-8\">"
                     "<title>spanlink %s</title>\n<h1>%s</h1>\n<p><a href=\"/\">index</a>\n",
                     pages[page].path, pages[page].path);
    pages[page].put(self, &table);
    http_response_header(request, "X-Content-Type-Options", "nosniff");
    http_response_header(request, "Vary", "Accept");
    http_respond(request, 200,
                 table.html ? "text/html; charset=utf-8" : "text/plain; charset=utf-8",
                 bytes_view(&out), 0);
    bytes_release(&out);
}

static void zpages_handle(void *ctx, struct http_request *request)
{
    const struct zpages *self = ctx;
    const char *path = http_request_path(request);
    if (!page_server_may(&self->pages, request))
        return;
    for (size_t i = 0; i < PAGES; i++)
        if (strcmp(path, pages[i].path) == 0) {
            respond(ctx, request, i);
            return;
        }
    http_respond(request, 404, "text/plain", VIEW("404 page not found; see /\n"), 0);
}

static bool zpages_open(void *instance, const struct env *env, char *error, size_t error_size)
{
    struct zpages *self = instance;
    const struct page_server_use use = {.id = env->id,
                                        .kind = env->kind,
                                        .yields = &env->yields,
                                        .what = "pages about itself at /",
                                        .handler = zpages_handle,
                                        .ctx = self};
    self->env = env;
    return page_server_open(&self->pages, &use, error, error_size);
}

const struct component extension_zpages = {
    .type = "zpages",
    .text = "what runs, and what every component did and why, at /",
    .stability = "beta",
    .kind = COMPONENT_EXTENSION,
    .size = sizeof(struct zpages),
    .keys = keys,
    .check = zpages_check,
    .places = page_server_places,
    .rehearse = page_server_rehearse,
    .open = zpages_open,
    .retire = page_server_retire,
    .close = page_server_close,
};
