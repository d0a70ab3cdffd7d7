/* GET /api/spans/{span_id}: what was decided of a span, why, and from which windows. */
#include "extensions/status/figures.h"
#include "extensions/status/inherited.h"
#include "extensions/status/known_find.h"
#include "extensions/status/known_routes.h"
#include "extensions/status/looked.h"
#include "extensions/status/reason.h"
#include "extensions/status/span_windows.h"
#include "extensions/status/trouble.h"
#include "lib/wire/proto/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define LEFT_NEAR (2 * NS_PER_S) /* between a window's arrival and that of its request here */

enum { SAME_ID_SHOWN = 8 };

/* Which of the spans with the id is asked about; "": any. */
struct span_query {
    char service[PARAMETER_SIZE], trace_id[64];
    uint8_t trace[16];
};

/* A kept span with the id. */
struct span_same {
    uint8_t trace[16], service[NAME_CUT];
    size_t service_size;
    char name[NAME_CUT + 1];
};

/* The response about a span. */
struct span_told {
    const struct span_query *query;
    struct status *self;
    uint64_t id;
    uint64_t start, end, link, decided;
    uint64_t samples, cpu_ns, wall_ns;
    const char *decision, *reason, *text, *fix;
    struct view name, service; /* as it passed; data NULL: it is not kept */
    uint32_t first_window, last_window;
    uint16_t number; /* of its service in known; 0: not known */
    bool waits;      /* as `waiting` has it */
    struct watch_waiting waiting;
    bool has_trace, local_root;
    bool inherited; /* its link is an ancestor's */
    bool times_cpu; /* cpu_ns is a measurement */
    bool recalled;  /* its samples came to an earlier process */
    bool unknown;   /* its samples are not remembered */
    bool forgetful; /* it may have passed, and given way since */
    bool predates;  /* it may have passed before a reload changed the extension */
    bool grows;     /* more samples may come */
    uint8_t trace[16];
    uint8_t service_bytes[NAME_CUT]; /* where `service` is: a name may have a byte 0 */
    char name_text[NAME_CUT + 1];
    struct told_reason reasoned; /* where text and fix may be */
    struct span_same same[SAME_ID_SHOWN];
    size_t same_count;
    int rank; /* of the span that is told: how much is known of it */
};

static struct view service_of(const struct span_same *same)
{
    return (struct view){same->service, same->service_size};
}

static bool is_same(const struct span_same *same, const uint8_t trace[16], struct view service)
{
    return memcmp(same->trace, trace, sizeof same->trace) == 0 &&
           view_eq(service_of(same), service);
}

/* Unless there is no room, or it was noted before. */
static void note_same(struct span_told *told, const struct looked_span *each)
{
    struct span_same same = {0};
    struct view service = names_cut(each->service);
    memcpy(same.trace, each->span.trace_id.data, sizeof same.trace);
    proto_bytes_put(same.service, service);
    same.service_size = service.size;
    text_cut(each->span.name, same.name, sizeof same.name);
    for (size_t i = 0; i < told->same_count; i++)
        if (is_same(&told->same[i], same.trace, service))
            return;
    if (told->same_count < SAME_ID_SHOWN)
        told->same[told->same_count++] = same;
}

/* Of several spans with an id, one that is linked is told, else one that was decided. */
static int rank_of(struct status *self, const struct looked_span *each, bool linked)
{
    status_lock(self);
    const struct known_span *span =
        known_find_as(&self->known, span_id_load(each->span.span_id.data), each->service,
                      looked_low(&each->span), linked);
    int rank = !span || !span->decided ? 1 : span->action == WATCH_LINKED ? 3 : 2;
    status_unlock(self);
    return rank;
}

static bool is_asked_for(const struct span_query *query, const struct looked_span *each)
{
    return (!*query->service || view_eq(each->service, view_of(query->service))) &&
           (!*query->trace_id || memcmp(each->span.trace_id.data, query->trace, 16) == 0);
}

static void tell_service(struct span_told *told, struct view service)
{
    service = names_cut(service);
    proto_bytes_put(told->service_bytes, service);
    told->service = (struct view){told->service_bytes, service.size};
}

