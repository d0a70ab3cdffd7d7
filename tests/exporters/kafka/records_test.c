/* Which records a batch becomes: topics, keys and sizes, without a broker. */
#include "exporters/kafka/topic_limits.h"
#include "lib/wire/json/otlp_json.h"
#include "lib/wire/otlp/otlp.h"
#include "pipeline/native_record.h"
#include "tests/support/backend.h"
#include "tests/support/otlp_reference.h"
#include "tests/support/proto_build.h"
#include "tests/support/scripted.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>

extern const struct component exporter_kafka;
const struct component *const component_table[] = {&scripted_source, &exporter_kafka, NULL};

enum { LIMIT = 1000000 };

static char nothing[1];
static struct kafka_exporter self;
static struct arena arena;
static struct records records;

static void begin(void)
{
    self = (struct kafka_exporter){.own_source = "pod-1", .topic_from_attribute = nothing};
    self.all.topic = nothing;
    self.produce.max_message_bytes = LIMIT;
    for (int i = 0; i < SIGNAL_COUNT; i++)
        self.routes[i].topic = nothing;
    arena_init(&arena, 64 << 20);
}

static void end(void)
{
    records_release(&records);
    arena_release(&arena);
}

/* The batch is released. */
static struct outcome make(struct batch *batch, size_t limit)
{
    struct outcome outcome = records_of(&self, batch, &limit, &records, &arena);
    batch_unref(batch);
    return outcome;
}

/* Spans of a service; span i has the trace id of i / 2. */
static struct view group(const char *service, unsigned first, unsigned count)
{
    struct view spans[64];
    for (unsigned i = 0; i < count; i++)
        spans[i] = PB_MESSAGE(2, pb_fill(1, 16, (uint8_t)((first + i) / 2 + 1)),
                              pb_fill(2, 8, (uint8_t)(first + i + 1)));
    struct view scope = pb_message(2, spans, count);
    struct view resource = *service ? PB_MESSAGE(1, pb_attribute(1, "service.name", service))
                                    : PB_MESSAGE(1, VIEW(""));
    return PB_MESSAGE(1, resource, scope);
}

static void spans_are(size_t i, uint32_t items)
{
    ck_assert_uint_eq(otlp_count(SIGNAL_TRACES, records.all[i].value), items);
    ck_assert_uint_eq(records.all[i].items, items);
}

static void key_is(size_t i, struct view key)
{
    ck_assert_msg(view_eq(records.all[i].key, key), "%.*s", VIEW_ARG(records.all[i].key));
}

START_TEST(without_keys_a_request_is_a_record_as_it_is)
{
    begin();
    struct view request = PB_JOIN(group("shop", 0, 3), group("cart", 3, 2));
    ck_assert_int_eq(make(otlp_batch_of(SIGNAL_TRACES, request, 5), LIMIT).verdict, VERDICT_OK);
    ck_assert_uint_eq(records.count, 1);
    ck_assert_str_eq(records.all[0].topic, "otlp_spans");
    ck_assert(view_eq(records.all[0].value, request));
    ck_assert_ptr_null(records.all[0].key.data);
    end();
}
END_TEST

START_TEST(services_are_divided_in_wire_form)
{
    begin();
    self.routes[SIGNAL_PROFILES].encoding = KAFKA_NATIVE;
    struct view unknown = PB_MESSAGE(77, VIEW("kept"));
    struct view request = PB_JOIN(group("shop", 0, 3), group("cart", 3, 2), unknown,
                                  group("shop", 5, 1), group("", 6, 1));
    make(otlp_batch_of(SIGNAL_TRACES, request, 7), LIMIT);
    ck_assert_uint_eq(records.count, 3);
    key_is(0, VIEW("shop\0pod-1"));
    key_is(1, VIEW("cart\0pod-1"));
    key_is(2, VIEW("unknown_service\0pod-1"));
    ck_assert(
        view_eq(records.all[0].value, PB_JOIN(group("shop", 0, 3), group("shop", 5, 1), unknown)));
    ck_assert(view_eq(records.all[1].value, PB_JOIN(group("cart", 3, 2), unknown)));
    spans_are(0, 4);
    end();
    begin(); /* one service: not copied */
    self.routes[SIGNAL_PROFILES].encoding = KAFKA_NATIVE;
    struct batch *batch = otlp_batch_of(SIGNAL_TRACES, group("shop", 0, 3), 3);
    size_t limit = LIMIT;
    records_of(&self, batch, &limit, &records, &arena);
    ck_assert_uint_eq(records.count, 1);
    ck_assert_ptr_eq(records.all[0].value.data, batch->payload->data);
    key_is(0, VIEW("shop\0pod-1"));
    batch_unref(batch);
    end();
}
END_TEST

