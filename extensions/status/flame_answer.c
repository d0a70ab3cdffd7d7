/* GET /api/flamegraph: of a span, a trace, a service or a route. */
#include "extensions/status/flame.h"
#include "extensions/status/inherited.h"
#include "extensions/status/known_find.h"
#include "extensions/status/looked.h"
#include "extensions/status/waiting.h"
#include "lib/wire/proto/text.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

enum { IDS_MAX = 200000 };

/* How far a request's time may be from its window's arrival as correlation recorded it. */
#define NEAR      (2 * NS_PER_S)
#define PLAIN_MAX ((size_t)128 << 20) /* largest inflated profile */

struct flame_query {
    char span[32], trace[64], service[PARAMETER_SIZE], from[64], to[64];
    struct asked_name name;
    char type[FLAME_TYPE_SIZE], format[16];
    uint64_t from_ns, to_ns;
    uint64_t span_id;
    uint8_t trace_id[16];
};

/* The span ids whose samples are drawn. */
struct wanted {
    struct status *self;
    struct flame_query *query;
    struct flame_id *ids;
    size_t count, capacity;
    size_t beyond; /* more of them than there is room for */
    uint64_t first,
        last;  /* wall time, ns, between which their profiles arrived; all if not known */
    bool seen; /* a span that matches the query is kept or known */
    char service[64], name[64]; /* of such a span, cut; "": none is kept */
    const char *text, *fix;     /* of a profile with their samples that was not kept; NULL: none */
    uint64_t earliest;          /* arrival of the first profile with such samples; 0: not known */
};

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

/* ---- span ids ---- */

/* Beyond IDS_MAX, one of the newest takes the place of one of the oldest. */
static void want(struct wanted *wanted, uint64_t id, uint64_t service)
{
    if (!id)
        return;
    if (wanted->count == IDS_MAX) {
        wanted->ids[wanted->beyond++ % IDS_MAX] = (struct flame_id){id, service};
        return;
    }
    if (wanted->count == wanted->capacity) {
        size_t capacity = wanted->capacity ? wanted->capacity * 2 : 64;
        struct flame_id *ids = realloc(wanted->ids, capacity * sizeof *ids);
        if (!ids)
            return;
        wanted->ids = ids;
        wanted->capacity = capacity;
    }
    wanted->ids[wanted->count++] = (struct flame_id){id, service};
}

static bool fits(const struct flame_query *query, const struct looked_span *each)
{
    const struct otlp_span *span = &each->span;
    if (span->span_id.size != 8 || span->trace_id.size != 16)
        return false;
    if (*query->span)
        return span_id_load(span->span_id.data) == query->span_id &&
               (!*query->service || view_eq(each->service, view_of(query->service)));
    if (*query->trace)
        return memcmp(span->trace_id.data, query->trace_id, 16) == 0;
    return view_eq(each->service, view_of(query->service)) &&
           answer_is_name(&query->name, span->name);
}

/* Under the watch's lock: the service whose profiles have a span's samples, where spans of several
 * services have its id; 0: any. */
static uint64_t profiles_of(const struct known *known, uint64_t id, struct view service)
{
    size_t others = 0;
    for (const struct known_span *span = known_find(known, id); span;
         span = known_next(known, span))
        others += known_has_samples(span);
    if (others < 2)
        return 0;
    const struct known_span *own = known_find_of(known, id, service);
    if (own && known_has_samples(own))
        service = names_get(&known->names, known->services[own->under]->name);
    return left_out_service(service);
}

/* The samples of a span's link, and those with its own id, which came late or under another name if
 * it is not linked. */
static void want_span(struct wanted *wanted, const struct looked_span *each, uint64_t link)
{
    struct known *known = &wanted->self->known;
    uint64_t id = span_id_load(each->span.span_id.data);
    status_lock(wanted->self);
    const struct known_span *own = known_find_of(known, id, each->service);
    if (link)
        want(wanted, link, profiles_of(known, link, each->service));
    if (id != link && own && known_has_samples(own))
        want(wanted, id, profiles_of(known, id, each->service));
    status_unlock(wanted->self);
}

static bool want_visited(void *ctx, const struct looked_span *each)
{
    struct wanted *wanted = ctx;
    const struct otlp_span *span = &each->span;
    uint64_t link = 0;
    if (!fits(wanted->query, each))
        return true;
    wanted->seen = true;
    text_cut(each->service, wanted->service, sizeof wanted->service);
    text_cut(span->name, wanted->name, sizeof wanted->name);
    bool by_route = wanted->query->name.given; /* whose samples are those of its own spans */
    if (span->profile_id.data && !span_id_parse(span->profile_id, &link))
        link = 0;
    if (by_route && link_is_inherited(span, link))
        link = 0;
    want_span(wanted, each, link);
    return true;
}

static int by_id(const void *a, const void *b)
{
    const struct flame_id *x = a, *y = b;
    return (x->id > y->id) - (x->id < y->id);
}

static uint64_t window_arrival(const struct known *known, uint32_t serial)
{
    const struct known_window *window = &known->windows[serial % KNOWN_WINDOWS];
    return serial && window->serial == serial ? window->arrived : 0;
}

