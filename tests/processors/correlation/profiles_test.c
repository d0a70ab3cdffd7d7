/* What correlation reads from profiles, and the form in which they are forwarded. */
#include "lib/wire/pprof/pprof.h"
#include "tests/processors/correlation/rig.h"

/* Returns the only profile that was forwarded. */
static struct batch *went_on(struct rig *rig)
{
    ck_assert_uint_eq(rig->profiles.count, 1);
    return rig->profiles.batches[0];
}

static bool confirms_with(const char *config, const struct rig_profile *profile)
{
    struct rig rig;
    rig_open(&rig, config);
    rig_advance(&rig, 20 * S);
    rig_push(&rig, profile);
    rig_root(&rig, 1, 0, S);
    bool linked = rig_linked(&rig, 1);
    rig_close(&rig);
    return linked;
}

static bool confirms(const struct rig_profile *profile)
{
    return confirms_with("{}", profile);
}

START_TEST(samples_without_symbols_count_where_the_server_symbolizes)
{
    const struct rig_profile addresses = {.ids = {1}, .no_lines = true};
    ck_assert(!confirms_with("{}", &addresses));
    ck_assert(confirms_with("{symbolizer: true}", &addresses));
    ck_assert(
        !confirms_with("{symbolizer: true}", &(struct rig_profile){.ids = {1}, .no_frames = true}));
}
END_TEST

START_TEST(only_samples_with_a_frame_and_a_value_of_a_confirming_kind_count)
{
    ck_assert(confirms(&(struct rig_profile){.ids = {1}}));
    ck_assert(confirms(&(struct rig_profile){.ids = {1}, .label = "profile_id"}));
    ck_assert(confirms(&(struct rig_profile){.ids = {1}, .name = "wall", .type = "wall"}));
    ck_assert(!confirms(&(struct rig_profile){.ids = {1}, .label = "thread_id"}));
    ck_assert(!confirms(&(struct rig_profile){.ids = {1}, .no_frames = true}));
    ck_assert(!confirms(&(struct rig_profile){.ids = {1}, .no_lines = true}));
    ck_assert(!confirms(&(struct rig_profile){.ids = {1}, .value = -1}));
    ck_assert(!confirms(&(struct rig_profile){.ids = {1}, .no_value = true}));
    ck_assert(!confirms(
        &(struct rig_profile){.ids = {1}, .name = "wall", .type = "wall", .no_value = true}));
    ck_assert(!confirms(&(struct rig_profile){.ids = {1}, .name = "goroutines", .type = "x"}));
    ck_assert(!confirms(&(struct rig_profile){.ids = {1}, .name = "memory", .type = "x"}));
}
END_TEST

START_TEST(wall_stops_confirming_once_the_service_sends_cpu)
{
    struct rig rig;
    rig_open(&rig, "{}");
    rig_advance(&rig, 20 * S);
    RIG_PROFILE(&rig, .name = "wall", .type = "wall", .time = 10 * S, .duration = 10 * S,
                .ids = {1, 2});
    rig_root(&rig, 1, 5 * S, 15 * S);
    ck_assert(rig_linked(&rig, 1));
    RIG_PROFILE(&rig, .time = 10 * S, .duration = 10 * S, .ids = {3});
    RIG_SPANS(&rig, {.id = 2, .start = 5 * S, .end = 15 * S},
              {.id = 3, .start = 5 * S, .end = 15 * S});
    ck_assert(rig_linked(&rig, 3) && rig_waits(&rig, 2));
    rig_close(&rig);
}
END_TEST

START_TEST(confirm_by_names_the_kinds)
{
    struct rig rig;
    rig_open(&rig, "{confirm_by: [wall, goroutine]}");
    rig_advance(&rig, 20 * S);
    RIG_PROFILE(&rig, .time = 10 * S, .duration = 10 * S, .ids = {1});
    RIG_PROFILE(&rig, .name = "goroutines", .type = "x", .time = 20 * S, .ids = {2});
    rig_root(&rig, 1, 5 * S, 15 * S);
    rig_root(&rig, 2, 5 * S, 15 * S);
    ck_assert(rig_linked(&rig, 2) && rig_waits(&rig, 1));
    rig_close(&rig);
}
END_TEST

START_TEST(a_profile_whose_window_ended_before_the_span_did_confirms_it)
{
    struct rig rig;
    rig_open(&rig, "{}");
    rig_advance(&rig, 10 * S);
    rig_window(&rig, 1, 0, 0);
    rig_advance(&rig, 50 * S);
    rig_root(&rig, 1, S, 59 * S);
    ck_assert(rig_linked(&rig, 1));
    rig_close(&rig);
}
END_TEST

