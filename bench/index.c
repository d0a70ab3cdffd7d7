/*
 * Cost of the span index and the hold: time per span with 1e5, 1e6 and 1e7 live span ids relative
 * to 1e4, and memory per id and per held span. In one process, with the real receiver and
 * processor.
 *
 * A tenth of the spans are local roots with a live id, which get linked; all other lookups find
 * nothing. Every request is new, so that no slot is cached from an earlier lookup of the same id.
 * Sizes take turns, and ratios are computed within a round.
 *
 * Prints one JSON object per figure.
 */
#include "bench/profiles.h"
#include "bench/spans.h"
#include "bench/stage.h"
#include "lib/base/heap.h"
#include "lib/wire/otlp/otlp.h"
#include "pipeline/otlp_request.h"
#include "processors/correlation/correlation.h"

#include <stdio.h>
#include <stdlib.h>

extern const struct component processor_correlation;

enum { SIZES = 4, ROUNDS = 9, BODIES = 32, SPANS = 512, ROOT_EACH = 10, FINDS = 1 << 18 };
enum { HELD_SPANS = 100000 };

static const uint64_t live[SIZES] = {10000, 100000, 1000000, 10000000};

struct bench {
    struct stage_clock clock;
    struct budget budget;
    struct stage_sink sink;
    struct stage correlation;
    uint64_t random;
};

static struct correlation *self_of(struct bench *bench)
{
    return bench->correlation.instance.self;
}

/* Opens a bench with a service of two windows, which have no ids of the later spans. */
static void open_bench(struct bench *bench, const char *yaml)
{
    stage_clock_init(&bench->clock);
    budget_init(&bench->budget, SIZE_MAX);
    stage_sink_init(&bench->sink);
    bench->random = 1;
    stage_open(&bench->correlation, &processor_correlation, yaml, &bench->clock, &bench->budget,
               &bench->sink.outlet);
    for (unsigned i = 0; i < 2; i++) {
        stage_clock_advance(&bench->clock, 10 * NS_PER_S);
        const struct profiles window = {
            .samples = 1,
            .functions = 100,
            .first = UINT64_C(1) << 41,
            .time_ns = bench->clock.wall - 10 * NS_PER_S,
            .duration_ns = 10 * NS_PER_S,
        };
        stage_offer(&bench->correlation, profiles_batch(&window, &bench->budget));
    }
}

/* Adds the ids of the first local roots to the index, as profiles would. */
static void fill(struct bench *bench, uint64_t count)
{
    struct correlation *self = self_of(bench);
    const struct service *service =
        services_see(&self->services, VIEW(""), VIEW("shop"), bench->clock.mono);
    uint32_t second = correlation_second(self, bench->clock.mono);
    for (uint64_t i = 0; i < count; i++)
        span_index_add(&self->index, service_scope(service),
                       &(struct span_figures){spans_id(i * ROOT_EACH), 1, false, 10000000},
                       KIND_PROCESS_CPU, second);
    if (self->index.table.evicted)
        stage_fail("the index was too small");
}

static struct bytes request(struct bench *bench, uint32_t count, uint64_t first, uint32_t root_each)
{
    const struct spans spans = {
        .service = "shop",
        .count = count,
        .first = first,
        .root_each = root_each,
        .end_ns = bench->clock.wall - NS_PER_S,
    };
    struct bytes bytes;
    bytes_init(&bytes, SIZE_MAX / 2, &bench->budget);
    spans_request(&spans, &bytes);
    return bytes;
}

static void accept(struct bench *bench, struct bytes *bytes)
{
    struct otlp_request read;
    if (otlp_request_read(SIGNAL_TRACES, false, bytes, &read).verdict != VERDICT_OK)
        stage_fail("a request was not accepted");
    stage_offer(&bench->correlation, read.batch);
}

/* Time per span in ns. Each body is created just before, so that it is cached as if just received.
 */
static double time_path(struct bench *bench, uint64_t ids)
{
    uint64_t used = 0;
    for (size_t i = 0; i < BODIES; i++) {
        uint64_t first = spans_id(bench->random++) % (ids - SPANS / ROOT_EACH) * ROOT_EACH;
        struct bytes body = request(bench, SPANS, first, ROOT_EACH);
        uint64_t start = stage_cpu_ns();
        accept(bench, &body);
        used += stage_cpu_ns() - start;
    }
    return (double)used / (BODIES * SPANS);
}

/* Time per lookup in ns, of the index alone; one id in ten is found. */
static double time_finds(struct bench *bench, uint64_t ids)
{
    struct correlation *self = self_of(bench);
    const struct service *service =
        services_see(&self->services, VIEW(""), VIEW("shop"), bench->clock.mono);
    uint64_t scope = service_scope(service), found = 0;
    uint32_t second = correlation_second(self, bench->clock.mono);
    uint64_t *asked = malloc(FINDS * sizeof *asked);
    struct span_figures figures;
    if (!asked)
        stage_fail("no memory");
    for (size_t i = 0; i < FINDS; i++)
        asked[i] = spans_id(spans_id(bench->random++) % (ids * ROOT_EACH));
    uint64_t start = stage_cpu_ns();
    for (size_t i = 0; i < FINDS; i++)
        found += span_index_find(&self->index, scope, asked[i], KIND_BIT(KIND_PROCESS_CPU), second,
                                 &figures);
    double ns = (double)(stage_cpu_ns() - start) / FINDS;
    free(asked);
    if (found < FINDS / 20)
        stage_fail("ids that are live were not found");
    return ns;
}

