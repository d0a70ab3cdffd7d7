/* Finds the span ids whose samples a flame graph has. */
#include "extensions/status/flame_wanted.h"

#include "extensions/status/inherited.h"
#include "extensions/status/known_find.h"
#include "extensions/status/known_routes.h"
#include "extensions/status/looked.h"
#include "lib/wire/proto/text.h"

#include <stdlib.h>

enum { IDS_MAX = 200000 };

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

/* The earliest of several times; 0: not known. */
static void note_time(uint64_t *earliest, uint64_t time)
{
    if (time && (!*earliest || time < *earliest))
        *earliest = time;
}

/* The samples of a span's link, and those with its own id, which came late or under another name if
 * it is not linked. */
static void want_span(struct wanted *wanted, const struct looked_span *each, uint64_t link)
{
    struct known *known = &wanted->self->known;
    uint64_t id = span_id_load(each->span.span_id.data);
    status_lock(wanted->self);
    uint64_t low = looked_low(&each->span);
    const struct known_span *own = known_find_as(known, id, each->service, low, link != 0);
    if (*wanted->query->span && link_is_inherited(&each->span, link) && own &&
        known_has_samples(own))
        link = 0;
    if (link)
        want(wanted, link, profiles_of(known, link, each->service));
    if (link && !known_find(known, link)) /* its samples came after it had begun */
        note_time(&wanted->earliest, each->span.start_ns);
    if (id != link && own && known_has_samples(own))
        want(wanted, known_named(own), profiles_of(known, id, each->service));
    status_unlock(wanted->self);
}

/* Notes whether it is not known which samples of a kept span came. */
static void note_unknown(struct wanted *wanted, const struct looked_span *each, uint64_t link)
{
    const struct otlp_span *span = &each->span;
    uint64_t id = span_id_load(span->span_id.data);
    if (wanted->query->name.given || link_is_inherited(span, link) ||
        (*wanted->query->span && link && link != id)) /* whose numbers were not collected */
        return;
    const struct figures_asked asked = {
        .id = link ? link : id,
        .start = span->start_ns,
        .end = span->end_ns,
        .service = each->service,
        .samples = link || otlp_span_is_local_root(span),
    };
    status_lock(wanted->self);
    const struct known *known = &wanted->self->known;
    const struct known_span *found =
        known_find_as(known, asked.id, each->service, looked_low(span), link != 0);
    wanted->unknown |= figures_of(known, &wanted->figures, found, &asked).unknown;
    status_unlock(wanted->self);
}

static bool want_visited(void *ctx, const struct looked_span *each)
{
    struct wanted *wanted = ctx;
    const struct otlp_span *span = &each->span;
    uint64_t link = 0;
    if (!fits(wanted->query, each))
        return true;
    wanted->seen = wanted->kept = true;
    note_time(&wanted->began, span->start_ns);
    text_cut(each->service, wanted->service, sizeof wanted->service);
    text_cut(span->name, wanted->name, sizeof wanted->name);
    bool by_route = wanted->query->name.given; /* whose samples are those of its own spans */
    if (span->profile_id.data && !span_id_parse(span->profile_id, &link))
        link = 0;
    if (by_route && link_is_inherited(span, link))
        link = 0;
    want_span(wanted, each, link);
    note_unknown(wanted, each, link);
    return true;
}

static int by_id(const void *a, const void *b)
{
    const struct flame_id *x = a, *y = b;
    if (x->id != y->id)
        return x->id < y->id ? -1 : 1;
    return (x->service > y->service) - (x->service < y->service);
}

static uint64_t window_arrival(const struct known *known, uint32_t serial)
{
    const struct known_window *window = known_window(known, serial);
    return window ? window->arrived : 0;
}

void wanted_note_left_out(struct status *self, struct wanted *wanted, struct view service,
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
        wanted_note_left_out(self, wanted,
                             names_get(&known->names, known->services[span->service]->name),
                             from - ARRIVAL_NEAR, to + ARRIVAL_NEAR);
}