static bool span_visited(void *ctx, const struct looked_span *each)
{
    struct span_told *told = ctx;
    const struct otlp_span *span = &each->span;
    if (span->span_id.size != 8 || span_id_load(span->span_id.data) != told->id ||
        span->trace_id.size != 16)
        return true;
    note_same(told, each);
    if (!is_asked_for(told->query, each))
        return true;
    uint64_t link = 0;
    if (span->profile_id.data && !span_id_parse(span->profile_id, &link))
        link = 0;
    int rank = rank_of(told->self, each, link != 0);
    if (rank <= told->rank)
        return true;
    told->rank = rank;
    memcpy(told->trace, span->trace_id.data, 16);
    told->has_trace = true;
    tell_service(told, each->service);
    text_cut(span->name, told->name_text, sizeof told->name_text);
    told->name = view_of(told->name_text);
    told->start = span->start_ns;
    told->end = span->end_ns;
    told->local_root = otlp_span_is_local_root(span);
    told->link = link;
    told->inherited = link_is_inherited(span, link);
    return true;
}

/* Whether the first samples of a span may be from before this process started: of what a reload
 * opened, that is not known. */
static bool began_before(const struct known *known, const struct span_told *told)
{
    const struct known_window *first = known_window(known, told->first_window);
    const struct status *self = told->self;
    if (!first || !first->start || self->reloaded)
        return false;
    return first->start - known_ahead(first->end, first->arrived) < self->opened;
}

static void tell_unknown(struct span_told *told, const struct known *known)
{
    const struct known_span *other = known_find(known, span_id_reversed(told->id));
    while (other && other->link != told->id)
        other = known_next(known, other);
    told->decision = "unknown";
    told->text = "No span with this id is known here: none has passed, or it has given way to "
                 "newer data.";
    if (other) {
        snprintf(told->reasoned.text_buffer, sizeof told->reasoned.text_buffer,
                 "It is the profile id of the span %016" PRIx64 ", which is linked.", other->id);
        told->text = told->reasoned.text_buffer;
    } else if (told->first_window) {
        told->text = "Samples name this span, and it has not passed here: it has not ended, was "
                     "sampled away, or is exported elsewhere.";
        told->fix = "Send the spans of this service through this process, before they are sampled.";
    }
    if (!other && told->first_window && told->forgetful) {
        told->text = "Samples name this span. It may have passed here before a reload, or have "
                     "given way to newer data. Else it has not ended, was sampled away, or is "
                     "exported elsewhere.";
        told->fix = NULL;
    }
    if (!other && told->first_window && began_before(known, told)) {
        snprintf(told->reasoned.text_buffer, sizeof told->reasoned.text_buffer,
                 "Samples name this span. It may have passed before this process started, since "
                 "its profile begins before that%s. Else it has not ended, was sampled away, or "
                 "is exported elsewhere.",
                 told->forgetful ? ", or have given way to newer data" : "");
        told->text = told->reasoned.text_buffer;
        told->fix = NULL;
    }
    if (!other && told->recalled) {
        told->text = "Samples that came to another process before this one name this span: it may "
                     "have passed there. It has not passed here.";
        told->fix = NULL;
    } else if (!other && known->passed_over) {
        told->text = told->first_window
                         ? "Samples name this span. It may have passed here: more came than is "
                           "remembered, which is 2,000 spans and samples a second. Else it has not "
                           "ended, was sampled away, or is exported elsewhere."
                         : "It may have passed here: more came than is remembered, which is 2,000 "
                           "spans and samples a second. None of this id waits.";
        told->fix = NULL;
    }
}

/* Its request is not kept any more. What its route counted is remembered. */
static void tell_evicted(struct span_told *told, const struct known *known,
                         const struct known_span *span)
{
    const struct known_route *route = &known->routes[known_route_for(known, span)];
    told->link = span->link;
    told->inherited = span->inherits;
    if (known_route_kind(known, route) != KNOWN_ROUTE_NAMED)
        return;
    text_cut(known_route_name(known, route), told->name_text, sizeof told->name_text);
    told->name = view_of(told->name_text);
}

/* It passed, and correlation has decided nothing of it. */
static void tell_passed(struct span_told *told, const struct known *known,
                        const struct known_span *span)
{
    told->decision = told->link ? "linked" : "as_came";
    if (told->inherited) {
        told->reason = INHERITED_REASON;
        told->text = span && known_has_samples(span) ? INHERITED_OWN_TEXT : INHERITED_TEXT;
    } else if (!told->link && reason_passed(known, span, told->local_root, &told->reasoned)) {
        told->reason = told->reasoned.word;
        told->text = told->reasoned.text;
        told->fix = told->reasoned.fix;
    } else if (told->link)
        told->text = "It is linked; the decision itself is not remembered any more.";
    else if (told->local_root || (told->end && told->end <= known_forgotten_until(known)))
        told->text = "It passed without a decision that is still remembered.";
    else {
        reason_child(known, told->service, &told->reasoned);
        told->reason = told->reasoned.word;
        told->text = told->reasoned.text;
        told->fix = told->reasoned.fix;
    }
}

