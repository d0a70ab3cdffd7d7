/* GET /api/traces: a row for each kept trace. */
#include "extensions/status/figures.h"
#include "extensions/status/known_find.h"
#include "extensions/status/looked.h"
#include "extensions/status/reason.h"
#include "extensions/status/waiting.h"

#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { LIMIT = 100, LIMIT_MAX = 10000, TRACE_DIGITS_MIN = 8 };

/* No span waits longer. */
#define GROWS_MAX (120 * NS_PER_S)

enum sort { SORT_LATEST, SORT_CPU, SORT_DURATION };

struct traces_query {
    struct asked_name name;
    char service[PARAMETER_SIZE], trace_id[64], span_id[32], linked[8];
    char min_duration[32], min_cpu[32], sort[16], limit[16], page[64];
    enum sort by;
    uint64_t duration, cpu;
    size_t most;
    int wants_linked; /* -1: either */
    size_t digits;    /* of the trace id that is asked for; 0: any trace */
    uint8_t trace[16];
    uint64_t span; /* the span id that is asked for; 0: any */
    bool *names;   /* by number, whether the name is asked for; NULL: any */
    bool goes_on;  /* only rows after this key and id, in the order of the sort */
    uint64_t behind_key, behind_id;
};

/* The first digits of a trace id, the others of which are 0. */
static bool read_trace_id(struct traces_query *query)
{
    char whole[33] = "00000000000000000000000000000000";
    query->digits = strlen(query->trace_id);
    if (query->digits < TRACE_DIGITS_MIN || query->digits >= sizeof whole)
        return false;
    memcpy(whole, query->trace_id, query->digits);
    return answer_hex(whole, query->trace, sizeof query->trace);
}

static bool is_trace(const struct traces_query *query, const uint8_t id[16])
{
    size_t bytes = query->digits / 2;
    return memcmp(id, query->trace, bytes) == 0 &&
           (query->digits % 2 == 0 || id[bytes] >> 4 == query->trace[bytes] >> 4);
}

static bool read_ids(struct status *self, struct traces_query *query, bool *found, char *error)
{
    uint8_t span[8], trace[16];
    *found = true;
    if (*query->trace_id && !read_trace_id(query)) {
        snprintf(error, ANSWER_ERROR, "trace_id: expected 32 hex digits, or the first 8 or more");
        return false;
    }
    if (!*query->span_id)
        return true;
    if (!answer_hex(query->span_id, span, sizeof span)) {
        snprintf(error, ANSWER_ERROR, "span_id: expected 16 hex digits");
        return false;
    }
    query->span = span_id_load(span);
    *found = looked_trace_of(self, query->span, trace) && is_trace(query, trace);
    if (*found) {
        query->digits = 32;
        memcpy(query->trace, trace, sizeof trace);
    }
    return true;
}

static bool read_word(const char *text, const char *const *words, int *index)
{
    for (*index = 0; words[*index]; ++*index)
        if (strcmp(text, words[*index]) == 0)
            return true;
    return false;
}

/* A key in decimal, '-', and 16 hex digits, as write_rows wrote them. */
static bool read_page(struct traces_query *query)
{
    uint8_t id[8];
    char *end;
    if (*query->page < '0' || *query->page > '9')
        return false;
    errno = 0;
    query->behind_key = strtoull(query->page, &end, 10);
    if (errno || *end != '-' || !answer_hex(end + 1, id, sizeof id))
        return false;
    query->behind_id = span_id_load(id);
    return true;
}

static bool read_values(struct traces_query *query, char *error)
{
    static const char *const sorts[] = {"latest", "cpu", "duration", NULL};
    static const char *const bools[] = {"false", "true", NULL};
    int sort = 0;
    query->wants_linked = -1;
    query->most = LIMIT;
    const char *wrong = NULL;
    if (*query->sort && !read_word(query->sort, sorts, &sort))
        wrong = "sort: expected latest, cpu or duration";
    else if (*query->linked && !read_word(query->linked, bools, &query->wants_linked))
        wrong = "linked: expected true or false";
    else if (*query->min_duration && !answer_duration(query->min_duration, &query->duration))
        wrong = "min_duration: expected a number with ns, us, ms, s, m or h, such as 10ms";
    else if (*query->min_cpu && !answer_duration(query->min_cpu, &query->cpu))
        wrong = "min_cpu: expected a number with ns, us, ms, s, m or h, such as 10ms";
    else if (*query->limit && !answer_count(query->limit, LIMIT_MAX, &query->most))
        wrong = "limit: expected a number from 1 to 10000";
    else if (*query->page && !read_page(query))
        wrong = "page: expected the value of `next` in the previous response";
    query->by = (enum sort)sort;
    query->goes_on = *query->page;
    if (wrong)
        snprintf(error, ANSWER_ERROR, "%s", wrong);
    return !wrong;
}