/* When the first profile with samples of a span came; of one that is not remembered, a time not
 * much later: a span is decided when it has come. */
static uint64_t first_arrival(const struct known *known, const struct known_span *span)
{
    uint64_t arrival = window_arrival(known, span->first_window);
    return arrival || !known_has_samples(span) ? arrival : span->decided;
}

void wanted_add_came(struct wanted *wanted, const struct known_sum *more)
{
    wanted->came.cpu_ns += more->cpu_ns;
    wanted->came.wall_ns += more->wall_ns;
    wanted->came.samples += more->samples;
    wanted->came.wall_samples += more->wall_samples;
}

/* Adds what is known of the samples of a span that is drawn for the n-th id. */
static void note_came(struct wanted *wanted, size_t n, const struct known_span *span)
{
    const struct known *known = &wanted->self->known;
    const struct flame_id *id = &wanted->ids[n];
    struct view under = names_get(&known->names, known->services[span->under]->name);
    bool any_before = n > 0 && !id[-1].service && id[-1].id == id->id;
    if (any_before || (id->service && id->service != left_out_service(under)) ||
        (*wanted->query->span && *wanted->query->service &&
         !view_eq(under, view_of(wanted->query->service))))
        return;
    wanted->recalled |= span->recalled;
    wanted_add_came(wanted, &(struct known_sum){span->cpu_ns, span->wall_ns, span->samples,
                                                span->wall_samples});
}

/* Adds that of ids which are remembered no more, but for those whose service is not asked for. */
static void note_figures(struct wanted *wanted)
{
    uint32_t service = known_figures_service(view_of(wanted->query->service));
    for (size_t i = 0; i < wanted->figures.count; i++) {
        const struct known_figures *row = &wanted->figures.rows[i];
        bool cpu = row->service & FIGURES_TIME_CPU;
        if (*wanted->query->service && (row->service & ~(uint32_t)FIGURES_TIME_CPU) != service)
            continue;
        wanted_add_came(wanted,
                        &(struct known_sum){row->cpu_ns, row->wall_ns, cpu ? row->samples : 0,
                                            cpu ? 0 : row->samples});
    }
}

/* Sets the range of arrival times of all samples of these ids; unlimited if one is not known. */
static void narrow(struct status *self, struct wanted *wanted)
{
    uint64_t first = UINT64_MAX, last = 0;
    /* Of an id with numbers in figures, earlier samples came than are remembered. */
    bool all = wanted->count > 0 && wanted->figures.count == 0;
    if (wanted->figures.count)
        note_time(&wanted->earliest, wanted->began);
    status_lock(self);
    for (size_t i = 0; i < wanted->count; i++) {
        const struct known *known = &self->known;
        const struct known_span *span = known_find_named(known, wanted->ids[i].id);
        bool any = false;
        for (; span; span = known_next(known, span)) {
            note_time(&wanted->earliest, first_arrival(known, span));
            note_came(wanted, i, span);
            if (!span->first_window)
                continue;
            uint64_t from = window_arrival(known, span->first_window);
            uint64_t to = window_arrival(known, span->last_window);
            note_left_out_of_span(self, wanted, span, from, to);
            any = from && to && !span->beside && !span->untimed;
            first = from < first ? from : first;
            last = to > last ? to : last;
        }
        all = all && any;
    }
    status_unlock(self);
    wanted->first = all ? first - ARRIVAL_NEAR : 0;
    wanted->last = all ? last + ARRIVAL_NEAR : UINT64_MAX;
}

/* The routes that are asked for, one of each tenant; of each its turn + 1, 0: it is not. */
struct asked_routes {
    uint32_t turns[KNOWN_ROUTES];
    uint64_t samples; /* that they have counted */
    bool whole;       /* they are all, and have counted since the first of them */
};

