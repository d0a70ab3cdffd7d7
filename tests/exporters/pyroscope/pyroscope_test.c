/* Requests of the pyroscope exporter, and its handling of responses. */
#include "exporters/pyroscope/pyroscope.h"

#include "lib/wire/codec/compress.h"
#include "lib/wire/pprof/push.h"
#include "pipeline/otlp_form.h"
#include "pipeline/pprof_request.h"
#include "tests/support/backend.h"
#include "tests/support/forever.h"
#include "tests/support/pprof_build.h"
#include "tests/support/proto_build.h"
#include "tests/support/scripted.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>

extern const struct component exporter_pyroscope;
const struct component *const component_table[] = {&scripted_source, &scripted_pprof,
                                                   &exporter_pyroscope, NULL};

#define EXPORTER(keys) "pyroscope: {endpoint: 'http://%s/'" keys "}"

/* The fake clock's time. */
#define NOW INT64_C(1767225600000000000)

static struct given_exporter exporter;
static struct backend backend;

static void begin(const char *section)
{
    backend_start(&backend);
    exporter_start(&exporter, section, "profiles", &backend);
}

static void end(void)
{
    exporter_stop(&exporter);
    backend_stop(&backend);
}

static struct pprof_build *cpu_build(int64_t time)
{
    struct pprof_build *build = pprof_build_new();
    pprof_build_type(build, "samples", "count");
    pprof_build_type(build, "cpu", "nanoseconds");
    pprof_build_time(build, time, 10);
    return build;
}

static void add_samples(struct pprof_build *build, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        char name[32];
        snprintf(name, sizeof name, "function_%u", i);
        pprof_build_sample(build, (int64_t[]){1, 1000 + i}, (const char *const[]){name, NULL});
    }
}

static struct view finish(struct pprof_build *build)
{
    struct bytes raw = pprof_build_raw(build);
    pprof_build_free(build);
    return forever(raw);
}

static struct view cpu_profile(int64_t time)
{
    struct pprof_build *build = cpu_build(time);
    add_samples(build, 2);
    return finish(build);
}

static struct series *last_series;

/* The only profile of a push, and its labels; valid until the next call. */
static struct push_profile pushed(size_t nth, struct series **series)
{
    struct push_walk walk;
    struct push_profile profile, more;
    ck_assert_uint_lt(nth, backend.count);
    ck_assert_str_eq(backend.requests[nth].path, "/push.v1.PusherService/Push");
    push_walk_begin(&walk, backend.requests[nth].body);
    ck_assert(push_walk_next(&walk, &profile));
    ck_assert(!push_walk_next(&walk, &more));
    if (series) {
        series_unref(last_series);
        *series = last_series = push_series_labels(profile.series);
    }
    return profile;
}

static void assert_label(const struct series *series, const char *name, const char *value)
{
    struct view got = series_get(series, view_of(name));
    if (!value)
        ck_assert_msg(!got.data, "%s is %.*s", name, VIEW_ARG(got));
    else
        ck_assert_msg(got.data && view_eq(got, view_of(value)), "%s is %.*s", name, VIEW_ARG(got));
}

static struct pprof opened(struct view raw)
{
    static struct arena arena;
    struct pprof pprof;
    struct proto_fault fault;
    arena_release(&arena);
    arena_init(&arena, 256 << 20);
    ck_assert_msg(pprof_open(&pprof, raw, &arena, &fault), "%s", fault.reason);
    return pprof;
}

static int64_t cpu_sum(const struct pprof *pprof)
{
    struct proto_scan scan = proto_scan_begin(pprof->raw);
    struct pprof_sample sample;
    int64_t sum = 0;
    while (pprof_next_sample(pprof, &scan, &sample))
        sum += sample.values[1];
    return sum;
}

static struct profile_origin ingest = {.by_ingest = true};

static struct outcome send(struct view raw, const char *series, const struct profile_origin *origin)
{
    return exporter_send(&exporter, pprof_batch_of(raw, series, origin));
}

