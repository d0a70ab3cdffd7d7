#include "lib/wire/json/otlp_json.h"

#include "lib/wire/otlp/otlp.h"
#include "tests/support/otlp_reference.h"
#include "tests/support/proto_build.h"
#include "tests/support/proto_random.h"
#include "tests/support/suite.h"

#include <stdio.h>

static char reason[512];
static struct bytes out;

/* Reads JSON text; out holds the protobuf until the next call. */
static bool reads(enum signal signal, const char *json)
{
    bytes_release(&out);
    bytes_init(&out, 1 << 20, NULL);
    return otlp_json_read(signal, view_of(json), &out, reason, sizeof reason);
}

static bool gives(struct view want)
{
    return view_eq(bytes_view(&out), want);
}

/* A span's members inside a request. */
static bool span_reads(const char *members)
{
    char json[2048];
    snprintf(json, sizeof json, "{\"resourceSpans\":[{\"scopeSpans\":[{\"spans\":[{%s}]}]}]}",
             members);
    return reads(SIGNAL_TRACES, json);
}

static bool span_gives(struct view body)
{
    return gives(PB_MESSAGE(1, PB_MESSAGE(2, PB_MESSAGE(2, body))));
}

START_TEST(the_example_of_the_specification_reads)
{
    ck_assert(reads(
        SIGNAL_TRACES,
        "{\"resourceSpans\":[{\"resource\":{\"attributes\":[{\"key\":\"service.name\",\"value\":"
        "{\"stringValue\":\"my.service\"}}]},\"scopeSpans\":[{\"scope\":{\"name\":\"my.library\","
        "\"version\":\"1.0.0\"},\"spans\":[{\"traceId\":\"5B8EFFF798038103D269B633813FC60C\","
        "\"spanId\":\"EEE19B7EC3C1B174\",\"parentSpanId\":\"EEE19B7EC3C1B173\",\"name\":\"I'm a "
        "server\","
        "\"startTimeUnixNano\":\"1544712660000000000\",\"endTimeUnixNano\":1544712661000000000,"
        "\"kind\":2}]}]}]}"));
    struct proto_fault fault;
    uint32_t items;
    ck_assert(otlp_check(SIGNAL_TRACES, bytes_view(&out), &items, &fault));
    ck_assert_uint_eq(items, 1);
    struct view trace = PB_MESSAGE(1, PB_RAW(0x5b, 0x8e, 0xff, 0xf7, 0x98, 0x03, 0x81, 0x03, 0xd2,
                                             0x69, 0xb6, 0x33, 0x81, 0x3f, 0xc6, 0x0c));
    struct view span =
        PB_MESSAGE(2, trace, PB_MESSAGE(2, PB_RAW(0xee, 0xe1, 0x9b, 0x7e, 0xc3, 0xc1, 0xb1, 0x74)),
                   PB_MESSAGE(4, PB_RAW(0xee, 0xe1, 0x9b, 0x7e, 0xc3, 0xc1, 0xb1, 0x73)),
                   PB_TEXT(5, "I'm a server"), pb_fixed64(7, 1544712660000000000),
                   pb_fixed64(8, 1544712661000000000), pb_varint(6, 2));
    struct view scope =
        PB_MESSAGE(2, PB_MESSAGE(1, PB_TEXT(1, "my.library"), PB_TEXT(2, "1.0.0")), span);
    ck_assert(
        gives(PB_MESSAGE(1, PB_MESSAGE(1, pb_attribute(1, "service.name", "my.service")), scope)));
}
END_TEST

START_TEST(names_come_in_both_cases_and_unknown_ones_are_passed_over)
{
    ck_assert(reads(SIGNAL_TRACES,
                    "{\"resource_spans\":[{\"scope_spans\":[{\"spans\":[{\"trace_id\":\"Ab\","
                    "\"what\":{\"is\":[1,{}]}}],\"schema_url\":\"u\"}],\"x\":null}],\"y\":1}"));
    ck_assert(gives(
        PB_MESSAGE(1, PB_MESSAGE(2, PB_MESSAGE(2, PB_MESSAGE(1, PB_RAW(0xab))), PB_TEXT(3, "u")))));
}
END_TEST