static bool read_query(struct traces_query *query, const char *text, char *error)
{
    const struct parameter list[] = {
        {"service", query->service, sizeof query->service},
        {"name", NULL, 0},
        {"trace_id", query->trace_id, sizeof query->trace_id},
        {"span_id", query->span_id, sizeof query->span_id},
        {"linked", query->linked, sizeof query->linked},
        {"min_duration", query->min_duration, sizeof query->min_duration},
        {"min_cpu", query->min_cpu, sizeof query->min_cpu},
        {"sort", query->sort, sizeof query->sort},
        {"limit", query->limit, sizeof query->limit},
        {"page", query->page, sizeof query->page},
        {0},
    };
    static const char *const ids[] = {"trace_id", "span_id", NULL};
    answer_name(text, "name", &query->name);
    return answer_parameters(text, list, error) && answer_has_values(text, ids, error) &&
           read_values(query, error);
}

/* ---- filter and order ---- */

/* Traces with wall time only are ordered by it, behind all that have CPU time. */
#define HAS_CPU (UINT64_C(1) << 63)

static uint64_t key_of(const struct looked_trace *trace, enum sort by)
{
    if (by == SORT_CPU && trace->cpu_ns)
        return HAS_CPU | trace->cpu_ns;
    if (by == SORT_CPU)
        return trace->times_cpu ? 0 : trace->wall_ns;
    if (by == SORT_DURATION)
        return trace->end > trace->start ? trace->end - trace->start : 0;
    return trace->start;
}

static uint64_t traces_low(const struct looked_trace *trace)
{
    return span_id_load(trace->id + 8);
}

/* Matches text against a pattern in which * matches any text. */
static bool matches(const char *pattern, struct view text)
{
    char copy[NAME_CUT + 1];
    if (!strchr(pattern, '*'))
        return view_eq(view_of(pattern), text);
    snprintf(copy, sizeof copy, "%.*s", VIEW_ARG(text));
    return fnmatch(pattern, copy, 0) == 0;
}

/* The first service after `last` that is asked for; last NULL: of all. NULL: there is none. */
static const struct trace_service *next_asked(const struct looked *looked,
                                              const struct looked_trace *trace, const char *service,
                                              const struct trace_service *last)
{
    const struct trace_service *each =
        last ? trace_services_next(&looked->services, last)
             : trace_services_first(&looked->services, trace->services);
    while (each && !matches(service, names_get(&looked->names, each->name)))
        each = trace_services_next(&looked->services, each);
    return each;
}

/* Whether a service that is asked for has a span as it is asked for: a linked one, or a local root
 * without a link. */
static bool has_service(const struct looked *looked, const struct looked_trace *trace,
                        const struct traces_query *query)
{
    const struct trace_service *each = NULL;
    while ((each = next_asked(looked, trace, query->service, each)))
        if (query->wants_linked < 0 || (query->wants_linked ? each->linked : each->unlinked))
            return true;
    return false;
}

static bool is_linked_as_wanted(const struct looked_trace *trace, const struct traces_query *query)
{
    return query->wants_linked < 0 || *query->service || (trace->linked > 0) == query->wants_linked;
}

/* Notes which names are asked for: there are far fewer than spans. False: no memory. */
static bool choose_names(const struct looked *looked, struct traces_query *query)
{
    const struct asked_name *asked = &query->name;
    char pattern[PARAMETER_SIZE];
    if (!asked->given)
        return true;
    bool any = memchr(asked->text, '*', asked->size);
    snprintf(pattern, sizeof pattern, "%.*s", (int)asked->size, (const char *)asked->text);
    query->names = calloc(looked->names.count + 1, sizeof *query->names);
    for (uint32_t i = 0; query->names && i < looked->names.count; i++) {
        struct view name = names_get(&looked->names, i);
        query->names[i] = any ? matches(pattern, name) : answer_is_name(asked, name);
    }
    return query->names;
}