START_TEST(traces_are_divided_by_id)
{
    begin();
    self.traces_by_id = true;
    make(otlp_batch_of(SIGNAL_TRACES, PB_JOIN(group("shop", 0, 5), group("cart", 4, 2)), 7), LIMIT);
    ck_assert_uint_eq(records.count, 3);
    key_is(0, VIEW("01010101010101010101010101010101"));
    key_is(2, VIEW("03030303030303030303030303030303"));
    spans_are(0, 2);
    spans_are(1, 2);
    spans_are(2, 3);
    ck_assert(otlp_reference_same(SIGNAL_TRACES, records.all[2].value,
                                  PB_JOIN(group("shop", 4, 1), group("cart", 4, 2))));
    end();
}
END_TEST

START_TEST(resources_with_equal_attributes_have_equal_keys)
{
    struct view a = pb_attribute(1, "a", "1"), b = pb_attribute(1, "b", "2");
    struct view point = PB_MESSAGE(2, PB_MESSAGE(2, PB_TEXT(5, "log")));
    begin();
    self.logs_by_resource = true;
    make(otlp_batch_of(SIGNAL_LOGS,
                       PB_JOIN(PB_MESSAGE(1, PB_MESSAGE(1, a, b), point),
                               PB_MESSAGE(1, PB_MESSAGE(1, a), point),
                               PB_MESSAGE(1, PB_MESSAGE(1, b, a), point)),
                       3),
         LIMIT);
    ck_assert_uint_eq(records.count, 2);
    ck_assert_uint_eq(records.all[0].items, 2);
    ck_assert_uint_eq(records.all[0].key.size, 16);
    ck_assert_str_eq(records.all[0].topic, "otlp_logs");
    end();
}
END_TEST

START_TEST(an_attribute_chooses_the_topic_if_it_is_one)
{
    static char name[] = "service.name";
    begin();
    self.topic_from_attribute = name;
    make(otlp_batch_of(SIGNAL_TRACES,
                       PB_JOIN(group("shop", 0, 1), group("no topic", 1, 1), group("", 2, 1)), 3),
         LIMIT);
    ck_assert_uint_eq(records.count, 2);
    ck_assert_str_eq(records.all[0].topic, "shop");
    ck_assert_str_eq(records.all[1].topic, "otlp_spans");
    spans_are(1, 2);
    end();
}
END_TEST

static void all_fit(size_t limit, uint32_t items)
{
    uint32_t sum = 0;
    for (size_t i = 0; i < records.count; i++) {
        ck_assert_uint_le(records.all[i].value.size, limit);
        ck_assert_int_eq(records.all[i].result, RD_KAFKA_RESP_ERR_NO_ERROR);
        sum += records.all[i].items;
    }
    ck_assert_uint_eq(sum, items);
}

START_TEST(large_requests_are_split_in_both_encodings)
{
    for (int encoding = KAFKA_OTLP_PROTO; encoding <= KAFKA_OTLP_JSON; encoding++) {
        begin();
        self.routes[SIGNAL_TRACES].encoding = encoding;
        make(
            otlp_batch_of(SIGNAL_TRACES, PB_JOIN(group("shop", 0, 60), group("cart", 60, 60)), 120),
            1500);
        ck_assert_uint_ge(records.count, 3);
        all_fit(1500, 120);
        end();
    }
}
END_TEST

