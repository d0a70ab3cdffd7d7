/* How the pyroscope exporter pushes OTLP profiles. */
#include "exporters/pyroscope/pyroscope.h"

#include "lib/wire/pprof/push.h"
#include "pipeline/otlp_form.h"
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
#define SPAN           "00f067aa0ba902b7"
#define TRACE          "a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1"

/* The fake clock's time. */
#define NOW INT64_C(1767225600000000000)

static struct given_exporter exporter;
static struct backend backend;

/* Everything that was pushed, in order. */
static struct {
    struct series *series;
    struct view profile;
} pushed[BACKEND_REQUESTS];
static size_t pushed_count;

static void begin(const char *section)
{
    backend_start(&backend);
    exporter_start(&exporter, section, "profiles", &backend);
}

static void end(void)
{
    exporter_stop(&exporter);
    backend_stop(&backend);
    while (pushed_count > 0)
        series_unref(pushed[--pushed_count].series);
}

static void look(void)
{
    struct push_walk walk;
    struct push_profile profile;
    for (size_t i = 0; i < backend.count; i++) {
        ck_assert_str_eq(backend.requests[i].path, "/push.v1.PusherService/Push");
        push_walk_begin(&walk, backend.requests[i].body);
        while (push_walk_next(&walk, &profile)) {
            pushed[pushed_count].series = push_series_labels(profile.series);
            pushed[pushed_count++].profile = profile.raw_profile;
        }
    }
}

static struct pprof opened(size_t nth, struct arena *arena)
{
    struct pprof pprof;
    struct proto_fault fault;
    ck_assert_uint_lt(nth, pushed_count);
    ck_assert_msg(pprof_open(&pprof, pushed[nth].profile, arena, &fault), "%s", fault.reason);
    return pprof;
}

static int64_t time_of(size_t nth)
{
    struct arena arena;
    arena_init(&arena, 16 << 20);
    int64_t time = opened(nth, &arena).time_nanos;
    arena_release(&arena);
    return time;
}

/* A request with one cpu profile, with that many samples of a span. */
static struct view request_of(unsigned samples, const char *series)
{
    struct outcome why;
    struct pprof_build *build = pprof_build_new();
    pprof_build_type(build, "samples", "count");
    pprof_build_period(build, "cpu", "nanoseconds", 10000000);
    pprof_build_time(build, NOW, 10);
    for (unsigned i = 0; i < samples; i++) {
        char name[32];
        snprintf(name, sizeof name, "function_%u", i);
        pprof_build_sample(build, (int64_t[]){1}, (const char *const[]){name, NULL});
        pprof_build_label(build, "span_id", SPAN);
        pprof_build_label(build, "trace_id", TRACE);
    }
    struct bytes raw = pprof_build_raw(build);
    pprof_build_free(build);
    struct batch *batch = pprof_batch_of(forever(raw), series, NULL);
    struct batch *form = otlp_form(batch, &why);
    ck_assert_ptr_nonnull(form);
    struct bytes copy;
    bytes_init(&copy, 64 << 20, NULL);
    bytes_append_view(&copy, buffer_view(form->payload));
    batch_unref(form);
    batch_unref(batch);
    return forever(copy);
}

static struct outcome send(struct view request, uint32_t items)
{
    struct outcome outcome =
        exporter_send(&exporter, otlp_batch_of(SIGNAL_PROFILES, request, items));
    look();
    return outcome;
}

static void assert_label(const struct series *series, const char *name, const char *value)
{
    struct view got = series_get(series, view_of(name));
    ck_assert_msg(got.data && view_eq(got, view_of(value)), "%s is %.*s", name, VIEW_ARG(got));
}

START_TEST(otlp_is_pushed_as_the_server_would_file_it)
{
    begin(EXPORTER(", external_labels: {pod: a}"));
    ck_assert_int_eq(send(request_of(2, "process_cpu{service_name=shop,host=h}"), 1).verdict,
                     VERDICT_OK);
    ck_assert_uint_eq(pushed_count, 1);
    assert_label(pushed[0].series, "__name__", "process_cpu");
    assert_label(pushed[0].series, "service_name", "shop");
    assert_label(pushed[0].series, "host", "h");
    assert_label(pushed[0].series, "pod", "a");
    ck_assert_int_eq(time_of(0), NOW);
    end();
}
END_TEST

