/*
 * Cost of profiles while spans wait: CPU time of an upload with 60,000 spans held relative to none,
 * for uploads that cannot link any of them. In one process, with the real receiver and processor.
 *
 * Prints one JSON object per figure.
 */
#include "bench/profiles.h"
#include "bench/spans.h"
#include "bench/stage.h"
#include "lib/base/heap.h"
#include "lib/wire/proto/proto_write.h"
#include "pipeline/otlp_request.h"
#include "processors/correlation/correlation.h"

#include <stdio.h>

extern const struct component processor_correlation;

enum { ROUNDS = 9, UPLOADS = 40, SPANS = 512, HELD_SPANS = 60000, EMPTY_PROFILES = 5000 };

struct bench {
    struct stage_clock clock;
    struct budget budget;
    struct stage_sink sink;
    struct stage correlation;
};

static void accept(struct bench *bench, enum signal signal, struct bytes *bytes)
{
    struct otlp_request read;
    if (otlp_request_read(signal, false, bytes, &read).verdict != VERDICT_OK)
        stage_fail("a request was not accepted");
    stage_offer(&bench->correlation, read.batch);
}

/* Holds local roots that ended just now. */
static void hold_spans(struct bench *bench, uint32_t count)
{
    for (uint32_t first = 0; first < count; first += SPANS) {
        struct bytes body;
        const struct spans spans = {.service = "shop",
                                    .count = SPANS,
                                    .first = first,
                                    .root_each = 1,
                                    .end_ns = bench->clock.wall - NS_PER_S};
        bytes_init(&body, SIZE_MAX / 2, &bench->budget);
        spans_request(&spans, &body);
        accept(bench, SIGNAL_TRACES, &body);
    }
}

static struct correlation *self_of(struct bench *bench)
{
    return bench->correlation.instance.self;
}

static void open_bench(struct bench *bench, uint32_t held)
{
    stage_clock_init(&bench->clock);
    budget_init(&bench->budget, SIZE_MAX);
    stage_sink_init(&bench->sink);
    stage_open(&bench->correlation, &processor_correlation, "{hold: 1h, hold_max_mib: 4096}",
               &bench->clock, &bench->budget, &bench->sink.outlet);
    hold_spans(bench, held);
    if (self_of(bench)->hold.spans < held)
        stage_fail("the spans were not held");
}

/* Uploads a heap profile with the current time. */
static void upload_heap(struct bench *bench)
{
    const struct profiles heap = {
        .samples = 50, .functions = 100, .first = UINT64_C(1) << 41, .time_ns = bench->clock.wall};
    const struct series_label labels[] = {{VIEW("__name__"), VIEW("memory")},
                                          {VIEW("service_name"), VIEW("shop")}};
    struct batch *batch = profiles_batch(&heap, &bench->budget);
    batch_set_series(batch, series_new(labels, 2));
    stage_offer(&bench->correlation, batch);
}

/* Uploads a request of empty OTLP profiles: about 240 bytes of gzip on the wire. */
static void upload_empty(struct bench *bench)
{
    struct bytes body;
    bytes_init(&body, SIZE_MAX / 2, &bench->budget);
    struct proto_write write = proto_write_begin(&body);
    size_t entry = proto_write_open(&write, 1), resource = proto_write_open(&write, 1);
    size_t attribute = proto_write_open(&write, 1);
    proto_write_bytes(&write, 1, VIEW("service.name"));
    size_t value = proto_write_open(&write, 2);
    proto_write_bytes(&write, 1, VIEW("shop"));
    proto_write_close(&write, value);
    proto_write_close(&write, attribute);
    proto_write_close(&write, resource);
    size_t scope = proto_write_open(&write, 2);
    for (int i = 0; i < EMPTY_PROFILES; i++)
        proto_write_close(&write, proto_write_open(&write, 2));
    proto_write_close(&write, scope);
    proto_write_close(&write, entry);
    proto_write_close(&write, proto_write_open(&write, 2)); /* the dictionary */
    accept(bench, SIGNAL_PROFILES, &body);
}

/* CPU time per upload, including the tick, in ns. */
static double time_uploads(struct bench *bench, void (*upload)(struct bench *), uint32_t count)
{
    uint64_t start = stage_cpu_ns();
    for (uint32_t i = 0; i < count; i++) {
        stage_clock_advance(&bench->clock, 25 * NS_PER_MS);
        upload(bench);
        stage_tick(&bench->correlation);
    }
    return (double)(stage_cpu_ns() - start) / count;
}

static void compare(const char *name, void (*upload)(struct bench *), uint32_t count)
{
    static struct bench held, none;
    double ratios[ROUNDS], ours[ROUNDS], base[ROUNDS];
    open_bench(&held, HELD_SPANS);
    open_bench(&none, 0);
    time_uploads(&held, upload, 1);
    time_uploads(&none, upload, 1);
    for (size_t round = 0; round < ROUNDS; round++) {
        base[round] = time_uploads(&none, upload, count);
        ours[round] = time_uploads(&held, upload, count);
        ratios[round] = ours[round] / base[round];
    }
    struct stage_spread spread = stage_spread(ratios, ROUNDS);
    printf("{\"figure\": 15, \"case\": \"%s\", \"ours\": %.1f, \"peer\": %.1f, \"ratio\": "
           "{\"median\": %.3f, \"min\": %.3f, \"max\": %.3f}, \"unit\": \"us an upload, peer with "
           "no span held\"}\n",
           name, stage_spread(ours, ROUNDS).median / 1e3, stage_spread(base, ROUNDS).median / 1e3,
           spread.median, spread.min, spread.max);
    stage_close(&held.correlation);
    stage_close(&none.correlation);
}

int main(void)
{
    heap_tune();
    compare("a heap profile with 60,000 spans held", upload_heap, UPLOADS);
    compare("5,000 empty OTLP profiles in one request with 60,000 spans held", upload_empty, 3);
    return 0;
}