/* Whether rule 2 decides a root that ended 4 s after RIG_WARM when this profile arrives 10 s after
 * it. */
static bool moves_the_watermark(struct rig *rig, struct batch *batch)
{
    rig_until(rig, RIG_WARM + 5 * S);
    rig_root(rig, 1, RIG_WARM + 3 * S, RIG_WARM + 4 * S);
    rig_until(rig, RIG_WARM + 10 * S);
    rig_upload(rig, batch);
    rig_until(rig, RIG_WARM + 18 * S);
    return !rig_waits(rig, 1);
}

START_TEST(a_heap_profile_does_not_stand_for_the_cpu_window)
{
    struct rig rig;
    rig_open(&rig, "{}");
    rig_warm(&rig);
    struct rig_profile heap = {.name = "memory", .type = "x", .time = RIG_WARM + 10 * S};
    ck_assert(!moves_the_watermark(&rig, rig_profile_batch(&rig, &heap)));
    rig_close(&rig);
}
END_TEST

START_TEST(a_window_ends_no_later_than_until)
{
    struct rig rig;
    rig_open(&rig, "{}");
    rig_warm(&rig);
    /* As Node does: time_nanos is the end. */
    struct rig_profile profile = {.time = RIG_WARM, .duration = 10 * S};
    struct batch *batch = rig_profile_batch(&rig, &profile);
    batch->profile->from_ns = RIG_START + RIG_WARM - 10 * S;
    batch->profile->until_ns = RIG_START + RIG_WARM;
    ck_assert(!moves_the_watermark(&rig, batch));
    rig_close(&rig);
}
END_TEST

START_TEST(a_window_ends_no_later_than_its_arrival)
{
    struct rig rig;
    rig_open(&rig, "{hold: 40s}");
    rig_advance(&rig, 10 * S);
    RIG_PROFILE(&rig, .time = 9 * S, .duration = 300 * S);
    rig_root(&rig, 1, 9 * S, 11 * S);
    rig_until(&rig, 49 * S);
    ck_assert(rig_waits(&rig, 1));
    rig_close(&rig);
}
END_TEST

START_TEST(a_profile_without_times_takes_those_of_the_request)
{
    struct rig rig;
    rig_open(&rig, "{}");
    rig_warm(&rig);
    struct rig_profile profile = {.no_time = true};
    struct batch *batch = rig_profile_batch(&rig, &profile);
    batch->profile->from_ns = RIG_START + RIG_WARM;
    batch->profile->until_ns = RIG_START + RIG_WARM + 10 * S;
    ck_assert(moves_the_watermark(&rig, batch));
    rig_close(&rig);
}
END_TEST

START_TEST(windows_of_pyroscope_go_count_for_thirty_seconds)
{
    struct rig rig;
    rig_open(&rig, "{}");
    for (int i = 0; i < 2; i++) {
        rig_advance(&rig, 15 * S);
        RIG_PROFILE(&rig, .time = rig_now(&rig) - 15 * S, .duration = 15 * S,
                    .scope = "com.grafana.pyroscope/go");
    }
    rig_root(&rig, 1, 29 * S, 30 * S);
    rig_until(&rig, 45 * S);
    RIG_PROFILE(&rig, .time = 30 * S, .duration = 15 * S, .scope = "com.grafana.pyroscope/go");
    rig_until(&rig, 59 * S);
    ck_assert(rig_waits(&rig, 1));
    RIG_PROFILE(&rig, .time = 28 * S, .duration = 30 * S, .ids = {1});
    ck_assert(rig_linked(&rig, 1));
    rig_close(&rig);
}
END_TEST

START_TEST(by_ingest_the_kind_follows_the_types_and_the_service_the_name)
{
    struct rig rig;
    rig_open(&rig, "{}");
    rig_advance(&rig, 10 * S);
    struct rig_profile profile = {.duration = 10 * S, .ids = {1}};
    struct batch *batch = rig_profile_batch(&rig, &profile);
    struct series_label labels[] = {{VIEW("__name__"), VIEW("shop")}};
    batch_set_series(batch, series_new(labels, 1));
    batch->profile->by_ingest = true;
    rig_upload(&rig, batch);
    rig_root(&rig, 1, 0, S);
    ck_assert(rig_linked(&rig, 1));
    ck_assert(rig_explains(&rig, "service shop: spans linked 1"));
    ck_assert(rig_explains(&rig, "process_cpu windows of up to 10.0 s"));
    rig_close(&rig);
}
END_TEST

