#include "pipeline/otlp_form.h"

#include "lib/wire/profiles/otlp_profiles.h"
#include "pipeline/delivery/dispatch.h"
#include "tests/support/backend.h"
#include "tests/support/fake_clock.h"
#include "tests/support/forever.h"
#include "tests/support/pprof_build.h"
#include "tests/support/proto_build.h"
#include "tests/support/scripted.h"
#include "tests/support/suite.h"

#include <stdio.h>

const struct component *const component_table[] = {&scripted_source, &scripted_pprof,
                                                   &scripted_sink, NULL};

#define TIME INT64_C(1767225600000000000)

/* A pprof of two types with this many samples, each with its own stack. */
static struct view profile_of(unsigned samples, int64_t time)
{
    struct pprof_build *build = pprof_build_new();
    pprof_build_type(build, "samples", "count");
    pprof_build_type(build, "cpu", "nanoseconds");
    pprof_build_time(build, time, 10);
    for (unsigned i = 0; i < samples; i++) {
        char name[64];
        snprintf(name, sizeof name, "a_function_with_a_rather_long_name_%u", i);
        pprof_build_sample(build, (int64_t[]){1, 1000}, (const char *const[]){name, NULL});
        pprof_build_label(build, "span_id", "00f067aa0ba902b7");
    }
    struct bytes raw = pprof_build_raw(build);
    pprof_build_free(build);
    return forever(raw);
}

/* Samples of the first type in a request, all of which must have the link. */
static unsigned linked_samples(struct view request, uint64_t *time)
{
    struct otlp_dictionary dictionary;
    struct otlp_profile profile;
    struct otlp_profile_sample sample;
    struct otlp_walk walk;
    struct proto_fault fault;
    struct arena arena;
    const char *reason;
    uint32_t items;
    unsigned count = 0;
    ck_assert(otlp_check(SIGNAL_PROFILES, request, &items, &fault));
    arena_init(&arena, 64 << 20);
    ck_assert(otlp_dictionary_open(&dictionary, request, &arena, &reason));
    otlp_walk_begin(&walk, SIGNAL_PROFILES, request);
    for (enum otlp_step step; (step = otlp_walk_next(&walk)) != OTLP_END;) {
        if (step != OTLP_ITEM)
            continue;
        otlp_profile_read(&dictionary, walk.item.bytes, &profile);
        *time = profile.time_ns;
        if (!view_eq(profile.type, VIEW("samples")))
            continue;
        struct proto_scan scan = proto_scan_begin(profile.body);
        while (otlp_profile_next_sample(&dictionary, &profile, &scan, &sample)) {
            ck_assert_uint_eq(sample.span_id_bytes.size, 8);
            count++;
        }
    }
    arena_release(&arena);
    return count;
}

START_TEST(otlp_is_its_own_form)
{
    struct outcome why;
    struct batch *batch = otlp_batch_of(SIGNAL_PROFILES, VIEW(""), 0);
    struct batch *form = otlp_form(batch, &why);
    ck_assert_ptr_eq(form, batch);
    batch_unref(form);
    batch_unref(batch);
}
END_TEST

START_TEST(a_pprof_becomes_one_profile_a_type_with_its_links)
{
    struct outcome why;
    struct profile_origin origin = {.by_ingest = true, .from_ns = 7};
    uint64_t time;
    struct batch *batch = pprof_batch_of(profile_of(3, TIME), "shop{pod=a}", &origin);
    struct batch *form = otlp_form(batch, &why);
    ck_assert_ptr_nonnull(form);
    ck_assert_int_eq(form->encoding, BATCH_OTLP);
    ck_assert_uint_eq(form->items, 2);
    ck_assert_uint_eq(form->samples, 3);
    ck_assert_uint_eq(linked_samples(buffer_view(form->payload), &time), 3);
    ck_assert_uint_eq(time, TIME);
    batch_unref(form);
    batch_unref(batch);
}
END_TEST

