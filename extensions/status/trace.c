/* GET /api/traces/{trace_id}: the spans of a trace. */
#include "extensions/status/figures.h"
#include "extensions/status/inherited.h"
#include "extensions/status/known_find.h"
#include "extensions/status/looked.h"
#include "extensions/status/reason.h"
#include "extensions/status/value.h"
#include "extensions/status/waiting.h"

#include <stdlib.h>

/* Field numbers of trace.proto. */
enum {
    RESOURCE = 1,
    RESOURCE_ATTRIBUTES = 1,
    SPAN_ATTRIBUTES = 9,
    SPAN_EVENTS = 11,
    SPAN_LINKS = 13,
    SPAN_STATUS = 15
};
enum { EVENT_TIME = 1, EVENT_NAME = 2, EVENT_ATTRIBUTES = 3 };
enum { LINK_TRACE = 1, LINK_SPAN = 2 };
enum { STATUS_MESSAGE = 2, STATUS_CODE = 3 };

enum { SPANS_MAX = 20000 };

/* A span as JSON, sorted by its start. */
struct written {
    uint64_t start, end, id, service; /* service: a hash */
    size_t from, to;
    bool marked; /* it has a profile id */
};

struct trace_writing {
    struct status *self;
    const uint8_t *id;
    struct bytes text;
    struct json json;
    struct written *spans;
    size_t count, capacity;
    struct figures figures;
    size_t unknown;     /* spans without numbers */
    uint64_t forgotten; /* wall: decisions up to then are not remembered */
    uint64_t now;       /* wall */
    bool cut;
};

static const char *kind_of(uint32_t kind)
{
    static const char *const kinds[] = {"UNSPECIFIED", "INTERNAL", "SERVER",
                                        "CLIENT",      "PRODUCER", "CONSUMER"};
    return kind < sizeof kinds / sizeof *kinds ? kinds[kind] : kinds[0];
}

static uint64_t field_value(struct view message, uint32_t number, enum wire_type type)
{
    struct proto_field field;
    return proto_find(message, number, type, &field) ? field.value : 0;
}

static void put_event(struct json *json, struct view event)
{
    json_open(json, NULL, '{');
    json_text(json, "name", proto_find_bytes(event, EVENT_NAME));
    json_time(json, "time_unix_nano", field_value(event, EVENT_TIME, WIRE_I64));
    value_attributes(json, "attributes", event, EVENT_ATTRIBUTES);
    json_close(json, '}');
}

static void put_link(struct json *json, struct view link)
{
    json_open(json, NULL, '{');
    json_hex(json, "trace_id", proto_find_bytes(link, LINK_TRACE));
    json_hex(json, "span_id", proto_find_bytes(link, LINK_SPAN));
    json_close(json, '}');
}

static void put_each(struct json *json, const char *key, struct view body, uint32_t number,
                     void (*put)(struct json *json, struct view message))
{
    struct proto_scan scan = proto_scan_begin(body);
    struct proto_field field;
    json_open(json, key, '[');
    while (proto_scan_next(&scan, &field))
        if (field.number == number && field.type == WIRE_LEN)
            put(json, field.bytes);
    json_close(json, ']');
}

static void put_status(struct json *json, struct view body)
{
    static const char *const codes[] = {"UNSET", "OK", "ERROR"};
    struct view status = proto_find_bytes(body, SPAN_STATUS);
    uint64_t code = field_value(status, STATUS_CODE, WIRE_VARINT);
    json_open(json, "status", '{');
    json_word(json, "code", codes[code < 3 ? code : 0]);
    json_text(json, "message", proto_find_bytes(status, STATUS_MESSAGE));
    json_close(json, '}');
}

static const char *decision_word(uint8_t action)
{
    static const char *const words[] = {
        [WATCH_WAITING] = "waiting",
        [WATCH_AS_CAME] = "as_came",
        [WATCH_LINKED] = "linked",
        [WATCH_NOT_LINKED] = "not_linked",
    };
    return words[action];
}

/* What correlation knows of it. The samples that an inherited link opens are an ancestor's: it has
 * only those that name itself. */
