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

bool otlp_check_all(enum signal signal, struct view request, struct otlp_notes *notes,
                    struct otlp_found *found, struct proto_fault *fault)
{
    const bool traces = signal == SIGNAL_TRACES;
    struct proto_tally tally = {.notes = traces ? notes : NULL};
    if (!proto_check_tally(otlp_shape(signal), request, &tally, fault))
        return false;
    found->items = traces ? tally.met : otlp_count(signal, request);
    found->valid = !traces || tally.plain == tally.met;
    found->odd = tally.odd;
    if (tally.notes && tally.late_leads)
        notes->failed = true;
    return true;
}

bool otlp_check(enum signal signal, struct view request, uint32_t *items, struct proto_fault *fault)
{
    struct otlp_found found;
    bool good = otlp_check_all(signal, request, NULL, &found, fault);
    if (good)
        *items = found.items;
    return good;
}