START_TEST(null_is_absent_and_zero_is_left_out)
{
    ck_assert(span_reads("\"name\":null,\"attributes\":null,\"status\":null,\"kind\":0,\"flags\":0,"
                         "\"traceId\":\"\",\"startTimeUnixNano\":\"0\""));
    ck_assert(span_gives((struct view){0}));
    ck_assert(reads(SIGNAL_TRACES, "{}"));
    ck_assert(gives((struct view){0}));
}
END_TEST

START_TEST(values_of_a_oneof_are_kept_at_zero)
{
    ck_assert(span_reads(
        "\"attributes\":[{\"value\":{\"intValue\":\"0\"}},{\"value\":{\"boolValue\":false}},"
        "{\"value\":{\"stringValue\":\"\"}},{\"value\":{\"doubleValue\":0}},"
        "{\"value\":{\"arrayValue\":{}}},{\"value\":{\"bytesValue\":\"\"}},{\"value\":{}}]"));
    const struct view values[] = {pb_varint(3, 0),  pb_varint(2, 0), PB_EMPTY(1),
                                  pb_fixed64(4, 0), PB_EMPTY(5),     PB_EMPTY(7),
                                  (struct view){0}};
    struct view list[7];
    for (unsigned i = 0; i < 7; i++)
        list[i] = PB_MESSAGE(9, PB_MESSAGE(2, values[i]));
    ck_assert(span_gives(pb_join(list, 7)));
}
END_TEST

START_TEST(numbers_come_as_numbers_or_text)
{
    ck_assert(span_reads("\"startTimeUnixNano\":\"18446744073709551615\",\"flags\":\"257\","
                         "\"attributes\":[{\"value\":{\"intValue\":\"-9223372036854775808\"}},"
                         "{\"value\":{\"intValue\":-5}},{\"value\":{\"intValue\":2.0}}]"));
    struct view low = PB_MESSAGE(9, PB_MESSAGE(2, pb_varint(3, UINT64_C(1) << 63)));
    struct view minus = PB_MESSAGE(9, PB_MESSAGE(2, pb_varint(3, (uint64_t)-5)));
    struct view two = PB_MESSAGE(9, PB_MESSAGE(2, pb_varint(3, 2)));
    ck_assert(span_gives(PB_JOIN(pb_fixed64(7, UINT64_MAX), pb_fixed32(16, 257), low, minus, two)));
}
END_TEST

START_TEST(doubles_have_their_special_names)
{
    ck_assert(
        reads(SIGNAL_METRICS,
              "{\"resourceMetrics\":[{\"scopeMetrics\":[{\"metrics\":[{\"gauge\":{\"dataPoints\":["
              "{\"asDouble\":\"Infinity\"},{\"asDouble\":\"-Infinity\"},{\"asDouble\":1.5},{"
              "\"asDouble\":\"2.5e0\"},"
              "{\"asDouble\":3},{\"asInt\":\"-1\"}]}}]}]}]}"));
    struct view points = PB_JOIN(PB_MESSAGE(1, pb_fixed64(4, 0x7ff0000000000000)),
                                 PB_MESSAGE(1, pb_fixed64(4, 0xfff0000000000000)),
                                 PB_MESSAGE(1, pb_fixed64(4, 0x3ff8000000000000)),
                                 PB_MESSAGE(1, pb_fixed64(4, 0x4004000000000000)),
                                 PB_MESSAGE(1, pb_fixed64(4, 0x4008000000000000)),
                                 PB_MESSAGE(1, pb_fixed64(6, UINT64_MAX)));
    ck_assert(gives(PB_MESSAGE(1, PB_MESSAGE(2, PB_MESSAGE(2, PB_MESSAGE(5, points))))));
    ck_assert(reads(SIGNAL_METRICS,
                    "{\"resourceMetrics\":[{\"scopeMetrics\":[{\"metrics\":[{\"gauge\":"
                    "{\"dataPoints\":[{\"asDouble\":\"NaN\"}]}}]}]}]}"));
}
END_TEST