static void put_link_state(struct trace_writing *writing, const struct otlp_span *span,
                           struct view service)
{
    struct json *json = &writing->json;
    struct known *known = &writing->self->known;
    uint64_t id = span_id_load(span->span_id.data), link = 0;
    bool local = otlp_span_is_local_root(span);
    if (span->profile_id.data && !span_id_parse(span->profile_id, &link))
        link = 0;
    status_lock(writing->self);
    uint64_t low = span_id_load(writing->id + 8);
    const struct known_span *own = known_find_as(known, id, service, low, link != 0);
    bool inherited = link_is_inherited(span, link), opens = link && !inherited;
    const struct known_span *found = opens ? known_find_as(known, link, service, low, true) : own;
    if (!found && own && own->reversed) /* a copy is linked, and they came before that */
        found = own;
    const struct figures_asked asked = {.id = opens ? link : id,
                                        .start = span->start_ns,
                                        .end = span->end_ns,
                                        .service = service,
                                        .samples = !inherited && (link || local)};
    struct span_figures_told figures = figures_of(known, &writing->figures, found, &asked);
    if (!found && own)
        figures.times_cpu = known_times_cpu(known, own);
    bool grows = found && known_may_grow(known, found, span->end_ns, writing->now);
    bool decided = own && own->decided;
    uint8_t action = decided ? own->action : link ? WATCH_LINKED : WATCH_AS_CAME;
    struct told_reason told = {0};
    if (!reason_of(known, own, &told) && !link && !reason_passed(known, own, local, &told) &&
        !decided && !local && span->end_ns > writing->forgotten)
        told.word = REASON_NO_LOCAL_ROOT;
    status_unlock(writing->self);
    json_id(json, "profile_id", link);
    writing->unknown += figures.unknown;
    if (figures.unknown)
        json_null(json, "samples");
    else
        json_number(json, "samples", figures.samples);
    json_number(json, "cpu_ns", figures.cpu_ns);
    json_bool(json, "cpu_known", figures.times_cpu);
    json_number(json, "wall_ns", figures.wall_ns);
    json_bool(json, "so_far", grows);
    json_word(json, "decision", decision_word(action));
    json_word(json, "reason", inherited ? INHERITED_REASON : told.word);
    json_bool(json, "local_root", local);
}

static void put_span(struct trace_writing *writing, const struct looked_span *each)
{
    const struct otlp_span *span = &each->span;
    struct json *json = &writing->json;
    json_open(json, NULL, '{');
    json_hex(json, "span_id", span->span_id);
    json_hex(json, "parent_span_id", span->parent_span_id);
    json_text(json, "service", each->service);
    json_text(json, "name", span->name);
    json_word(json, "kind", kind_of(span->kind));
    json_time(json, "start_unix_nano", span->start_ns);
    json_number(json, "duration_ns",
                span->end_ns > span->start_ns ? span->end_ns - span->start_ns : 0);
    put_link_state(writing, span, each->service);
    put_status(json, span->body);
    value_attributes(json, "attributes", span->body, SPAN_ATTRIBUTES);
    value_attributes(json, "resource", proto_find_bytes(each->resource, RESOURCE),
                     RESOURCE_ATTRIBUTES);
    put_each(json, "events", span->body, SPAN_EVENTS, put_event);
    put_each(json, "links", span->body, SPAN_LINKS, put_link);
    json_close(json, '}');
}

static bool trace_grow(struct trace_writing *writing)
{
    size_t capacity = writing->capacity ? writing->capacity * 2 : 64;
    struct written *spans = realloc(writing->spans, capacity * sizeof *spans);
    if (!spans)
        return false;
    writing->spans = spans;
    writing->capacity = capacity;
    return true;
}

static bool trace_visited(void *ctx, const struct looked_span *each)
{
    struct trace_writing *writing = ctx;
    const struct otlp_span *span = &each->span;
    if (span->trace_id.size != 16 || memcmp(span->trace_id.data, writing->id, 16) != 0 ||
        span->span_id.size != 8)
        return true;
    writing->cut = writing->count == SPANS_MAX ||
                   (writing->count == writing->capacity && !trace_grow(writing));
    if (writing->cut)
        return false;
    struct written *written = &writing->spans[writing->count++];
    written->start = span->start_ns;
    written->end = span->end_ns;
    written->id = span_id_load(span->span_id.data);
    written->service = view_hash(each->service);
    written->marked = span->profile_id.size > 0;
    written->from = writing->text.size;
    writing->json.comma = false;
    put_span(writing, each);
    written->to = writing->text.size;
    return !writing->json.failed;
}

static int by_start(const void *a, const void *b)
{
    const struct written *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return (x->from > y->from) - (x->from < y->from);
}

enum { COPIES_APART = 64 };

/* Leaves one of the copies of a span that several pipelines handed on, the one with a profile id
 * if any. They are near one another, since they start at the same time. */
static void drop_copies(struct trace_writing *writing)
{
    size_t count = 0;
    for (size_t i = 0; i < writing->count; i++) {
        const struct written *span = &writing->spans[i];
        size_t at = count, end = count > COPIES_APART ? count - COPIES_APART : 0;
        while (at > end && writing->spans[at - 1].start == span->start &&
               (writing->spans[at - 1].id != span->id ||
                writing->spans[at - 1].service != span->service))
            at--;
        bool copy = at > end && writing->spans[at - 1].start == span->start;
        if (!copy)
            writing->spans[count++] = *span;
        else if (span->marked && !writing->spans[at - 1].marked)
            writing->spans[at - 1] = *span;
    }
    writing->count = count;
}

enum { MISSING_TEXT = 640 };

