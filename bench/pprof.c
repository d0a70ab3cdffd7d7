/*
 * Cost of processing a pprof, compared with `gunzip -c` of the same file: received as gzip,
 * checked, its span ids added to the index, its series remapped, and sent as the gzip body that the
 * pyroscope exporter posts. Uses the real receiver, processor and exporter, without the HTTP
 * client.
 *
 * Compares CPU time. gunzip gets enough copies of the file in one input (consecutive gzip members)
 * that its startup is less than a hundredth of its time. Rounds alternate.
 *
 * Usage: bench_pprof FILE.pb.gz...           one JSON object each
 *        bench_pprof --make SAMPLES FILE     writes a profile with SAMPLES samples
 */
#include "lib/wire/pprof/pprof.h"
#include "bench/profiles.h"
#include "bench/stage.h"
#include "lib/base/heap.h"
#include "lib/net/http/http_client.h"
#include "lib/wire/codec/compress.h"
#include "pipeline/pprof_request.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

extern const struct component processor_correlation, exporter_pyroscope;

enum { ROUNDS = 9, OURS_MS = 100, PEER_BYTES = 64 << 20, SAMPLES_PER_SPAN = 3 };

struct bench {
    struct stage_clock clock;
    struct budget budget;
    struct stage_sink sink;
    struct stage correlation, exporter;
};

static uint64_t posted;

/* Replaces lib/net/http/http_client.c. */
struct http_client {
    bool open;
};

struct http_client *http_client_new(const struct http_client_options *options, char *error,
                                    size_t error_size)
{
    static struct http_client client;
    (void)options, (void)error, (void)error_size;
    return &client;
}

bool http_client_post(struct http_client *client, const char *url,
                      const struct http_header *headers, size_t header_count, struct view body,
                      struct http_reply *reply)
{
    (void)client, (void)url, (void)headers, (void)header_count, (void)body, (void)reply;
    return false;
}

bool http_client_post_pieces(struct http_client *client, const char *url,
                             const struct http_header *headers, size_t header_count,
                             struct pieces body, struct veto veto, struct http_reply *reply)
{
    (void)client, (void)url, (void)headers, (void)header_count, (void)veto;
    posted += pieces_size(body);
    reply->status = 200;
    return true;
}

bool http_client_get(struct http_client *client, const char *url, const struct http_header *headers,
                     size_t header_count, struct http_reply *reply)
{
    (void)client, (void)url, (void)headers, (void)header_count, (void)reply;
    return false;
}

void http_client_abort(struct http_client *client)
{
    (void)client;
}

void http_client_free(struct http_client *client)
{
    (void)client;
}

static void open_bench(struct bench *bench)
{
    stage_clock_init(&bench->clock);
    budget_init(&bench->budget, SIZE_MAX);
    stage_sink_init(&bench->sink);
    bench->sink.keeps = true;
    stage_open(&bench->correlation, &processor_correlation, "{}", &bench->clock, &bench->budget,
               &bench->sink.outlet);
    stage_open(&bench->exporter, &exporter_pyroscope, "{endpoint: 'http://127.0.0.1:1'}",
               &bench->clock, &bench->budget, NULL);
}

static void pass(struct bench *bench, struct view file)
{
    const struct series_label labels[] = {{VIEW("__name__"), VIEW("process_cpu")},
                                          {VIEW("service.name"), VIEW("shop")}};
    struct bytes raw;
    bytes_init(&raw, SIZE_MAX / 2, &bench->budget);
    struct outcome outcome = pprof_request_read(file, &raw);
    if (outcome.verdict != VERDICT_OK)
        stage_fail(outcome.text);
    struct batch *batch = pprof_request_batch(&raw, file, series_new(labels, 2));
    batch_set_profile(batch, calloc(1, sizeof(struct profile_origin)));
    /* Longer than `remember`, so that the ids of the previous run are new again. */
    stage_clock_advance(&bench->clock, 2 * 3600 * NS_PER_S);
    stage_offer(&bench->correlation, batch);
    const struct instance *exporter = &bench->exporter.instance;
    if (exporter->component->send(exporter->self, bench->sink.last).verdict != VERDICT_OK)
        stage_fail("the profile was not sent");
}

/* Time per file in ns. */
static double time_ours(struct bench *bench, struct view file)
{
    uint64_t start = stage_cpu_ns(), used = 0, times = 0;
    do {
        pass(bench, file);
        times++;
        used = stage_cpu_ns() - start;
    } while (used < OURS_MS * NS_PER_MS);
    return (double)used / (double)times;
}

static double seconds(struct timeval time)
{
    return (double)time.tv_sec + (double)time.tv_usec * 1e-6;
}