/* The usual form of attributes has a fast path: similar forms must give the same result. */
START_TEST(attributes_read_alike_in_every_form)
{
    /* Before the key, before the value's name, after the value. */
    static const char *const forms[][3] = {
        {"{\"key\":\"", "\",\"value\":{\"", "}}"},
        {"{\"key\": \"", "\",\"value\":{\"", "}}"},
        {" {\"key\":\"", "\",\"value\":{\"", "} }"},
        {"{\"key\":\"", "\",\"value\":{\"", ",\"x\":[]},\"y\":{}}"},
        {"{\"\\u006bey\":\"", "\",\"value\":{\"", "}}"},
    };
    static const char *const values[][2] = {
        {"stringValue", "\"\""},    {"stringValue", "\"v\""},
        {"stringValue", "\"\\n\""}, {"stringValue", "\"caf\xc3\xa9\""},
        {"intValue", "0"},          {"intValue", "\"-0\""},
        {"intValue", "-17"},        {"intValue", "\"999999999999999999\""},
        {"intValue", "\"0012\""},   {"intValue", "\"9223372036854775807\""},
        {"intValue", "12e1"},       {"intValue", "\"-9223372036854775808\""},
        {"boolValue", "true"},      {"doubleValue", "0.5"},
    };
    static const char *const keys[] = {"k", "", "a\\tb"};
    for (size_t key = 0; key < 3; key++)
        for (size_t v = 0; v < sizeof values / sizeof values[0]; v++) {
            struct bytes first;
            bytes_init(&first, 4096, NULL);
            for (size_t form = 0; form < sizeof forms / sizeof forms[0]; form++) {
                char member[256], list[640];
                snprintf(member, sizeof member, "%s%s%s%s\":%s%s", forms[form][0], keys[key],
                         forms[form][1], values[v][0], values[v][1], forms[form][2]);
                snprintf(list, sizeof list, "\"attributes\":[%s,%s]", member, member);
                ck_assert_msg(span_reads(list), "%s: %s", list, reason);
                if (form == 0)
                    ck_assert_int_eq(bytes_append_view(&first, bytes_view(&out)), BYTES_OK);
                ck_assert_msg(view_eq(bytes_view(&first), bytes_view(&out)), "%s", list);
            }
            bytes_release(&first);
        }
}
END_TEST

START_TEST(attributes_that_come_close_are_refused)
{
    static const char *const members[] = {
        "{\"key\":\"k\",\"value\":{\"intValue\":01}}",
        "{\"key\":\"k\",\"value\":{\"intValue\":-}}",
        "{\"key\":\"k\",\"value\":{\"intValue\":\"\"}}",
        "{\"key\":\"k\",\"value\":{\"intValue\":\"1}}",
        "{\"key\":\"k\",\"value\":{\"intValue\":1\"}}",
        "{\"key\":\"k\",\"value\":{\"intValue\":9223372036854775808}}",
        "{\"key\":\"k\",\"value\":{\"stringValue\":\"\xff\"}}",
        "{\"key\":\"k\",\"value\":{\"stringValue\":\"\n\"}}",
        "{\"key\":\"k\",\"value\":{\"stringValue\":\"v\"}",
        "{\"key\":\"k\",\"value\":{\"stringValue\":\"v\"}}}",
    };
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        char list[256];
        snprintf(list, sizeof list, "\"attributes\":[%s]", members[i]);
        ck_assert_msg(!span_reads(list), "%s", list);
        ck_assert_uint_eq(out.size, 0);
    }
}
END_TEST

