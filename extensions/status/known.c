#include "extensions/status/known_find.h"
#include "extensions/status/known_owed.h"
#include "extensions/status/reason.h"
#include "extensions/status/trouble.h"

#include "lib/base/clock.h"
#include "lib/wire/otlp/otlp_span.h"

#include <stdlib.h>
#include <string.h>

enum { NAMES = 4096 };

bool known_init(struct known *known, struct budget *budget)
{
    *known = (struct known){.budget = budget, .tokens = TOKENS_MAX, .share = UINT32_MAX};
    names_init(&known->names, NAMES, budget);
    known->services[0] = calloc(1, sizeof **known->services);
    known->tables = calloc(1, sizeof *known->tables);
    known->service_count = 1;
    known->route_count = KNOWN_UNNAMED;
    known->charged = sizeof *known->tables + sizeof **known->services;
    budget_force(budget, known->charged);
    if (!known->tables)
        return false;
    known->spans = known->tables->spans;
    known->buckets = known->tables->buckets;
    known->routes = known->tables->routes;
    return known->services[0] != NULL;
}

void known_release(struct known *known)
{
    for (size_t i = 0; i < known->service_count; i++)
        free(known->services[i]);
    known_routes_release(known);
    free(known->tables);
    free(known->gone);
    names_release(&known->names);
    budget_give(known->budget, known->charged);
    *known = (struct known){0};
}

/* ---- spans ---- */

static bool known_links(const struct known_span *own, uint64_t link)
{
    return own && own->decided ? own->action == WATCH_LINKED : link != 0;
}

bool known_is_linked(const struct known *known, uint64_t id, struct view service, uint64_t trace,
                     uint64_t link)
{
    return known_links(known_find_as(known, id, service, trace, link != 0), link);
}

/* Whether its samples came under the name of another service than its own. */
static bool known_is_foreign(const struct known_span *span)
{
    return known_has_samples(span) && span->under && span->under != span->service;
}

/* ---- the table ---- */

/* A span that counted is forgotten: it must not count again if it is looked at again. */
static void known_note_counted(struct known *known, const struct known_span *span)
{
    uint32_t decided = (uint32_t)(span->decided / NS_PER_S);
    uint32_t at = decided > span->owed_at ? decided : span->owed_at;
    if (span->dealt && at > known->counted_until)
        known->counted_until = at;
}

static void known_forget(struct known *known, struct known_span *span)
{
    uint32_t number = (uint32_t)(span - known->spans) + 1;
    known_miss(known, span);
    known_pay(known, span);
    known_note_gone(known, span);
    known_note_counted(known, span);
    _Atomic uint32_t *bucket = known_bucket(known, span->id);
    uint16_t first = (uint16_t)atomic_load_explicit(bucket, memory_order_relaxed), *at = &first;
    while (*at && *at != number)
        at = &known->spans[*at - 1].next;
    if (*at)
        *at = span->next;
    atomic_store_explicit(bucket, first, memory_order_relaxed);
}

/* A new span; the oldest gives way. */
static struct known_span *known_make(struct known *known, uint64_t id)
{
    uint32_t number = known->newest;
    struct known_span *span = &known->spans[number];
    known->newest = (number + 1) % KNOWN_SPANS;
    if (known->span_count == KNOWN_SPANS)
        known_forget(known, span);
    else
        known->span_count++;
    _Atomic uint32_t *bucket = known_bucket(known, id);
    *span = (struct known_span){
        .id = id, .next = (uint16_t)atomic_load_explicit(bucket, memory_order_relaxed)};
    atomic_store_explicit(bucket, number + 1, memory_order_relaxed);
    return span;
}

static struct known_span *known_exact(const struct known *known, uint64_t id, uint16_t service)
{
    struct known_span *span = known_find(known, id);
    while (span && span->service != service)
        span = known_next(known, span);
    return span;
}

/* A span of a service, with the samples under its name that another with the id had. */
static struct known_span *known_split(struct known *known, struct known_span *from,
                                      uint16_t service)
{
    struct known_span *made = known_make(known, from->id);
    made->service = service;
    if (made == from)
        return made;
    known_take_back(known, from);
    known_take_samples(made, from);
    known_lend(known, made);
    reason_recount(known, from);
    return made;
}

