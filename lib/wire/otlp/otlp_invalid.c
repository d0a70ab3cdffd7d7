/* Detects spans that would make a backend refuse the whole request. */
#include "lib/wire/otlp/otlp.h"

enum {
    SPAN_TRACE_ID = 1,
    SPAN_SPAN_ID = 2,
    SPAN_PARENT_SPAN_ID = 4,
    SPAN_LINKS = 13,
    LINK_TRACE_ID = 1,
    LINK_SPAN_ID = 2,
    TRACE_ID_SIZE = 16,
    SPAN_ID_SIZE = 8
};

static bool wrong_length(struct view id, size_t size)
{
    return id.size != 0 && id.size != size;
}

static bool zero(struct view id)
{
    uint8_t any = 0;
    for (size_t i = 0; i < id.size; i++)
        any |= id.data[i];
    return any == 0;
}

static const char *link_fault(struct view link)
{
    struct proto_scan scan = proto_scan_begin(link);
    struct proto_field field;
    while (proto_scan_next(&scan, &field)) {
        if (field.number == LINK_TRACE_ID && wrong_length(field.bytes, TRACE_ID_SIZE))
            return "the trace id of a span link is not 16 bytes long";
        if (field.number == LINK_SPAN_ID && wrong_length(field.bytes, SPAN_ID_SIZE))
            return "the span id of a span link is not 8 bytes long";
    }
    return NULL;
}

static const char *id_fault(struct view trace_id, struct view span_id)
{
    if (trace_id.size == 0)
        return "the trace id is missing";
    if (span_id.size == 0)
        return "the span id is missing";
    if (zero(trace_id))
        return "the trace id is all zero";
    return zero(span_id) ? "the span id is all zero" : NULL;
}

/* NULL: the span is valid. Checks every occurrence of an id rather than the last one only: decoders
 * that check lengths do so while reading. */
static const char *span_fault(struct view body)
{
    struct view trace_id = {0}, span_id = {0};
    struct proto_scan scan = proto_scan_begin(body);
    struct proto_field field;
    while (proto_scan_next(&scan, &field)) {
        const char *fault = NULL;
        if (field.number == SPAN_TRACE_ID) {
            trace_id = field.bytes;
            fault =
                wrong_length(trace_id, TRACE_ID_SIZE) ? "the trace id is not 16 bytes long" : NULL;
        } else if (field.number == SPAN_SPAN_ID) {
            span_id = field.bytes;
            fault = wrong_length(span_id, SPAN_ID_SIZE) ? "the span id is not 8 bytes long" : NULL;
        } else if (field.number == SPAN_PARENT_SPAN_ID && wrong_length(field.bytes, SPAN_ID_SIZE)) {
            fault = "the parent span id is not 8 bytes long";
        } else if (field.number == SPAN_LINKS) {
            fault = link_fault(field.bytes);
        }
        if (fault)
            return fault;
    }
    return id_fault(trace_id, span_id);
}

/* Spans of the current resource or scope. */
struct tally {
    uint32_t kept, dropped;
};

/* Leaves an entry, or deletes it if it lost all its spans. */
static void close_entry(struct splice *splice, const struct proto_field *entry, struct tally tally)
{
    if (tally.kept > 0 || tally.dropped == 0) {
        splice_leave(splice);
        return;
    }
    splice_abandon(splice);
    splice_delete(splice, entry->start, entry->end);
}

static void drop_if_invalid(const struct otlp_walk *walk, struct splice *splice,
                            struct tally *scope, const char **reason)
{
    const char *fault = span_fault(walk->item.bytes);
    if (!fault) {
        scope->kept++;
        return;
    }
    if (!*reason)
        *reason = fault;
    scope->dropped++;
    splice_delete(splice, walk->item.start, walk->item.end);
}

uint32_t otlp_traces_drop_invalid(struct view request, struct splice *splice, const char **reason)
{
    struct otlp_walk walk;
    struct tally resource = {0}, scope = {0};
    uint32_t dropped = 0;
    *reason = NULL;
    otlp_walk_begin(&walk, SIGNAL_TRACES, request);
    for (enum otlp_step step; (step = otlp_walk_next(&walk)) != OTLP_END;) {
        switch (step) {
        case OTLP_RESOURCE:
            resource = (struct tally){0};
            splice_enter(splice, &walk.resource_entry);
            break;
        case OTLP_SCOPE:
            scope = (struct tally){0};
            splice_enter(splice, &walk.scope_entry);
            break;
        case OTLP_ITEM:
            drop_if_invalid(&walk, splice, &scope, reason);
            break;
        case OTLP_SCOPE_END:
            close_entry(splice, &walk.scope_entry, scope);
            resource.kept += scope.kept;
            resource.dropped += scope.dropped;
            break;
        case OTLP_RESOURCE_END:
            close_entry(splice, &walk.resource_entry, resource);
            dropped += resource.dropped;
            break;
        case OTLP_END:
            break;
        }
    }
    return dropped;
}