START_TEST(enums_come_as_numbers_or_names)
{
    ck_assert(span_reads("\"kind\":\"SPAN_KIND_CLIENT\",\"status\":{\"code\":2}"));
    ck_assert(span_gives(PB_JOIN(pb_varint(6, 3), PB_MESSAGE(15, pb_varint(3, 2)))));
    ck_assert(reads(SIGNAL_LOGS,
                    "{\"resourceLogs\":[{\"scopeLogs\":[{\"logRecords\":[{\"severityNumber\":"
                    "\"SEVERITY_NUMBER_FATAL4\"}]}]}]}"));
    ck_assert(gives(PB_MESSAGE(1, PB_MESSAGE(2, PB_MESSAGE(2, pb_varint(2, 24))))));
}
END_TEST

START_TEST(bytes_are_base64_and_text_may_hold_any_character)
{
    ck_assert(span_reads("\"name\":\"a\\u0000\\ud83d\\ude00\",\"attributes\":[{\"value\":{"
                         "\"bytesValue\":\"AQL-\"}}]"));
    ck_assert(span_gives(PB_JOIN(PB_MESSAGE(5, PB_RAW('a', 0, 0xf0, 0x9f, 0x98, 0x80)),
                                 PB_MESSAGE(9, PB_MESSAGE(2, PB_MESSAGE(7, PB_RAW(1, 2, 0xfe)))))));
}
END_TEST

START_TEST(an_id_of_wrong_length_goes_on_for_the_span_rule)
{
    ck_assert(span_reads("\"spanId\":\"0102\""));
    ck_assert(span_gives(PB_MESSAGE(2, PB_RAW(1, 2))));
}
END_TEST

START_TEST(what_is_wrong_is_named_with_its_path)
{
    const struct {
        const char *json, *reason;
    } cases[] = {
        {"[]", "the request: expected an object"},
        {"{\"resourceSpans\":{}}", "resourceSpans: expected a list"},
        {"{\"resourceSpans\":[{},7]}", "resourceSpans[1]: expected an object"},
        {"{\"resourceSpans\":[null]}", "resourceSpans[0]: expected an object"},
        {"{\"resource_spans\":[{\"scopeSpans\":[{\"spans\":[{\"traceId\":\"xy\"}]}]}]}",
         "resourceSpans[0].scopeSpans[0].spans[0].traceId: expected hex digits"},
        {"{\"resourceSpans\":[{\"scopeSpans\":[{\"spans\":[{\"spanId\":\"abc\"}]}]}]}",
         "resourceSpans[0].scopeSpans[0].spans[0].spanId: expected an even number of hex digits"},
        {"{\"resourceSpans\":[{\"scopeSpans\":[{\"spans\":[{\"name\":5}]}]}]}",
         "resourceSpans[0].scopeSpans[0].spans[0].name: expected a string"},
        {"{\"resourceSpans\":[{\"scopeSpans\":[{\"spans\":[{\"kind\":\"SERVER\"}]}]}]}",
         "resourceSpans[0].scopeSpans[0].spans[0].kind: expected a known enum name or a number"},
        {"{\"resourceSpans\":[{\"scopeSpans\":[{\"spans\":[{\"flags\":-1}]}]}]}",
         "resourceSpans[0].scopeSpans[0].spans[0].flags: expected a 32-bit whole number"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ck_assert(!reads(SIGNAL_TRACES, cases[i].json));
        ck_assert_str_eq(reason, cases[i].reason);
        ck_assert_uint_eq(out.size, 0);
    }
}
END_TEST

START_TEST(wrong_values_are_refused)
{
    static const char *const members[] = {
        "\"startTimeUnixNano\":-1",
        "\"startTimeUnixNano\":1.5",
        "\"startTimeUnixNano\":\"1x\"",
        "\"startTimeUnixNano\":\"\"",
        "\"startTimeUnixNano\":\" 1\"",
        "\"startTimeUnixNano\":\"18446744073709551616\"",
        "\"startTimeUnixNano\":true",
        "\"droppedLinksCount\":4294967296",
        "\"attributes\":[{\"value\":{\"boolValue\":1}}]",
        "\"attributes\":[{\"value\":{\"doubleValue\":\"inf\"}}]",
        "\"attributes\":[{\"value\":{\"bytesValue\":\"A\"}}]",
        "\"attributes\":[{\"value\":{\"bytesValue\":\"A*==\"}}]",
        "\"attributes\":[{\"value\":{\"intValue\":\"1\\u0000\"}}]",
        "\"name\":\"\xff\"",
        "\"name\":\"unfinished",
        "\"events\":[{\"name\":[]}]",
    };
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        ck_assert_msg(!span_reads(members[i]), "%s was read", members[i]);
        ck_assert_int_ne(reason[0], 0);
        ck_assert_uint_eq(out.size, 0);
    }
}
END_TEST

