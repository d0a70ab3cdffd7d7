/* A PushRequest in protobuf, or in JSON if it begins with a brace. */
#include "lib/wire/pprof/push.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void walk(struct view request)
{
    struct push_walk walk;
    struct push_profile profile;
    push_walk_begin(&walk, request);
    while (push_walk_next(&walk, &profile)) {
        struct series *series = push_series_labels(profile.series);
        struct bytes out;
        struct proto_fault fault;
        bytes_init(&out, 1 << 24, NULL);
        if (series && push_encode(series, profile.raw_profile, &out) &&
            !proto_check(&shape_push_request, bytes_view(&out), &fault))
            abort();
        series_unref(series);
        bytes_release(&out);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct view input = {data, size};
    struct proto_fault fault;
    struct bytes out;
    const char *reason;
    if (size == 0 || data[0] != '{') {
        if (proto_check(&shape_push_request, input, &fault))
            walk(input);
        return 0;
    }
    bytes_init(&out, 1 << 20, NULL);
    if (push_from_json(input, &out, &reason)) {
        if (!proto_check(&shape_push_request, bytes_view(&out), &fault))
            abort();
        walk(bytes_view(&out));
    } else if (!reason || out.size) {
        abort();
    }
    bytes_release(&out);
    return 0;
}
