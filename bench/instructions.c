/*
 * The hot paths in one process, on input that is the same in every run: for instructions.py, which
 * counts the instructions of `measured`. When run directly, it prints the CPU time of each item.
 * Usage: bench_instructions CASE     without CASE: prints the names of all cases
 */
#include "bench/profiles.h"
#include "bench/spans.h"
#include "bench/stage.h"
#include "lib/base/heap.h"
#include "lib/wire/codec/compress.h"
#include "lib/wire/json/otlp_json.h"
#include "pipeline/otlp_request.h"
#include "pipeline/pprof_request.h"

#include <stdio.h>
#include <stdlib.h>

extern const struct component processor_correlation, processor_batch, extension_status;
extern const struct component processor_resource, processor_attributes, processor_filter,
    processor_transform;

enum { BODIES = 64, SPANS = 512, ROOT_EACH = 10, BODIES_PER_PROFILE = 16 };
enum { PROFILES = 8, PROFILE_SAMPLES = 2000 };

/* Data of the cases; each uses some of it. */
struct bench {
    struct stage_clock clock;
    struct budget budget;
    struct stage correlation, batch, status;
    struct stage chain[3]; /* contrib processors */
    size_t chained;
    struct stage_sink sink;
    struct bytes requests[BODIES];
    struct bytes profiles[PROFILES]; /* gzip */
    struct batch *windows[BODIES / BODIES_PER_PROFILE];
    uint64_t items;
};

struct bench_case {
    const char *name;
    void (*prepare)(struct bench *bench);
    void (*run)(struct bench *bench);
};

static struct bytes empty(struct bench *bench)
{
    struct bytes bytes;
    bytes_init(&bytes, SIZE_MAX / 2, &bench->budget);
    return bytes;
}

static void make_requests(struct bench *bench, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct spans spans = {
            .service = "shop",
            .count = SPANS,
            .first = i * SPANS,
            .root_each = ROOT_EACH,
            .end_ns = bench->clock.wall - NS_PER_S,
        };
        bench->requests[i] = empty(bench);
        spans_request(&spans, &bench->requests[i]);
    }
}

static void prepare_requests(struct bench *bench)
{
    make_requests(bench, BODIES);
}

static void prepare_json(struct bench *bench)
{
    make_requests(bench, 1);
    struct bytes json = empty(bench);
    if (!otlp_json_write(SIGNAL_TRACES, bytes_view(&bench->requests[0]), &json))
        stage_fail("no JSON");
    bytes_release(&bench->requests[0]);
    bench->requests[0] = json;
}

static struct batch *accept(struct bench *bench, size_t i, bool json)
{
    struct otlp_request request;
    struct outcome outcome = otlp_request_read(SIGNAL_TRACES, json, &bench->requests[i], &request);
    if (outcome.verdict != VERDICT_OK || request.rejected || request.received != SPANS)
        stage_fail("a request was not accepted");
    bench->items += request.received;
    return request.batch;
}

static void run_check(struct bench *bench)
{
    for (size_t i = 0; i < BODIES; i++)
        batch_unref(accept(bench, i, false));
}

/* Only one request, because JSON takes a hundred times as long. */
static void run_json(struct bench *bench)
{
    batch_unref(accept(bench, 0, true));
}

static void open_traces(struct bench *bench)
{
    stage_open(&bench->batch, &processor_batch, "{timeout: 1h}", &bench->clock, &bench->budget,
               &bench->sink.outlet);
    stage_open(&bench->correlation, &processor_correlation, "{}", &bench->clock, &bench->budget,
               &bench->batch.outlet);
}

/* A service that has sent spans for longer than the hold, but no profiles: its spans do not wait.
 */
static void prepare_unprofiled(struct bench *bench)
{
    struct bytes request = empty(bench);
    struct otlp_request read;
    const struct spans one = {"shop", 1, UINT64_C(1) << 40, 0, bench->clock.wall - NS_PER_S};
    open_traces(bench);
    spans_request(&one, &request);
    otlp_request_read(SIGNAL_TRACES, false, &request, &read);
    stage_offer(&bench->correlation, read.batch);
    stage_clock_advance(&bench->clock, 100 * NS_PER_S);
    stage_tick(&bench->correlation);
    prepare_requests(bench);
}

static void run_traces(struct bench *bench)
{
    for (size_t i = 0; i < BODIES; i++)
        stage_offer(&bench->correlation, accept(bench, i, false));
}

/* Opens a processor whose outlet leads to the one that was opened before it. */
static void put_in_front(struct bench *bench, const struct component *component, const char *yaml)
{
    struct outlet *next =
        bench->chained ? &bench->chain[bench->chained - 1].outlet : &bench->sink.outlet;
    stage_open(&bench->chain[bench->chained++], component, yaml, &bench->clock, &bench->budget,
               next);
}

static void prepare_contrib(struct bench *bench)
{
    put_in_front(bench, &processor_filter,
                 "{trace_conditions: ['span.attributes[\"http.target\"] == \"/healthz\"', "
                 "'span.name == \"GET /ready\"']}");
    put_in_front(
        bench, &processor_attributes,
        "{actions: [{key: deployment.environment.name, value: production, action: insert}, "
        "{key: enduser.id, value: all, action: update}, "
        "{key: thread.id, action: delete}]}");
    put_in_front(bench, &processor_resource,
                 "{attributes: [{key: k8s.cluster.name, value: prod-1, action: insert}, "
                 "{key: telemetry.sdk.version, action: delete}]}");
    prepare_requests(bench);
}