/* The span that a service's decision is about. */
static struct known_span *known_put_decided(struct known *known, uint64_t id, uint16_t service)
{
    struct known_span *span = known_exact(known, id, service), *open = NULL;
    if (span)
        return span;
    for (span = known_find(known, id); span; span = known_next(known, span)) {
        if (known_is_foreign(span) && span->under == service)
            return known_split(known, span, service);
        if (!span->decided && !span->dealt && known_shares_tenant(known, span, service))
            open = span;
    }
    span = open ? open : known_make(known, id);
    span->service = service;
    return span;
}

/* A span that had passed without a link when samples came that name it by its id with the bytes
 * reversed. One that such samples link has them under the id that its link opens. */
static struct known_span *known_put_reversed(struct known *known, uint64_t id, uint16_t service)
{
    if (!known->services[service]->reversed)
        return NULL;
    struct known_span *span = known_exact(known, span_id_reversed(id), service);
    bool open = span && span->decided &&
                (span->reversed || (span->action != WATCH_LINKED && !known_has_samples(span)));
    if (!open)
        return NULL;
    span->reversed = true;
    return span;
}

/* The span that samples under a service's name are of: one of that service or, where there is none,
 * one without samples of its own, since the names may differ. */
static struct known_span *known_put_sampled(struct known *known, uint64_t id, uint16_t service)
{
    struct known_span *span = known_exact(known, id, service), *open = NULL;
    if (span) {
        if (known_is_foreign(span)) {
            struct known_span *other = known_split(known, span, span->under);
            return other == span ? known_make(known, id) : span;
        }
        return span;
    }
    for (span = known_find(known, id); span; span = known_next(known, span)) {
        if (known_has_samples(span) && span->under == service)
            return span;
        if (!known_has_samples(span) && known_shares_tenant(known, span, service))
            open = span;
    }
    open = open ? open : known_put_reversed(known, id, service);
    return open ? open : known_make(known, id);
}

static void known_count(struct known *known, const struct known_row *row)
{
    struct known_service *service = known->services[row->service];
    struct known_step *step = known_step_of(service, row->decided);
    service->linked += row->action == WATCH_LINKED;
    step->linked += row->action == WATCH_LINKED;
    if (row->has_reason) {
        service->not_linked++;
        service->reasons[row->reason]++;
        step->reasons[row->reason]++;
    }
}

static int32_t waited_of(const struct watch_decision *decision)
{
    uint64_t from = decision->ended ? decision->ended : decision->arrived;
    int64_t waited = from ? (int64_t)(decision->decided - from) / (int64_t)NS_PER_MS : 0;
    return (int32_t)(waited > INT32_MAX ? INT32_MAX : waited < INT32_MIN ? INT32_MIN : waited);
}

void known_decided(struct known *known, const struct watch_decision *decision)
{
    size_t at = known_service_of(known, &decision->service, decision->decided);
    trouble_decided(known->services[at], decision);
    struct known_row row = {
        .decided = decision->decided,
        .service = (uint16_t)at,
        .action = (uint8_t)decision->action,
        .reason = (uint8_t)(decision->reason ? known_reason_of(known, decision->reason) : 0),
        .has_reason = decision->reason != NULL,
    };
    if (!decision->span_id || !known_may(known, decision->span_id, decision->decided)) {
        known_count(known, &row);
        return;
    }
    row.id = decision->span_id;
    row.link = decision->link_id;
    row.waited_ms = waited_of(decision);
    row.unproven = decision->unproven;
    row.ahead = !decision->ended;
    row.lane = known_lane(decision->lane);
    if (known->row_count == KNOWN_ROWS)
        known_fold(known);
    known->rows[known->row_count++] = row;
}

/* By its own clock, but not in the future. */
static uint64_t known_ended(const struct known_row *row)
{
    uint64_t waited = row->waited_ms > 0 ? (uint64_t)row->waited_ms * NS_PER_MS : 0;
    return row->decided > waited ? row->decided - waited : row->decided;
}

/* A span that several pipelines or instances hand on, or that was sent twice, counts once: as
 * linked if any copy is. False: it stays as it was. */