START_TEST(the_remap_gives_a_series_its_second_label)
{
    struct rig rig;
    rig_open(&rig, "{remap: {service.name: service_name, region: zone}}");
    struct rig_profile profile = {.duration = 10 * S, .ids = {1}};
    struct batch *batch = rig_profile_batch(&rig, &profile);
    struct series_label labels[] = {{VIEW("__name__"), VIEW("process_cpu")},
                                    {VIEW("service.name"), VIEW("shop")},
                                    {VIEW("region"), VIEW("eu")},
                                    {VIEW("zone"), VIEW("mine")}};
    batch_set_series(batch, series_new(labels, 4));
    rig_upload(&rig, batch);
    const struct series *series = went_on(&rig)->series;
    ck_assert(view_eq(series_get(series, VIEW("service_name")), VIEW("shop")));
    ck_assert(view_eq(series_get(series, VIEW("service.name")), VIEW("shop")));
    ck_assert(view_eq(series_get(series, VIEW("zone")), VIEW("mine")));
    ck_assert_uint_eq(series->count, 5);
    ck_assert(rig_explains(&rig, "service shop:"));
    rig_close(&rig);
}
END_TEST

static bool has_text(const struct batch *batch, const char *text)
{
    return memmem(batch->payload->data, batch->payload->size, text, strlen(text));
}

START_TEST(aliases_of_labels_are_normalised)
{
    struct rig rig;
    rig_open(&rig, "{}");
    RIG_PROFILE(&rig, .duration = 10 * S, .ids = {1}, .label = "profile_id");
    ck_assert(has_text(went_on(&rig), "span_id"));
    rig_close(&rig);
}
END_TEST

START_TEST(trace_id_labels_are_kept_or_stripped)
{
    const char *trace = "0123456789abcdef0123456789abcdef";
    for (int strip = 0; strip < 2; strip++) {
        struct rig rig;
        rig_open(&rig, strip ? "{trace_id: strip}" : "{}");
        struct pprof_build *build = pprof_build_new();
        pprof_build_type(build, "cpu", "nanoseconds");
        pprof_build_sample(build, (const int64_t[]){1}, (const char *const[]){"work", NULL});
        pprof_build_label(build, "trace_id", trace);
        pprof_build_label(build, "span_id", "00000000000000ab");
        struct bytes raw = pprof_build_raw(build);
        rig_consume(&rig, SIGNAL_PROFILES, BATCH_PPROF, &raw, 1);
        pprof_build_free(build);
        struct arena arena;
        struct pprof pprof;
        struct proto_fault fault;
        struct pprof_sample sample;
        arena_init(&arena, SIZE_MAX);
        ck_assert(pprof_open(&pprof, buffer_view(went_on(&rig)->payload), &arena, &fault));
        struct proto_scan scan = proto_scan_begin(pprof.raw);
        ck_assert(pprof_next_sample(&pprof, &scan, &sample));
        ck_assert_int_eq(sample.trace_id.data == NULL, strip);
        ck_assert(view_eq(sample.span_id, VIEW("00000000000000ab")));
        arena_release(&arena);
        rig_close(&rig);
    }
}
END_TEST

START_TEST(a_profile_with_nothing_to_change_is_the_same_buffer)
{
    struct rig rig;
    rig_open(&rig, "{}");
    struct rig_profile profile = {.duration = 10 * S, .ids = {1}};
    struct batch *batch = rig_profile_batch(&rig, &profile);
    struct buffer *payload = buffer_ref(batch->payload);
    rig_upload(&rig, batch);
    ck_assert_ptr_eq(went_on(&rig)->payload, payload);
    buffer_unref(payload);
    rig_close(&rig);
}
END_TEST

/* A profile without its time, which it must have once. */
static struct bytes timeless(struct view raw)
{
    struct bytes out;
    struct proto_scan scan = proto_scan_begin(raw);
    struct proto_field field;
    unsigned times = 0;
    bytes_init(&out, SIZE_MAX, NULL);
    while (proto_scan_next(&scan, &field))
        if (field.number == 9)
            times++;
        else
            bytes_append_view(&out, view_between(field.start, field.end));
    ck_assert_uint_le(times, 1);
    return out;
}

static uint64_t time_of(struct view raw)
{
    struct arena arena;
    struct pprof pprof;
    struct proto_fault fault;
    arena_init(&arena, SIZE_MAX);
    ck_assert(pprof_open(&pprof, raw, &arena, &fault));
    uint64_t time = (uint64_t)pprof.time_nanos - RIG_START;
    arena_release(&arena);
    return time;
}