START_TEST(a_push_goes_on_under_its_own_labels_gzipped)
{
    struct series *series;
    struct view raw = cpu_profile(NOW);
    begin(EXPORTER());
    ck_assert_int_eq(send(raw, "process_cpu{service_name=shop}", NULL).verdict, VERDICT_OK);
    struct push_profile profile = pushed(0, &series);
    ck_assert(view_eq(profile.raw_profile, raw));
    ck_assert_uint_eq(series->count, 2);
    assert_label(series, "__name__", "process_cpu");
    assert_label(series, "service_name", "shop");
    ck_assert_str_eq(backend.requests[0].content_type, "application/proto");
    ck_assert_str_eq(backend.requests[0].content_encoding, "gzip");
    end();
}
END_TEST

START_TEST(an_ingested_profile_gets_the_labels_that_the_server_would_make)
{
    struct series *series;
    struct profile_origin origin = {.by_ingest = true, .spy_name = "gospy"};
    begin(EXPORTER());
    send(cpu_profile(NOW), "shop.cart{region=eu,__session_id__=1f,__private__=x}", &origin);
    pushed(0, &series);
    assert_label(series, "__name__", "process_cpu");
    assert_label(series, "__delta__", "false");
    assert_label(series, "service_name", "shop.cart");
    assert_label(series, "pyroscope_spy", "gospy");
    assert_label(series, "region", "eu");
    assert_label(series, "__session_id__", "1f");
    assert_label(series, "__private__", NULL);
    ck_assert_uint_eq(series->count, 6);
    send(cpu_profile(NOW), "lost{service_name=kept}", &ingest);
    pushed(1, &series);
    assert_label(series, "service_name", "kept");
    assert_label(series, "pyroscope_spy", "unknown");
    ck_assert_uint_eq(series->count, 4);
    end();
}
END_TEST

START_TEST(the_configuration_of_sample_types_tells_block_from_mutex)
{
    struct series *series;
    struct pprof_build *build = pprof_build_new();
    struct profile_origin origin = {.by_ingest = true,
                                    .sample_type_config =
                                        "{\"contentions\":{\"display-name\":\"block_count\"},"
                                        "\"delay\":{\"display-name\":\"block_duration\"}}"};
    pprof_build_type(build, "contentions", "count");
    pprof_build_type(build, "delay", "nanoseconds");
    pprof_build_time(build, NOW, 0);
    pprof_build_sample(build, (int64_t[]){1, 2}, (const char *const[]){"f", NULL});
    struct view raw = finish(build);
    begin(EXPORTER());
    send(raw, "a", &origin);
    send(raw, "a", &ingest);
    struct push_profile profile = pushed(0, &series);
    assert_label(series, "__name__", "block");
    ck_assert(view_eq(profile.raw_profile, raw)); /* its types are unchanged */
    pushed(1, &series);
    assert_label(series, "__name__", "mutex");
    end();
}
END_TEST

START_TEST(external_labels_are_set_on_every_series)
{
    struct series *series;
    begin(EXPORTER(", external_labels: {pod: p-1, region: us}"));
    send(cpu_profile(NOW), "process_cpu{service_name=s,region=eu}", NULL);
    pushed(0, &series);
    assert_label(series, "pod", "p-1");
    assert_label(series, "region", "us");
    end();
}
END_TEST

START_TEST(labels_are_cut_to_the_limit_that_counts_those_of_samples)
{
    struct series *series;
    struct pprof_build *build = cpu_build(NOW);
    add_samples(build, 1);
    pprof_build_label(build, "span_id", "00f067aa0ba902b7");
    pprof_build_label(build, "span_name", "GET /");
    pprof_build_label(build, "thread_name", "t");
    pprof_build_num_label(build, "pid", 7, "");
    struct view raw = finish(build);
    begin(EXPORTER(", max_labels: 7, external_labels: {pod: p}"));
    send(raw, "app{service_name=s,a=1,b=2,c=3,thread_name=own}", NULL);
    /* Seven, and span_name from the samples; if thread_name is dropped, the samples' own is used.
     */
    pushed(0, &series);
    ck_assert_uint_eq(series->count, 5);
    assert_label(series, "__name__", "app");
    assert_label(series, "service_name", "s");
    assert_label(series, "a", "1");
    assert_label(series, "b", "2");
    assert_label(series, "c", NULL);
    assert_label(series, "thread_name", NULL);
    assert_label(series, "pod", "p");
    end();
}
END_TEST