static bool known_decided_again(struct known *known, struct known_span *span,
                                const struct known_row *row)
{
    if (span->action == WATCH_LINKED || row->action != WATCH_LINKED)
        return false;
    reason_take_back(known, span);
    return true;
}

/* A copy may have counted for the route before without a link: before its samples came, also
 * without a decision. */
static void known_relink(struct known *known, const struct known_span *span,
                         const struct known_row *row)
{
    bool linked = span->decided ? span->action == WATCH_LINKED : span->link != 0;
    if (span->dealt && !linked && row->action == WATCH_LINKED)
        known_route_linked(known, known_route_for(known, span), known_ended(row));
}

static void known_apply(struct known *known, const struct known_row *row)
{
    struct known_span *span = known_put_decided(known, row->id, row->service);
    if (span->decided && span->service == row->service && !known_decided_again(known, span, row))
        return;
    known_relink(known, span, row);
    known_count(known, row);
    if (row->link != row->id && row->link == span_id_reversed(row->id))
        known->services[row->service]->reversed = true;
    span->service = row->service;
    span->action = row->action & 3u; /* all its bits */
    span->reason = row->reason;
    span->unproven = row->unproven;
    span->link = row->link;
    span->decided = row->decided;
    span->waited_ms = row->waited_ms;
    span->ahead = row->ahead;
    span->lane = row->lane;
    reason_decided(known, span);
}

void known_fold(struct known *known)
{
    const struct known_row *rows = known->rows;
    size_t count = known->row_count;
    for (size_t i = 0; i < count; i++) {
        if (i + FAR < count)
            known_fetch_bucket(known, rows[i + FAR].id);
        if (i + NEAR < count)
            known_fetch_span(known, rows[i + NEAR].id);
        known_apply(known, &rows[i]);
    }
    known->row_count = 0;
}

/* What rows of a window add up to. */
static struct known_sum known_sum_of(const struct watch_window *window,
                                     const struct watch_sample *sample)
{
    bool cpu = window->times_cpu || sample->cpu_ns; /* recalled after a crash, it says less */
    return (struct known_sum){
        .cpu_ns = sample->cpu_ns,
        .wall_ns = sample->wall_ns,
        .samples = cpu ? sample->samples : 0,
        .wall_samples = cpu ? 0 : sample->samples,
    };
}

static enum known_untimed known_untimed_of(const char *kind)
{
    if (strcmp(kind, "memory") == 0)
        return UNTIMED_MEMORY;
    return strcmp(kind, "mutex") == 0 || strcmp(kind, "block") == 0 ? UNTIMED_LOCKS : UNTIMED_OTHER;
}

static void known_note_untimed(struct known_span *span, const char *kind)
{
    enum known_untimed untimed = known_untimed_of(kind);
    if (span->untimed && span->untimed != untimed)
        untimed = UNTIMED_OTHER;
    span->untimed = untimed & UNTIMED_OTHER;
}

/* Notes samples of a window that confirm the span. */
static void known_confirm(struct known *known, struct known_span *span)
{
    if (!span->first_window)
        span->first_window = known->window_serial;
    span->last_window = known->window_serial;
    known_hold(known, span);
    reason_sampled(known, span);
}

static void known_service_sampled(struct known_service *service, const struct known_sum *sum)
{
    service->samples += sum->samples;
    service->wall_samples += sum->wall_samples;
    service->cpu_ns += sum->cpu_ns;
    service->wall_ns += sum->wall_ns;
    service->times_cpu |= sum->cpu_ns > 0; /* recalled after a crash, too */
}

/* Counts samples that came to an earlier process, now that their span has passed. Where it passed
 * there, too (again), they were counted in the metrics. */
static void known_count_recalled(struct known *known, const struct known_span *span,
                                 const struct known_sum *sum, const struct known_stretch *over,
                                 bool again)
{
    size_t route = known_route_for(known, span);
    known_service_sampled(known->services[span->under], sum);
    known_route_add(known, route, sum, over);
    if (!again)
        known_meter(known, route, sum->cpu_ns);
}

/* What its samples add up to that came to an earlier process: until it passes, all but what it
 * owes. */
static struct known_sum known_recalled(const struct known_span *span)
{
    return (struct known_sum){span->cpu_ns - span->owed, span->wall_ns - span->owed_wall,
                              span->samples - span->owed_samples,
                              span->wall_samples - span->owed_wall_samples};
}