START_TEST(a_single_item_above_the_limit_is_marked)
{
    begin();
    struct view span = PB_MESSAGE(2, PB_SPAN(pb_fill(5, 5000, 'x')));
    self.produce.max_message_bytes = 2000;
    make(otlp_batch_of(SIGNAL_TRACES, PB_JOIN(group("a", 0, 1), PB_MESSAGE(1, span)), 2), LIMIT);
    ck_assert_uint_eq(records.count, 2);
    ck_assert_int_eq(records.all[0].result, RD_KAFKA_RESP_ERR_NO_ERROR);
    ck_assert_int_eq(records.all[1].result, RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE);
    end();
}
END_TEST

START_TEST(a_topic_with_a_lower_limit_gets_smaller_records_and_no_other_does)
{
    begin();
    struct view span = PB_MESSAGE(2, PB_SPAN(pb_fill(5, 5000, 'x')));
    ck_assert(topic_limit_lower(&self, "otlp_spans", 4000));
    ck_assert(topic_limit_lower(&self, "otlp_spans", 2000));
    ck_assert(!topic_limit_lower(&self, "otlp_spans", 2000));
    make(otlp_batch_of(SIGNAL_TRACES, PB_JOIN(group("a", 0, 1), PB_MESSAGE(1, span)), 2), LIMIT);
    ck_assert_uint_eq(records.count, 2);
    /* The broker decides about a single span. */
    ck_assert_int_eq(records.all[1].result, RD_KAFKA_RESP_ERR_NO_ERROR);
    ck_assert(!records.all[1].divisible);
    end();
    self.routes[SIGNAL_TRACES].topic = (char[]){"other"};
    arena_init(&arena, 64 << 20);
    make(otlp_batch_of(SIGNAL_TRACES, PB_JOIN(group("a", 0, 1), PB_MESSAGE(1, span)), 2), LIMIT);
    ck_assert_uint_eq(records.count, 1);
    topic_limits_release(&self);
    end();
}
END_TEST

static struct batch *opaque_of(struct view body, const char *query)
{
    struct opaque_request *opaque = calloc(1, sizeof *opaque);
    opaque->query = strdup(query);
    struct batch *otlp = otlp_batch_of(SIGNAL_PROFILES, body, 1);
    struct batch *batch =
        batch_new(SIGNAL_PROFILES, BATCH_OPAQUE, buffer_ref(otlp->payload), 1, NULL);
    batch_set_opaque(batch, opaque);
    batch_unref(otlp);
    return batch;
}

START_TEST(a_body_of_ingest_is_cut_into_parts_of_one_value)
{
    begin();
    self.routes[SIGNAL_PROFILES].encoding = KAFKA_NATIVE;
    struct view body = pb_fill(1, 5000, 'j');
    make(opaque_of(body, "name=shop%7Bservice_name%3Dcart%7D&format=jfr"), 2000);
    ck_assert_uint_gt(records.count, 2);
    struct native_part part;
    size_t sum = 0;
    for (size_t i = 0; i < records.count; i++) {
        ck_assert(native_part_parse(view_of(records.all[i].part), &part));
        ck_assert_uint_eq(part.number, i + 1);
        ck_assert_uint_eq(part.count, records.count);
        ck_assert(memcmp(records.all[i].value.data, body.data + sum, records.all[i].value.size) ==
                  0);
        sum += records.all[i].value.size;
        key_is(i, VIEW("cart\0pod-1"));
    }
    ck_assert_uint_eq(sum, body.size);
    ck_assert_str_eq(records.all[0].topic, "spanlink_profiles");
    all_fit(2000, 1);
    end();
}
END_TEST

/* The id that the parts of a body have. */
static uint64_t parts_id(struct view body, const char *query)
{
    struct native_part part;
    records_release(&records);
    make(opaque_of(body, query), 2000);
    ck_assert(native_part_parse(view_of(records.all[0].part), &part));
    return part.id;
}