/* Returns the time after RIG_START with which a profile is forwarded; its other fields must be
 * unchanged. */
static uint64_t time_behind(struct rig *rig, struct batch *batch)
{
    struct buffer *payload = buffer_ref(batch->payload);
    ck_assert_int_eq(rig_upload(rig, batch), VERDICT_OK);
    const struct buffer *after = rig->profiles.batches[rig->profiles.count - 1]->payload;
    uint64_t time = time_of(buffer_view(after));
    ck_assert_int_eq(time == time_of(buffer_view(payload)), after == payload);
    struct bytes was = timeless(buffer_view(payload)), is = timeless(buffer_view(after));
    ck_assert(view_eq(bytes_view(&is), bytes_view(&was)));
    bytes_release(&was);
    bytes_release(&is);
    buffer_unref(payload);
    return time;
}

/* When the window of the last profile starts, after RIG_START, as those who watch are told. */
static uint64_t told_start(const struct rig *rig)
{
    return rig->profiles.batches[rig->profiles.count - 1]->starts - RIG_START;
}

/* As Node uploads: the time is the end, from and until are whole seconds, nothing is CPU. */
static struct batch *node_batch(struct rig *rig, uint64_t end, uint64_t length, uint64_t id)
{
    struct rig_profile profile = {
        .name = "wall", .type = "wall", .time = end, .duration = length, .ids = {id}};
    struct batch *batch = rig_profile_batch(rig, &profile);
    batch->profile->from_ns = (RIG_START + end - length) / S * S;
    batch->profile->until_ns = (RIG_START + end) / S * S;
    return batch;
}

/* Grafana asks from 30 s before a span to 30 s after it. */
START_TEST(every_span_of_a_minute_reaches_the_time_of_its_profile)
{
    struct rig rig;
    rig_open(&rig, "{}");
    uint64_t last = 0;
    for (uint64_t end = 61 * S + 7 * S / 10; end < 300 * S; end += 60 * S) {
        rig_until(&rig, end + S / 20);
        uint64_t time = time_behind(&rig, node_batch(&rig, end, 60 * S, 1));
        ck_assert_uint_eq(time, end - 30 * S);
        ck_assert_uint_eq(told_start(&rig), end - 60 * S);
        ck_assert_uint_gt(time, last);
        last = time;
        ck_assert(rig_explains(&rig, "wall windows of up to 60.0 s, the last one ended 0.8 s ago"));
    }
    rig_close(&rig);
}
END_TEST

START_TEST(a_window_whose_time_is_its_start_takes_the_middle_too)
{
    struct rig rig;
    rig_open(&rig, "{}");
    rig_until(&rig, 100 * S);
    struct rig_profile go = {.time = 68 * S, .duration = 30 * S + S / 10};
    ck_assert_uint_eq(time_behind(&rig, rig_profile_batch(&rig, &go)), 83 * S + S / 20);
    ck_assert_uint_eq(told_start(&rig), 68 * S);
    struct rig_profile untimed = {.no_time = true};
    struct batch *batch = rig_profile_batch(&rig, &untimed);
    batch->profile->from_ns = RIG_START + 40 * S;
    batch->profile->until_ns = RIG_START + 100 * S;
    ck_assert_uint_eq(time_behind(&rig, batch), 70 * S);
    ck_assert_uint_eq(told_start(&rig), 40 * S);
    rig_close(&rig);
}
END_TEST

START_TEST(times_that_every_span_reaches_or_nobody_asks_for_are_kept)
{
    struct rig rig;
    rig_open(&rig, "{}");
    rig_until(&rig, 100 * S);
    struct rig_profile kept[] = {
        {.time = 70 * S, .duration = 30 * S},
        {.name = "memory", .type = "x", .time = 40 * S, .duration = 60 * S},
        {.time = 200 * S, .duration = 60 * S},  /* the middle is not in the past */
        {.time = 69 * S, .duration = 60 * S},   /* it already is the middle */
        {.time = 90 * S, .duration = 3600 * S}, /* has another purpose */
        {.time = 90 * S, .duration = 121 * S},
        {.time = 90 * S, .duration = INT64_MAX / 2}, /* nonsense */
    };
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        ck_assert_uint_eq(time_behind(&rig, rig_profile_batch(&rig, &kept[i])), kept[i].time);
    rig_close(&rig);
    rig_open(&rig, "{profile_time: keep}");
    rig_until(&rig, 100 * S);
    ck_assert_uint_eq(time_behind(&rig, node_batch(&rig, 99 * S, 60 * S, 1)), 99 * S);
    ck_assert_uint_eq(told_start(&rig), 39 * S);
    rig_close(&rig);
}
END_TEST