START_TEST(a_missing_time_is_that_of_the_upload)
{
    struct outcome why;
    struct profile_origin origin = {.by_ingest = true, .from_ns = TIME};
    uint64_t time;
    struct batch *batch = pprof_batch_of(profile_of(1, 0), "shop", &origin);
    struct batch *form = otlp_form(batch, &why);
    linked_samples(buffer_view(form->payload), &time);
    ck_assert_uint_eq(time, TIME);
    batch_unref(form);
    batch_unref(batch);
}
END_TEST

START_TEST(what_is_made_is_charged_to_the_budget)
{
    struct outcome why;
    struct budget budget;
    budget_init(&budget, 1 << 20);
    struct batch *batch = pprof_batch_of(profile_of(1, TIME), "shop", NULL);
    batch->payload->budget = &budget;
    struct batch *form = otlp_form(batch, &why);
    ck_assert_uint_eq(budget_used(&budget), form->payload->size);
    batch_unref(form);
    ck_assert_uint_eq(budget_used(&budget), 0);
    batch->payload->budget = NULL;
    batch_unref(batch);
}
END_TEST

START_TEST(forwarded_bodies_have_no_such_form)
{
    struct outcome why;
    struct batch *batch = otlp_batch_of(SIGNAL_PROFILES, VIEW("x"), 1);
    batch->encoding = BATCH_OPAQUE;
    ck_assert_ptr_null(otlp_form(batch, &why));
    ck_assert_int_eq(why.verdict, VERDICT_REJECT);
    ck_assert_int_eq(why.cause, CAUSE_UNSUPPORTED);
    batch_unref(batch);
}
END_TEST

static unsigned samples_seen;
static size_t largest_seen;

static struct outcome look(const struct batch *batch, unsigned nth)
{
    uint64_t time;
    (void)nth;
    ck_assert_int_eq(batch->encoding, BATCH_OTLP);
    largest_seen = batch->payload->size > largest_seen ? batch->payload->size : largest_seen;
    samples_seen += linked_samples(buffer_view(batch->payload), &time);
    return OUTCOME_OK;
}

/* Sends a batch (taken over) through an exporter that accepts only OTLP. */
static void dispatch_batch(struct batch *batch, int64_t max_request_bytes, struct meter *meter,
                           struct outcome (*script)(const struct batch *batch, unsigned nth))
{
    static uint64_t sink_of_slot_0[64];
    struct fake_clock fake;
    struct dispatcher dispatcher = {
        .component = &scripted_sink, .self = sink_of_slot_0, .meter = meter};
    uint64_t due;
    fake_clock_init(&fake);
    meter_init(meter, "sink");
    dispatcher.clock = &fake.clock;
    dispatcher.settings.max_request_bytes = max_request_bytes;
    loss_log_init(&dispatcher.losses, "sink", &fake.clock, NULL);
    sink_at(0)->script = script;
    struct queue_element *element = queue_element_new(QUEUE_REQUESTS, batch);
    batch_unref(batch);
    ck_assert_int_eq(dispatch_run(&dispatcher, element, &due), DISPATCH_DONE);
    queue_element_free(element);
    loss_log_release(&dispatcher.losses);
}

static void dispatch(struct view pprof, int64_t max_request_bytes, struct meter *meter)
{
    dispatch_batch(pprof_batch_of(pprof, "shop", NULL), max_request_bytes, meter, look);
}

START_TEST(an_exporter_of_otlp_gets_a_pprof_as_otlp)
{
    struct meter meter;
    dispatch(profile_of(5, TIME), 0, &meter);
    ck_assert_uint_eq(sink_at(0)->count, 1);
    ck_assert_uint_eq(samples_seen, 5);
    ck_assert_uint_eq(meter_get(&meter, METER_SENT, SIGNAL_PROFILES), 2);
}
END_TEST

