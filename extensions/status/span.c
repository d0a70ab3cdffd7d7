/* GET /api/spans/{span_id}: what was decided of a span, why, and from which windows. */
#include "extensions/status/looked.h"

#include <stdio.h>

#define AROUND    (60 * NS_PER_S) /* windows so far from the span are shown */
#define LEFT_NEAR (2 * NS_PER_S)  /* between a window's arrival and that of its request here */

enum { WINDOWS_SHOWN = 32 };

/* The response about a span. */
struct span_told {
    uint64_t id;
    uint8_t trace[16];
    bool has_trace;
    struct view name, service; /* as it passed; data NULL: it is not kept */
    char service_text[NAME_CUT + 1], name_text[NAME_CUT + 1];
    uint64_t start, end, link, decided;
    bool local_root;
    const char *decision, *reason, *text, *fix;
    uint16_t number; /* of its service in known; 0: not known */
    uint32_t first_window, last_window;
};

static bool span_visited(void *ctx, const struct looked_span *each)
{
    struct span_told *told = ctx;
    const struct otlp_span *span = &each->span;
    if (span->span_id.size != 8 || span_id_load(span->span_id.data) != told->id ||
        span->trace_id.size != 16)
        return true;
    memcpy(told->trace, span->trace_id.data, 16);
    told->has_trace = true;
    snprintf(told->service_text, sizeof told->service_text, "%.*s", VIEW_ARG(each->service));
    snprintf(told->name_text, sizeof told->name_text, "%.*s", VIEW_ARG(span->name));
    told->service = view_of(told->service_text);
    told->name = view_of(told->name_text);
    told->start = span->start_ns;
    told->end = span->end_ns;
    told->local_root = otlp_span_is_local_root(span);
    if (span->profile_id.data && !span_id_parse(span->profile_id, &told->link))
        told->link = 0;
    return false;
}

static void tell_unknown(struct span_told *told)
{
    told->decision = "unknown";
    told->text = "No span of this id has passed here lately, and none waits.";
    if (told->first_window) {
        told->text = "Samples name this span, and it has not passed here: it has not ended, was "
                     "sampled away, or is exported elsewhere.";
        told->fix = "Send the spans of this service through this process, before they are sampled.";
    }
}

/* It is kept, and correlation has decided nothing of it. */
static void tell_passed(struct span_told *told)
{
    told->decision = told->link ? "linked" : "as_came";
    if (told->link)
        told->text = "It is linked; the decision itself is not remembered any more.";
    else if (told->local_root)
        told->text = "It passed without a decision that is still remembered.";
    else
        told->text = "Samples name local roots; it is none, so its work is in the flame graph of "
                     "its local root.";
    if (!told->link && !told->local_root)
        told->reason = "no_local_root";
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
        told->end = span->decided - (uint64_t)span->waited_ms * NS_PER_MS;
    if (span->action == WATCH_LINKED) {
        told->link = span->link;
        told->text = "A sample that names it has arrived.";
        return;
    }
    const struct watch_reason *reason = known->reasons[span->reason];
    told->reason = reason->word;
    told->text = reason->text;
    told->fix = reason->fix;
}

static void tell_waiting(struct span_told *told, const struct watch_waiting *waiting)
{
    told->decision = "waiting";
    told->reason = "waiting";
    told->text = "It waits for a profile of its time that names it, or for the proof that none "
                 "does.";
    told->end = told->end ? told->end : waiting->ended;
    snprintf(told->service_text, sizeof told->service_text, "%s", waiting->service);
    told->service = view_of(told->service_text);
}

/* Under the watch's lock: whether the profile with a linked span's samples was kept. */
static void tell_left_out(const struct status *self, struct span_told *told)
{
    const struct known_window *first = &self->known.windows[told->first_window % KNOWN_WINDOWS];
    const struct known_window *last = &self->known.windows[told->last_window % KNOWN_WINDOWS];
    if (!told->first_window || first->serial != told->first_window ||
        last->serial != told->last_window)
        return;
    const struct left_out *left = left_outs_find(
        &self->left_outs, told->service, first->arrived - LEFT_NEAR, last->arrived + LEFT_NEAR);
    if (left) {
        told->text = left_out_text(left);
        told->fix = left_out_fix(left);
    }
}