START_TEST(parts_are_equal_and_known_by_value_and_headers)
{
    begin();
    self.routes[SIGNAL_PROFILES].encoding = KAFKA_NATIVE;
    struct view body = pb_fill(1, 5000, 'j');
    uint64_t id = parts_id(body, "name=shop&format=jfr");
    for (size_t i = 1; i < records.count; i++)
        ck_assert_uint_le(records.all[0].value.size - records.all[i].value.size, records.count);
    ck_assert_uint_eq(parts_id(body, "name=shop&format=jfr"), id);
    ck_assert_uint_ne(parts_id(body, "name=shop&format=jfr&from=2"), id);
    ck_assert_uint_ne(parts_id(body, "name=cart&format=jfr"), id);
    ck_assert_uint_ne(parts_id(pb_fill(1, 5000, 'k'), "name=shop&format=jfr"), id);
    end();
}
END_TEST

START_TEST(profiles_have_the_service_of_their_spans)
{
    static const char *const queries[] = {"name=shop.cpu", "name=shop&format=jfr",
                                          "name=x%7Bservice_name%3Dshop%7D&format=jfr",
                                          "name=shop.cpu%7Ba%3Db%7D&format=tree"};
    static const char *const series[] = {"shop", "x{service_name=shop}", "x{service.name=shop}"};
    begin();
    for (size_t i = 0; i < sizeof queries / sizeof *queries; i++) {
        struct batch *batch = opaque_of(VIEW("x"), queries[i]);
        ck_assert_msg(view_eq(service_of_profile(batch, &arena), VIEW("shop")), "%s", queries[i]);
        batch_unref(batch);
    }
    for (size_t i = 0; i < sizeof series / sizeof *series; i++) {
        struct batch *batch =
            pprof_batch_of(VIEW("x"), series[i], &(struct profile_origin){.by_ingest = true});
        ck_assert_msg(view_eq(service_of_profile(batch, &arena), VIEW("shop")), "%s", series[i]);
        batch_unref(batch);
    }
    end();
}
END_TEST

START_TEST(what_has_no_otlp_form_needs_native)
{
    begin();
    struct outcome outcome = make(opaque_of(VIEW("x"), "name=a&format=jfr"), LIMIT);
    ck_assert_int_eq(outcome.verdict, VERDICT_REJECT);
    ck_assert_int_eq(outcome.cause, CAUSE_UNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(outcome.text, "profiles.encoding"));
    end();
}
END_TEST

START_TEST(old_top_level_keys_serve_signals_without_their_own)
{
    static char old[] = "old", own[] = "own";
    begin();
    self.all = (struct kafka_route){old, KAFKA_OTLP_JSON};
    self.routes[SIGNAL_LOGS] = (struct kafka_route){own, KAFKA_OTLP_PROTO};
    ck_assert_str_eq(kafka_topic(&self, SIGNAL_TRACES), "old");
    ck_assert_int_eq(kafka_encoding(&self, SIGNAL_TRACES), KAFKA_OTLP_JSON);
    ck_assert_str_eq(kafka_topic(&self, SIGNAL_LOGS), "own");
    ck_assert_int_eq(kafka_encoding(&self, SIGNAL_LOGS), KAFKA_OTLP_PROTO);
    end();
}
END_TEST

SUITE_MAIN("kafka/records", without_keys_a_request_is_a_record_as_it_is,
           services_are_divided_in_wire_form, traces_are_divided_by_id,
           resources_with_equal_attributes_have_equal_keys,
           an_attribute_chooses_the_topic_if_it_is_one, large_requests_are_split_in_both_encodings,
           a_single_item_above_the_limit_is_marked,
           a_topic_with_a_lower_limit_gets_smaller_records_and_no_other_does,
           a_body_of_ingest_is_cut_into_parts_of_one_value,
           parts_are_equal_and_known_by_value_and_headers, profiles_have_the_service_of_their_spans,
           what_has_no_otlp_form_needs_native, old_top_level_keys_serve_signals_without_their_own)
