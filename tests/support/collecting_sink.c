#include "tests/support/collecting_sink.h"

#include "pipeline/pace.h"
#include <assert.h>

#include <stdlib.h>
#include <string.h>

static enum verdict collect(void *self, struct batch *batch, struct outlet *next)
{
    struct collecting_sink *sink = self;
    (void)next;
    pthread_mutex_lock(&sink->lock);
    enum verdict verdict = sink->verdict;
    sink->pushes++;
    if (verdict == VERDICT_OK) {
        sink->batches = realloc(sink->batches, (sink->count + 1) * sizeof(struct batch *));
        assert(sink->batches);
        sink->batches[sink->count++] = batch_ref(batch);
    }
    pthread_mutex_unlock(&sink->lock);
    return verdict;
}

static const struct component collector = {
    .type = "collecting_sink", .kind = COMPONENT_PROCESSOR, .consume = collect};

void collecting_sink_init(struct collecting_sink *sink)
{
    memset(sink, 0, sizeof *sink);
    pthread_mutex_init(&sink->lock, NULL);
    sink->instance.component = &collector;
    sink->instance.self = sink;
    sink->instance.meter = &sink->meter;
    sink->outlet.processor = &sink->instance;
    sink->outlet.pace = pace_new();
}

uint64_t collecting_sink_items(const struct collecting_sink *sink)
{
    uint64_t items = 0;
    for (size_t i = 0; i < sink->count; i++)
        items += sink->batches[i]->items;
    return items;
}

void collecting_sink_clear(struct collecting_sink *sink)
{
    for (size_t i = 0; i < sink->count; i++)
        batch_unref(sink->batches[i]);
    free(sink->batches);
    sink->batches = NULL;
    sink->count = sink->pushes = 0;
    pace_unref(sink->outlet.pace);
    sink->outlet.pace = NULL;
}
