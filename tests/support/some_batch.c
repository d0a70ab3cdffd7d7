#include "tests/support/some_batch.h"

#include "lib/wire/otlp/otlp.h"
#include "tests/support/proto_build.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct view span_name(unsigned number, char out[24])
{
    snprintf(out, 24, "span-%08u", number);
    return view_of(out);
}

struct batch *some_spans(unsigned first, unsigned count, struct budget *budget)
{
    static pthread_mutex_t building = PTHREAD_MUTEX_INITIALIZER;
    struct view *spans = calloc(count, sizeof *spans);
    assert(spans);
    pthread_mutex_lock(&building);
    for (unsigned i = 0; i < count; i++) {
        char name[24];
        spans[i] = PB_SPAN(PB_MESSAGE(5, span_name(first + i, name)));
    }
    struct view request = PB_MESSAGE(1, PB_MESSAGE(1, pb_attribute(1, "service.name", "shop")),
                                     pb_message(2, spans, count));
    pthread_mutex_unlock(&building);
    struct buffer *payload = buffer_new(request.size, budget, true);
    assert(payload);
    memcpy(payload->data, request.data, request.size);
    free(spans);
    return batch_new(SIGNAL_TRACES, BATCH_OTLP, payload, count, NULL);
}

static struct view span_at(bool is_root, uint64_t wall)
{
    return PB_SPAN(is_root ? PB_JOIN() : pb_fill(4, 8, 0xc3), pb_fixed64(7, wall),
                   pb_fixed64(8, wall));
}

static struct batch *batch_of(struct view spans, uint32_t count, struct budget *budget)
{
    struct view request =
        PB_MESSAGE(1, PB_MESSAGE(1, pb_attribute(1, "service.name", "shop")), PB_MESSAGE(2, spans));
    struct buffer *payload = buffer_new(request.size, budget, true);
    assert(payload);
    memcpy(payload->data, request.data, request.size);
    return batch_new(SIGNAL_TRACES, BATCH_OTLP, payload, count, NULL);
}

struct batch *some_span(bool is_root, uint64_t wall, struct budget *budget)
{
    return batch_of(span_at(is_root, wall), 1, budget);
}

struct batch *some_root_and_child(uint64_t wall, struct budget *budget)
{
    return batch_of(PB_JOIN(span_at(true, wall), span_at(false, wall)), 2, budget);
}

bool some_batch_has(const struct batch *batch, unsigned number)
{
    char name[24];
    struct view wanted = span_name(number, name);
    struct buffer *whole = buffer_flat(batch->payload);
    assert(whole);
    bool has = memmem(whole->data, whole->size, wanted.data, wanted.size) != NULL;
    buffer_unref(whole);
    return has;
}
