/* Validates a request and counts its items (lib/wire/otlp/otlp.h). */
#include "lib/wire/otlp/otlp.h"

const struct proto_shape *otlp_shape(enum signal signal)
{
    switch (signal) {
    case SIGNAL_TRACES:
        return &shape_trace_request;
    case SIGNAL_METRICS:
        return &shape_metrics_request;
    case SIGNAL_LOGS:
        return &shape_logs_request;
    case SIGNAL_PROFILES:
        return &shape_profiles_request;
    case SIGNAL_COUNT:
        break;
    }
    return NULL;
}

static uint32_t count_points(struct view data)
{
    struct proto_scan scan = proto_scan_begin(data);
    struct proto_field field;
    uint32_t points = 0;
    while (proto_scan_next(&scan, &field))
        points += field.number == OTLP_DATA_POINTS;
    return points;
}

uint32_t otlp_item_count(enum signal signal, struct view item)
{
    if (signal != SIGNAL_METRICS)
        return 1;
    struct proto_scan scan = proto_scan_begin(item);
    struct proto_field field;
    uint32_t points = 0;
    while (proto_scan_next(&scan, &field))
        if (otlp_is_metric_data(field.number))
            points += count_points(field.bytes);
    return points;
}

uint32_t otlp_count(enum signal signal, struct view request)
{
    struct otlp_walk walk;
    uint32_t items = 0;
    otlp_walk_begin(&walk, signal, request);
    for (enum otlp_step step; (step = otlp_walk_next(&walk)) != OTLP_END;)
        if (step == OTLP_ITEM)
            items += otlp_item_count(signal, walk.item.bytes);
    return items;
}

bool otlp_check_traces(struct view request, uint32_t *items, bool *valid, struct otlp_notes *notes,
                       struct proto_fault *fault)
{
    struct proto_tally spans = {.notes = notes};
    if (!proto_check_tally(&shape_trace_request, request, &spans, fault))
        return false;
    *items = spans.met;
    *valid = spans.plain == spans.met;
    if (notes && spans.late_leads)
        notes->failed = true;
    return true;
}

bool otlp_check(enum signal signal, struct view request, uint32_t *items, struct proto_fault *fault)
{
    bool valid;
    if (signal == SIGNAL_TRACES)
        return otlp_check_traces(request, items, &valid, NULL, fault);
    if (!proto_check(otlp_shape(signal), request, fault))
        return false;
    *items = otlp_count(signal, request);
    return true;
}