/* The ids of the first sample. */
static struct pprof_sample first_sample(struct arena *arena)
{
    struct pprof pprof = opened(0, arena);
    struct pprof_sample sample;
    struct proto_scan scan = proto_scan_begin(pprof.raw);
    ck_assert(pprof_next_sample(&pprof, &scan, &sample));
    return sample;
}

START_TEST(links_become_labels)
{
    struct arena arena;
    arena_init(&arena, 16 << 20);
    begin(EXPORTER());
    send(request_of(1, "process_cpu{service_name=shop}"), 1);
    struct pprof_sample sample = first_sample(&arena);
    ck_assert_msg(view_eq(sample.span_id, VIEW(SPAN)), "%.*s", VIEW_ARG(sample.span_id));
    ck_assert(view_eq(sample.trace_id, VIEW(TRACE)));
    ck_assert_int_eq(sample.values[0], 10000000);
    end();
    begin(EXPORTER(", trace_id: strip"));
    send(request_of(1, "process_cpu{service_name=shop}"), 1);
    sample = first_sample(&arena);
    ck_assert(view_eq(sample.span_id, VIEW(SPAN)));
    ck_assert_ptr_null(sample.trace_id.data);
    end();
    arena_release(&arena);
}
END_TEST

START_TEST(equal_labels_and_times_are_moved_apart)
{
    struct view one = request_of(1, "process_cpu{service_name=shop}");
    begin(EXPORTER());
    ck_assert_int_eq(
        send(PB_JOIN(one, one, one, request_of(1, "process_cpu{service_name=other}")), 4).verdict,
        VERDICT_OK);
    ck_assert_uint_eq(pushed_count, 4);
    unsigned seen[4] = {0}; /* they arrive concurrently, in any order */
    for (size_t i = 0; i < 4; i++) {
        bool other = view_eq(series_get(pushed[i].series, VIEW("service_name")), VIEW("other"));
        ck_assert_int_le(time_of(i), NOW + 2);
        seen[other ? 3 : time_of(i) - NOW]++;
        if (other)
            ck_assert_int_eq(time_of(i), NOW);
    }
    for (size_t i = 0; i < 4; i++)
        ck_assert_uint_eq(seen[i], 1);
    end();
}
END_TEST

START_TEST(many_of_equal_labels_and_times_are_moved_apart_too)
{
    enum { MANY = 70 };
    struct view one = request_of(1, "process_cpu{service_name=shop}"), request = VIEW("");
    bool seen[MANY] = {0};
    begin(EXPORTER());
    for (unsigned i = 0; i < MANY; i++)
        request = PB_JOIN(request, one);
    ck_assert_int_eq(send(request, MANY).verdict, VERDICT_OK);
    ck_assert_uint_eq(pushed_count, MANY);
    for (size_t i = 0; i < MANY; i++) {
        ck_assert_int_lt(time_of(i), NOW + MANY);
        ck_assert(!seen[time_of(i) - NOW]);
        seen[time_of(i) - NOW] = true;
    }
    end();
}
END_TEST

/* The server stores the series of a request one by one and does not report which it refused. */
START_TEST(each_series_goes_in_a_request_of_its_own)
{
    struct view one = request_of(100, "process_cpu{service_name=shop}");
    begin(EXPORTER(", max_profile_bytes: 15000"));
    ck_assert_int_eq(send(PB_JOIN(one, one, one, one, one), 5).verdict, VERDICT_OK);
    ck_assert_uint_eq(pushed_count, 5);
    ck_assert_uint_eq(backend.count, 5);
    end();
}
END_TEST

/* How often a service was pushed. */
static size_t pushes_of(const char *service)
{
    size_t count = 0;
    for (size_t i = 0; i < pushed_count; i++)
        count +=
            view_eq(series_get(pushed[i].series, VIEW("service_name")), view_of(service)) ? 1 : 0;
    return count;
}

