#include "lib/wire/otlp/otlp.h"

#include "tests/support/otlp_reference.h"
#include "tests/support/proto_build.h"
#include "tests/support/proto_random.h"
#include "tests/support/suite.h"

#include "opentelemetry/proto/collector/metrics/v1/metrics_service.pb-c.h"
#include "opentelemetry/proto/collector/trace/v1/trace_service.pb-c.h"

static uint32_t items_of(enum signal signal, struct view request)
{
    struct proto_fault fault;
    uint32_t items = 99;
    ck_assert(otlp_check(signal, request, &items, &fault));
    ck_assert_uint_eq(otlp_count(signal, request), items);
    return items;
}

START_TEST(an_empty_request_is_legal_and_has_no_items)
{
    for (unsigned signal = 0; signal < SIGNAL_COUNT; signal++)
        ck_assert_uint_eq(items_of((enum signal)signal, (struct view){0}), 0);
}
END_TEST

START_TEST(spans_and_records_and_profiles_are_counted_over_all_scopes)
{
    struct view scope = PB_MESSAGE(2, PB_EMPTY(2), PB_TEXT(3, "url"), PB_EMPTY(2));
    struct view request =
        PB_JOIN(PB_MESSAGE(1, scope, PB_EMPTY(1), scope), PB_EMPTY(1), PB_MESSAGE(1, scope));
    ck_assert_uint_eq(items_of(SIGNAL_TRACES, request), 6);
    ck_assert_uint_eq(items_of(SIGNAL_LOGS, request), 6);
    ck_assert_uint_eq(items_of(SIGNAL_PROFILES, request), 6);
}
END_TEST

START_TEST(data_points_of_every_kind_of_metric_are_counted)
{
    struct view metrics[5];
    const uint32_t kinds[] = {5, 7, 9, 10, 11};
    for (unsigned i = 0; i < 5; i++)
        metrics[i] =
            PB_MESSAGE(2, PB_TEXT(1, "name"), PB_MESSAGE(kinds[i], PB_EMPTY(1), PB_EMPTY(1)));
    struct view request = PB_MESSAGE(1, pb_message(2, metrics, 5), PB_MESSAGE(2, PB_EMPTY(2)));
    ck_assert_uint_eq(items_of(SIGNAL_METRICS, request), 10);
}
END_TEST

START_TEST(a_malformed_request_is_refused_whole)
{
    struct proto_fault fault;
    uint32_t items;
    struct view good = PB_MESSAGE(1, PB_MESSAGE(2, PB_SPAN(PB_TEXT(5, "a"))));
    struct view bad = PB_MESSAGE(1, PB_MESSAGE(2, PB_SPAN(pb_varint(5, 1))));
    ck_assert(otlp_check(SIGNAL_TRACES, good, &items, &fault));
    ck_assert(!otlp_check(SIGNAL_TRACES, PB_JOIN(good, bad), &items, &fault));
    ck_assert_str_eq(fault.message, "Span");
}
END_TEST

static size_t reference_spans(struct view request)
{
    typedef Opentelemetry__Proto__Collector__Trace__V1__ExportTraceServiceRequest message;
    message *read = (message *)(void *)otlp_reference_read(SIGNAL_TRACES, request);
    size_t count = 0;
    for (size_t r = 0; r < read->n_resource_spans; r++)
        for (size_t s = 0; s < read->resource_spans[r]->n_scope_spans; s++)
            count += read->resource_spans[r]->scope_spans[s]->n_spans;
    protobuf_c_message_free_unpacked(&read->base, NULL);
    return count;
}

START_TEST(counts_agree_with_protobuf_c)
{
    size_t total = 0;
    for (unsigned seed = 0; seed < 500; seed++) {
        struct random random = random_seeded(seed);
        struct bytes message;
        bytes_init(&message, SIZE_MAX / 2, NULL);
        proto_random(&random, &shape_trace_request, RANDOM_UNKNOWN | RANDOM_PADDED, 4, &message);
        size_t spans = reference_spans(bytes_view(&message));
        ck_assert_uint_eq(items_of(SIGNAL_TRACES, bytes_view(&message)), spans);
        total += spans;
        bytes_release(&message);
    }
    ck_assert_uint_gt(total, 100);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        an_empty_request_is_legal_and_has_no_items,
        spans_and_records_and_profiles_are_counted_over_all_scopes,
        data_points_of_every_kind_of_metric_are_counted,
        a_malformed_request_is_refused_whole,
        counts_agree_with_protobuf_c,
        NULL,
    };
    return suite_run("otlp_check", tests);
}
