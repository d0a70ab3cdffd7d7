/* The scan and the check; the first byte selects the shape. */
#include "lib/wire/proto/proto_shape.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Fields of a message are adjacent, up to its end or the malformed position. */
static void scan_all(struct view message)
{
    struct proto_scan scan = proto_scan_begin(message);
    struct proto_field field;
    const uint8_t *at = message.data;
    while (proto_scan_next(&scan, &field)) {
        if (field.start != at || field.end <= field.start || field.number == 0)
            abort();
        at = field.end;
        if (field.type == WIRE_START_GROUP && proto_group_depth(field.bytes) >= PROTO_MAX_DEPTH)
            abort();
    }
    if (scan.at != at || (!scan.bad && at != scan.end))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct proto_shape *const shapes[] = {
        &shape_trace_request, &shape_metrics_request,  &shape_logs_request,
        &shape_pprof,         &shape_profiles_request, &shape_push_request,
    };
    struct proto_fault fault = {0};
    if (size == 0)
        return 0;
    struct view message = {data + 1, size - 1};
    scan_all(message);
    if (!proto_check(shapes[data[0] % 6], message, &fault) &&
        (!fault.reason || !fault.message || fault.offset > message.size))
        abort();
    return 0;
}
