/* OTLP profiles to and from JSON: what is specific to this signal. */
#include "lib/wire/json/otlp_json.h"

#include "lib/wire/otlp/otlp.h"
#include "lib/wire/profiles/pprof_to_profiles.h"
#include "tests/support/otlp_reference.h"
#include "tests/support/pprof_random.h"
#include "tests/support/proto_build.h"
#include "tests/support/suite.h"

static const char whole[] =
    "{\"resourceProfiles\":[{\"resource\":{\"attributes\":[{\"value\":"
    "{\"stringValueStrindex\":2},\"keyStrindex\":1}]},\"scopeProfiles\":[{\"profiles\":[{"
    "\"sampleType\":"
    "{\"typeStrindex\":3,\"unitStrindex\":4},\"samples\":[{\"stackIndex\":1,"
    "\"attributeIndices\":[1,2],\"linkIndex\":1,\"values\":[\"-5\"],"
    "\"timestampsUnixNano\":[\"1700000000000000000\"]}],\"timeUnixNano\":\"1700000000000000000\","
    "\"durationNano\":\"18446744073709551615\",\"profileId\":"
    "\"000102030405060708090a0b0c0d0eff\",\"originalPayloadFormat\":\"pprof\","
    "\"originalPayload\":\"AQID\",\"attributeIndices\":[1]}]}]}],\"dictionary\":{"
    "\"mappingTable\":[{},{\"memoryStart\":\"4096\",\"filenameStrindex\":2}],"
    "\"locationTable\":[{},{\"mappingIndex\":1,\"address\":\"255\",\"lines\":[{"
    "\"functionIndex\":1,\"line\":\"7\",\"column\":\"3\"}]}],\"functionTable\":[{},{"
    "\"nameStrindex\":1,\"startLine\":\"2\"}],\"linkTable\":[{},{\"traceId\":"
    "\"4bf92f3577b34da6a3ce929d0e0e4736\",\"spanId\":\"00f067aa0ba902b7\"}],"
    "\"stringTable\":[\"\",\"service.name\",\"ride\",\"cpu\",\"nanoseconds\"],"
    "\"attributeTable\":[{},{\"keyStrindex\":1,\"value\":{\"intValue\":\"7\"},"
    "\"unitStrindex\":4},{\"keyStrindex\":2,\"value\":{\"stringValue\":\"x\"}}],"
    "\"stackTable\":[{},{\"locationIndices\":[1]}]}}";

static struct bytes read_json(const char *json)
{
    struct bytes out;
    char reason[256];
    bytes_init(&out, 1 << 20, NULL);
    ck_assert_msg(otlp_json_read(SIGNAL_PROFILES, view_of(json), &out, reason, sizeof reason), "%s",
                  reason);
    return out;
}

START_TEST(a_whole_request_reads_and_writes)
{
    struct bytes request = read_json(whole), json;
    struct proto_fault fault;
    uint32_t items;
    bytes_init(&json, 1 << 20, NULL);
    ck_assert(otlp_check(SIGNAL_PROFILES, bytes_view(&request), &items, &fault));
    ck_assert_uint_eq(items, 1);
    ck_assert(otlp_json_write(SIGNAL_PROFILES, bytes_view(&request), &json));
    struct view text = bytes_view(&json);
    if (text.size && text.data[text.size - 1] == '\n')
        text.size--;
    ck_assert_msg(view_eq(text, view_of(whole)), "%.*s", VIEW_ARG(text));
    bytes_release(&request);
    bytes_release(&json);
}
END_TEST

START_TEST(the_ids_of_links_are_hex_of_either_case)
{
    struct bytes request = read_json("{\"dictionary\":{\"link_table\":[{\"trace_id\":"
                                     "\"4BF92F3577B34DA6A3CE929D0E0E4736\",\"span_id\":"
                                     "\"00F067AA0BA902B7\"}]}}");
    struct view trace = PB_MESSAGE(1, PB_RAW(0x4b, 0xf9, 0x2f, 0x35, 0x77, 0xb3, 0x4d, 0xa6, 0xa3,
                                             0xce, 0x92, 0x9d, 0x0e, 0x0e, 0x47, 0x36));
    struct view span = PB_MESSAGE(2, PB_RAW(0x00, 0xf0, 0x67, 0xaa, 0x0b, 0xa9, 0x02, 0xb7));
    ck_assert(view_eq(bytes_view(&request), PB_MESSAGE(2, PB_MESSAGE(4, trace, span))));
    bytes_release(&request);
}
END_TEST

START_TEST(an_entry_of_zeros_keeps_its_place_in_its_table)
{
    struct bytes request = read_json("{\"dictionary\":{\"stringTable\":[\"\",\"a\"],\"linkTable\":"
                                     "[{},{\"spanId\":\"0000000000000000\"}]}}");
    struct view want =
        PB_MESSAGE(2, PB_EMPTY(4), PB_MESSAGE(4, pb_fill(2, 8, 0)), PB_EMPTY(5), PB_TEXT(5, "a"));
    ck_assert(otlp_reference_same(SIGNAL_PROFILES, bytes_view(&request), want));
    bytes_release(&request);
}
END_TEST

START_TEST(an_id_of_wrong_length_is_refused_by_the_check)
{
    struct bytes request = read_json("{\"dictionary\":{\"linkTable\":[{\"spanId\":\"00f0\"}]}}");
    struct proto_fault fault;
    uint32_t items;
    ck_assert(!otlp_check(SIGNAL_PROFILES, bytes_view(&request), &items, &fault));
    ck_assert_str_eq(fault.reason, "id of wrong length");
    bytes_release(&request);
}
END_TEST

START_TEST(what_a_pprof_becomes_survives_json)
{
    struct series_label label = {VIEW("service_name"), VIEW("ride")};
    struct series *series = series_new(&label, 1);
    for (uint64_t seed = 0; seed < 60; seed++) {
        struct bytes request, json, back;
        struct proto_fault fault;
        struct pprof pprof;
        struct arena arena;
        const char *why;
        char reason[256];
        arena_init(&arena, 16 << 20);
        bytes_init(&request, 16 << 20, NULL);
        bytes_init(&json, 16 << 20, NULL);
        bytes_init(&back, 16 << 20, NULL);
        ck_assert(pprof_open(&pprof, pprof_random(seed), &arena, &fault));
        struct pprof_source source = {&pprof, series, false};
        ck_assert(pprof_to_profiles(&source, &arena, &request, &why));
        ck_assert(otlp_json_write(SIGNAL_PROFILES, bytes_view(&request), &json));
        ck_assert_msg(
            otlp_json_read(SIGNAL_PROFILES, bytes_view(&json), &back, reason, sizeof reason), "%s",
            reason);
        ck_assert(otlp_reference_same(SIGNAL_PROFILES, bytes_view(&request), bytes_view(&back)));
        bytes_release(&request);
        bytes_release(&json);
        bytes_release(&back);
        arena_release(&arena);
    }
    series_unref(series);
}
END_TEST

SUITE_MAIN("profiles_json", a_whole_request_reads_and_writes,
           the_ids_of_links_are_hex_of_either_case, an_entry_of_zeros_keeps_its_place_in_its_table,
           an_id_of_wrong_length_is_refused_by_the_check, what_a_pprof_becomes_survives_json)