START_TEST(a_profile_that_is_refused_downstream_counts_for_nothing)
{
    struct rig rig;
    rig_open(&rig, "{}");
    rig_advance(&rig, 10 * S);
    rig.profiles.verdict = VERDICT_RETRY;
    ck_assert_int_eq(RIG_PROFILE(&rig, .duration = 10 * S, .ids = {1}), VERDICT_RETRY);
    rig_root(&rig, 1, 0, S);
    ck_assert(rig_waits(&rig, 1));
    rig.profiles.verdict = VERDICT_OK;
    RIG_PROFILE(&rig, .duration = 10 * S, .ids = {1});
    ck_assert(rig_linked(&rig, 1));
    rig_close(&rig);
}
END_TEST

START_TEST(so_it_is_with_one_that_is_not_read)
{
    struct rig rig;
    rig_open(&rig, "{}");
    rig_warm(&rig);
    struct buffer *payload = buffer_new(3, NULL, true);
    memcpy(payload->data, "xyz", 3);
    struct batch *batch = batch_new(SIGNAL_PROFILES, BATCH_OPAQUE, payload, 1, NULL);
    struct opaque_request *request = calloc(1, sizeof *request);
    request->query = strdup("name=shop&format=folded");
    batch_set_opaque(batch, request);
    rig.profiles.verdict = VERDICT_RETRY;
    ck_assert_int_eq(rig_upload(&rig, batch), VERDICT_RETRY);
    rig.profiles.verdict = VERDICT_OK;
    RIG_SPANS(
        &rig,
        {.id = 1, .start = RIG_WARM - S, .end = RIG_WARM, .attributes = {"0000000000000001"}});
    for (int i = 0; i < 4; i++) {
        rig_advance(&rig, 10 * S);
        rig_window(&rig, 0, 0, 0);
    }
    ck_assert(rig_bare(&rig, 1)); /* edited */
    rig_close(&rig);
}
END_TEST

/* Returns the annotations of a span with id 1. */
static struct rig_out annotated(struct rig *rig)
{
    if (rig_waits(rig, 1))
        rig_root(rig, 1, 0, S);
    ck_assert(rig_linked(rig, 1));
    return *rig_left(rig, 1);
}

START_TEST(the_same_upload_twice_counts_once)
{
    struct rig rig;
    rig_open(&rig, "{annotate: true}");
    rig_advance(&rig, 10 * S);
    for (int i = 0; i < 3; i++) {
        RIG_PROFILE(&rig, .duration = 10 * S, .ids = {1, 1, 1, 1, 1});
        rig_advance(&rig, 2 * S); /* retried */
    }
    ck_assert_uint_eq(rig.profiles.count, 3);
    ck_assert_int_eq(annotated(&rig).samples, 5);
    ck_assert_int_eq(annotated(&rig).cpu_ns, 50000000);
    rig_close(&rig);
}
END_TEST

/* Parts of one window that a profiler uploads by thread: each of one sample of the span. */
START_TEST(parts_of_a_window_count_whatever_their_sums)
{
    static const char *const names[] = {"a", "b", "c"};
    struct rig rig;
    rig_open(&rig, "{annotate: true}");
    rig_advance(&rig, 10 * S);
    for (int i = 0; i < 6; i++) /* each twice */
        RIG_PROFILE(&rig, .duration = 10 * S, .ids = {1}, .frame = names[i % 3]);
    ck_assert_int_eq(annotated(&rig).samples, 3);
    ck_assert_int_eq(annotated(&rig).cpu_ns, 30000000);
    rig_close(&rig);
}
END_TEST

START_TEST(a_retry_counts_once_after_many_other_uploads)
{
    struct rig rig;
    rig_open(&rig, "{annotate: true}");
    rig_advance(&rig, 10 * S);
    RIG_PROFILE(&rig, .duration = 10 * S, .ids = {1});
    for (uint64_t i = 0; i < 300; i++)
        RIG_PROFILE(&rig, .duration = 10 * S, .time = i + 1, .ids = {i + 2});
    rig_advance(&rig, 300 * S);
    RIG_PROFILE(&rig, .duration = 10 * S, .ids = {1});
    ck_assert_int_eq(annotated(&rig).samples, 1);
    rig_close(&rig);
}
END_TEST