static void ask_routes(const struct known *known, const struct flame_query *query,
                       struct asked_routes *asked)
{
    *asked = (struct asked_routes){.whole = true};
    bool any = false;
    for (size_t i = KNOWN_UNNAMED; i < known->route_count; i++) {
        const struct known_route *route = &known->routes[i];
        struct view service = names_get(&known->names, known->services[route->service]->name);
        if (!route->used || !view_eq(service, view_of(query->service)) ||
            !answer_is_name(&query->name, known_route_name(known, route)))
            continue;
        asked->turns[i] = route->turn + 1u;
        asked->samples += route->samples + route->wall_samples;
        asked->whole &= route->turn == 0;
        any = true;
    }
    asked->whole &= any || known->route_count < KNOWN_ROUTES;
}

/* The spans with samples that are known to be of a trace or a route: they are drawn whether they
 * are kept or not. */
static void want_remembered(struct status *self, struct wanted *wanted)
{
    const struct flame_query *query = wanted->query;
    uint64_t low = *query->trace ? span_id_load(query->trace_id + 8) : 0, samples = 0;
    struct asked_routes asked;
    status_lock(self);
    const struct known *known = &self->known;
    ask_routes(known, query, &asked);
    for (uint32_t i = 0; i < known->span_count; i++) {
        const struct known_span *span = known_at(known, i);
        size_t route = known_route_for(known, span);
        bool fits = query->name.given ? asked.turns[route] : low && span->trace == low;
        if (!fits || !known_has_samples(span))
            continue;
        samples += span->samples + span->wall_samples;
        want(wanted, known_named(span),
             profiles_of(known, span->id,
                         names_get(&known->names, known->services[span->service]->name)));
    }
    wanted->forgets = *query->trace || !asked.whole || samples != asked.samples;
    status_unlock(self);
}

/* Samples of a service that none of the spans with the id has are of none of them, unless that
 * service is asked for. */
static void want_remembered_span(struct status *self, struct wanted *wanted)
{
    const struct flame_query *query = wanted->query;
    const struct known *known = &self->known;
    bool any = false;
    status_lock(self);
    const struct known_span *first = known_find(known, query->span_id);
    for (const struct known_span *span = first; span; span = known_next(known, span))
        any |= span->decided || span->dealt;
    for (const struct known_span *span = first; span; span = known_next(known, span)) {
        struct view service = names_get(&known->names, known->services[span->service]->name);
        bool asked = *query->service && view_eq(service, view_of(query->service));
        wanted->seen = true;
        if (any && !asked && !span->decided && !span->dealt)
            continue;
        bool own = known_has_samples(span);
        wanted->predates |= own && !wanted->kept && !span->passed &&
                            known_may_predate(known, span, wanted->self->reloaded);
        if (span->link && !(own && span->inherits))
            want(wanted, span->link, profiles_of(known, span->link, service));
        if (own)
            want(wanted, known_named(span), profiles_of(known, span->id, service));
    }
    status_unlock(self);
}

/* Each once. */
static void sort(struct wanted *wanted)
{
    size_t count = 0;
    if (!wanted->ids) /* there are none */
        return;
    qsort(wanted->ids, wanted->count, sizeof *wanted->ids, by_id);
    for (size_t i = 0; i < wanted->count; i++)
        if (i == 0 || by_id(&wanted->ids[i], &wanted->ids[count - 1]) != 0)
            wanted->ids[count++] = wanted->ids[i];
    wanted->count = count;
}

void wanted_find(struct status *self, struct wanted *wanted)
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
    if (!query->name.given)
        figures_collect(self, *query->trace ? span_id_load(query->trace_id + 8) : 0, query->span_id,
                        &wanted->figures);
    looked_walk(self, first, last, want_visited, wanted);
    if (*query->span)
        want_remembered_span(self, wanted);
    if ((*query->trace && wanted->seen) || query->name.given)
        want_remembered(self, wanted);
    sort(wanted);
    narrow(self, wanted);
    note_figures(wanted);
}

void wanted_release(struct wanted *wanted)
{
    free(wanted->ids);
    figures_release(&wanted->figures);
}
