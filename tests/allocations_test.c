/* Memory that runs out at every single allocation between a request's bytes and its answer: the
 * request is accepted and arrives, or its client is told to come again, and nothing leaks. */
#include "pipeline/component.h"
#include "pipeline/otlp_request.h"
#include "pipeline/pprof_request.h"
#include "tests/support/given_runtime.h"
#include "tests/support/keeper.h"
#include "tests/support/pprof_build.h"
#include "tests/support/proto_build.h"
#include "tests/support/scripted.h"
#include "tests/support/suite.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

extern const struct component processor_batch, processor_correlation, extension_journal;
const struct component *const component_table[] = {&scripted_source,
                                                   &scripted_pprof,
                                                   &scripted_taker,
                                                   &processor_batch,
                                                   &processor_correlation,
                                                   &extension_journal,
                                                   NULL};

#define PIPELINES                                                                                  \
    "receivers: {source: , pprof_source: }\n"                                                      \
    "processors: {correlation: , batch: }\n"                                                       \
    "exporters: {taker: }\n"                                                                       \
    "service:\n"                                                                                   \
    "  extensions: [%s]\n"                                                                         \
    "  pipelines:\n"                                                                               \
    "    traces: {receivers: [source], processors: [correlation, batch], exporters: [taker]}\n"    \
    "    metrics: {receivers: [source], processors: [batch], exporters: [taker]}\n"                \
    "    logs: {receivers: [source], processors: [batch], exporters: [taker]}\n"                   \
    "    profiles: {receivers: [source, pprof_source], processors: [correlation], exporters: "     \
    "[taker]}\n"

/* Calls of the wrapped functions until one fails; 0: none will. */
static _Thread_local unsigned mine_left;
static _Atomic unsigned everyones_left;
static atomic_bool failed_once;

static void arm(unsigned nth, bool all_threads)
{
    atomic_store(&failed_once, false);
    mine_left = all_threads ? 0 : nth;
    atomic_store(&everyones_left, all_threads ? nth : 0);
}

/* Whether a call failed since. */
static bool disarm(void)
{
    mine_left = 0;
    atomic_store(&everyones_left, 0);
    return atomic_load(&failed_once);
}

static bool fails(void)
{
    unsigned left = atomic_load(&everyones_left);
    while (left && !atomic_compare_exchange_weak(&everyones_left, &left, left - 1))
        ;
    bool now = left == 1 || (mine_left && --mine_left == 0);
    if (now)
        atomic_store(&failed_once, true);
    if (now)
        errno = ENOMEM;
    return now;
}

/* The linker puts these in place of what they are named after. */
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__real_reallocarray(void *old, size_t count, size_t size);
char *__real_strdup(const char *text);
char *__real_strndup(const char *text, size_t most);
int __real_vasprintf(char **out, const char *format, va_list arguments);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_reallocarray(void *old, size_t count, size_t size);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t most);
int __wrap_vasprintf(char **out, const char *format, va_list arguments);

void *__wrap_malloc(size_t size)
{
    return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    return fails() ? NULL : __real_realloc(old, size);
}

void *__wrap_reallocarray(void *old, size_t count, size_t size)
{
    return fails() ? NULL : __real_reallocarray(old, count, size);
}

char *__wrap_strdup(const char *text)
{
    return fails() ? NULL : __real_strdup(text);
}

char *__wrap_strndup(const char *text, size_t most)
{
    return fails() ? NULL : __real_strndup(text, most);
}

int __wrap_vasprintf(char **out, const char *format, va_list arguments)
{
    return fails() ? -1 : __real_vasprintf(out, format, arguments);
}

static struct given_runtime given;
static char folder[64];
static uint64_t delivered_before; /* by earlier runtimes of this process */

