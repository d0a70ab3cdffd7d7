/* Joins spans that passed with their samples: as they are gathered, and again among those that are
 * kept when samples came late. */
#include "extensions/status/inherited.h"
#include "extensions/status/known_find.h"
#include "extensions/status/known_owed.h"
#include "extensions/status/looked.h"
#include "lib/wire/otlp/otlp.h"

/* How far back samples look for spans that have passed. */
#define JOIN_BACK (180 * NS_PER_S)

enum { SEEN_AT_ONCE = 64 };

struct seen_list {
    struct status *self;
    struct known_seen seen[SEEN_AT_ONCE];
    struct view tenant;
    size_t count;
    uint64_t now;
    uint64_t passed; /* as in known_seen */
    bool again;
};

static void seen_flush(struct seen_list *list)
{
    if (!list->count)
        return;
    status_lock(list->self);
    for (size_t i = 0; i < list->count; i++)
        known_seen(&list->self->known, &list->seen[i], list->now);
    status_unlock(list->self);
    list->count = 0;
}

/* The span id, if the span begins with trace id and span id (fields 1 and 2 of trace.proto), as all
 * SDKs write it; otherwise 0. */
static uint64_t front_id(struct view body)
{
    static const uint8_t trace[] = {0x0a, 16}, span[] = {0x12, 8};
    bool plain = body.size >= 28 && memcmp(body.data, trace, sizeof trace) == 0 &&
                 memcmp(body.data + 18, span, sizeof span) == 0;
    return plain ? span_id_load(body.data + 20) : 0;
}

/* Whether anything may be known about a span. Most spans are skipped here without parsing them. */
static bool is_known(struct status *self, struct view body)
{
    uint64_t id = front_id(body);
    return !id || known_may_have(&self->known, id);
}

static void seen_add(struct seen_list *list, const struct otlp_span *span, struct view service)
{
    uint64_t link = 0;
    if (span->profile_id.data && !span_id_parse(span->profile_id, &link))
        link = 0;
    if (span->span_id.size != 8 || span->trace_id.size != 16)
        return;
    bool inherits = link_is_inherited(span, link);
    list->seen[list->count++] = (struct known_seen){
        .id = span_id_load(span->span_id.data),
        .link = link,
        .trace = span_id_load(span->trace_id.data + 8),
        .ended = span->end_ns,
        .service = service,
        .name = span->name,
        .tenant = list->tenant,
        .child = inherits || (!link && !otlp_span_is_local_root(span)),
        .inherits = inherits,
        .again = list->again,
        .passed = list->passed,
    };
    if (list->count == SEEN_AT_ONCE)
        seen_flush(list);
}

void gather_join(struct status *self, struct view request, struct view tenant, bool again)
{
    struct seen_list list; /* large: its rows are not initialised */
    struct otlp_walk walk;
    struct view service = {0};
    list.self = self;
    list.tenant = tenant;
    list.count = 0;
    list.now = clock_wall(self->env->clock);
    list.passed = 0;
    list.again = again;
    otlp_walk_begin(&walk, SIGNAL_TRACES, request);
    for (enum otlp_step step; (step = otlp_walk_next(&walk)) != OTLP_END;) {
        struct otlp_span span;
        if (step == OTLP_RESOURCE)
            service = otlp_resource_attribute(walk.resource_entry.bytes, VIEW("service.name"));
        if (step != OTLP_ITEM || !is_known(self, walk.item.bytes))
            continue;
        otlp_span_read(walk.item.bytes, &span);
        seen_add(&list, &span, service.size ? service : VIEW("unknown_service"));
    }
    seen_flush(&list);
}

/* A walk's spans are valid during its call only, and a list outlives that. */
struct join {
    struct seen_list list;
    uint8_t texts[SEEN_AT_ONCE][2][NAME_CUT + 1]; /* one more byte shows that a name is cut */
};

static struct view join_copy(uint8_t *to, struct view text)
{
    size_t size = text.size < NAME_CUT + 1 ? text.size : NAME_CUT + 1;
    if (size)
        memcpy(to, text.data, size);
    return (struct view){to, size};
}

static bool join_visited(void *ctx, const struct looked_span *each)
{
    struct join *join = ctx;
    uint8_t(*texts)[NAME_CUT + 1] = join->texts[join->list.count];
    struct otlp_span span = each->span;
    if (span.span_id.size != 8 ||
        !known_may_have(&join->list.self->known, span_id_load(span.span_id.data)))
        return true;
    span.name = join_copy(texts[0], span.name);
    join->list.passed = each->arrived;
    seen_add(&join->list, &span, join_copy(texts[1], each->service));
    return true;
}

/* The serial of the first block with requests that arrived later. */
static uint64_t serial_since(struct status *self, uint64_t arrived)
{
    size_t count;
    uint64_t serial = UINT64_MAX;
    struct kept **list = keep_list(&self->keep, 0, &count);
    for (size_t i = 0; i < count && serial == UINT64_MAX; i++)
        if (list[i]->kind == KEPT_TRACES && list[i]->arrived >= arrived)
            serial = list[i]->serial;
    keep_list_free(list, count);
    return serial;
}

void gather_settle(struct status *self, bool looks)
{
    uint64_t now = clock_wall(self->env->clock);
    status_lock(self);
    known_settle(&self->known, now);
    bool joins = known_may_have_passed(&self->known, now, looks);
    status_unlock(self);
    uint64_t first = joins ? serial_since(self, now - JOIN_BACK) : UINT64_MAX;
    if (first == UINT64_MAX)
        return;
    struct join join;
    join.list.self = self;
    join.list.tenant = (struct view){0};
    join.list.count = 0;
    join.list.now = now;
    join.list.again = false;
    looked_walk(self, first, UINT64_MAX, join_visited, &join);
    seen_flush(&join.list);
}