static bool has_name(const struct traces_query *query, const struct looked_trace *trace)
{
    if (query->names[trace->name])
        return true;
    for (unsigned i = 0; i < TRACE_NAMES && trace->names[i]; i++)
        if (query->names[trace->names[i]])
            return true;
    return false;
}

static bool is_wanted(const struct looked *looked, const struct looked_trace *trace,
                      const struct traces_query *query)
{
    if (!looked_live(looked, trace) || !is_trace(query, trace->id) ||
        !is_linked_as_wanted(trace, query) || trace->cpu_ns < query->cpu ||
        key_of(trace, SORT_DURATION) < query->duration ||
        (*query->service && !has_service(looked, trace, query)) ||
        (query->names && !has_name(query, trace)))
        return false;
    uint64_t key = key_of(trace, query->by), low = traces_low(trace);
    return !query->goes_on || key < query->behind_key ||
           (key == query->behind_key && low < query->behind_id);
}

static int by_key(const void *a, const void *b, void *ctx)
{
    const struct looked_trace *x = *(const struct looked_trace *const *)a;
    const struct looked_trace *y = *(const struct looked_trace *const *)b;
    enum sort by = *(const enum sort *)ctx;
    uint64_t p = key_of(x, by), q = key_of(y, by);
    if (p == q) {
        p = traces_low(x);
        q = traces_low(y);
    }
    return (p < q) - (p > q);
}

/* ---- rows ---- */

static void write_reason(struct status *self, const struct looked_trace *trace, uint64_t root,
                         struct view service, bool linked, const char *otherwise, struct json *json)
{
    struct told_reason told = {0};
    uint64_t low = span_id_load(trace->id + 8);
    status_lock(self);
    reason_of(&self->known, known_find_as(&self->known, root, service, low, linked), &told);
    status_unlock(self);
    json_word(json, "reason", linked ? NULL : told.word);
    json_word(json, "why", linked ? NULL : told.text ? told.text : otherwise);
}

/* The first service that is asked for and has a local root without a link, else the first that has
 * one; NULL: there is none. */
static const struct trace_service *asked_root(const struct looked *looked,
                                              const struct looked_trace *trace, const char *asked)
{
    const struct trace_service *found = NULL, *each = NULL;
    while ((each = next_asked(looked, trace, asked, each))) {
        if (each->unlinked)
            return each;
        found = each->root && !found ? each : found;
    }
    return found;
}

/* The local root of the service that is asked for, where another one has the trace's. */
static void write_asked(struct status *self, const struct looked *looked,
                        const struct looked_trace *trace, const char *asked, struct json *json)
{
    const struct trace_service *root = *asked ? asked_root(looked, trace, asked) : NULL;
    if (!root) {
        json_null(json, "asked");
        return;
    }
    struct view service = names_get(&looked->names, root->name);
    json_open(json, "asked", '{');
    json_text(json, "service", service);
    json_id(json, "root_span_id", root->root);
    json_bool(json, "linked", !root->unlinked);
    write_reason(self, trace, root->root, service, !root->unlinked, NULL, json);
    json_close(json, '}');
}

/* Without any samples, as its root's service. */
static void write_figures(struct status *self, const struct looked *looked,
                          const struct looked_trace *trace, uint64_t lost, struct json *json)
{
    bool unsure = looked_unsure(self, trace, lost), cpu = trace->times_cpu;
    if (!trace->counted && !unsure) {
        status_lock(self);
        const struct known *known = &self->known;
        struct view service = names_get(&looked->names, trace->service);
        cpu = known->services[known_service_find(known, service)]->times_cpu;
        status_unlock(self);
    }
    if (unsure && !trace->counted)
        json_null(json, "samples");
    else
        json_number(json, "samples", trace->samples);
    json_number(json, "cpu_ns", trace->cpu_ns);
    json_bool(json, "cpu_known", cpu);
    json_bool(json, "numbers_known", !unsure);
}