START_TEST(nesting_past_the_limit_is_refused)
{
    char json[16384] = "";
    for (unsigned depth = 140; depth <= 160; depth += 20) {
        char *at = json;
        for (unsigned i = 0; i < depth; i++)
            at += sprintf(at, "{\"arrayValue\":{\"values\":[");
        for (unsigned i = 0; i < depth; i++)
            at += sprintf(at, "]}}");
        struct bytes text;
        bytes_init(&text, 1 << 20, NULL);
        bytes_printf(&text,
                     "{\"resourceLogs\":[{\"scopeLogs\":[{\"logRecords\":[{\"body\":%s}]}]}]}%c",
                     json, 0);
        ck_assert(reads(SIGNAL_LOGS, (const char *)text.data) == (depth == 140));
        bytes_release(&text);
    }
    ck_assert_ptr_nonnull(strstr(reason, "nested more than about 100 levels deep"));
}
END_TEST

START_TEST(without_memory_it_is_no_fault_of_the_text)
{
    struct budget budget;
    struct view json = VIEW("{\"resourceSpans\":[{\"schemaUrl\":\"a\\u0062\"}]}");
    bytes_release(&out);
    budget_init(&budget, 20000);
    bytes_init(&out, 1 << 20, &budget);
    ck_assert(budget_take(&budget, 20000));
    ck_assert(!otlp_json_read(SIGNAL_TRACES, json, &out, reason, sizeof reason));
    ck_assert_str_eq(reason, "");
    budget_give(&budget, 20000);
    ck_assert(otlp_json_read(SIGNAL_TRACES, json, &out, reason, sizeof reason));
    ck_assert(gives(PB_MESSAGE(1, PB_TEXT(3, "ab"))));
    ck_assert_uint_gt(budget_used(&budget), 0);
    bytes_release(&out);
    ck_assert_uint_eq(budget_used(&budget), 0);
}
END_TEST