/* Under the watch's lock: what has the samples of a span, which is another entry where they name it
 * by its id with the bytes reversed. */
static const struct known_span *
find_sampled(const struct known *known, const struct span_told *told, const struct known_span *span)
{
    if (!span || span->action != WATCH_LINKED || told->inherited || !span->link ||
        span->link == told->id || known_has_samples(span))
        return span;
    const struct known_span *other = known_find_of(
        known, span->link, names_get(&known->names, known->services[span->service]->name));
    return other ? other : span;
}

/* Under the watch's lock: how a linked span came to be linked. */
static const char *text_of_link(const struct known *known, const struct span_told *told,
                                const struct known_span *span)
{
    if (told->inherited)
        return known_has_samples(span) ? INHERITED_OWN_TEXT : INHERITED_TEXT;
    if (!span->unproven || known_has_samples(find_sampled(known, told, span)))
        return "A sample that names it has arrived.";
    return "It is linked as `link` of the correlation processor says, and no sample that names it "
           "has arrived.";
}

static void tell_decided(struct span_told *told, const struct known *known,
                         const struct known_span *span)
{
    static const char *const words[] = {
        [WATCH_AS_CAME] = "as_came",
        [WATCH_LINKED] = "linked",
        [WATCH_NOT_LINKED] = "not_linked",
    };
    told->decision = words[span->action];
    told->decided = span->decided;
    if (!told->end)
        told->end = reason_ended(span);
    if (span->action == WATCH_LINKED) {
        told->link = told->has_trace && told->link ? told->link : span->link;
        told->reason = told->inherited ? INHERITED_REASON : NULL;
        told->text = text_of_link(known, told, span);
        return;
    }
    reason_of(known, span, &told->reasoned);
    told->reason = told->reasoned.word;
    told->text = told->reasoned.text;
    told->fix = told->reasoned.fix;
}

static void tell_waiting(struct span_told *told)
{
    const struct watch_waiting *waiting = &told->waiting;
    struct told_reason *buffers = &told->reasoned;
    uint64_t now = clock_wall(told->self->env->clock);
    char longest[64] = "";
    if (waiting->due > now)
        snprintf(longest, sizeof longest, ", for up to %" PRIu64 " s more as far as is known",
                 (waiting->due - now + NS_PER_S - 1) / NS_PER_S);
    snprintf(buffers->text_buffer, sizeof buffers->text_buffer,
             "It waits for a profile of its time that names it, or for the proof that none "
             "does%s.",
             longest);
    told->decision = "waiting";
    told->reason = "waiting";
    told->text = buffers->text_buffer;
    if (*waiting->name) {
        text_cut(view_of(waiting->name), told->name_text, sizeof told->name_text);
        told->name = view_of(told->name_text);
    }
    told->end = told->end ? told->end : waiting->ended;
    tell_service(told, view_of(waiting->service));
}

/* Under the watch's lock: whether the profile with a linked span's samples was kept. */
static void tell_left_out(const struct status *self, struct span_told *told)
{
    const struct known_window *first = known_window(&self->known, told->first_window);
    const struct known_window *last = known_window(&self->known, told->last_window);
    if (!first || !last)
        return;
    const struct left_out *left = left_outs_find(
        &self->left_outs, told->service, first->arrived - LEFT_NEAR, last->arrived + LEFT_NEAR);
    if (left) {
        told->text = left_out_text(left);
        told->fix = left_out_fix(left);
    }
}

/* Under the watch's lock: whether a linked span's samples are too far from its time. */
static void tell_out_of_reach(const struct known *known, const struct known_span *span,
                              struct span_told *told)
{
    if (!span || span->action != WATCH_LINKED || told->inherited)
        return;
    int64_t gap = known_out_of_reach(known, span, told->start, told->end);
    if (!gap)
        return;
    struct told_reason *buffers = &told->reasoned;
    snprintf(buffers->text_buffer, sizeof buffers->text_buffer,
             "Samples with its id came, but by their profile's time %.0f s %s the span. Grafana "
             "asks for profiles from 30 s before a span to 30 s after it, so its link opens "
             "nothing.",
             (double)(gap < 0 ? -gap : gap) / 1e9, gap < 0 ? "before" : "after");
    told->text = buffers->text_buffer;
    told->fix = trouble_clock_fix(known, span, told->end);
}

/* Under the watch's lock: whether the service of a span that waited in vain had stopped to upload
 * profiles. */