/* The figures are the same whether a span waits for its samples or comes after them. */
START_TEST(a_span_that_waited_has_its_figures)
{
    struct rig rig;
    rig_open(&rig, "{annotate: true}");
    rig_advance(&rig, 10 * S);
    rig_root(&rig, 1, 8 * S, 9 * S);
    ck_assert(rig_waits(&rig, 1));
    RIG_PROFILE(&rig, .duration = 10 * S, .ids = {1, 1, 1});
    ck_assert(rig_linked(&rig, 1));
    ck_assert_int_eq(rig_left(&rig, 1)->samples, 3);
    ck_assert_int_eq(rig_left(&rig, 1)->cpu_ns, 30000000);
    rig_close(&rig);
}
END_TEST

START_TEST(times_may_be_in_any_unit)
{
    static const struct {
        const char *unit;
        int64_t value;
    } cases[] = {{"nanoseconds", 40000000}, {"microseconds", 40000}, {"milliseconds", 40}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rig rig;
        rig_open(&rig, "{annotate: true}");
        rig_advance(&rig, 10 * S);
        RIG_PROFILE(&rig, .duration = 10 * S, .ids = {1}, .unit = cases[i].unit,
                    .value = cases[i].value);
        ck_assert_int_eq(annotated(&rig).cpu_ns, 40000000);
        rig_close(&rig);
    }
}
END_TEST

START_TEST(different_uploads_of_the_same_times_all_count)
{
    struct rig rig;
    rig_open(&rig, "{annotate: true}");
    rig_advance(&rig, 10 * S);
    RIG_PROFILE(&rig, .duration = 10 * S, .ids = {1, 1});
    RIG_PROFILE(&rig, .duration = 10 * S, .ids = {1, 1, 1});          /* more samples, */
    RIG_PROFILE(&rig, .duration = 10 * S, .ids = {1, 2});             /* other spans */
    RIG_PROFILE(&rig, .duration = 10 * S, .ids = {1, 2}, .value = 7); /* and other values */
    RIG_PROFILE(&rig, .duration = 10 * S, .ids = {1, 2}, .time = S);  /* and a later window */
    ck_assert_int_eq(annotated(&rig).samples, 8);
    ck_assert_int_eq(annotated(&rig).cpu_ns, 70000007);
    rig_close(&rig);
}
END_TEST

/* span_index.h: 48 bits. */
#define MOST_CPU_NS ((INT64_C(1) << 48) - 1)

START_TEST(figures_stop_at_their_maximum_and_are_never_negative)
{
    struct rig rig;
    rig_open(&rig, "{annotate: true}");
    rig_advance(&rig, 10 * S);
    RIG_PROFILE(&rig, .duration = 10 * S, .ids = {1, 1, 1}, .value = INT64_MAX);
    RIG_PROFILE(&rig, .time = S, .duration = 9 * S, .ids = {1}, .value = INT64_MAX - 1);
    ck_assert_int_eq(annotated(&rig).cpu_ns, MOST_CPU_NS);
    ck_assert_int_eq(annotated(&rig).samples, 4);
    rig_close(&rig);
}
END_TEST

/* An OTLP profiles request of one resource and profile: sample type, period cpu/nanoseconds, and
 * one sample of this value whose link is to span 1. */
static struct bytes otlp_sample(const char *service, bool with_frame, uint64_t value,
                                uint64_t period)
{
    uint8_t packed[10];
    struct view values = view_between(packed, proto_varint_put(packed, value));
    struct bytes resource, type, sample, profile, scope, entry, stack, link, dictionary, request;
    struct bytes *all[] = {&resource, &type,  &sample, &profile,    &scope,
                           &entry,    &stack, &link,   &dictionary, &request};
    for (size_t i = 0; i < 10; i++)
        bytes_init(all[i], SIZE_MAX, NULL);
    rig_attribute(&resource, 1, "service.name", service);
    rig_number(&type, 1, WIRE_VARINT, 1);
    rig_number(&type, 2, WIRE_VARINT, 2);
    if (with_frame)
        rig_number(&sample, 1, WIRE_VARINT, 1);
    rig_number(&sample, 3, WIRE_VARINT, 1);
    rig_field(&sample, 4, values);
    rig_field(&profile, 1, bytes_view(&type));
    rig_field(&profile, 2, bytes_view(&sample));
    rig_number(&profile, 3, WIRE_I64, RIG_START);
    rig_number(&profile, 4, WIRE_VARINT, 10 * S);
    rig_field(&profile, 5, VIEW("\x08\x03\x10\x04"));
    rig_number(&profile, 6, WIRE_VARINT, period);
    rig_field(&scope, 2, bytes_view(&profile));
    rig_field(&entry, 1, bytes_view(&resource));
    rig_field(&entry, 2, bytes_view(&scope));
    rig_field(&request, 1, bytes_view(&entry));

    rig_field(&stack, 1, VIEW("\x01"));
    rig_id(&link, 2, 1);
    rig_field(&dictionary, 2, VIEW(""));
    rig_field(&dictionary, 2, VIEW("\x1a\x02\x08\x01")); /* a line of function 1 */
    rig_field(&dictionary, 3, VIEW(""));
    rig_field(&dictionary, 3, VIEW("\x08\x01"));
    rig_field(&dictionary, 4, VIEW(""));
    rig_field(&dictionary, 4, bytes_view(&link));
    static const char *const strings[] = {"", "samples", "count", "cpu", "nanoseconds"};
    for (size_t i = 0; i < 5; i++)
        rig_field(&dictionary, 5, view_of(strings[i]));
    rig_field(&dictionary, 7, VIEW(""));
    rig_field(&dictionary, 7, bytes_view(&stack));
    rig_field(&request, 2, bytes_view(&dictionary));
    for (size_t i = 0; i < 9; i++)
        bytes_release(all[i]);
    return request;
}

