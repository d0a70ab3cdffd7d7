/* Shared by the OTLP fuzz targets: whatever passes otlp_check must pass every later stage and stay
 * well-formed. */
#ifndef TESTS_FUZZ_OTLP_REQUEST_H
#define TESTS_FUZZ_OTLP_REQUEST_H

#include "lib/wire/edit/otlp_remap.h"
#include "lib/wire/json/otlp_json.h"
#include "lib/wire/otlp/otlp_span.h"
#include "lib/wire/otlp/otlp_split.h"
#include "lib/wire/proto/proto_normal.h"

#include <stdlib.h>

static inline void must(bool truth)
{
    if (!truth)
        abort();
}

static inline void must_pass(enum signal signal, struct view request, uint32_t items)
{
    struct proto_fault fault;
    uint32_t count;
    must(otlp_check(signal, request, &count, &fault) && count == items);
}

/* Writes the splice's result and checks it. */
static inline void spliced_passes(enum signal signal, const struct splice *splice, uint32_t items)
{
    if (splice->failed)
        return;
    struct buffer *buffer = buffer_new(splice_size(splice), NULL, true);
    splice_write(splice, buffer->data);
    must_pass(signal, buffer_view(buffer), items);
    buffer_unref(buffer);
}

static inline void fuzz_splices(enum signal signal, struct view request, uint32_t items)
{
    static const struct remap_pair pairs[] = {{"service.name", "service_name"}, {"a", "b"}};
    struct arena arena;
    struct splice splice;
    const char *reason;
    arena_init(&arena, 1 << 24);
    splice_begin(&splice, request, &arena);
    otlp_remap(signal, request, pairs, 2, &splice);
    spliced_passes(signal, &splice, items);
    splice_begin(&splice, request, &arena);
    if (signal == SIGNAL_TRACES) {
        uint32_t dropped = otlp_traces_drop_invalid(request, &splice, &reason);
        must((dropped == 0) == (reason == NULL));
        spliced_passes(signal, &splice, items - dropped);
    }
    arena_release(&arena);
}

static inline void fuzz_split(enum signal signal, struct view request, uint32_t items)
{
    struct buffer *front, *rest;
    if (!otlp_split(signal, request, items / 2 + 1, request.size / 2 + 1, NULL, &front, &rest))
        return;
    uint32_t count = otlp_count(signal, buffer_view(front));
    must_pass(signal, buffer_view(front), count);
    must_pass(signal, buffer_view(rest), items - count);
    buffer_unref(front);
    buffer_unref(rest);
}

static inline void fuzz_json(enum signal signal, struct view request, uint32_t items)
{
    struct bytes json, back;
    char reason[256];
    bytes_init(&json, 1 << 24, NULL);
    bytes_init(&back, 1 << 24, NULL);
    if (otlp_json_write(signal, request, &json)) {
        must(otlp_json_read(signal, bytes_view(&json), &back, reason, sizeof reason));
        /* A oneof that is set twice counts once after JSON. */
        must(otlp_count(signal, bytes_view(&back)) <= items);
    }
    bytes_release(&json);
    bytes_release(&back);
}

static inline void fuzz_spans(struct view request)
{
    struct otlp_walk walk;
    struct otlp_span span;
    otlp_walk_begin(&walk, SIGNAL_TRACES, request);
    for (enum otlp_step step; (step = otlp_walk_next(&walk)) != OTLP_END;) {
        if (step == OTLP_RESOURCE)
            otlp_resource_attribute(walk.resource_entry.bytes, VIEW("service.name"));
        if (step != OTLP_ITEM)
            continue;
        otlp_span_read(walk.item.bytes, &span);
        must((span.profile_attributes > 0) || span.profile_id.data == NULL);
        otlp_span_is_local_root(&span);
    }
}

static inline void fuzz_normal(enum signal signal, struct view request)
{
    struct proto_fault fault;
    struct otlp_found found;
    struct arena arena;
    struct bytes normal;
    arena_init(&arena, 1 << 24);
    bytes_init(&normal, request.size, NULL);
    must(otlp_check_all(signal, request, NULL, &found, &fault));
    if (found.odd && proto_normal(otlp_shape(signal), request, &arena, &normal)) {
        must(otlp_check_all(signal, bytes_view(&normal), NULL, &found, &fault));
        must(!found.odd);
    }
    bytes_release(&normal);
    arena_release(&arena);
}

static inline int fuzz_otlp(enum signal signal, const uint8_t *data, size_t size)
{
    struct view request = {data, size};
    struct proto_fault fault;
    uint32_t items;
    if (!otlp_check(signal, request, &items, &fault)) {
        must(fault.reason && fault.message && fault.offset <= size);
        return 0;
    }
    if (signal == SIGNAL_TRACES)
        fuzz_spans(request);
    fuzz_splices(signal, request, items);
    fuzz_split(signal, request, items);
    fuzz_json(signal, request, items);
    fuzz_normal(signal, request);
    return 0;
}

#endif