static void tell_silence(const struct known *known, const struct known_span *span,
                         struct span_told *told)
{
    const struct known_service *service = known->services[told->number];
    if (!span || known_has_samples(span) || !told->reason ||
        strcmp(told->reason, "hold_ran_out") != 0 || !told->end || !service->last_came ||
        service->last_came >= told->end)
        return;
    struct told_reason *buffers = &told->reasoned;
    snprintf(buffers->text_buffer, sizeof buffers->text_buffer,
             "The last profile of its service arrived %.0f s before the span ended.",
             (double)(told->end - service->last_came) / 1e9);
    told->text = buffers->text_buffer;
    told->fix = REASON_STOPPED_FIX;
}

/* A span of the future has no profiles of its time yet. */
static void tell_clock(struct span_told *told)
{
    bool in_vain = told->reason && (strcmp(told->reason, "no_sample") == 0 ||
                                    strcmp(told->reason, "hold_ran_out") == 0);
    if (!in_vain || !told->decided || told->end < told->decided + KNOWN_OPENS)
        return;
    struct told_reason *buffers = &told->reasoned;
    snprintf(buffers->text_buffer, sizeof buffers->text_buffer,
             "By its own time it ends %.0f s after it arrived here, and no sample that came before "
             "the decision names it.",
             (double)(told->end - told->decided) / 1e9);
    told->text = buffers->text_buffer;
    told->fix = "Set the clock of its host.";
}

/* Under the watch's lock. span: what has its samples; NULL: not remembered. */
static void tell_figures(struct span_told *told, const struct known *known,
                         const struct figures *figures, const struct known_span *span)
{
    const struct figures_asked asked = {
        .id = span || told->inherited || !told->link ? told->id : told->link,
        .start = told->start,
        .end = told->end,
        .service = told->service,
        .samples =
            told->has_trace ? !told->inherited && (told->link || told->local_root) : told->predates,
    };
    struct span_figures_told of = figures_of(known, figures, span, &asked);
    told->samples = of.samples;
    told->cpu_ns = of.cpu_ns;
    told->wall_ns = of.wall_ns;
    told->times_cpu = of.times_cpu;
    told->unknown = of.unknown;
    if (of.unknown && told->has_trace && (!span || !span->decided || span->action == WATCH_LINKED))
        told->text = told->link ? "It is linked. " FIGURES_UNKNOWN : FIGURES_UNKNOWN;
}

/* The span that is told in what is known. Under the watch's lock. */
static const struct known_span *find_told(const struct known *known, const struct span_told *told)
{
    struct view service = told->service.data ? told->service : view_of(told->query->service);
    struct view tenant = view_of(told->waiting.tenant);
    if (told->waits) {
        const struct known_span *own =
            known_find_in(known, told->id, view_of(told->waiting.service), tenant);
        return own && view_eq(known_tenant(known, own->service), tenant) ? own : NULL;
    }
    uint64_t trace = told->has_trace ? span_id_load(told->trace + 8) : 0;
    if (service.size)
        return known_find_as(known, told->id, service, trace, told->link || !told->has_trace);
    const struct known_span *span = known_find(known, told->id);
    while (span && !span->decided && known_next(known, span))
        span = known_next(known, span);
    return span;
}

/* The service of its name, of one that waits with its tenant; 0: none is known. */
static uint16_t service_number(const struct known *known, const struct span_told *told)
{
    struct view tenant = view_of(told->waiting.tenant);
    for (size_t i = 1; i < known->service_count; i++)
        if (names_eq(&known->names, known->services[i]->name, told->service) &&
            (!told->waits || view_eq(known_tenant(known, i), tenant)))
            return (uint16_t)i;
    return 0;
}

