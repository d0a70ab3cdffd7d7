/* Spans with long texts, which the hold compresses, for tests of how they leave it. */
#ifndef TESTS_PROCESSORS_CORRELATION_RELEASE_TEXTS_H
#define TESTS_PROCESSORS_CORRELATION_RELEASE_TEXTS_H

#include "tests/processors/correlation/rig.h"

enum { TEXTS_IN_ONE = 20, TEXTS_SIZE = 900 };

/* The text of a span with this id; noise: not compressible. */
static inline void texts_write(char out[TEXTS_SIZE + 1], uint64_t id, bool noise)
{
    uint64_t random = id * UINT64_C(0x9e3779b97f4a7c15) + 1;
    snprintf(out, TEXTS_SIZE, "span %016llx ", (unsigned long long)id);
    for (size_t i = strlen(out); i < TEXTS_SIZE; i++) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        out[i] = (char)(noise ? 1 + random % 255 : 'a' + i % 7);
    }
    out[TEXTS_SIZE] = '\0';
}

static inline void texts_put(struct bytes *out, uint64_t id, bool noise)
{
    char text[TEXTS_SIZE + 1];
    struct bytes body;
    bytes_init(&body, SIZE_MAX, NULL);
    rig_id(&body, 2, id);
    rig_number(&body, 7, WIRE_I64, RIG_START);
    rig_number(&body, 8, WIRE_I64, RIG_START + S);
    texts_write(text, id, noise);
    rig_attribute(&body, 9, "text", text);
    rig_field(out, 2, bytes_view(&body));
    bytes_release(&body);
}

/* Roots first, first + 1, ... of "shop" in one request. */
static inline void texts_send(struct rig *rig, uint64_t first, size_t count, bool noise)
{
    struct bytes request, resource, scope, entry;
    bytes_init(&request, SIZE_MAX, NULL);
    bytes_init(&resource, SIZE_MAX, NULL);
    bytes_init(&scope, SIZE_MAX, NULL);
    bytes_init(&entry, SIZE_MAX, NULL);
    rig_attribute(&resource, 1, "service.name", "shop");
    for (uint64_t id = first; id < first + count; id++)
        texts_put(&scope, id, noise);
    rig_field(&entry, 1, bytes_view(&resource));
    rig_field(&entry, 2, bytes_view(&scope));
    rig_field(&request, 1, bytes_view(&entry));
    bytes_release(&resource);
    bytes_release(&scope);
    bytes_release(&entry);
    ck_assert_int_eq(rig_consume(rig, SIGNAL_TRACES, BATCH_OTLP, &request, (uint32_t)count),
                     VERDICT_OK);
}

/* Requests from id first on, far enough apart that their segments are not merged. Returns the id
 * after the last. */
static inline uint64_t texts_fill(struct rig *rig, uint64_t first, size_t requests, bool noise)
{
    for (size_t i = 0; i < requests; i++, first += TEXTS_IN_ONE) {
        texts_send(rig, first, TEXTS_IN_ONE, noise);
        fake_clock_advance(&rig->clock, 101 * NS_PER_MS);
    }
    return first;
}

static inline void texts_check(uint64_t id, struct view body, bool noise)
{
    char text[TEXTS_SIZE + 1];
    texts_write(text, id, noise);
    ck_assert_msg(memmem(body.data, body.size, text, TEXTS_SIZE) != NULL,
                  "span %llu does not say what it said", (unsigned long long)id);
}

/* Reads what left into rig->out, and checks each span's text. */
static inline void texts_collect(struct rig *rig, bool noise)
{
    for (size_t i = 0; i < rig->traces.count; i++) {
        struct otlp_walk walk;
        struct otlp_span span;
        otlp_walk_begin(&walk, SIGNAL_TRACES, buffer_view(rig->traces.batches[i]->payload));
        for (enum otlp_step step; (step = otlp_walk_next(&walk)) != OTLP_END;)
            if (step == OTLP_ITEM) {
                otlp_span_read(walk.item.bytes, &span);
                texts_check(span_id_load(span.span_id.data), walk.item.bytes, noise);
            }
    }
    rig_collect(rig);
}

/* Counts packed segments in the hold, whose sizes must agree. */
static inline size_t texts_packed(struct rig *rig)
{
    const struct hold *hold = &rig_self(rig)->hold;
    size_t bytes = 0, packed = 0;
    for (const struct segment *each = hold->oldest; each; each = each->newer) {
        bytes += each->charged;
        packed += each->packed > 0;
        ck_assert_uint_lt(each->packed, each->size);
    }
    ck_assert_uint_eq(bytes, hold->bytes);
    return packed;
}

/* Checks that first up to before behind left, in order. */
static inline void texts_in_order(struct rig *rig, uint64_t first, uint64_t behind)
{
    ck_assert_uint_eq(rig->count, behind - first);
    for (size_t i = 0; i < rig->count; i++)
        ck_assert_uint_eq(rig->out[i].id, first + i);
}

#endif