static void tell(struct status *self, struct span_told *told)
{
    struct watch_waiting waiting;
    bool waits = watch_waits(self->watch, told->id, &waiting);
    looked_walk(self, 0, UINT64_MAX, span_visited, told);
    status_lock(self);
    const struct known *known = &self->known;
    const struct known_span *span = known_find(known, told->id);
    if (span) {
        told->first_window = span->first_window;
        told->last_window = span->last_window;
        told->number = span->service;
    }
    if (waits)
        tell_waiting(told, &waiting);
    else if (span && span->decided)
        tell_decided(told, known, span);
    else if (told->has_trace)
        tell_passed(told);
    else
        tell_unknown(told);
    if (span && !told->service.data) {
        struct view name = names_get(&known->names, known->services[span->service]->name);
        snprintf(told->service_text, sizeof told->service_text, "%.*s", VIEW_ARG(name));
        told->service = view_of(told->service_text);
    }
    for (size_t i = 1; !told->number && told->service.data && i < known->service_count; i++)
        if (view_eq(told->service, names_get(&known->names, known->services[i]->name)))
            told->number = (uint16_t)i;
    if (told->link && told->service.data)
        tell_left_out(self, told);
    status_unlock(self);
}

static bool is_near(const struct span_told *told, const struct known_window *window)
{
    uint64_t from = told->start ? told->start : told->end, to = told->end;
    uint64_t end = window->end ? window->end : window->arrived;
    uint64_t start = window->start ? window->start : end;
    return !to || (start < to + AROUND && end + AROUND > from);
}

static void put_window(struct json *json, const struct span_told *told,
                       const struct known_window *window)
{
    bool holds = told->first_window &&
                 (window->serial == told->first_window || window->serial == told->last_window);
    json_open(json, NULL, '{');
    json_time_or_null(json, "from_unix_nano", window->start);
    json_time_or_null(json, "to_unix_nano", window->end);
    json_time(json, "arrived_unix_nano", window->arrived);
    json_bool(json, "holds_samples", holds);
    json_word(json, "type", window->kind);
    json_close(json, '}');
}

static void put_windows(struct status *self, const struct span_told *told, struct json *json)
{
    unsigned shown = 0;
    json_open(json, "windows", '[');
    status_lock(self);
    const struct known *known = &self->known;
    uint32_t from = known->window_serial > KNOWN_WINDOWS ? known->window_serial - KNOWN_WINDOWS : 0;
    for (uint32_t i = from + 1; i <= known->window_serial && shown < WINDOWS_SHOWN; i++) {
        const struct known_window *window = &known->windows[i % KNOWN_WINDOWS];
        if (!told->number || window->service != told->number || !is_near(told, window))
            continue;
        put_window(json, told, window);
        shown++;
    }
    status_unlock(self);
    json_close(json, ']');
}

void span_answer(struct status *self, struct http_request *request, const char *hex)
{
    uint8_t id[8];
    char error[ANSWER_ERROR];
    if (!answer_hex(hex, id, sizeof id)) {
        answer_error(request, 400, "a span id has 16 hex digits");
        return;
    }
    if (!answer_parameters(http_request_query(request), (const struct parameter[]){{0}}, error)) {
        answer_error(request, 400, error);
        return;
    }
    struct span_told told = {.id = span_id_load(id)};
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
    json_word(&json, "service", told.service.data ? told.service_text : NULL);
    json_word(&json, "name", told.name.data ? told.name_text : NULL);
    json_word(&json, "decision", told.decision);
    json_word(&json, "reason", told.reason);
    json_word(&json, "text", told.text);
    json_word(&json, "fix", told.fix);
    json_time_or_null(&json, "decided_unix_nano", told.decided);
    json_time_or_null(&json, "start_unix_nano", told.start);
    json_time_or_null(&json, "end_unix_nano", told.end);
    json_id(&json, "profile_id", told.link);
    put_windows(self, &told, &json);
    json_close(&json, '}');
    answer_json(request, &json);
}