static struct bytes otlp_profiles(const char *service, bool with_frame)
{
    return otlp_sample(service, with_frame, 2, 10000000);
}

START_TEST(so_they_do_for_otlp_profiles)
{
    const struct {
        uint64_t value, period;
        int64_t samples, cpu_ns;
    } cases[] = {
        {3, 1000, 3, 3000},
        {UINT64_C(1) << 40, 1000, UINT32_MAX, MOST_CPU_NS},
        {UINT64_C(1) << 40, UINT64_C(1) << 23, UINT32_MAX, MOST_CPU_NS}, /* 2^63 */
        {UINT64_C(1) << 40, UINT64_C(1) << 24, UINT32_MAX, MOST_CPU_NS}, /* 2^64 */
        {INT64_MAX, INT64_MAX, UINT32_MAX, MOST_CPU_NS},
        {3, (uint64_t)-1000, 3, -1}, /* none is added */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rig rig;
        rig_open(&rig, "{annotate: true}");
        rig_advance(&rig, 10 * S);
        struct bytes request = otlp_sample("shop", true, cases[i].value, cases[i].period);
        rig_consume(&rig, SIGNAL_PROFILES, BATCH_OTLP, &request, 1);
        ck_assert_int_eq(annotated(&rig).samples, cases[i].samples);
        ck_assert_int_eq(annotated(&rig).cpu_ns, cases[i].cpu_ns);
        rig_close(&rig);
    }
}
END_TEST

START_TEST(links_of_otlp_profiles_confirm)
{
    for (int with_frame = 0; with_frame < 2; with_frame++) {
        struct rig rig;
        rig_open(&rig, "{annotate: true}");
        rig_advance(&rig, 10 * S);
        struct bytes request = otlp_profiles("shop", with_frame);
        struct proto_fault fault = {0};
        uint32_t items;
        ck_assert_msg(otlp_check(SIGNAL_PROFILES, bytes_view(&request), &items, &fault), "%s: %s",
                      fault.message, fault.reason);
        rig_consume(&rig, SIGNAL_PROFILES, BATCH_OTLP, &request, items);
        rig_root(&rig, 1, 0, S);
        ck_assert_int_eq(rig_linked(&rig, 1), with_frame);
        if (with_frame) {
            ck_assert_int_eq(rig_left(&rig, 1)->samples, 2);
            ck_assert_int_eq(rig_left(&rig, 1)->cpu_ns, 20000000);
        }
        rig_close(&rig);
    }
}
END_TEST

START_TEST(a_sample_of_otlp_profiles_without_a_value_confirms_nothing)
{
    struct rig rig;
    rig_open(&rig, "{}");
    rig_advance(&rig, 10 * S);
    struct bytes request = otlp_sample("shop", true, 0, 10000000);
    rig_consume(&rig, SIGNAL_PROFILES, BATCH_OTLP, &request, 1);
    rig_root(&rig, 1, 0, S);
    ck_assert(!rig_linked(&rig, 1));
    rig_close(&rig);
}
END_TEST

