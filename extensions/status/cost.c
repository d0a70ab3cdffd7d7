/* GET /api/cost: CPU time by route; and the same numbers as metrics. */
#include "extensions/status/status.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static const struct metric cpu_row =
    METRIC_ROW("spanlink_cpu_seconds", METRIC_COUNTER, METRIC_BASIC, "s",
               "CPU time of profile samples by the service and name of the span that they were "
               "taken in; (no span): in none that passed; (not looked at): in one that passed "
               "while more came than is looked at.");

const struct metric status_metrics[] = {
    METRIC_FIELD(struct status, kept_bytes, "spanlink_status_kept_bytes", METRIC_GAUGE,
                 METRIC_BASIC, "By", "Bytes of the kept traces and profiles."),
    METRIC_FIELD(struct status, kept_evicted, "spanlink_status_evicted", METRIC_COUNTER,
                 METRIC_NORMAL, "{requests}",
                 "Requests of them that were evicted for newer ones or for lack of memory."),
    METRIC_FIELD(struct status, kept_skipped, "spanlink_status_skipped", METRIC_COUNTER,
                 METRIC_NORMAL, "{requests}",
                 "Requests that were not kept because that would have used too much CPU time."),
    METRIC_END,
};

static struct view service_name(const struct known *known, const struct known_route *route)
{
    return names_get(&known->names, known->services[route->service]->name);
}

static double in_seconds(uint64_t ns)
{
    return (double)ns / 1e9;
}

static void measure_routes(struct known *known, struct metrics *metrics)
{
    for (size_t i = 1; i < known->route_count; i++) {
        const struct known_route *route = &known->routes[i];
        if (route->metered)
            metrics_add(metrics, &cpu_row, in_seconds(route->metered_ns),
                        METRIC_LABELS({"service", service_name(known, route)},
                                      {"tenant", known_tenant(known, route->service)},
                                      {"span_name", known_route_name(known, route)}));
    }
    if (known->metered_others)
        metrics_add(
            metrics, &cpu_row, in_seconds(known->metered_others),
            METRIC_LABELS({"service", VIEW(NAME_OTHERS)}, {"span_name", VIEW(NAME_OTHERS)}));
}

/* With several instances, only the last one opened reports, without an instance label. */
void status_measure(void *instance, struct metrics *metrics)
{
    struct status *self = instance;
    metrics_scope(metrics, NULL, NULL);
    status_lock(self);
    if (self->watch->watchers == &self->watcher)
        measure_routes(&self->known, metrics);
    status_unlock(self);
}

/* ---- /api/cost ---- */

struct cost_query {
    char from[64], to[64], service[PARAMETER_SIZE];
    uint64_t first, last; /* steps since 1970 */
};

/* A route and its sums in the time asked for. */
struct cost_row {
    const struct known_route *route;
    uint16_t turn; /* the route's: it is gone where it has another */
    uint64_t cpu_ns, wall_ns, samples, spans, linked;
};

static bool read_query(struct cost_query *query, const char *text, uint64_t now, char *error)
{
    const struct parameter list[] = {
        {"from", query->from, sizeof query->from},
        {"to", query->to, sizeof query->to},
        {"service", query->service, sizeof query->service},
        {0},
    };
    uint64_t last = now / KNOWN_SERIES_STEP, from = 0, to = now;
    if (!answer_parameters(text, list, error))
        return false;
    if (!answer_range(query->from, query->to, now, &from, &to, error))
        return false;
    to -= to > from; /* up to it, so that ranges behind one another share no step */
    query->last = to / KNOWN_SERIES_STEP < last ? to / KNOWN_SERIES_STEP : last;
    query->first = from / KNOWN_SERIES_STEP;
    if (query->first + KNOWN_SERIES <= last)
        query->first = last - KNOWN_SERIES + 1;
    if (from > now)
        query->last = query->first - 1; /* of the future there is nothing, not even a step */
    else if (query->first > query->last)
        query->first = query->last;
    return true;
}

/* Without `from` and `to`, everything since the start counts, including what is older than the
 * steps. */
static struct cost_row row_of(const struct cost_query *query, const struct known *known,
                              const struct known_route *route)
{
    bool cpu = known_route_times_cpu(known, route);
    struct cost_row row = {.route = route,
                           .turn = route->turn,
                           .cpu_ns = route->cpu_ns,
                           .wall_ns = route->wall_ns,
                           .samples = cpu ? route->samples : route->wall_samples,
                           .spans = route->spans,
                           .linked = route->linked};
    if (!*query->from && !*query->to)
        return row;
    row = (struct cost_row){.route = route, .turn = route->turn};
    for (uint64_t i = query->first; i <= query->last; i++) {
        const struct known_route_step *step = known_route_step(route, i);
        if (!step)
            continue;
        row.cpu_ns += step->cpu_ns;
        row.wall_ns += step->wall_ns;
        row.samples += cpu ? step->samples : step->wall_samples;
        row.spans += step->spans;
        row.linked += step->linked;
    }
    return row;
}

