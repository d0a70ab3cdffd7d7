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