START_TEST(one_that_becomes_too_large_goes_in_parts_that_fit)
{
    struct meter meter;
    dispatch(profile_of(2000, TIME), 30000, &meter);
    ck_assert_uint_gt(sink_at(0)->count, 2);
    ck_assert_uint_eq(samples_seen, 2000);
    ck_assert_uint_le(largest_seen, 30000);
    ck_assert_uint_eq(meter_get(&meter, METER_DROPPED, SIGNAL_PROFILES), 0);
}
END_TEST

START_TEST(one_sample_above_the_limit_is_counted_as_lost)
{
    struct meter meter;
    dispatch(profile_of(1, TIME), 50, &meter);
    ck_assert_uint_eq(sink_at(0)->count, 0);
    ck_assert_uint_eq(meter.dropped_by_cause[CAUSE_TOO_LARGE][SIGNAL_PROFILES], 2);
}
END_TEST

enum { FUNCTIONS = 8, NAME_SIZE = 1000 };

/* A request with a profile for each of several functions with long names. */
static struct view profiles_of_functions(void)
{
    struct view profiles = VIEW(""),
                tables = PB_JOIN(PB_EMPTY(2), PB_EMPTY(3), PB_EMPTY(5), PB_EMPTY(7));
    for (uint8_t i = 1; i <= FUNCTIONS; i++) {
        struct view sample = PB_MESSAGE(2, pb_varint(1, i), PB_MESSAGE(4, PB_RAW(1)));
        profiles = PB_JOIN(profiles, PB_MESSAGE(2, sample));
        tables = PB_JOIN(tables, PB_MESSAGE(7, PB_MESSAGE(1, PB_RAW(i))),
                         PB_MESSAGE(2, PB_MESSAGE(3, pb_varint(1, i))),
                         PB_MESSAGE(3, pb_varint(1, i)), pb_fill(5, NAME_SIZE, 'a'));
    }
    return PB_JOIN(PB_MESSAGE(1, PB_MESSAGE(2, profiles)), PB_MESSAGE(2, tables));
}

static struct outcome look_at_functions(const struct batch *batch, unsigned nth)
{
    struct view payload = buffer_view(batch->payload);
    size_t names = 0;
    (void)nth;
    for (size_t i = 0; i + NAME_SIZE <= payload.size;)
        if (payload.data[i] == 'a' && payload.data[i + NAME_SIZE - 1] == 'a') {
            names++;
            i += NAME_SIZE;
        } else {
            i++;
        }
    ck_assert_uint_eq(names, batch->items);
    largest_seen = payload.size > largest_seen ? payload.size : largest_seen;
    return OUTCOME_OK;
}

START_TEST(parts_of_a_request_of_profiles_take_no_more_of_its_dictionary_than_they_need)
{
    struct meter meter;
    struct batch *batch = otlp_batch_of(SIGNAL_PROFILES, profiles_of_functions(), FUNCTIONS);
    dispatch_batch(batch, 2 * NAME_SIZE + 300, &meter, look_at_functions);
    ck_assert_uint_eq(meter_get(&meter, METER_SENT, SIGNAL_PROFILES), FUNCTIONS);
    ck_assert_uint_eq(meter_get(&meter, METER_DROPPED, SIGNAL_PROFILES), 0);
    ck_assert_uint_eq(sink_at(0)->count, FUNCTIONS / 2);
    ck_assert_uint_le(largest_seen, 2 * NAME_SIZE + 300);
}
END_TEST

SUITE_MAIN("otlp_form", otlp_is_its_own_form, a_pprof_becomes_one_profile_a_type_with_its_links,
           a_missing_time_is_that_of_the_upload, what_is_made_is_charged_to_the_budget,
           forwarded_bodies_have_no_such_form, an_exporter_of_otlp_gets_a_pprof_as_otlp,
           one_that_becomes_too_large_goes_in_parts_that_fit,
           one_sample_above_the_limit_is_counted_as_lost,
           parts_of_a_request_of_profiles_take_no_more_of_its_dictionary_than_they_need)