/* Samples that came to an earlier process count nowhere until their span passes. */
static void known_recall(struct known *known, struct known_span *span, const struct known_sum *sum,
                         const struct known_stretch *over)
{
    if (span->dealt) {
        known_count_recalled(known, span, sum, over, false);
    } else {
        known_take_back(known, span);
        known_widen(span, over);
        known_lend(known, span);
    }
    span->recalled = true;
}

/* A span that inherited its link and passed has samples of its own: its route counts it now. */
static void known_deal_heir(struct known *known, struct known_span *span)
{
    if (!span->inherits || span->dealt || !known_has_counted(span))
        return;
    const struct known_row row = {.decided = span->decided, .waited_ms = span->waited_ms};
    span->dealt = true;
    known_route_passed(known, known_route_for(known, span), true, known_ended(&row));
}

static void known_add_sample(struct known *known, uint16_t service,
                             const struct watch_window *window, const struct watch_sample *sample,
                             const struct known_stretch *over)
{
    struct known_span *span = known_put_sampled(known, sample->id, service);
    struct known_sum sum = known_sum_of(window, sample);
    if (window->recalled && known_has_samples(span) && !span->recalled)
        return; /* they came to this process, before */
    if (!known_has_samples(span))
        span->under = service;
    if (!span->decided && !span->dealt)
        span->service = service;
    span->samples += (uint32_t)sum.samples;
    span->wall_samples += (uint32_t)sum.wall_samples;
    span->cpu_ns += sum.cpu_ns;
    span->wall_ns += sum.wall_ns;
    span->times_cpu |= window->times_cpu || sample->cpu_ns;
    if (window->untimed || window->beside) {
        if (window->untimed)
            known_note_untimed(span, window->kind);
        span->beside |= !window->untimed;
        reason_recount(known, span);
    } else {
        known->services[service]->no_ids = 0;
        known_confirm(known, span);
    }
    known_deal_heir(known, span);
    if (window->recalled) {
        known_recall(known, span, &sum, over);
        return;
    }
    if (!span->dealt || known_is_foreign(span) || known_owes(span)) {
        known_owe(known, span, &sum, over, window->arrived);
        return;
    }
    size_t route = known_route_for(known, span);
    known_route_add(known, route, &sum, over);
    known_meter(known, route, sum.cpu_ns);
}

/* Adds a sample, or adds it up in `missed` where it may not be looked up. */
static void known_put_sample(struct known *known, uint16_t service,
                             const struct watch_window *window, const struct watch_sample *sample,
                             const struct known_stretch *over, struct known_sum *missed)
{
    struct known_sum sum = known_sum_of(window, sample);
    known_service_sampled(known->services[service], &sum);
    if (known_may(known, sample->id, window->arrived)) {
        known_add_sample(known, service, window, sample, over);
        return;
    }
    missed->cpu_ns += sum.cpu_ns;
    missed->wall_ns += sum.wall_ns;
    missed->samples += sum.samples;
    missed->wall_samples += sum.wall_samples;
}

/* Samples that came to an earlier process. */
static void known_put_recalled(struct known *known, uint16_t service,
                               const struct watch_window *window, const struct watch_sample *sample,
                               const struct known_stretch *over)
{
    atomic_store_explicit(&known->recalled, true, memory_order_relaxed);
    known->services[service]->times_cpu |= sample->cpu_ns > 0;
    if (sample->id && known_may(known, sample->id, window->arrived))
        known_add_sample(known, service, window, sample, over);
}

static void known_add_to(struct known *known, size_t route, const struct known_sum *sum,
                         const struct known_stretch *over)
{
    known_route_add(known, route, sum, over);
    known_meter(known, route, sum->cpu_ns);
}