static void tell(struct status *self, struct span_told *told)
{
    bool waits = watch_waits(self->watch, told->id, &told->waiting);
    looked_walk(self, 0, UINT64_MAX, span_visited, told);
    struct figures figures;
    uint64_t since = looked_whole_since(self);
    figures_collect(self, 0, told->link && !told->inherited ? told->link : told->id, &figures);
    told->waits =
        waits && !told->has_trace &&
        (!*told->query->service || strcmp(told->waiting.service, told->query->service) == 0);
    status_lock(self);
    const struct known *known = &self->known;
    const struct known_span *span = find_told(known, told);
    const struct known_span *sampled = find_sampled(known, told, span);
    if (span) {
        told->first_window = sampled->first_window;
        told->last_window = sampled->last_window;
        told->number = span->service;
        told->recalled = sampled->recalled;
        told->grows = known_may_grow(known, sampled, told->end, clock_wall(self->env->clock));
        told->forgetful = known_may_predate(known, sampled, since);
        told->predates = known_may_predate(known, sampled, self->reloaded);
        if (!told->has_trace && span->passed)
            tell_evicted(told, known, span);
    }
    if (told->waits)
        tell_waiting(told);
    else if (span && span->decided)
        tell_decided(told, known, span);
    else if (told->has_trace || (span && span->passed))
        tell_passed(told, known, span);
    else
        tell_unknown(told, known);
    if (span && !told->service.data)
        tell_service(told, names_get(&known->names, known->services[span->service]->name));
    if (!told->number && told->service.data)
        told->number = service_number(known, told);
    tell_figures(told, known, &figures, sampled);
    tell_out_of_reach(known, span, told);
    tell_silence(known, span, told);
    tell_clock(told);
    if (told->link && told->service.data)
        tell_left_out(self, told);
    status_unlock(self);
    figures_release(&figures);
}

static void put_windows(struct status *self, const struct span_told *told, struct json *json)
{
    const struct span_times times = {told->start, told->end, told->decided};
    status_lock(self);
    const struct known *known = &self->known;
    const struct known_span *span = find_sampled(known, told, find_told(known, told));
    span_windows_put(known, span, told->number, &times, json);
    status_unlock(self);
}

/* The other kept spans with the id. */
static void put_same(const struct span_told *told, struct json *json)
{
    json_open(json, "same_id", '[');
    for (size_t i = 0; i < told->same_count; i++) {
        const struct span_same *same = &told->same[i];
        if (is_same(same, told->trace, told->service))
            continue;
        json_open(json, NULL, '{');
        json_hex(json, "trace_id", (struct view){same->trace, sizeof same->trace});
        json_text(json, "service", service_of(same));
        json_word(json, "name", same->name);
        json_close(json, '}');
    }
    json_close(json, ']');
}

static bool read_query(struct span_query *query, const char *text, char *error)
{
    static const char *const given[] = {"service", "trace_id", NULL};
    const struct parameter list[] = {
        {"service", query->service, sizeof query->service},
        {"trace_id", query->trace_id, sizeof query->trace_id},
        {0},
    };
    if (!answer_parameters(text, list, error) || !answer_has_values(text, given, error))
        return false;
    bool good = !*query->trace_id || answer_hex(query->trace_id, query->trace, sizeof query->trace);
    if (!good)
        snprintf(error, ANSWER_ERROR, "trace_id: expected 32 hex digits");
    return good;
}

void span_answer(struct status *self, struct http_request *request, const char *hex)
{
    uint8_t id[8];
    if (!answer_hex(hex, id, sizeof id)) {
        answer_error(request, 400, "a span id has 16 hex digits");
        return;
    }
    struct span_query query;
    char error[ANSWER_ERROR];
    if (!read_query(&query, http_request_query(request), error)) {
        answer_error(request, 400, error);
        return;
    }
    struct span_told told = {.query = &query, .self = self, .id = span_id_load(id)};
    tell(self, &told);
    struct bytes out;
    bytes_init(&out, ANSWER_MAX, self->env->budget);
    struct json json = json_begin(&out);
    json_open(&json, NULL, '{');
    json_hex(&json, "span_id", (struct view){id, sizeof id});
    if (told.has_trace)
        json_hex(&json, "trace_id", (struct view){told.trace, sizeof told.trace});
    else
        json_null(&json, "trace_id");
    if (told.service.data)
        json_text(&json, "service", told.service);
    else
        json_null(&json, "service");
    json_word(&json, "name", told.name.data ? told.name_text : NULL);
    json_word(&json, "decision", told.decision);
    json_word(&json, "reason", told.reason);
    json_word(&json, "text", told.text);
    json_word(&json, "fix", told.fix);
    json_time_or_null(&json, "decided_unix_nano", told.decided);
    json_time_or_null(&json, "start_unix_nano", told.start);
    json_time_or_null(&json, "end_unix_nano", told.end);
    json_id(&json, "profile_id", told.link);
    if (told.unknown)
        json_null(&json, "samples");
    else
        json_number(&json, "samples", told.samples);
    json_number(&json, "cpu_ns", told.cpu_ns);
    json_bool(&json, "cpu_known", told.times_cpu);
    json_number(&json, "wall_ns", told.wall_ns);
    json_bool(&json, "so_far", told.grows);
    put_windows(self, &told, &json);
    put_same(&told, &json);
    json_close(&json, '}');
    answer_json(request, &json);
}