START_TEST(what_was_cut_is_counted)
{
    struct bytes out;
    begin(EXPORTER(", max_labels: 4"));
    send(cpu_profile(NOW), "app{service_name=s,a=1,b=2,c=3,d=4}", NULL);
    bytes_init(&out, 4096, NULL);
    exporter.instance->component->explain(exporter.instance->self, &out);
    ck_assert_ptr_nonnull(memmem(out.data, out.size, "max_labels 2", 12));
    bytes_release(&out);
    end();
}
END_TEST

START_TEST(times_are_kept_and_a_missing_one_is_from)
{
    struct profile_origin origin = {.by_ingest = true, .from_ns = NOW - 5};
    begin(EXPORTER());
    send(cpu_profile(NOW), "a", &origin);
    send(cpu_profile(0), "a", &origin);
    send(cpu_profile(1700000), "a", &origin); /* in 1970 */
    send(cpu_profile(0), "a", NULL);
    static const int64_t times[] = {NOW, NOW - 5, NOW - 5, 0};
    for (size_t i = 0; i < 4; i++) {
        struct pprof pprof = opened(pushed(i, NULL).raw_profile);
        ck_assert_int_eq(pprof.time_nanos, times[i]);
        ck_assert_uint_eq(pprof.sample_count, 2);
    }
    end();
}
END_TEST

START_TEST(an_empty_profile_is_not_sent)
{
    begin(EXPORTER());
    ck_assert_int_eq(send(finish(cpu_build(NOW)), "a", NULL).verdict, VERDICT_OK);
    ck_assert_uint_eq(backend.count, 0);
    end();
}
END_TEST

/* Checks that every part is within the limits, all sums are right, and all times differ. */
static void assert_parts(size_t parts, size_t most_samples, size_t most_bytes, int64_t sum)
{
    int64_t got = 0, samples = 0;
    ck_assert_uint_ge(backend.count, parts);
    for (size_t i = 0; i < backend.count; i++) {
        struct pprof part = opened(pushed(i, NULL).raw_profile);
        ck_assert_uint_le(part.sample_count, most_samples);
        ck_assert_uint_le(part.raw.size, most_bytes);
        ck_assert_int_eq(part.time_nanos, NOW + samples);
        samples += (int64_t)part.sample_count;
        got += cpu_sum(&part);
    }
    ck_assert_int_eq(got, sum);
}

START_TEST(a_profile_with_many_samples_is_split_with_equal_sums)
{
    struct pprof_build *build = cpu_build(NOW);
    add_samples(build, 100);
    struct view raw = finish(build);
    struct pprof whole = opened(raw);
    begin(EXPORTER(", max_profile_samples: 30"));
    ck_assert_int_eq(send(raw, "a", NULL).verdict, VERDICT_OK);
    ck_assert_uint_eq(backend.count, 4);
    assert_parts(4, 30, SIZE_MAX, cpu_sum(&whole));
    end();
}
END_TEST

START_TEST(a_large_profile_is_split_by_bytes_with_equal_sums)
{
    struct pprof_build *build = cpu_build(NOW);
    add_samples(build, 200);
    struct view raw = finish(build);
    struct pprof whole = opened(raw);
    begin(EXPORTER(", max_profile_bytes: 2000"));
    ck_assert_int_eq(send(raw, "a", NULL).verdict, VERDICT_OK);
    assert_parts(raw.size / 2000, SIZE_MAX, 2000, cpu_sum(&whole));
    end();
}
END_TEST

START_TEST(a_part_refused_for_good_keeps_no_other_part_back)
{
    struct pprof_build *build = cpu_build(NOW);
    add_samples(build, 90);
    begin(EXPORTER(", max_profile_samples: 30"));
    backend.answers[0].status = 400;
    struct outcome outcome = send(finish(build), "a", NULL);
    ck_assert_int_eq(outcome.verdict, VERDICT_REJECT);
    ck_assert_uint_eq(backend.count, 3);
    end();
}
END_TEST

/* The number of samples in requests from..to. */
static size_t pushed_samples(size_t from, size_t to)
{
    size_t samples = 0;
    for (size_t i = from; i < to; i++)
        samples += opened(pushed(i, NULL).raw_profile).sample_count;
    return samples;
}