/* Whether samples of its linked spans may still come: no profile covers its end yet. */
static bool may_grow(struct status *self, const struct looked *looked,
                     const struct looked_trace *trace, uint64_t now)
{
    bool grows = false;
    if (!trace->samples || now > trace->end + GROWS_MAX)
        return false;
    status_lock(self);
    const struct known *known = &self->known;
    const struct trace_service *each = trace_services_first(&looked->services, trace->services);
    for (; each && !grows; each = trace_services_next(&looked->services, each)) {
        size_t at =
            each->linked ? known_service_find(known, names_get(&looked->names, each->name)) : 0;
        grows = at && known_service_may_grow(known->services[at], trace->end, now);
    }
    status_unlock(self);
    return grows;
}

static void write_row(struct status *self, const struct looked *looked,
                      const struct looked_trace *trace, const char *asked, uint64_t lost,
                      const struct waiting *waiting, struct json *json)
{
    struct view service = names_get(&looked->names, trace->service);
    size_t waits = waiting_in(waiting, traces_low(trace));
    const char *rootless = waits || !waiting->all ? "Its local root has not been forwarded yet; it "
                                                    "may be waiting for its profile."
                                                  : "Its local root is not here: it was sent "
                                                    "elsewhere, was not kept, or has not ended.";
    json_open(json, NULL, '{');
    json_hex(json, "trace_id", (struct view){trace->id, sizeof trace->id});
    json_text(json, "service", service);
    json_text(json, "name", names_get(&looked->names, trace->name));
    json_time(json, "start_unix_nano", trace->start);
    json_number(json, "duration_ns", key_of(trace, SORT_DURATION));
    json_number(json, "spans", trace->spans);
    json_number(json, "waiting_spans", waits);
    json_bool(json, "linked", trace->linked > 0);
    json_number(json, "linked_spans", trace->linked);
    json_bool(json, "failed", trace->failed);
    write_figures(self, looked, trace, lost, json);
    json_number(json, "wall_ns", trace->wall_ns);
    json_bool(json, "so_far", may_grow(self, looked, trace, clock_wall(self->env->clock)));
    json_id(json, "root_span_id", trace->root);
    json_bool(json, "root_seen", trace->rank > 0);
    json_bool(json, "root_has_parent", trace->rank < 2);
    write_reason(self, trace, trace->root, service, trace->root_linked,
                 !trace->root_linked && trace->rank == 0 ? rootless : NULL, json);
    write_asked(self, looked, trace, asked, json);
    json_close(json, '}');
}

static void write_rows(struct status *self, const struct looked *looked,
                       const struct traces_query *query, struct looked_trace **rows, size_t count,
                       uint64_t lost, const struct waiting *waiting, struct json *json)
{
    size_t n = count < query->most ? count : query->most;
    json_open(json, "traces", '[');
    for (size_t i = 0; i < n; i++)
        write_row(self, looked, rows[i], query->service, lost, waiting, json);
    json_close(json, ']');
    if (n < count) {
        char next[64];
        snprintf(next, sizeof next, "%" PRIu64 "-%016" PRIx64, key_of(rows[n - 1], query->by),
                 traces_low(rows[n - 1]));
        json_word(json, "next", next);
    } else {
        json_null(json, "next");
    }
}

/* Traces without all numbers. */
struct unsure {
    size_t count;
    size_t amid;     /* of these, those that began before the extension was opened */
    size_t services; /* traces without all services */
};

/* Why numbers are not known. */
static const char *unsure_why(const struct status *self, const struct unsure *unsure)
{
    if (unsure->amid < unsure->count)
        return unsure->amid == 0
                   ? "more than 2,000 spans and samples came a second, newer ones took their "
                     "place, or spans were skipped"
                   : "they began before this extension was opened, more than 2,000 spans and "
                     "samples came a second, newer ones took their place, or spans were skipped";
    return self->reloaded ? "they began before a reload changed this extension"
                          : "they began in an earlier process";
}

/* How far back the traces reach, and what is missing. */
static const char *traces_of(size_t count, char out[32])
{
    snprintf(out, 32, "%zu trace%s", count, count == 1 ? "" : "s");
    return out;
}