void known_sampled(struct known *known, const struct watch_window *window,
                   const struct watch_sample *samples, size_t count)
{
    size_t at = known_service_of(known, &window->service, window->arrived);
    struct known_stretch over = known_stretch_of(window->start, window->end, window->arrived);
    struct known_sum missed = {0};
    known_fold(known);
    if ((window->beside && window->content && known->services[at]->repeats) ||
        known_is_copy(known->services[at], window))
        return;
    for (size_t i = 0; i < count; i++) {
        if (i + FAR < count)
            known_fetch_bucket(known, samples[i + FAR].id);
        if (i + NEAR < count)
            known_fetch_span(known, samples[i + NEAR].id);
        if (window->recalled) {
            known_put_recalled(known, (uint16_t)at, window, &samples[i], &over);
        } else if (samples[i].id) {
            known_put_sample(known, (uint16_t)at, window, &samples[i], &over, &missed);
        } else {
            struct known_sum sum = known_sum_of(window, &samples[i]);
            known_add_to(known, known_unclaimed(at), &sum, &over);
        }
    }
    if (missed.samples || missed.wall_samples || missed.wall_ns || missed.cpu_ns)
        known_add_to(known, known_missed(at), &missed, &over);
}

/* The service of a span as it passed; of several tenants' with that name, the one that is known to
 * have the span. It may be the first that tells of its service, if its samples came under another
 * name. */
static uint16_t known_seen_service(struct known *known, const struct known_span *span,
                                   const struct known_seen *seen, uint64_t now)
{
    if (span->decided ||
        names_eq(&known->names, known->services[span->service]->name, seen->service))
        return span->service;
    size_t found = known_service_find(known, seen->service);
    for (size_t i = found; found && i < known->service_count; i++)
        if (names_eq(&known->names, known->services[i]->name, seen->service) &&
            names_eq(&known->names, known->services[i]->tenant, seen->tenant))
            return (uint16_t)i;
    return (uint16_t)(found ? found
                            : known_service_named(known, seen->service, span->service, now));
}

/* A span that inherited its link passed, and no sample names it yet: its name is not kept, so the
 * route that later ones belong to is noted now. */
static void known_note_heir(struct known *known, struct known_span *span,
                            const struct known_seen *seen)
{
    if (!seen->inherits || span->dealt || !span->decided || known_has_counted(span))
        return;
    size_t route = known_route_of(known, span->service, seen->name, false);
    span->inherits = true;
    span->route = (uint16_t)route;
    span->turn = known->routes[route].turn;
}

/* What is told of it once its request is evicted. */
static void known_note_passed(struct known_span *span, const struct known_seen *seen)
{
    span->passed = true;
    span->inherits = seen->inherits;
    span->link = span->decided ? span->link : seen->link;
}

void known_seen(struct known *known, const struct known_seen *seen, uint64_t now)
{
    known_fold(known);
    struct known_span *own = known_find_in(known, seen->id, seen->service, seen->tenant),
                      *span = own;
    if (seen->link && seen->link != seen->id && !seen->inherits)
        span = known_find_in(known, seen->link, seen->service, seen->tenant);
    if (seen->passed && (!span || !known_owes(span)))
        return;
    if (!span && seen->link && !seen->inherits && known_chooses(known, seen->link))
        span = known_make(known, seen->link);
    if (own) {
        own->trace = seen->trace;
        known_note_heir(known, own, seen);
    }
    if (!span || (seen->child && !known_has_counted(span)))
        return;
    span->trace = seen->trace;
    bool counted = seen->passed && seen->passed / NS_PER_S <= known->counted_until;
    if (span->dealt || (counted && seen->child))
        return;
    span->service = known_seen_service(known, span, seen, now);
    if (seen->ended)
        trouble_seen(known->services[span->service], seen->ended, now);
    if (span == own)
        known_note_passed(span, seen);
    bool costs = known_owes(span) || span->recalled;
    size_t route = known_route_of(known, span->service, seen->name, costs);
    struct known_sum recalled = known_recalled(span);
    struct known_stretch over = known_owed_over(span);
    known_take_back(known, span);
    known->missed -= span->missed;
    span->missed = false;
    span->dealt = true;
    span->route = (uint16_t)route;
    span->turn = known->routes[route].turn;
    known_lend(known, span);
    if (span->recalled)
        known_count_recalled(known, span, &recalled, &over, seen->again);
    if (!counted)
        known_route_passed(known, route, known_links(own, seen->link),
                           seen->ended && seen->ended < now ? seen->ended : now);
    if (known_is_foreign(span))
        return;
    known_pay(known, span);
    span->owed_at = (uint32_t)(now / NS_PER_S);
}