START_TEST(what_the_server_took_of_a_profile_is_not_sent_again)
{
    struct pprof_build *build = cpu_build(NOW);
    add_samples(build, 90);
    struct batch *batch = pprof_batch_of(finish(build), "a", NULL);
    struct progress progress = {0};
    begin(EXPORTER(", max_profile_samples: 30"));
    backend.answers[1].status = 503;
    ck_assert_int_eq(exporter_send_on(&exporter, batch, &progress).verdict, VERDICT_RETRY);
    ck_assert_uint_eq(progress.mark.samples, 30);
    ck_assert(progress.in_parts);
    ck_assert_int_eq(exporter_send_on(&exporter, batch, &progress).verdict, VERDICT_OK);
    ck_assert_uint_eq(backend.count, 4);
    /* The part in flight is the same, including its time. */
    ck_assert(view_eq(pushed(1, NULL).raw_profile, pushed(2, NULL).raw_profile));
    ck_assert_uint_eq(pushed_samples(0, 1) + pushed_samples(2, 4), 90);
    batch_unref(batch);
    end();
}
END_TEST

START_TEST(what_was_refused_of_a_profile_is_told_after_a_retry_too)
{
    struct pprof_build *build = cpu_build(NOW);
    add_samples(build, 90);
    struct batch *batch = pprof_batch_of(finish(build), "a", NULL);
    struct progress progress = {0};
    begin(EXPORTER(", max_profile_samples: 30"));
    backend.answers[0] = (struct backend_answer){.status = 400, .body = VIEW("bad labels")};
    backend.answers[1].status = 503;
    ck_assert_int_eq(exporter_send_on(&exporter, batch, &progress).verdict, VERDICT_RETRY);
    struct outcome outcome = exporter_send_on(&exporter, batch, &progress);
    ck_assert_int_eq(outcome.verdict, VERDICT_REJECT);
    ck_assert_ptr_nonnull(strstr(outcome.text, "bad labels"));
    ck_assert_uint_eq(backend.count, 4);
    batch_unref(batch);
    end();
}
END_TEST

static bool always_crowded(void *ctx)
{
    (void)ctx;
    return true;
}

START_TEST(a_large_profile_gives_way_after_each_part_and_goes_on)
{
    struct pprof_build *build = cpu_build(NOW);
    add_samples(build, 90);
    struct batch *batch = pprof_batch_of(finish(build), "a", NULL);
    struct progress progress = {.crowded = always_crowded};
    begin(EXPORTER(", max_profile_samples: 30"));
    for (size_t i = 1; i <= 3; i++) {
        progress.yielded = false;
        ck_assert_int_eq(exporter_send_on(&exporter, batch, &progress).verdict, VERDICT_OK);
        ck_assert_uint_eq(backend.count, i);
        ck_assert_int_eq(progress.yielded, i < 3);
    }
    ck_assert_uint_eq(pushed_samples(0, 3), 90);
    batch_unref(batch);
    end();
}
END_TEST

/* A server whose burst is below max_profile_bytes always answers 429 to larger profiles. */
START_TEST(what_is_put_off_again_and_again_is_cut_smaller)
{
    enum { SAMPLES = 12000 };
    struct pprof_build *build = cpu_build(NOW);
    add_samples(build, SAMPLES);
    struct view raw = finish(build);
    struct batch *batch = pprof_batch_of(raw, "a", NULL);
    struct progress progress = {0};
    begin(EXPORTER());
    for (size_t i = 0; i < 5; i++)
        backend.answers[i].status = i == 2 ? 503 : 429;
    for (size_t i = 0; i < 5; i++)
        ck_assert_int_eq(exporter_send_on(&exporter, batch, &progress).verdict, VERDICT_RETRY);
    ck_assert_uint_eq(backend.count, 5);
    ck_assert_int_eq(exporter_send_on(&exporter, batch, &progress).verdict, VERDICT_OK);
    for (size_t i = 0; i < backend.count; i++)
        ck_assert_uint_le(pushed(i, NULL).raw_profile.size, i < 2   ? raw.size
                                                            : i < 5 ? raw.size / 2
                                                                    : raw.size / 4);
    ck_assert_uint_eq(pushed_samples(5, backend.count), SAMPLES);
    batch_unref(batch);
    end();
}
END_TEST

static bool has_string(const struct pprof *pprof, const char *text)
{
    for (size_t i = 0; i < pprof->string_count; i++)
        if (view_eq(pprof_string_at(pprof, i), view_of(text)))
            return true;
    return false;
}