/* Appends to what is said of the kept traces. */
static __attribute__((format(printf, 2, 3))) void add_part(char text[KEEP_TEXT], const char *format,
                                                           ...)
{
    size_t at = strlen(text);
    va_list args;
    at += (size_t)snprintf(text + at, KEEP_TEXT - at, "%s", at ? "; " : "");
    va_start(args, format);
    vsnprintf(text + at, KEEP_TEXT - at, format, args);
    va_end(args);
}

static void write_keep(struct status *self, const struct unsure *unsure, struct json *json)
{
    struct keep_reach reach = keep_reach(&self->keep);
    json_open(json, "keep", '{');
    json_time_or_null(json, "oldest_unix_nano", reach.oldest);
    json_time_or_null(json, "whole_since_unix_nano", reach.whole_since);
    json_number(json, "evicted_requests", reach.requests);
    json_number(json, "evicted_spans", reach.spans);
    json_number(json, "evicted_for_memory", reach.for_memory);
    json_number(json, "refused_requests", reach.refused);
    json_number(json, "refused_spans", reach.refused_spans);
    json_number(json, "skipped_requests", self->kept_skipped);
    json_number(json, "skipped_spans", self->kept_skipped_spans);
    char text[KEEP_TEXT], number[32];
    keep_text(&reach, self->kept_skipped, self->kept_skipped_spans, text);
    json_number(json, "numbers_unknown", unsure->count);
    if (unsure->count)
        add_part(text,
                 "of %s samples and CPU time are not or not all known, since %s: sort=cpu "
                 "and min_cpu go by what is known",
                 traces_of(unsure->count, number), unsure_why(self, unsure));
    if (unsure->services)
        add_part(text,
                 "of %s not all services are known, as there are more than %d or the memory "
                 "is short: service does not find the others",
                 traces_of(unsure->services, number), TRACE_SERVICES);
    json_word(json, "text", *text ? text : NULL);
    json_close(json, '}');
}

/* Of the names, only that of the service is looked at: the hold is locked. */
static bool waits_as_wanted(const void *ctx, const struct watch_held *held)
{
    const struct traces_query *query = ctx;
    struct view trace = proto_find_bytes(held->span, 1);
    return trace.size == 16 && is_trace(query, trace.data) &&
           (!*query->span_id || query->span == held->span_id) &&
           (!*query->service || matches(query->service, held->service));
}

static void answer_rows(struct status *self, struct http_request *request,
                        struct traces_query *query, bool any)
{
    struct looked *looked = looked_update(self);
    struct looked_trace **rows = looked ? malloc((looked->count + 1) * sizeof *rows) : NULL;
    if (!rows || !choose_names(looked, query)) {
        free(rows);
        answer_error(request, 503, "not enough memory to list the traces");
        return;
    }
    looked_figures(self, looked);
    size_t count = 0, kept = 0;
    struct unsure unsure = {0};
    uint64_t lost = figures_lost(self);
    for (uint32_t i = 0; i < looked->count; i++) {
        struct looked_trace *trace = &looked->traces[i];
        bool live = looked_live(looked, trace);
        kept += live;
        unsure.count += live && looked_unsure(self, trace, lost);
        unsure.amid += live && looked_opened_amid(self, trace->start);
        unsure.services += live && trace->services_cut;
        if (any && is_wanted(looked, trace, query))
            rows[count++] = trace;
    }
    qsort_r(rows, count, sizeof *rows, by_key, &query->by);
    struct bytes out;
    bytes_init(&out, ANSWER_MAX, self->env->budget);
    struct json json = json_begin(&out);
    struct waiting waiting;
    waiting_look(self, waits_as_wanted, query, true, &waiting);
    json_open(&json, NULL, '{');
    write_rows(self, looked, query, rows, count, lost, &waiting, &json);
    json_number(&json, "kept", kept);
    waiting_put(&waiting, &json);
    waiting_release(&waiting);
    write_keep(self, &unsure, &json);
    json_close(&json, '}');
    free(rows);
    free(query->names);
    answer_json(request, &json);
}

void traces_answer(struct status *self, struct http_request *request)
{
    struct traces_query query = {0};
    char error[ANSWER_ERROR];
    bool any;
    if (!read_query(&query, http_request_query(request), error) ||
        !read_ids(self, &query, &any, error))
        answer_error(request, 400, error);
    else
        answer_rows(self, request, &query, any);
}
