#include "lib/wire/http/status.h"
#include "lib/wire/otlp/signal.h"
#include "tests/support/proto_build.h"
#include "tests/support/suite.h"

#include "opentelemetry/proto/collector/trace/v1/trace_service.pb-c.h"

static struct bytes out;

static bool encode(int signal, bool json, uint32_t rejected, const char *message)
{
    bytes_release(&out);
    bytes_init(&out, 4096, NULL);
    return export_response_encode(signal, json, rejected, message, &out);
}

START_TEST(complete_success_is_an_empty_message)
{
    ck_assert(encode(SIGNAL_TRACES, false, 0, NULL));
    ck_assert_uint_eq(out.size, 0);
    ck_assert(encode(SIGNAL_TRACES, true, 0, NULL));
    ck_assert(view_eq(bytes_view(&out), VIEW("{\"partialSuccess\":{}}")));
}
END_TEST

START_TEST(partial_success_names_the_signals_own_count_in_json)
{
    static const char *const names[SIGNAL_COUNT] = {"rejectedSpans", "rejectedDataPoints",
                                                    "rejectedLogRecords", "rejectedProfiles"};
    for (unsigned i = 0; i < SIGNAL_COUNT; i++) {
        struct bytes want;
        bytes_init(&want, 4096, NULL);
        bytes_printf(&want,
                     "{\"partialSuccess\":{\"%s\":\"3\",\"errorMessage\":\"bad \\\"id\\\"\"}}",
                     names[i]);
        ck_assert(encode((int)i, true, 3, "bad \"id\""));
        ck_assert(view_eq(bytes_view(&out), bytes_view(&want)));
        bytes_release(&want);
    }
    ck_assert(encode(SIGNAL_LOGS, true, 0, "careful"));
    ck_assert(
        view_eq(bytes_view(&out), VIEW("{\"partialSuccess\":{\"errorMessage\":\"careful\"}}")));
}
END_TEST

START_TEST(protobuf_c_reads_partial_success)
{
    ck_assert(encode(SIGNAL_TRACES, false, 300, "why"));
    Opentelemetry__Proto__Collector__Trace__V1__ExportTraceServiceResponse *read =
        opentelemetry__proto__collector__trace__v1__export_trace_service_response__unpack(
            NULL, out.size, out.data);
    ck_assert_int_eq(read->partial_success->rejected_spans, 300);
    ck_assert_str_eq(read->partial_success->error_message, "why");
    opentelemetry__proto__collector__trace__v1__export_trace_service_response__free_unpacked(read,
                                                                                             NULL);
}
END_TEST

START_TEST(responses_are_read)
{
    uint64_t rejected;
    char message[8];
    ck_assert(export_response_decode((struct view){0}, &rejected, message, sizeof message));
    ck_assert(rejected == 0 && message[0] == 0);
    ck_assert(export_response_decode(PB_EMPTY(1), &rejected, message, sizeof message));
    ck_assert(rejected == 0 && message[0] == 0);
    struct view partial =
        PB_MESSAGE(1, pb_varint(1, 70000), PB_TEXT(2, "a long message"), PB_TEXT(9, "x"));
    ck_assert(export_response_decode(PB_JOIN(partial, PB_TEXT(9, "y")), &rejected, message,
                                     sizeof message));
    ck_assert_uint_eq(rejected, 70000);
    ck_assert_str_eq(message, "a long ");
    ck_assert(export_response_decode(PB_MESSAGE(1, pb_varint(1, (uint64_t)-1)), &rejected, message,
                                     sizeof message));
    ck_assert_uint_eq(rejected, 0);
}
END_TEST

START_TEST(malformed_responses_are_refused)
{
    uint64_t rejected;
    char message[8];
    const struct view bad[] = {PB_RAW(0x0a, 0x04, 'a'),        pb_varint(1, 1),
                               PB_MESSAGE(1, PB_TEXT(1, "x")), PB_MESSAGE(1, pb_varint(2, 1)),
                               PB_MESSAGE(1, PB_RAW(0x08)),    PB_RAW(0x00)};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ck_assert_msg(!export_response_decode(bad[i], &rejected, message, sizeof message),
                      "case %zu", i);
}
END_TEST

SUITE_MAIN("export_response", complete_success_is_an_empty_message,
           partial_success_names_the_signals_own_count_in_json, protobuf_c_reads_partial_success,
           responses_are_read, malformed_responses_are_refused)