static void print_ratio(const char *name, uint64_t ids, double ours[ROUNDS], double base[ROUNDS])
{
    double ratio[ROUNDS];
    for (size_t i = 0; i < ROUNDS; i++)
        ratio[i] = ours[i] / base[i];
    struct stage_spread spread = stage_spread(ratio, ROUNDS);
    printf("{\"figure\": 10, \"case\": \"%s, %.0e live ids\", \"ours\": %.1f, \"peer\": %.1f, "
           "\"ratio\": {\"median\": %.3f, \"min\": %.3f, \"max\": %.3f}, "
           "\"unit\": \"ns a span, peer 1e4 live ids\"}\n",
           name, (double)ids, stage_spread(ours, ROUNDS).median, stage_spread(base, ROUNDS).median,
           spread.median, spread.min, spread.max);
}

static void print_memory(const char *name, double bytes, double peer, const char *unit)
{
    double ratio = bytes / peer;
    printf("{\"figure\": 11, \"case\": \"%s\", \"ours\": %.1f, \"peer\": %.1f, "
           "\"ratio\": {\"median\": %.3f, \"min\": %.3f, \"max\": %.3f}, \"unit\": \"%s\"}\n",
           name, bytes, peer, ratio, ratio, ratio, unit);
    fflush(stdout);
}

static double resident(void)
{
    heap_trim();
    return (double)heap_resident();
}

static void measure_index(void)
{
    static struct bench benches[SIZES];
    double path[SIZES][ROUNDS], finds[SIZES][ROUNDS];
    char name[64];
    for (size_t i = 0; i < SIZES; i++) {
        open_bench(&benches[i], "{index_max_mib: 8192, hold_max_mib: 8}");
        double before = resident(), used = (double)budget_used(&benches[i].budget);
        fill(&benches[i], live[i]);
        double grown = resident() - before;
        snprintf(name, sizeof name, "index, %.0e live ids", (double)live[i]);
        print_memory(name, ((double)budget_used(&benches[i].budget) - used) / (double)live[i],
                     grown / (double)live[i], "bytes an id charged, peer resident");
        time_path(&benches[i], live[i]);
    }
    for (size_t round = 0; round < ROUNDS; round++)
        for (size_t i = 0; i < SIZES; i++) {
            path[i][round] = time_path(&benches[i], live[i]);
            finds[i][round] = time_finds(&benches[i], live[i]);
        }
    for (size_t i = SIZES; i-- > 1;) {
        double base[ROUNDS];
        memcpy(base, path[0], sizeof base);
        print_ratio("receiver and correlation", live[i], path[i], base);
        memcpy(base, finds[0], sizeof base);
        print_ratio("index alone", live[i], finds[i], base);
    }
    for (size_t i = 0; i < SIZES; i++)
        stage_close(&benches[i].correlation);
}

/* Wire size of the spans that wait: local roots. */
static uint64_t wire_bytes(struct view body, uint32_t root_each)
{
    struct otlp_walk walk;
    uint64_t bytes = 0, number = 0;
    otlp_walk_begin(&walk, SIGNAL_TRACES, body);
    for (enum otlp_step step; (step = otlp_walk_next(&walk)) != OTLP_END;)
        if (step == OTLP_ITEM && number++ % root_each == 0)
            bytes += walk.item.bytes.size;
    return bytes;
}

static void measure_hold(const char *name, uint32_t spans, uint32_t root_each)
{
    struct bench bench;
    uint64_t bytes = 0;
    open_bench(&bench, "{hold_max_mib: 4096}");
    double before = resident();
    for (uint64_t held = 0, first = 0; held < HELD_SPANS; first += spans) {
        struct bytes body = request(&bench, spans, first * root_each, root_each);
        held += (spans + root_each - 1) / root_each;
        bytes += wire_bytes(bytes_view(&body), root_each);
        accept(&bench, &body);
    }
    double grown = resident() - before;
    if (self_of(&bench)->hold.spans < HELD_SPANS)
        stage_fail("the spans were not held");
    print_memory(name, grown, (double)bytes, "bytes resident, peer the held spans' own bytes");
    stage_close(&bench.correlation);
}

int main(void)
{
    heap_tune();
    measure_hold("hold, requests of 512 spans, all held", 512, 1);
    measure_hold("hold, requests of 100 spans, all held", 100, 1);
    measure_hold("hold, requests of 512 spans, one in ten held", 512, 10);
    measure_hold("hold, requests of 100 spans, one in ten held", 100, 10);
    measure_hold("hold, requests of 10 spans, one held", 10, 10);
    measure_index();
    return 0;
}