static double time_gunzip(const char *input, uint64_t copies)
{
    struct rusage used;
    int status;
    pid_t child = fork();
    if (child == 0) {
        int in = open(input, O_RDONLY), out = open("/dev/null", O_WRONLY);
        if (in < 0 || out < 0 || dup2(in, 0) < 0 || dup2(out, 1) < 0)
            _exit(127);
        execlp("gunzip", "gunzip", "-c", (char *)NULL);
        _exit(127);
    }
    if (child < 0 || wait4(child, &status, 0, &used) < 0 || status != 0)
        stage_fail("gunzip failed");
    return (seconds(used.ru_utime) + seconds(used.ru_stime)) * 1e9 / (double)copies;
}

static struct bytes read_file(const char *name)
{
    struct bytes content;
    FILE *file = fopen(name, "rb");
    char part[65536];
    size_t size;
    bytes_init(&content, SIZE_MAX / 2, NULL);
    if (!file)
        stage_fail(name);
    while ((size = fread(part, 1, sizeof part, file)) > 0)
        bytes_append(&content, part, size);
    fclose(file);
    return content;
}

static void write_file(const char *name, struct view content, uint64_t copies)
{
    FILE *file = fopen(name, "wb");
    bool good = file != NULL;
    for (uint64_t i = 0; good && i < copies; i++)
        good = fwrite(content.data, 1, content.size, file) == content.size;
    if (!good || fclose(file) != 0)
        stage_fail(name);
}

static struct pprof inspect(struct view raw)
{
    struct arena arena;
    struct pprof pprof;
    struct proto_fault fault;
    arena_init(&arena, SIZE_MAX);
    if (!pprof_open(&pprof, raw, &arena, &fault))
        stage_fail(fault.reason);
    arena_release(&arena);
    return pprof;
}

static void compare(const char *name)
{
    struct bytes file = read_file(name), raw;
    struct bench bench;
    double ours[ROUNDS], peer[ROUNDS], ratio[ROUNDS];
    char input[] = "/tmp/bench_pprof.XXXXXX";
    int made = mkstemp(input);
    bytes_init(&raw, SIZE_MAX / 2, NULL);
    if (made < 0 || inflate_append(ENCODING_GZIP, bytes_view(&file), &raw) != INFLATE_OK)
        stage_fail("not gzip");
    close(made);
    uint64_t copies = PEER_BYTES / raw.size + 1;
    struct pprof pprof = inspect(bytes_view(&raw));
    write_file(input, bytes_view(&file), copies);
    open_bench(&bench);
    time_ours(&bench, bytes_view(&file));
    for (size_t i = 0; i < ROUNDS; i++) {
        ours[i] = time_ours(&bench, bytes_view(&file));
        peer[i] = time_gunzip(input, copies);
        ratio[i] = ours[i] / peer[i];
    }
    struct stage_spread spread = stage_spread(ratio, ROUNDS);
    const char *base = strrchr(name, '/');
    printf("{\"figure\": 9, \"case\": \"%s\", \"samples\": %zu, \"gzip_bytes\": %zu, "
           "\"bytes\": %zu, \"ours\": %.1f, \"peer\": %.1f, \"ratio\": "
           "{\"median\": %.3f, \"min\": %.3f, \"max\": %.3f}, \"unit\": \"us a file, "
           "peer gunzip\"}\n",
           base ? base + 1 : name, pprof.sample_count, file.size, raw.size,
           stage_spread(ours, ROUNDS).median / 1e3, stage_spread(peer, ROUNDS).median / 1e3,
           spread.median, spread.min, spread.max);
    fflush(stdout);
    unlink(input);
    batch_unref(bench.sink.last);
    stage_close(&bench.correlation);
    stage_close(&bench.exporter);
    bytes_release(&file);
    bytes_release(&raw);
}

static void make(const char *samples, const char *name)
{
    const struct profiles profiles = {
        .samples = (uint32_t)strtoul(samples, NULL, 10),
        .functions = 600 + (uint32_t)strtoul(samples, NULL, 10) / 50,
        .step = 1,
        .samples_each = SAMPLES_PER_SPAN,
        .time_ns = UINT64_C(1767225590) * NS_PER_S,
        .duration_ns = 10 * NS_PER_S,
    };
    struct bytes raw, packed;
    bytes_init(&raw, SIZE_MAX / 2, NULL);
    bytes_init(&packed, SIZE_MAX / 2, NULL);
    profiles_pprof(&profiles, &raw);
    if (!deflate_append(ENCODING_GZIP, bytes_view(&raw), &packed))
        stage_fail("no gzip");
    write_file(name, bytes_view(&packed), 1);
    bytes_release(&raw);
    bytes_release(&packed);
}

int main(int argc, char **argv)
{
    heap_tune();
    if (argc == 4 && strcmp(argv[1], "--make") == 0)
        return make(argv[2], argv[3]), 0;
    for (int i = 1; i < argc; i++)
        compare(argv[i]);
    return argc > 1 ? 0 : 2;
}