/* By CPU time; behind those with any, by wall time. */
static int by_cost(const void *a, const void *b)
{
    const struct cost_row *x = a, *y = b;
    if (x->cpu_ns != y->cpu_ns)
        return x->cpu_ns < y->cpu_ns ? 1 : -1;
    return (x->wall_ns < y->wall_ns) - (x->wall_ns > y->wall_ns);
}

static size_t choose_rows(const struct cost_query *query, const struct known *known,
                          struct cost_row *rows)
{
    size_t count = 0;
    for (size_t i = 0; i < known->route_count; i++) {
        const struct known_route *route = &known->routes[i];
        if (!route->used)
            continue;
        struct cost_row row = row_of(query, known, route);
        if ((row.spans == 0 && row.samples == 0 && row.cpu_ns == 0) ||
            (*query->service && !view_eq(view_of(query->service), service_name(known, route))))
            continue;
        rows[count++] = row;
    }
    qsort(rows, count, sizeof *rows, by_cost);
    return count;
}

static void put_route(const struct cost_query *query, const struct known *known,
                      const struct cost_row *row, struct json *json)
{
    static const char *const kinds[] = {"route", "others", "no_span", "not_looked_at"};
    const struct known_route *route = row->route;
    json_open(json, NULL, '{');
    json_text(json, "service", service_name(known, route));
    json_text(json, "tenant", known_tenant(known, route->service));
    json_text(json, "span_name", known_route_name(known, route));
    json_word(json, "kind", kinds[known_route_kind(known, route)]);
    json_number(json, "cpu_ns", row->cpu_ns);
    bool cpu = known_route_times_cpu(known, route);
    json_bool(json, "cpu_known", cpu);
    json_number(json, "wall_ns", row->wall_ns);
    json_number(json, "samples", row->samples);
    json_number(json, "spans", row->spans);
    json_number(json, "linked", row->linked);
    json_open(json, "series", '[');
    for (uint64_t i = query->first; i <= query->last; i++) {
        const struct known_route_step *step = known_route_step(route, i);
        json_number(json, NULL, !step ? 0 : cpu ? step->cpu_ns : step->wall_ns);
    }
    json_close(json, ']');
    json_close(json, '}');
}

struct cost_answer {
    struct status *self;
    const struct cost_query *query;
    struct cost_row *rows; /* KNOWN_ROUTES */
};

/* Says what is (not looked at). NULL: everything was looked at. */
enum { COST_TEXT = 320 };
static const char *cost_text(const struct status *self, char out[COST_TEXT])
{
    int at = 0;
    uint64_t missed = self->known.missed, unseen = self->unseen_spans;
    if (unseen || missed)
        at = snprintf(out, COST_TEXT,
                      "%" PRIu64 " spans were not looked at, since more came than the extension's "
                      "share of CPU time allows",
                      unseen > missed ? unseen : missed);
    if (self->known.passed_over)
        at += snprintf(out + at, COST_TEXT - (size_t)at,
                       "%s%" PRIu64 " decisions and spans with samples were not remembered, since "
                       "more than 2,000 a second came",
                       at ? "; " : "", self->known.passed_over);
    if (!at)
        return NULL;
    snprintf(out + at, COST_TEXT - (size_t)at,
             ": no route counts these spans, and their samples are " NAME_NOT_LOOKED);
    return out;
}

static void write_cost(void *ctx, struct json *json)
{
    const struct cost_answer *answer = ctx;
    const struct cost_query *query = answer->query;
    struct status *self = answer->self;
    json_open(json, NULL, '{');
    json_time(json, "from_unix_nano", query->first * KNOWN_SERIES_STEP);
    json_time(json, "to_unix_nano", (query->last + 1) * KNOWN_SERIES_STEP);
    json_number(json, "step_ns", KNOWN_SERIES_STEP);
    status_lock(self);
    char text[COST_TEXT];
    json_word(json, "text", cost_text(self, text));
    json_open(json, "routes", '[');
    size_t count = choose_rows(query, &self->known, answer->rows);
    for (size_t i = 0; i < count; i++) {
        if (answer->rows[i].turn == answer->rows[i].route->turn)
            put_route(query, &self->known, &answer->rows[i], json);
        status_unlock(self); /* lets the data threads in */
        status_lock(self);
    }
    status_unlock(self);
    json_close(json, ']');
    json_close(json, '}');
}

void cost_answer(struct status *self, struct http_request *request)
{
    struct cost_query query;
    char error[ANSWER_ERROR];
    if (!read_query(&query, http_request_query(request), clock_wall(self->env->clock), error)) {
        answer_error(request, 400, error);
        return;
    }
    struct cost_answer answer = {self, &query, calloc(KNOWN_ROUTES, sizeof *answer.rows)};
    if (answer.rows)
        answer_surely(request, &self->small_answers, ANSWER_MAX, write_cost, &answer);
    else
        answer_error(request, 503, "not enough memory for the response");
    free(answer.rows);
}