static void prepare_transform(struct bench *bench)
{
    put_in_front(
        bench, &processor_transform,
        "{trace_statements: ["
        "'replace_pattern(span.attributes[\"url.path\"], \"token=[^&]*\", \"token=***\")', "
        "'set(span.attributes[\"slow\"], true) where "
        "span.end_time - span.start_time > Duration(\"2s\")', "
        "'truncate_all(span.attributes, 4096)']}");
    prepare_requests(bench);
}

static void run_chain(struct bench *bench)
{
    for (size_t i = 0; i < BODIES; i++)
        stage_offer(&bench->chain[bench->chained - 1], accept(bench, i, false));
}

static struct batch *window(struct bench *bench, uint64_t first, uint32_t samples)
{
    const struct profiles profiles = {
        .samples = samples,
        .functions = 300,
        .first = first,
        .step = ROOT_EACH,
        .time_ns = bench->clock.wall - 10 * NS_PER_S,
        .duration_ns = 10 * NS_PER_S,
    };
    return profiles_batch(&profiles, &bench->budget);
}

/* Two windows have arrived, without ids of these spans. */
static void prepare_confirmed(struct bench *bench)
{
    const uint32_t roots = BODIES_PER_PROFILE * SPANS / ROOT_EACH;
    open_traces(bench);
    for (unsigned i = 0; i < 2; i++) {
        stage_clock_advance(&bench->clock, 10 * NS_PER_S);
        stage_offer(&bench->correlation, window(bench, UINT64_C(1) << 41, 1));
    }
    prepare_requests(bench);
    for (size_t i = 0; i < BODIES / BODIES_PER_PROFILE; i++) {
        uint64_t first = i * BODIES_PER_PROFILE * SPANS;
        uint64_t root = (first + ROOT_EACH - 1) / ROOT_EACH * ROOT_EACH;
        bench->windows[i] = window(bench, root, roots);
    }
}

static void run_confirmed(struct bench *bench)
{
    for (size_t i = 0; i < BODIES; i++) {
        stage_offer(&bench->correlation, accept(bench, i, false));
        if ((i + 1) % BODIES_PER_PROFILE == 0)
            stage_offer(&bench->correlation, bench->windows[i / BODIES_PER_PROFILE]);
    }
}

/* The same with the extension that shows what passes. callgrind does not count its thread, which
 * spends a fixed share of the CPU time. */
static void prepare_watched(struct bench *bench)
{
    static struct watch watch;
    watch_init(&watch);
    stage_watch(&watch);
    stage_open(&bench->status, &extension_status, "{endpoint: '127.0.0.1:0'}", &bench->clock,
               &bench->budget, NULL);
    prepare_confirmed(bench);
}

static void prepare_pprof(struct bench *bench)
{
    stage_open(&bench->correlation, &processor_correlation, "{}", &bench->clock, &bench->budget,
               &bench->sink.outlet);
    bench->sink.keeps = true;
    for (size_t i = 0; i < PROFILES; i++) {
        struct batch *batch = window(bench, i * PROFILE_SAMPLES * ROOT_EACH, PROFILE_SAMPLES);
        bench->profiles[i] = empty(bench);
        if (!deflate_append(ENCODING_GZIP, buffer_view(batch->payload), &bench->profiles[i]))
            stage_fail("no gzip");
        batch_unref(batch);
    }
}

/* Receives gzip, matches ids, remaps labels and sends gzip. */
static void run_pprof(struct bench *bench)
{
    const struct series_label labels[] = {{VIEW("__name__"), VIEW("process_cpu")},
                                          {VIEW("service.name"), VIEW("shop")}};
    for (size_t i = 0; i < PROFILES; i++) {
        struct bytes raw = empty(bench), out = empty(bench);
        struct outcome outcome = pprof_request_read(bytes_view(&bench->profiles[i]), &raw);
        if (outcome.verdict != VERDICT_OK)
            stage_fail(outcome.text);
        struct batch *batch =
            pprof_request_batch(&raw, bytes_view(&bench->profiles[i]), series_new(labels, 2));
        batch_set_profile(batch, calloc(1, sizeof(struct profile_origin)));
        stage_offer(&bench->correlation, batch);
        if (!deflate_append(ENCODING_GZIP, buffer_view(bench->sink.last->payload), &out))
            stage_fail("no gzip");
        bytes_release(&out);
        bench->items += PROFILE_SAMPLES;
    }
}

static const struct bench_case cases[] = {
    {"check", prepare_requests, run_check},
    {"unprofiled", prepare_unprofiled, run_traces},
    {"confirmed", prepare_confirmed, run_confirmed},
    {"watched", prepare_watched, run_confirmed},
    {"pprof", prepare_pprof, run_pprof},
    {"json", prepare_json, run_json},
    {"contrib3", prepare_contrib, run_chain},
    {"transform3", prepare_transform, run_chain},
};

/* callgrind counts this function, by its name. */
__attribute__((noipa)) void measured(const struct bench_case *chosen, struct bench *bench);
void measured(const struct bench_case *chosen, struct bench *bench)
{
    chosen->run(bench);
}

static void run(const struct bench_case *chosen)
{
    static struct bench bench;
    stage_clock_init(&bench.clock);
    budget_init(&bench.budget, SIZE_MAX);
    stage_sink_init(&bench.sink);
    chosen->prepare(&bench);
    uint64_t before = stage_cpu_ns();
    measured(chosen, &bench);
    double ns = (double)(stage_cpu_ns() - before);
    printf("%s %llu items, %.1f ns each\n", chosen->name, (unsigned long long)bench.items,
           ns / (double)bench.items);
}

int main(int argc, char **argv)
{
    heap_tune();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (argc < 2)
            puts(cases[i].name);
        else if (strcmp(argv[1], cases[i].name) == 0)
            return run(&cases[i]), 0;
    if (argc >= 2)
        fprintf(stderr, "bench: no case %s\n", argv[1]);
    return argc < 2 ? 0 : 2;
}