START_TEST(what_the_server_took_of_a_request_is_not_sent_again)
{
    enum { SERVICES = 20 };
    struct progress progress = {0};
    struct view request = VIEW("");
    begin(EXPORTER(", max_profile_bytes: 4000, max_profile_samples: 40"));
    for (unsigned i = 0; i < SERVICES; i++) {
        char series[64];
        snprintf(series, sizeof series, "process_cpu{service_name=s%u}", i);
        request = PB_JOIN(request, request_of(i == 7 ? 90 : 3, series));
    }
    struct batch *batch = otlp_batch_of(SIGNAL_PROFILES, request, SERVICES);
    backend.answers[2].status = backend.answers[5].status = 503;
    backend.answers[9] = (struct backend_answer){.status = 400, .body = VIEW("bad labels")};
    backend.answers[11].status = backend.answers[20].status = 429;
    struct outcome outcome = exporter_send_on(&exporter, batch, &progress);
    ck_assert_int_eq(outcome.verdict, VERDICT_RETRY);
    for (unsigned tries = 0; tries < 6 && outcome.verdict == VERDICT_RETRY; tries++)
        outcome = exporter_send_on(&exporter, batch, &progress);
    ck_assert_int_eq(outcome.verdict, VERDICT_OK);
    ck_assert_uint_eq(outcome.rejected, 1);
    look();
    /* Each once, except the four that had to be retried; the large one in parts. */
    size_t parts = pushes_of("s7"), others = 0;
    for (unsigned i = 0; i < SERVICES; i++) {
        char name[16];
        snprintf(name, sizeof name, "s%u", i);
        ck_assert_uint_ge(pushes_of(name), 1);
        others += i == 7 ? 0 : pushes_of(name);
    }
    ck_assert_uint_ge(parts, 2);
    ck_assert_uint_eq(backend.count, parts + others);
    int64_t sum = 0;
    for (size_t i = 0; i < pushed_count; i++)
        if (backend.answers[i].status == 0) {
            struct arena arena;
            arena_init(&arena, 16 << 20);
            sum += (int64_t)opened(i, &arena).sample_count;
            arena_release(&arena);
        }
    ck_assert_int_ge(sum, 19 * 3 + 90 - 90);
    ck_assert_int_le(sum, 19 * 3 + 90 - 1);
    batch_unref(batch);
    end();
}
END_TEST

START_TEST(a_large_profile_goes_in_parts_with_times_of_their_own)
{
    begin(EXPORTER(", max_profile_samples: 4"));
    ck_assert_int_eq(send(request_of(10, "process_cpu{service_name=shop}"), 1).verdict, VERDICT_OK);
    ck_assert_uint_eq(pushed_count, 3);
    for (size_t i = 0; i < 3; i++)
        ck_assert_int_eq(time_of(i), NOW + 4 * (int64_t)i);
    end();
}
END_TEST

START_TEST(what_the_server_refuses_is_counted_beside_what_it_took)
{
    struct view one = request_of(100, "process_cpu{service_name=shop}");
    begin(EXPORTER(", max_profile_bytes: 9000"));
    backend.answers[1] = (struct backend_answer){.status = 400, .body = VIEW("bad labels")};
    struct outcome outcome = send(PB_JOIN(one, one, one), 3);
    ck_assert_uint_eq(backend.count, 3);
    ck_assert_int_eq(outcome.verdict, VERDICT_OK);
    ck_assert_uint_eq(outcome.rejected, 1);
    ck_assert_msg(strstr(outcome.text, "bad labels"), "%s", outcome.text);
    end();
}
END_TEST

START_TEST(a_profile_of_which_two_parts_are_refused_counts_once)
{
    begin(EXPORTER(", max_profile_samples: 4"));
    backend.answers[0] = backend.answers[1] = (struct backend_answer){.status = 400};
    struct outcome outcome = send(PB_JOIN(request_of(10, "process_cpu{service_name=shop}"),
                                          request_of(1, "process_cpu{service_name=other}")),
                                  2);
    ck_assert_uint_eq(backend.count, 4);
    ck_assert_int_eq(outcome.verdict, VERDICT_OK);
    ck_assert_uint_eq(outcome.rejected, 1);
    end();
}
END_TEST