START_TEST(functions_of_scripts_are_named_as_by_ingest)
{
    const struct profile_origin python = {.by_ingest = true, .spy_name = "pyspy"},
                                go = {.by_ingest = true, .spy_name = "gospy"},
                                pushed_python = {.spy_name = "pyspy"};
    begin(EXPORTER());
    ck_assert_int_eq(send(cpu_profile(NOW), "a", &python).verdict, VERDICT_OK);
    ck_assert_int_eq(send(cpu_profile(NOW), "a", &go).verdict, VERDICT_OK);
    ck_assert_int_eq(send(cpu_profile(NOW), "a", &pushed_python).verdict, VERDICT_OK);
    for (size_t i = 0; i < 3; i++) {
        struct pprof pprof = opened(pushed(i, NULL).raw_profile);
        ck_assert_int_eq(has_string(&pprof, " function_0"), i == 0);
        ck_assert_uint_eq(pprof.sample_count, 2);
    }
    end();
}
END_TEST

struct meaning {
    unsigned status;
    const char *body;
    enum verdict verdict;
    enum cause cause;
    unsigned max_tries;
};

static void assert_meaning(const struct meaning *row, const struct outcome *outcome)
{
    char status[16];
    snprintf(status, sizeof status, "HTTP %u", row->status);
    ck_assert_msg(outcome->verdict == row->verdict && outcome->cause == row->cause &&
                      outcome->max_tries == row->max_tries,
                  "%u %s: verdict %d, cause %d, tries %u", row->status, row->body,
                  (int)outcome->verdict, (int)outcome->cause, outcome->max_tries);
    if (row->verdict != VERDICT_OK)
        ck_assert_msg(strstr(outcome->text, status) && strstr(outcome->text, row->body), "%s",
                      outcome->text);
}

START_TEST(statuses_of_push_mean_what_the_servers_handlers_mean)
{
    static const struct meaning rows[] = {
        {200, "", VERDICT_OK, CAUSE_NONE, 0},
        {400, "{\"code\":\"invalid_argument\"}", VERDICT_REJECT, CAUSE_INVALID, 0},
        {401, "", VERDICT_REJECT, CAUSE_AUTH, 0},
        {403, "", VERDICT_REJECT, CAUSE_FORBIDDEN, 0},
        {404, "", VERDICT_REJECT, CAUSE_UNSUPPORTED, 0},
        {405, "", VERDICT_REJECT, CAUSE_UNSUPPORTED, 0},
        {408, "", VERDICT_RETRY, CAUSE_UNAVAILABLE, 0},
        {413, "", VERDICT_REJECT, CAUSE_TOO_LARGE, 0},
        {415, "", VERDICT_REJECT, CAUSE_UNSUPPORTED, 0},
        {422, "context canceled", VERDICT_REJECT, CAUSE_INVALID, 0},
        {429, "rate limit", VERDICT_RETRY, CAUSE_UNAVAILABLE, 0},
        {429, "message size 9 is larger than configured max 8", VERDICT_REJECT, CAUSE_TOO_LARGE, 0},
        {499, "", VERDICT_RETRY, CAUSE_UNAVAILABLE, 0},
        {500, "{\"code\":\"unknown\"}", VERDICT_RETRY, CAUSE_INTERNAL, 4},
        {501, "", VERDICT_REJECT, CAUSE_UNSUPPORTED, 0},
        {502, "", VERDICT_RETRY, CAUSE_UNAVAILABLE, 0},
        {503, "", VERDICT_RETRY, CAUSE_UNAVAILABLE, 0},
        {504, "", VERDICT_RETRY, CAUSE_UNAVAILABLE, 0},
        {508, "", VERDICT_REJECT, CAUSE_LOOP, 0},
    };
    size_t count = sizeof rows / sizeof *rows;
    begin(EXPORTER());
    for (size_t i = 0; i < count; i++)
        backend.answers[i] = (struct backend_answer){.status = rows[i].status,
                                                     .content_type = "application/json",
                                                     .body = view_of(rows[i].body)};
    for (size_t i = 0; i < count; i++) {
        struct outcome outcome = send(cpu_profile(NOW), "a", NULL);
        assert_meaning(&rows[i], &outcome);
    }
    end();
}
END_TEST

