/* GET /api/flamegraph: of a span, a trace, a service or a route. */
#include "extensions/status/flame_wanted.h"
#include "extensions/status/waiting.h"
#include "lib/wire/otlp/otlp_span.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

#define PLAIN_MAX ((size_t)128 << 20) /* largest inflated profile */

static bool is_type(const char *text)
{
    unsigned colons = 0;
    for (; *text; text++)
        colons += *text == ':';
    return colons == 4;
}

static bool read_query(struct flame_query *query, const char *text, uint64_t now, char *error)
{
    const struct parameter list[] = {
        {"span", query->span, sizeof query->span},
        {"trace", query->trace, sizeof query->trace},
        {"service", query->service, sizeof query->service},
        {"name", NULL, 0},
        {"from", query->from, sizeof query->from},
        {"to", query->to, sizeof query->to},
        {"type", query->type, sizeof query->type},
        {"format", query->format, sizeof query->format},
        {0},
    };
    uint8_t span[8] = {0};
    const char *wrong = NULL;
    static const char *const ids[] = {"span", "trace", NULL};
    if (!answer_parameters(text, list, error) || !answer_has_values(text, ids, error))
        return false;
    answer_name(text, "name", &query->name);
    query->from_ns = 0;
    query->to_ns = UINT64_MAX;
    bool service = *query->service && !*query->span; /* with a span, it says whose span */
    if (!*query->span + !*query->trace + !service != 2)
        wrong = "expected one of span, trace and service; service may be added to span";
    else if (query->name.given && !service)
        wrong = "name: expected together with service";
    else if (*query->span && !answer_hex(query->span, span, sizeof span))
        wrong = "span: expected 16 hex digits";
    else if (*query->trace && !answer_hex(query->trace, query->trace_id, sizeof query->trace_id))
        wrong = "trace: expected 32 hex digits";
    else if (*query->from && !service)
        wrong = "from: expected together with service; a span or trace is drawn whole";
    else if (*query->to && !service)
        wrong = "to: expected together with service; a span or trace is drawn whole";
    else if (*query->format && strcmp(query->format, "json") != 0 &&
             strcmp(query->format, "folded") != 0 && strcmp(query->format, "pprof") != 0 &&
             strcmp(query->format, "svg") != 0)
        wrong = "format: expected json, folded, pprof or svg";
    else if (*query->type && !is_type(query->type))
        wrong = "type: expected name:type:unit:period_type:period_unit, such as "
                "process_cpu:cpu:nanoseconds:cpu:nanoseconds";
    query->span_id = span_id_load(span);
    if (wrong)
        snprintf(error, ANSWER_ERROR, "%s", wrong);
    return !wrong &&
           answer_range(query->from, query->to, now, &query->from_ns, &query->to_ns, error);
}

/* ---- the graph ---- */

/* A compressed one is opened in plain. */
static void add_kept(struct flame *flame, const struct kept *kept, struct bytes *plain)
{
    bytes_clear(plain);
    if (kept->packed && !kept_open(kept, plain)) {
        flame->truncated = true;
        return;
    }
    struct view content = bytes_view(kept->packed ? plain : &kept->bytes);
    struct flame_source source = {
        .raw = content,
        .discards = kept->packed,
        .series = kept->series,
        .by_ingest = kept->by_ingest,
        .sample_type_config = kept->query,
        .arrived = kept->arrived,
        .starts = kept->starts,
    };
    if (kept->kind == KEPT_PPROF)
        flame_add_pprof(flame, &source);
    else if (kept->kind == KEPT_PROFILES)
        flame_add_otlp(flame, content, kept->arrived);
    else if (kept->kind == KEPT_OPAQUE)
        flame_add_ingest(flame, kept->query, kept->content, content, kept->arrived);
}

/* The newest first, as flame_begin_profile asks. */
static void draw(struct status *self, const struct wanted *wanted, struct flame *flame)
{
    size_t count;
    struct bytes plain;
    if (flame->filter.ids && wanted->count == 0)
        return;
    bytes_init(&plain, PLAIN_MAX, self->env->budget);
    struct kept **list = keep_list(&self->keep, 0, &count);
    for (size_t i = count; i-- > 0 && !flame->failed;)
        if (kept_is_profile(list[i]->kind) && list[i]->arrived >= wanted->first &&
            list[i]->arrived <= wanted->last)
            add_kept(flame, list[i], &plain);
    keep_list_free(list, count);
    bytes_release(&plain);
}

/* Draws another type where the first choice has no values, or less CPU time, unless one was asked
 * for. */