START_TEST(a_refusal_of_everything_is_one)
{
    begin(EXPORTER());
    backend.answers[0].status = 401;
    struct outcome outcome = send(request_of(1, "process_cpu{service_name=shop}"), 1);
    ck_assert_int_eq(outcome.verdict, VERDICT_REJECT);
    ck_assert_int_eq(outcome.cause, CAUSE_AUTH);
    end();
}
END_TEST

START_TEST(a_server_that_is_down_is_tried_again)
{
    begin(EXPORTER());
    backend.answers[0].status = 503;
    ck_assert_int_eq(send(request_of(1, "process_cpu{service_name=shop}"), 1).verdict,
                     VERDICT_RETRY);
    end();
}
END_TEST

START_TEST(profiles_without_samples_go_nowhere)
{
    begin(EXPORTER());
    ck_assert_int_eq(send(request_of(0, "process_cpu{service_name=shop}"), 1).verdict, VERDICT_OK);
    ck_assert_uint_eq(backend.count, 0);
    end();
}
END_TEST

/* Many samples share one deep stack, so that the request would be many times larger as pprof. */
static struct view multiplying(void)
{
    enum { FRAMES = 100000, SAMPLES = 10000 };
    uint8_t *frames = malloc(FRAMES), *samples = malloc((size_t)SAMPLES * 7);
    memset(frames, 1, FRAMES);
    for (size_t i = 0; i < SAMPLES; i++)
        memcpy(samples + 7 * i, "\x12\x05\x08\x01\x22\x01\x01", 7);
    struct view profile =
        PB_MESSAGE(2, (struct view){samples, (size_t)SAMPLES * 7}, pb_fixed64(3, NOW));
    struct view dictionary =
        PB_MESSAGE(2, PB_EMPTY(2), PB_MESSAGE(2, PB_MESSAGE(3, pb_varint(1, 0))), PB_EMPTY(7),
                   PB_MESSAGE(7, PB_MESSAGE(1, (struct view){frames, FRAMES})), PB_EMPTY(5));
    free(frames);
    free(samples);
    return PB_JOIN(PB_MESSAGE(1, PB_MESSAGE(2, profile)), dictionary);
}

START_TEST(what_cannot_become_pprof_goes_as_it_came)
{
    struct view request = multiplying();
    begin(EXPORTER());
    struct outcome outcome = exporter_send(&exporter, otlp_batch_of(SIGNAL_PROFILES, request, 1));
    ck_assert_int_eq(outcome.verdict, VERDICT_OK);
    ck_assert_uint_eq(backend.count, 1);
    ck_assert_str_eq(backend.requests[0].path, "/v1development/profiles");
    ck_assert(view_eq(backend.requests[0].body, request));
    end();
}
END_TEST

START_TEST(under_push_it_is_refused_with_the_reason)
{
    begin(EXPORTER(", protocol: push"));
    struct outcome outcome =
        exporter_send(&exporter, otlp_batch_of(SIGNAL_PROFILES, multiplying(), 1));
    ck_assert_int_eq(outcome.verdict, VERDICT_REJECT);
    ck_assert_msg(
        strstr(outcome.text, "cannot be converted to pprof: the profiles would multiply in size"),
        "%s", outcome.text);
    ck_assert_uint_eq(backend.count, 0);
    end();
}
END_TEST

SUITE_MAIN("pyroscope_profiles", otlp_is_pushed_as_the_server_would_file_it, links_become_labels,
           equal_labels_and_times_are_moved_apart,
           many_of_equal_labels_and_times_are_moved_apart_too,
           each_series_goes_in_a_request_of_its_own,
           what_the_server_took_of_a_request_is_not_sent_again,
           a_large_profile_goes_in_parts_with_times_of_their_own,
           what_the_server_refuses_is_counted_beside_what_it_took,
           a_profile_of_which_two_parts_are_refused_counts_once, a_refusal_of_everything_is_one,
           a_server_that_is_down_is_tried_again, profiles_without_samples_go_nowhere,
           what_cannot_become_pprof_goes_as_it_came, under_push_it_is_refused_with_the_reason)