/* Under the watch's lock. */
static void note_left_out(struct status *self, struct wanted *wanted, struct view service,
                          uint64_t from, uint64_t to)
{
    const struct left_out *left = left_outs_find(&self->left_outs, service, from, to);
    if (left) {
        wanted->text = left_out_text(left);
        wanted->fix = left_out_fix(left);
    }
}

static void note_left_out_of_span(struct status *self, struct wanted *wanted,
                                  const struct known_span *span, uint64_t from, uint64_t to)
{
    const struct known *known = &self->known;
    if (from && to)
        note_left_out(self, wanted, names_get(&known->names, known->services[span->service]->name),
                      from - NEAR, to + NEAR);
}

/* Sets the range of arrival times of all samples of these ids; unlimited if one is not known. */
static void narrow(struct status *self, struct wanted *wanted)
{
    uint64_t first = UINT64_MAX, last = 0;
    bool all = wanted->count > 0;
    status_lock(self);
    for (size_t i = 0; i < wanted->count; i++) {
        const struct known *known = &self->known;
        const struct known_span *span = known_find(known, wanted->ids[i].id);
        bool any = false;
        for (; span; span = known_next(known, span)) {
            if (!span->first_window)
                continue;
            uint64_t from = window_arrival(known, span->first_window);
            uint64_t to = window_arrival(known, span->last_window);
            note_left_out_of_span(self, wanted, span, from, to);
            any = from && to && !span->beside && !span->untimed;
            if (from && (!wanted->earliest || from < wanted->earliest))
                wanted->earliest = from;
            first = from < first ? from : first;
            last = to > last ? to : last;
        }
        all = all && any;
    }
    status_unlock(self);
    wanted->first = all ? first - NEAR : 0;
    wanted->last = all ? last + NEAR : UINT64_MAX;
}

static void find_ids(struct status *self, struct wanted *wanted)
{
    struct flame_query *query = wanted->query;
    uint64_t first = 0, last = UINT64_MAX;
    if (*query->trace) {
        const struct looked *looked = looked_update(self);
        const struct looked_trace *trace = looked ? looked_find(looked, query->trace_id) : NULL;
        if (!trace)
            return;
        first = trace->first;
        last = looked_last(trace);
    }
    looked_walk(self, first, last, want_visited, wanted);
    if (*query->span) {
        status_lock(self);
        const struct known_span *span = known_find(&self->known, query->span_id);
        for (; span; span = known_next(&self->known, span)) {
            wanted->seen = true;
            want(wanted, span->link, 0);
            want(wanted, known_has_samples(span) ? query->span_id : 0, 0);
        }
        status_unlock(self);
    }
    if (wanted->ids) /* NULL: there are none */
        qsort(wanted->ids, wanted->count, sizeof *wanted->ids, by_id);
    narrow(self, wanted);
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

/* Whether profiles with what was asked for have been evicted, by when they arrived. */
static bool has_given_way(struct status *self, const struct wanted *wanted,
                          const struct flame *flame)
{
    const struct flame_query *query = wanted->query;
    uint64_t until = keep_reach(&self->keep).profiles, first = wanted->earliest;
    if (*query->service && !query->name.given && !*query->span) {
        status_lock(self);
        size_t service = known_service_find(&self->known, view_of(query->service));
        first = service ? self->known.services[service]->first_came : 0;
        status_unlock(self);
    }
    uint64_t near = flame->samples ? 0 : NEAR; /* correlation notes a profile after it passed */
    return until && first && first <= until + near && query->from_ns <= until;
}

static void say_what_is_missing(struct status *self, struct wanted *wanted, struct flame *flame)
{
    const struct flame_query *query = wanted->query;
    if (*query->service && !query->name.given && !*query->span) {
        status_lock(self);
        note_left_out(self, wanted, view_of(query->service), query->from_ns, query->to_ns);
        status_unlock(self);
    }
    flame->truncated |= wanted->beyond > 0;
    flame->text = wanted->text;
    flame->fix = wanted->fix;
    if (!flame->text && flame->truncated)
        flame->text =
            "Some stacks are missing: there are too many of them or of their spans, or a profile "
            "could not be read.";
    if (!flame->text && has_given_way(self, wanted, flame)) {
        flame->text = "Profiles of its time have given way to newer data, so that samples are "
                      "missing.";
        flame->fix = "Raise keep_mib of the status extension.";
    }
    flame->truncated |= flame->text != NULL;
    /* They are not added up: OTLP profiles may give the same time as samples and as cpu. */
    if (!flame->text && flame_has_other_cpu(flame)) {
        flame->text = "CPU time came in profiles of several types, and one of them is drawn.";
        flame->fix =
            "Choose another of `types` that has :cpu: (the parameter type) to see its part.";
    }
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
    say_what_is_missing(self, wanted, &flame);
    respond(self, request, wanted, &flame);
    malloc_trim(0);
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
        find_ids(self, &wanted);
    if (one && !wanted.seen)
        answer_waiting(self, request, &query);
    else
        flame_draw(self, request, &wanted);
    free(wanted.ids);
}