static void draw_better(struct status *self, const struct wanted *wanted, struct flame *flame)
{
    char type[FLAME_TYPE_SIZE];
    struct flame_filter filter = flame->filter;
    const char *better = *filter.type || flame->failed ? NULL : flame_better_type(flame);
    if (!better)
        return;
    snprintf(type, sizeof type, "%s", better);
    filter.type = type;
    flame_release(flame);
    flame_init(flame, &filter, self->env->budget);
    draw(self, wanted, flame);
    flame->filter.type = "";
}

/* ---- responses ---- */

/* Of the name, for "%.*s". */
static int name_size(const struct flame_query *query, int most)
{
    return (int)query->name.size < most ? (int)query->name.size : most;
}

static void title_of(const struct flame_query *query, char *out, size_t size)
{
    if (*query->span)
        snprintf(out, size, "span %s", query->span);
    else if (*query->trace)
        snprintf(out, size, "trace %s", query->trace);
    else
        snprintf(out, size, "%.200s %.*s", query->service, name_size(query, 200), query->name.text);
}

/* Of the file to save it as: whose graph it is, and its type. */
static void file_name_of(const struct wanted *wanted, const struct flame *flame, char *out,
                         size_t size)
{
    const struct flame_query *query = wanted->query;
    char type[FLAME_TYPE_SIZE], unit[FLAME_TYPE_SIZE];
    flame_unit(flame, type, unit, sizeof type);
    if (*query->span && *wanted->service)
        snprintf(out, size, "%s-%s-%s-%.32s", wanted->service, wanted->name, query->span, type);
    else if (*query->span || *query->trace)
        snprintf(out, size, "%s-%s%s-%.32s", *query->span ? "span" : "trace", query->span,
                 query->trace, type);
    else
        snprintf(out, size, "%.64s%s%.*s-%.32s", query->service, query->name.given ? "-" : "",
                 name_size(query, 64), query->name.text, type);
}

/* Takes over the flame graph. */
static void respond(struct status *self, struct http_request *request, const struct wanted *wanted,
                    struct flame *flame)
{
    const struct flame_query *query = wanted->query;
    char title[FLAME_TITLE], name[256];
    file_name_of(wanted, flame, name, sizeof name);
    flame_finish(flame);
    if (flame->failed) {
        answer_error(request, 503, "not enough memory for the flame graph");
    } else {
        title_of(query, title, sizeof title);
        flame_send(self, request, flame,
                   *query->format == 'f'   ? FLAME_FOLDED
                   : *query->format == 'p' ? FLAME_PPROF
                   : *query->format == 's' ? FLAME_SVG
                                           : FLAME_JSON,
                   title, name);
        return;
    }
    flame_release(flame);
}

/* Nothing of the span or trace is kept. */
static void answer_waiting(struct status *self, struct http_request *request,
                           const struct flame_query *query)
{
    struct waiting waiting;
    if (*query->span)
        waiting_of_span(self, query->span_id, query->service, &waiting);
    else
        waiting_of_trace(self, query->trace_id, &waiting);
    waiting_answer(self, request, &waiting,
                   "not known: it has not passed through this process, or was evicted for newer "
                   "data (keep_mib)");
}

static void flame_draw(struct status *self, struct http_request *request, struct wanted *wanted)
{
    const struct flame_query *query = wanted->query;
    bool by_route = query->name.given, by_ids = *query->span || *query->trace || by_route;
    static const struct flame_id none[1];
    struct flame_filter filter = {
        .ids = by_ids ? wanted->ids ? wanted->ids : none : NULL,
        .id_count = wanted->count,
        .service = by_route || !*query->service ? NULL : query->service,
        .type = query->type,
        .from = by_ids && !by_route ? 0 : query->from_ns,
        .to = by_ids && !by_route ? UINT64_MAX : query->to_ns,
    };
    struct flame flame;
    flame_init(&flame, &filter, self->env->budget);
    draw(self, wanted, &flame);
    draw_better(self, wanted, &flame);
    wanted_say_missing(self, wanted, &flame);
    if (*query->span && !wanted->kept && flame.type_count == 0 && !flame.text) {
        flame_release(&flame);
        answer_waiting(self, request, query);
    } else {
        respond(self, request, wanted, &flame);
    }
    malloc_trim(0);
}

void flame_answer(struct status *self, struct http_request *request)
{
    struct flame_query query;
    char error[ANSWER_ERROR];
    if (!read_query(&query, http_request_query(request), clock_wall(self->env->clock), error)) {
        answer_error(request, 400, error);
        return;
    }
    struct wanted wanted = {.self = self, .query = &query, .last = UINT64_MAX};
    bool one = *query.span || *query.trace;
    if (one || query.name.given)
        wanted_find(self, &wanted);
    if (one && !wanted.seen)
        answer_waiting(self, request, &query);
    else
        flame_draw(self, request, &wanted);
    wanted_release(&wanted);
}