/* Protocol 1.9 had other fields in a Sample; its links cannot be read. */
START_TEST(otlp_profiles_of_an_older_layout_end_all_judging)
{
    struct rig rig;
    struct bytes resource, profile, scope, entry, request;
    struct bytes *all[] = {&resource, &profile, &scope, &entry, &request};
    for (size_t i = 0; i < 5; i++)
        bytes_init(all[i], SIZE_MAX, NULL);
    rig_open(&rig, "{}");
    RIG_SPANS(&rig, {.id = 1, .end = S, .attributes = {"0000000000000001"}});
    rig_attribute(&resource, 1, "service.name", "shop");
    rig_field(&profile, 2, VIEW("\x08\x00\x12\x01\x05\x1a\x01\x01\x20\x01"));
    rig_field(&scope, 2, bytes_view(&profile));
    rig_field(&entry, 1, bytes_view(&resource));
    rig_field(&entry, 2, bytes_view(&scope));
    rig_field(&request, 1, bytes_view(&entry));
    ck_assert_int_eq(rig_consume(&rig, SIGNAL_PROFILES, BATCH_OTLP, &request, 1), VERDICT_OK);
    ck_assert_uint_eq(rig.profiles.count, 1);
    ck_assert_uint_eq(rig_left(&rig, 1)->attributes, 1);
    for (size_t i = 0; i < 4; i++)
        bytes_release(all[i]);
    rig_close(&rig);
}
END_TEST

START_TEST(otlp_profiles_get_no_service_name_beside_the_servers_own)
{
    struct rig rig;
    rig_open(&rig, "{remap: {service.name: copy}}");
    struct bytes request = otlp_profiles("shop", true);
    rig_consume(&rig, SIGNAL_PROFILES, BATCH_OTLP, &request, 1);
    ck_assert(has_text(went_on(&rig), "copy"));
    rig_close(&rig);
    rig_open(&rig, "{}");
    request = otlp_profiles("shop", true);
    rig_consume(&rig, SIGNAL_PROFILES, BATCH_OTLP, &request, 1);
    ck_assert(!has_text(went_on(&rig), "service_name"));
    rig_close(&rig);
}
END_TEST

START_TEST(metrics_and_logs_are_remapped_and_pass)
{
    const enum signal signals[] = {SIGNAL_METRICS, SIGNAL_LOGS};
    for (size_t i = 0; i < 2; i++) {
        struct rig rig;
        rig_open(&rig, "{}");
        struct bytes resource, entry, request;
        bytes_init(&resource, SIZE_MAX, NULL);
        bytes_init(&entry, SIZE_MAX, NULL);
        bytes_init(&request, SIZE_MAX, NULL);
        rig_attribute(&resource, 1, "service.name", "shop");
        rig_field(&entry, 1, bytes_view(&resource));
        rig_field(&request, 1, bytes_view(&entry));
        bytes_release(&resource);
        bytes_release(&entry);
        ck_assert_int_eq(rig_consume(&rig, signals[i], BATCH_OTLP, &request, 0), VERDICT_OK);
        ck_assert(has_text(went_on(&rig), "service_name"));
        rig_close(&rig);
    }
}
END_TEST

SUITE_MAIN(
    "correlation profiles", samples_without_symbols_count_where_the_server_symbolizes,
    only_samples_with_a_frame_and_a_value_of_a_confirming_kind_count,
    wall_stops_confirming_once_the_service_sends_cpu, confirm_by_names_the_kinds,
    a_profile_whose_window_ended_before_the_span_did_confirms_it,
    a_heap_profile_does_not_stand_for_the_cpu_window, a_window_ends_no_later_than_until,
    a_window_ends_no_later_than_its_arrival, a_profile_without_times_takes_those_of_the_request,
    windows_of_pyroscope_go_count_for_thirty_seconds,
    by_ingest_the_kind_follows_the_types_and_the_service_the_name,
    the_remap_gives_a_series_its_second_label, aliases_of_labels_are_normalised,
    trace_id_labels_are_kept_or_stripped, a_profile_with_nothing_to_change_is_the_same_buffer,
    every_span_of_a_minute_reaches_the_time_of_its_profile,
    a_window_whose_time_is_its_start_takes_the_middle_too,
    times_that_every_span_reaches_or_nobody_asks_for_are_kept,
    a_profile_that_is_refused_downstream_counts_for_nothing, so_it_is_with_one_that_is_not_read,
    the_same_upload_twice_counts_once, parts_of_a_window_count_whatever_their_sums,
    a_retry_counts_once_after_many_other_uploads, a_span_that_waited_has_its_figures,
    times_may_be_in_any_unit, different_uploads_of_the_same_times_all_count,
    figures_stop_at_their_maximum_and_are_never_negative, so_they_do_for_otlp_profiles,
    links_of_otlp_profiles_confirm, a_sample_of_otlp_profiles_without_a_value_confirms_nothing,
    otlp_profiles_of_an_older_layout_end_all_judging,
    otlp_profiles_get_no_service_name_beside_the_servers_own,
    metrics_and_logs_are_remapped_and_pass)