/* A journal in a folder of its own, or none. */
static void start(bool journal)
{
    char extension[128] = "", yaml[2048];
    *folder = '\0';
    delivered_before = sink_at(0)->delivered;
    int size = snprintf(yaml, sizeof yaml, PIPELINES, journal ? "journal" : "");
    if (journal) {
        snprintf(folder, sizeof folder, "/tmp/allocations-XXXXXX");
        ck_assert_ptr_nonnull(mkdtemp(folder));
        snprintf(extension, sizeof extension,
                 "extensions: {journal: {directory: %s, max_size_mib: 8}}\n", folder);
        snprintf(yaml + size, sizeof yaml - (size_t)size, "%s", extension);
    }
    given_start(&given, yaml);
}

/* Where there is no memory for a place in the queue behind the answer, the loss is told. */
static void stop(uint64_t accepted)
{
    char command[128];
    uint64_t lost = given_stop(&given);
    ck_assert_uint_le(lost, 2);
    ck_assert_uint_eq(sink_at(0)->delivered - delivered_before + lost, accepted);
    if (*folder) {
        snprintf(command, sizeof command, "rm -r '%s'", folder);
        ck_assert_int_eq(system(command), 0); /* NOLINT(cert-env33-c) */
    }
}

/* What a request's bytes are made into; the batch may be NULL. */
struct form {
    enum signal signal;
    bool json, pprof;
};

static struct outcome read_batch(const struct form *form, struct bytes *body, struct batch **batch)
{
    struct otlp_request request;
    struct outcome outcome;
    *batch = NULL;
    if (!form->pprof) {
        outcome = otlp_request_read(form->signal, form->json, body, &request);
        *batch = request.batch;
        return outcome;
    }
    struct bytes raw;
    bytes_init(&raw, 1 << 20, &given.runtime->budget);
    outcome = pprof_request_read(bytes_view(body), &raw);
    struct series_label label = {VIEW("service_name"), VIEW("shop")};
    struct series *series = outcome.verdict == VERDICT_OK ? series_new(&label, 1) : NULL;
    if (series)
        *batch = pprof_request_batch(&raw, bytes_view(body), series);
    bytes_release(body);
    bytes_release(&raw);
    if (outcome.verdict == VERDICT_OK && !*batch)
        return outcome_of(VERDICT_RETRY, CAUSE_MEMORY, "out of memory");
    return outcome;
}

/* The answer to one request whose nth allocation fails; *fired: there were so many. */
static struct outcome offer(const struct form *form, struct view bytes, unsigned nth, bool all,
                            uint32_t *items, bool *fired)
{
    struct bytes body;
    struct batch *batch;
    struct answer answer;
    answer_init(&answer);
    bytes_init(&body, 1 << 20, &given.runtime->budget);
    ck_assert_int_eq(bytes_append_view(&body, bytes), BYTES_OK);
    arm(nth, all);
    struct outcome outcome = read_batch(form, &body, &batch);
    *items = batch ? batch->items : 0;
    if (outcome.verdict == VERDICT_OK && batch) {
        source_offer(form->pprof ? "pprof_source" : "source", batch, &answer);
        outcome = answer_wait(&answer);
    }
    *fired = disarm();
    bytes_release(&body);
    return outcome;
}

/* Every allocation fails once. */
static void exhaust(const struct form *form, struct view bytes, bool journal, bool all)
{
    uint64_t accepted = 0;
    unsigned nth = 0, refused = 0;
    bool fired = true;
    start(journal);
    while (fired) {
        uint32_t items;
        struct outcome outcome = offer(form, bytes, ++nth, all, &items, &fired);
        ck_assert_msg(outcome.verdict != VERDICT_REJECT, "allocation %u: %s", nth, outcome.text);
        ck_assert_msg(fired || outcome.verdict == VERDICT_OK, "refused without a reason");
        accepted += outcome.verdict == VERDICT_OK ? items : 0;
        refused += outcome.verdict == VERDICT_RETRY;
    }
    ck_assert_uint_gt(accepted, 0);
    ck_assert_uint_gt(refused, 0);
    stop(accepted);
}