static struct batch *opaque_batch(const char *query, const char *type, struct view body)
{
    struct batch *batch = otlp_batch_of(SIGNAL_PROFILES, body, 1);
    struct opaque_request *opaque = calloc(1, sizeof *opaque);
    batch->encoding = BATCH_OPAQUE;
    opaque->query = strdup(query);
    opaque->content_type = type ? strdup(type) : NULL;
    batch_set_opaque(batch, opaque);
    return batch;
}

START_TEST(statuses_of_ingest_are_told_apart_by_their_text)
{
    static const struct meaning rows[] = {
        {200, "", VERDICT_OK, CAUSE_NONE, 0},
        {422, "{\"code\":\"unknown\",\"message\":\"bad profile\"}", VERDICT_REJECT, CAUSE_INVALID,
         0},
        {422, "resource_exhausted: limit", VERDICT_RETRY, CAUSE_UNAVAILABLE, 0},
        {422, "unavailable: x", VERDICT_RETRY, CAUSE_UNAVAILABLE, 0},
        {422, "deadline_exceeded", VERDICT_RETRY, CAUSE_UNAVAILABLE, 0},
        {422, "canceled", VERDICT_RETRY, CAUSE_UNAVAILABLE, 0},
        {422, "context done", VERDICT_RETRY, CAUSE_UNAVAILABLE, 0},
        {400, "bad name", VERDICT_REJECT, CAUSE_INVALID, 0},
        {500, "", VERDICT_RETRY, CAUSE_INTERNAL, 4},
    };
    size_t count = sizeof rows / sizeof *rows;
    begin(EXPORTER());
    for (size_t i = 0; i < count; i++)
        backend.answers[i] =
            (struct backend_answer){.status = rows[i].status, .body = view_of(rows[i].body)};
    for (size_t i = 0; i < count; i++) {
        struct outcome outcome = exporter_send(&exporter, opaque_batch("name=a", "", VIEW("x")));
        assert_meaning(&rows[i], &outcome);
    }
    end();
}
END_TEST

START_TEST(other_formats_go_to_ingest_as_they_came)
{
    begin(EXPORTER());
    exporter_send(&exporter, opaque_batch("name=j%7Ba%3Db+c%7D&x=&format=jfr&x=%2B",
                                          "multipart/form-data; boundary=z", VIEW("\x00 jfr")));
    const struct backend_request *request = &backend.requests[0];
    ck_assert_str_eq(request->path, "/ingest");
    ck_assert_str_eq(request->query, "name=j%7Ba%3Db+c%7D&x=&format=jfr&x=%2B");
    ck_assert_str_eq(request->content_type, "multipart/form-data; boundary=z");
    ck_assert_str_eq(request->content_encoding, "-");
    ck_assert(view_eq(request->body, VIEW("\x00 jfr")));
    end();
}
END_TEST

/* However old it is. */
START_TEST(what_another_process_delivers_is_withheld)
{
    const int64_t minute = 60 * (int64_t)NS_PER_S;
    struct batch *batch = pprof_batch_of(cpu_profile(NOW - 57 * minute), "a", NULL);
    move_elsewhere(batch);
    begin(EXPORTER());
    struct outcome outcome = exporter_send(&exporter, batch);
    ck_assert_int_eq(outcome.verdict, VERDICT_RETRY);
    ck_assert_int_eq(outcome.cause, CAUSE_REVOKED);
    ck_assert_uint_eq(backend.count, 0);
    end();
}
END_TEST

START_TEST(what_is_close_to_an_hour_old_is_not_tried_again)
{
    const int64_t minute = 60 * (int64_t)NS_PER_S;
    struct batch *old = pprof_batch_of(cpu_profile(NOW - 57 * minute), "a", NULL);
    char query[64];
    snprintf(query, sizeof query, "name=a&from=%lld",
             (long long)((NOW - 57 * minute) / 1000000000));
    begin(EXPORTER());
    for (size_t i = 0; i < 6; i++) /* the OTLP form is two series */
        backend.answers[i].status = 503;
    ck_assert_int_eq(send(cpu_profile(NOW - 50 * minute), "a", NULL).verdict, VERDICT_RETRY);
    struct outcome outcome = send(cpu_profile(NOW - 57 * minute), "a", NULL);
    ck_assert_int_eq(outcome.verdict, VERDICT_REJECT);
    ck_assert_msg(strstr(outcome.text, "older than the hour") && strstr(outcome.text, "503"), "%s",
                  outcome.text);
    outcome = exporter_send(&exporter, otlp_form(old, &outcome));
    batch_unref(old);
    ck_assert_int_eq(outcome.verdict, VERDICT_REJECT);
    outcome = exporter_send(&exporter, opaque_batch(query, NULL, VIEW("x")));
    ck_assert_int_eq(outcome.verdict, VERDICT_REJECT);
    outcome = exporter_send(&exporter, opaque_batch("name=a", NULL, VIEW("x")));
    ck_assert_int_eq(outcome.verdict, VERDICT_RETRY);
    /* Without a retry, the server decides about its age. */
    ck_assert_int_eq(send(cpu_profile(NOW - 57 * minute), "a", NULL).verdict, VERDICT_OK);
    end();
}
END_TEST