/* Whether traces were not kept when spans of these times may have passed. */
static bool was_skipped(struct status *self, uint64_t first, uint64_t last)
{
    status_lock(self);
    bool skipped = left_outs_find(&self->skipped_linked, VIEW(""), first, last + PASSES_WITHIN) ||
                   left_outs_find(&self->skipped_when, VIEW(""), first, last + PASSES_WITHIN);
    status_unlock(self);
    return skipped;
}

/* Writes what is missing of the trace; "": nothing is. Returns whether spans are, or may be. */
static bool say_missing(struct trace_writing *writing, uint32_t known, char out[MISSING_TEXT])
{
    uint64_t since = keep_reach(&writing->self->keep).whole_since, first = UINT64_MAX, last = 0;
    for (size_t i = 0; i < writing->count; i++) {
        first = writing->spans[i].start < first ? writing->spans[i].start : first;
        last = writing->spans[i].end > last ? writing->spans[i].end : last;
    }
    size_t more = known > writing->count ? known - writing->count : 0;
    int at = 0;
    if (writing->cut)
        at = snprintf(out, MISSING_TEXT, "It has more spans than are shown.");
    else if (more)
        at = snprintf(out, MISSING_TEXT, "%zu more span%s of it gave way to newer data (keep_mib).",
                      more, more == 1 ? "" : "s");
    else if (first <= since)
        at = snprintf(out, MISSING_TEXT,
                      "Further spans of it may have given way to newer data (keep_mib).");
    else if (was_skipped(writing->self, first, last))
        at = snprintf(out, MISSING_TEXT,
                      "Further spans of it may not have been kept: more came at that time than "
                      "the share of the CPU time allows that this extension takes.");
    else if (writing->count && looked_opened_amid(writing->self, first))
        at = snprintf(out, MISSING_TEXT, "Further spans of it may have passed before %s.",
                      writing->self->reloaded ? "a reload changed this extension"
                                              : "this process started");
    else
        *out = '\0';
    if (writing->unknown)
        snprintf(out + at, MISSING_TEXT - (size_t)at, "%sOf %zu span%s: %s", at ? " " : "",
                 writing->unknown, writing->unknown == 1 ? "" : "s", FIGURES_UNKNOWN);
    return at > 0;
}

/* known: how many spans it had. */
static void answer_spans(struct http_request *request, struct trace_writing *writing,
                         uint32_t known, const struct waiting *waiting)
{
    char text[MISSING_TEXT];
    bool missing = say_missing(writing, known, text);
    struct bytes out;
    bytes_init(&out, ANSWER_MAX, writing->text.budget);
    struct json json = json_begin(&out);
    qsort(writing->spans, writing->count, sizeof *writing->spans, by_start);
    drop_copies(writing);
    json_open(&json, NULL, '{');
    json_hex(&json, "trace_id", (struct view){writing->id, 16});
    json_bool(&json, "truncated", missing);
    json_word(&json, "text", *text ? text : NULL);
    json_open(&json, "spans", '[');
    for (size_t i = 0; i < writing->count; i++) {
        const struct written *span = &writing->spans[i];
        json_copy(&json,
                  view_between(writing->text.data + span->from, writing->text.data + span->to));
    }
    json_close(&json, ']');
    waiting_put(waiting, &json);
    json_close(&json, '}');
    json.failed |= writing->json.failed;
    bytes_release(&writing->text);
    answer_json(request, &json);
}

void trace_answer(struct status *self, struct http_request *request, const char *hex)
{
    uint8_t id[16];
    if (!answer_hex(hex, id, sizeof id)) {
        answer_error(request, 400, "a trace id has 32 hex digits");
        return;
    }
    if (!answer_has_none(request))
        return;
    const struct looked *looked = looked_update(self);
    const struct looked_trace *trace = looked ? looked_find(looked, id) : NULL;
    struct trace_writing writing = {.self = self, .id = id, .now = clock_wall(self->env->clock)};
    struct waiting waiting;
    waiting_of_trace(self, id, &waiting);
    bytes_init(&writing.text, ANSWER_MAX, self->env->budget);
    writing.json = json_begin(&writing.text);
    figures_collect(self, span_id_load(id + 8), 0, &writing.figures);
    status_lock(self);
    writing.forgotten = known_forgotten_until(&self->known);
    status_unlock(self);
    if (trace)
        looked_walk(self, trace->first, looked_last(trace), trace_visited, &writing);
    if (writing.count)
        answer_spans(request, &writing, trace->spans, &waiting);
    else
        waiting_answer(self, request, &waiting,
                       self->kept_skipped
                           ? "no span of this trace is kept: it has not passed here, is of a "
                             "request that was passed over since too many came, or has given way "
                             "to newer ones (keep_mib)"
                           : "no span of this trace is kept: it has not passed here, or has given "
                             "way to newer ones (keep_mib)");
    bytes_release(&writing.text);
    figures_release(&writing.figures);
    free(writing.spans);
}