static void exhaust_each_way(const struct form *form, struct view bytes)
{
    exhaust(form, bytes, false, false);
    exhaust(form, bytes, false, true);
    exhaust(form, bytes, true, true);
}

#define CORPUS SOURCE_DIR "/tests/fuzz/corpus/"

START_TEST(traces)
{
    struct form form = {.signal = SIGNAL_TRACES};
    exhaust_each_way(&form, receiver_recorded(CORPUS "otlp_traces/two_spans"));
}
END_TEST

START_TEST(traces_of_which_some_are_taken_out)
{
    struct form form = {.signal = SIGNAL_TRACES};
    struct view bad = PB_MESSAGE(2, pb_fill(1, 16, 0), pb_fill(2, 8, 1));
    exhaust_each_way(&form, PB_MESSAGE(1, PB_MESSAGE(2, PB_SPAN(PB_TEXT(5, "a")), bad,
                                                     PB_SPAN(PB_TEXT(5, "b")))));
}
END_TEST

START_TEST(traces_in_json)
{
    struct form form = {.signal = SIGNAL_TRACES, .json = true};
    exhaust_each_way(&form,
                     VIEW("{\"resourceSpans\":[{\"resource\":{\"attributes\":[{\"key\":\"a\","
                          "\"value\":{\"stringValue\":\"b\"}}]},\"scopeSpans\":[{\"spans\":[{"
                          "\"traceId\":\"0102030405060708090a0b0c0d0e0f10\","
                          "\"spanId\":\"0102030405060708\",\"name\":\"work\"}]}]}]}"));
}
END_TEST

START_TEST(logs)
{
    struct form form = {.signal = SIGNAL_LOGS};
    exhaust_each_way(&form, receiver_recorded(CORPUS "otlp_logs/one"));
}
END_TEST

START_TEST(metrics)
{
    struct form form = {.signal = SIGNAL_METRICS};
    exhaust_each_way(&form, receiver_recorded(CORPUS "otlp_metrics/all_kinds"));
}
END_TEST

/* One profile whose samples have their values in the field that protocol 1.8 or 1.10 gives them. */
static struct view profiles_of(uint32_t values, uint32_t attributes)
{
    struct view sample = PB_MESSAGE(2, pb_varint(1, 1), PB_MESSAGE(values, PB_RAW(50)),
                                    PB_MESSAGE(attributes, PB_RAW(1)));
    struct view attribute = PB_MESSAGE(6, pb_varint(1, 1), PB_MESSAGE(2, PB_TEXT(1, "main")));
    struct view tables =
        PB_JOIN(PB_EMPTY(2), PB_EMPTY(4), PB_EMPTY(5), PB_TEXT(5, "thread"), PB_EMPTY(6), attribute,
                PB_EMPTY(7), PB_MESSAGE(7, PB_MESSAGE(1, PB_RAW(1))), PB_EMPTY(2));
    return PB_JOIN(PB_MESSAGE(1, PB_MESSAGE(2, PB_MESSAGE(2, sample))), PB_MESSAGE(2, tables));
}

START_TEST(profiles)
{
    struct form form = {.signal = SIGNAL_PROFILES};
    exhaust_each_way(&form, profiles_of(4, 2));
}
END_TEST

START_TEST(profiles_of_an_older_protocol)
{
    struct form form = {.signal = SIGNAL_PROFILES};
    exhaust_each_way(&form, profiles_of(2, 3));
}
END_TEST

START_TEST(pprof)
{
    struct form form = {.signal = SIGNAL_PROFILES, .pprof = true};
    const char *ids[] = {"0102030405060708", "0102030405060709"};
    struct bytes gzip = pprof_build_cpu(INT64_C(1700000000000000000), 10000000000, ids, 2);
    exhaust_each_way(&form, bytes_view(&gzip));
    bytes_release(&gzip);
}
END_TEST

SUITE_MAIN("allocations", traces, traces_of_which_some_are_taken_out, traces_in_json, logs, metrics,
           profiles, profiles_of_an_older_protocol, pprof)