START_TEST(retry_after_is_passed_on_and_a_dead_server_is_retried)
{
    begin(EXPORTER());
    backend.answers[0] = (struct backend_answer){.status = 429, .retry_after = 7};
    ck_assert_uint_eq(send(cpu_profile(NOW), "a", NULL).retry_after_ns, 7 * NS_PER_S);
    backend_stop(&backend);
    struct outcome outcome = send(cpu_profile(NOW), "a", NULL);
    ck_assert_int_eq(outcome.verdict, VERDICT_RETRY);
    ck_assert_msg(strstr(outcome.text, "refused"), "%s", outcome.text);
    exporter_stop(&exporter);
}
END_TEST

START_TEST(the_senders_tenant_goes_on_unless_the_exporter_has_its_own)
{
    bool failed;
    begin(EXPORTER(", headers: {X-Scope-OrgID: own}"));
    struct batch *batch = pprof_batch_of(cpu_profile(NOW), "a", NULL);
    batch_set_metadata(batch, metadata_new(VIEW("theirs"), VIEW("Basic eA=="), &failed));
    exporter_send(&exporter, batch);
    ck_assert_str_eq(backend.requests[0].tenant, "own");
    ck_assert_str_eq(backend.requests[0].authorization, "Basic eA==");
    end();
    begin(EXPORTER());
    batch = opaque_batch("name=a", NULL, VIEW("x"));
    batch_set_metadata(batch, metadata_new(VIEW("theirs"), (struct view){0}, &failed));
    exporter_send(&exporter, batch);
    send(cpu_profile(NOW), "a", NULL);
    ck_assert_str_eq(backend.requests[0].tenant, "theirs");
    ck_assert_str_eq(backend.requests[0].authorization, "-");
    ck_assert_str_eq(backend.requests[1].tenant, "-");
    end();
}
END_TEST

START_TEST(compression_none_sends_plain_bodies)
{
    begin(EXPORTER(", compression: none"));
    send(cpu_profile(NOW), "a", NULL);
    ck_assert_str_eq(backend.requests[0].content_encoding, "-");
    pushed(0, NULL);
    end();
}
END_TEST

static struct view gzip_of(struct view raw)
{
    struct bytes out;
    bytes_init(&out, SIZE_MAX, NULL);
    ck_assert(deflate_append(ENCODING_GZIP, raw, &out));
    return forever(out);
}

/* A batch as receivers make it. */
static struct batch *received(struct view came)
{
    static const struct series_label label = {VIEW("service_name"), VIEW("shop")};
    static const struct profile_origin origin = {.by_ingest = true, .from_ns = NOW - 5};
    struct profile_origin *own = malloc(sizeof *own);
    struct bytes raw;
    bytes_init(&raw, 1 << 20, NULL);
    ck_assert_int_eq(pprof_request_read(came, &raw).verdict, VERDICT_OK);
    struct batch *batch = pprof_request_batch(&raw, came, series_new(&label, 1));
    ck_assert(batch && own);
    *own = origin;
    batch_set_profile(batch, own);
    return batch;
}

START_TEST(a_gzip_that_nothing_changes_goes_on_as_it_came)
{
    struct pprof_build *build = cpu_build(NOW);
    add_samples(build, 300);
    struct view packed = gzip_of(finish(build));
    begin(EXPORTER());
    ck_assert_int_eq(exporter_send(&exporter, received(packed)).verdict, VERDICT_OK);
    ck_assert(view_eq(pushed(0, NULL).raw_profile, packed));
    ck_assert_str_eq(backend.requests[0].content_encoding, "-");
    end();
}
END_TEST