START_TEST(text_that_is_no_json_is_refused_with_its_place)
{
    const struct {
        const char *json, *reason;
    } cases[] = {
        {"", "line 1, column 1: the text ends too soon"},
        {"{\"resourceSpans\":[", "line 1, column 19: the text ends too soon"},
        {"{\"resourceSpans\":[{}],}", "line 1, column 23: expected a name in quotes"},
        {"{\"resourceSpans\":[{},]}", "line 1, column 22: expected a value"},
        {"{\n \"resourceSpans\" [{}]}", "line 2, column 18: expected :"},
        {"{\"resourceSpans\":[{} {}]}", "line 1, column 22: expected , or ]"},
        {"{\"resourceSpans\":[{}]} x", "line 1, column 24: expected nothing more"},
        {"{\"other\":tru}", "line 1, column 10: expected a value"},
        {"{\"other\":-}", "line 1, column 11: expected a digit"},
        {"{\"other\":\"\\x\"}", "line 1, column 12: expected an escape sequence"},
        {"{\"other\":\"\n\"}", "line 1, column 11: expected no control character in a string"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ck_assert_msg(!reads(SIGNAL_TRACES, cases[i].json), "%s", cases[i].json);
        ck_assert_str_eq(reason, cases[i].reason);
        ck_assert_uint_eq(out.size, 0);
    }
}
END_TEST

START_TEST(keys_come_in_any_order_and_with_escapes)
{
    ck_assert(
        span_reads("\"kind\":3,\"n\\u0061me\":\"n\",\"unknown\":\"\\\"}\",\"spanId\":\"0102\""));
    ck_assert(span_gives(PB_JOIN(pb_varint(6, 3), PB_TEXT(5, "n"), PB_MESSAGE(2, PB_RAW(1, 2)))));
}
END_TEST

START_TEST(half_a_surrogate_pair_is_replaced)
{
    ck_assert(span_reads("\"name\":\"a\\ud83d\",\"traceState\":\"\\ude00b\\ud83d\\u0041\""));
    ck_assert(
        span_gives(PB_JOIN(PB_MESSAGE(5, PB_RAW('a', 0xef, 0xbf, 0xbd)),
                           PB_MESSAGE(3, PB_RAW(0xef, 0xbf, 0xbd, 'b', 0xef, 0xbf, 0xbd, 'A')))));
}
END_TEST

START_TEST(too_little_room_is_a_clean_failure)
{
    struct view json = VIEW(
        "{\"resourceSpans\":[{\"scopeSpans\":[{\"spans\":[{\"traceId\":\"0102\",\"name\":\"n\","
        "\"attributes\":[{\"key\":\"k\",\"value\":{\"bytesValue\":\"AQID\"}}],\"kind\":1,"
        "\"flags\":1}]}]}]}");
    size_t cap = 0;
    for (bool done = false; !done; cap++) {
        struct bytes small;
        bytes_init(&small, cap, NULL);
        done = otlp_json_read(SIGNAL_TRACES, json, &small, reason, sizeof reason);
        if (!done) {
            ck_assert_str_eq(reason, "the request is too large");
            ck_assert_uint_eq(small.size, 0);
        }
        bytes_release(&small);
        ck_assert_uint_lt(cap, 4096);
    }
    ck_assert_uint_gt(cap, 30);
}
END_TEST

START_TEST(what_was_written_reads_back_as_protobuf_c_sees_it)
{
    for (unsigned seed = 0; seed < 1200; seed++) {
        struct random random = random_seeded(seed);
        enum signal signal = (enum signal)(seed % SIGNAL_COUNT);
        struct bytes message, json;
        bytes_release(&out);
        bytes_init(&message, SIZE_MAX / 2, NULL);
        bytes_init(&json, SIZE_MAX / 2, NULL);
        bytes_init(&out, SIZE_MAX / 2, NULL);
        proto_random(&random, otlp_shape(signal), RANDOM_UNKNOWN | RANDOM_PADDED, 7, &message);
        ck_assert(otlp_json_write(signal, bytes_view(&message), &json));
        ck_assert_msg(otlp_json_read(signal, bytes_view(&json), &out, reason, sizeof reason), "%s",
                      reason);
        ck_assert_msg(otlp_reference_same(signal, bytes_view(&message), bytes_view(&out)),
                      "seed %u", seed);
        bytes_release(&message);
        bytes_release(&json);
    }
}
END_TEST

SUITE_MAIN("otlp_json_read", the_example_of_the_specification_reads,
           names_come_in_both_cases_and_unknown_ones_are_passed_over,
           null_is_absent_and_zero_is_left_out, values_of_a_oneof_are_kept_at_zero,
           numbers_come_as_numbers_or_text, doubles_have_their_special_names,
           attributes_read_alike_in_every_form, attributes_that_come_close_are_refused,
           enums_come_as_numbers_or_names, bytes_are_base64_and_text_may_hold_any_character,
           an_id_of_wrong_length_goes_on_for_the_span_rule, what_is_wrong_is_named_with_its_path,
           wrong_values_are_refused, nesting_past_the_limit_is_refused,
           without_memory_it_is_no_fault_of_the_text,
           text_that_is_no_json_is_refused_with_its_place, keys_come_in_any_order_and_with_escapes,
           half_a_surrogate_pair_is_replaced, too_little_room_is_a_clean_failure,
           what_was_written_reads_back_as_protobuf_c_sees_it)