START_TEST(a_gzip_of_what_is_changed_or_cut_is_not_used)
{
    struct pprof_build *build = cpu_build(0);
    add_samples(build, 300);
    struct view raw = finish(build);
    begin(EXPORTER(", max_profile_samples: 200"));
    ck_assert_int_eq(exporter_send(&exporter, received(gzip_of(raw))).verdict, VERDICT_OK);
    size_t samples = 0;
    for (size_t i = 0; i < 2; i++) {
        struct pprof part = opened(pushed(i, NULL).raw_profile);
        ck_assert_int_eq(part.time_nanos, NOW - 5 + (int64_t)samples);
        ck_assert_str_eq(backend.requests[i].content_encoding, "gzip");
        samples += part.sample_count;
    }
    ck_assert_uint_eq(samples, 300);
    end();
}
END_TEST

START_TEST(what_came_badly_packed_is_packed_anew)
{
    struct view raw = cpu_profile(NOW);
    begin(EXPORTER());
    struct batch *batch = received(gzip_of(raw));
    bool small = !batch->payload->packed;
    ck_assert_int_eq(exporter_send(&exporter, batch).verdict, VERDICT_OK);
    ck_assert_msg(small, "two samples are no work for gzip");
    ck_assert(view_eq(pushed(0, NULL).raw_profile, raw));
    ck_assert_str_eq(backend.requests[0].content_encoding, "gzip");
    end();
}
END_TEST

START_TEST(what_the_server_cannot_read_is_an_error_at_start)
{
    static const char form[] = "receivers: {pprof_source: }\nexporters: {pyroscope: {%s}}\n"
                               "service: {pipelines: {profiles: {receivers: [pprof_source], "
                               "exporters: [pyroscope]}}}\n";
    static const char *const keys[] = {"endpoint: 'http://x', compression: zstd",
                                       "endpoint: 'x:4040'", "endpoint: ''"};
    static const char *const words[] = {"exporters.pyroscope.compression",
                                        "exporters.pyroscope.endpoint: \"x:4040\" is not a URL",
                                        "exporters.pyroscope.endpoint"};
    for (size_t i = 0; i < 3; i++) {
        char yaml[512];
        snprintf(yaml, sizeof yaml, form, keys[i]);
        char *faults = given_faults(yaml);
        ck_assert_msg(strstr(faults, words[i]), "%s", faults);
        free(faults);
    }
}
END_TEST

SUITE_MAIN("pyroscope_exporter", a_push_goes_on_under_its_own_labels_gzipped,
           an_ingested_profile_gets_the_labels_that_the_server_would_make,
           the_configuration_of_sample_types_tells_block_from_mutex,
           external_labels_are_set_on_every_series,
           labels_are_cut_to_the_limit_that_counts_those_of_samples, what_was_cut_is_counted,
           times_are_kept_and_a_missing_one_is_from, an_empty_profile_is_not_sent,
           a_profile_with_many_samples_is_split_with_equal_sums,
           a_large_profile_is_split_by_bytes_with_equal_sums,
           a_part_refused_for_good_keeps_no_other_part_back,
           what_the_server_took_of_a_profile_is_not_sent_again,
           what_was_refused_of_a_profile_is_told_after_a_retry_too,
           a_large_profile_gives_way_after_each_part_and_goes_on,
           what_is_put_off_again_and_again_is_cut_smaller,
           functions_of_scripts_are_named_as_by_ingest,
           statuses_of_push_mean_what_the_servers_handlers_mean,
           statuses_of_ingest_are_told_apart_by_their_text, other_formats_go_to_ingest_as_they_came,
           what_another_process_delivers_is_withheld,
           what_is_close_to_an_hour_old_is_not_tried_again,
           retry_after_is_passed_on_and_a_dead_server_is_retried,
           the_senders_tenant_goes_on_unless_the_exporter_has_its_own,
           compression_none_sends_plain_bodies, a_gzip_that_nothing_changes_goes_on_as_it_came,
           a_gzip_of_what_is_changed_or_cut_is_not_used, what_came_badly_packed_is_packed_anew,
           what_the_server_cannot_read_is_an_error_at_start)
