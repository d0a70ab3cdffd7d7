#include "pipeline/otlp_request.h"

#include "lib/wire/otlp/otlp.h"
#include "lib/wire/proto/proto_write.h"
#include "tests/support/proto_build.h"
#include "tests/support/suite.h"

static struct otlp_request request;
static struct budget budget;

static struct outcome read_bytes(enum signal signal, bool json, struct view text)
{
    struct bytes body;
    budget_init(&budget, 64 << 20);
    bytes_init(&body, 16 << 20, &budget);
    ck_assert_int_eq(bytes_append_view(&body, text), BYTES_OK);
    struct outcome outcome = otlp_request_read(signal, json, &body, &request);
    ck_assert_uint_eq(body.size, 0);
    if (!request.batch)
        ck_assert_uint_eq(budget_used(&budget), 0);
    return outcome;
}

static void release(void)
{
    batch_unref(request.batch);
    ck_assert_uint_eq(budget_used(&budget), 0);
}

#define BAD_SPAN    PB_MESSAGE(2, pb_fill(1, 16, 0), pb_fill(2, 8, 1))
#define TRACES(...) PB_MESSAGE(1, PB_MESSAGE(2, __VA_ARGS__))

START_TEST(a_good_request_becomes_a_batch_of_the_same_bytes)
{
    struct view body = TRACES(PB_SPAN(PB_EMPTY(5)), PB_SPAN(PB_EMPTY(5)), PB_TEXT(99, "unknown"));
    ck_assert_int_eq(read_bytes(SIGNAL_TRACES, false, body).verdict, VERDICT_OK);
    ck_assert(view_eq(buffer_view(request.batch->payload), body));
    ck_assert_uint_eq(request.received, 2);
    ck_assert_uint_eq(request.rejected, 0);
    ck_assert_uint_eq(request.batch->items, 2);
    ck_assert_ptr_null(request.reason);
    release();
}
END_TEST

START_TEST(a_request_without_items_is_no_batch)
{
    ck_assert_int_eq(read_bytes(SIGNAL_TRACES, false, VIEW("")).verdict, VERDICT_OK);
    ck_assert_ptr_null(request.batch);
    ck_assert_int_eq(read_bytes(SIGNAL_LOGS, true, VIEW("{}")).verdict, VERDICT_OK);
    ck_assert_ptr_null(request.batch);
    ck_assert_int_eq(read_bytes(SIGNAL_PROFILES, false, PB_MESSAGE(2, PB_EMPTY(5))).verdict,
                     VERDICT_OK);
    ck_assert_ptr_null(request.batch);
}
END_TEST

START_TEST(spans_without_good_ids_are_taken_out)
{
    ck_assert_int_eq(
        read_bytes(SIGNAL_TRACES, false, TRACES(BAD_SPAN, PB_SPAN(PB_EMPTY(5)), BAD_SPAN)).verdict,
        VERDICT_OK);
    ck_assert_uint_eq(request.received, 3);
    ck_assert_uint_eq(request.rejected, 2);
    ck_assert_ptr_nonnull(request.reason);
    ck_assert(view_eq(buffer_view(request.batch->payload), TRACES(PB_SPAN(PB_EMPTY(5)))));
    release();
}
END_TEST

START_TEST(where_all_spans_are_bad_there_is_no_batch_but_a_reason)
{
    ck_assert_int_eq(read_bytes(SIGNAL_TRACES, false, TRACES(BAD_SPAN)).verdict, VERDICT_OK);
    ck_assert_ptr_null(request.batch);
    ck_assert_uint_eq(request.rejected, 1);
    ck_assert_ptr_nonnull(request.reason);
}
END_TEST

START_TEST(malformed_requests_are_refused_with_the_place)
{
    struct outcome outcome = read_bytes(SIGNAL_TRACES, false, VIEW("\x0a\x05"));
    ck_assert_int_eq(outcome.verdict, VERDICT_REJECT);
    ck_assert_int_eq(outcome.cause, CAUSE_INVALID);
    ck_assert_msg(strstr(outcome.text, "malformed protobuf: ") && strstr(outcome.text, "at byte"),
                  "%s", outcome.text);
    outcome = read_bytes(SIGNAL_METRICS, true, VIEW("{\"resourceMetrics\":3}"));
    ck_assert_int_eq(outcome.verdict, VERDICT_REJECT);
    ck_assert_msg(strstr(outcome.text, "malformed JSON: "), "%s", outcome.text);
    ck_assert_ptr_null(request.batch);
}
END_TEST

/* A request of one profile; tables: a link, two attributes, a stack of one frame. */
static struct view profiles_of(struct view profile)
{
    struct view string = PB_TEXT(5, "thread");
    struct view attribute = PB_MESSAGE(6, pb_varint(1, 1), PB_MESSAGE(2, PB_TEXT(1, "main")));
    struct view tables =
        PB_JOIN(PB_EMPTY(2), PB_EMPTY(2), PB_EMPTY(4),
                PB_MESSAGE(4, pb_fill(1, 16, 0xa1), pb_fill(2, 8, 0xb2)), PB_EMPTY(5), string,
                PB_EMPTY(6), attribute, PB_EMPTY(7), PB_MESSAGE(7, PB_MESSAGE(1, PB_RAW(1))));
    return PB_JOIN(PB_MESSAGE(1, PB_MESSAGE(2, PB_MESSAGE(2, profile))), PB_MESSAGE(2, tables));
}

/* Field numbers of protocol 1.10: attributes 2, link 3, values 4. */
static struct view current_profile(void)
{
    return PB_MESSAGE(2, pb_varint(1, 1), PB_MESSAGE(4, PB_RAW(50)), PB_MESSAGE(2, PB_RAW(1)),
                      pb_varint(3, 1));
}

START_TEST(profiles_in_the_layout_of_older_protocols_are_brought_up_to_date)
{
    /* 1.8 and 1.9: values 2, attributes 3, link 4. */
    struct view old = PB_MESSAGE(2, pb_varint(1, 1), PB_MESSAGE(2, PB_RAW(50)),
                                 PB_MESSAGE(3, PB_RAW(1)), pb_varint(4, 1));
    struct outcome outcome = read_bytes(SIGNAL_PROFILES, false, profiles_of(old));
    ck_assert_msg(outcome.verdict == VERDICT_OK, "%s", outcome.text);
    ck_assert(view_eq(buffer_view(request.batch->payload), profiles_of(current_profile())));
    release();
    outcome = read_bytes(SIGNAL_PROFILES, false, profiles_of(current_profile()));
    ck_assert_int_eq(outcome.verdict, VERDICT_OK);
    ck_assert(view_eq(buffer_view(request.batch->payload), profiles_of(current_profile())));
    release();
}
END_TEST

START_TEST(without_attributes_the_rest_tells_the_layout)
{
    /* Attribute 50 does not exist. */
    struct view by_index = PB_MESSAGE(2, pb_varint(1, 1), PB_MESSAGE(2, PB_RAW(50)));
    struct view made = PB_MESSAGE(2, pb_varint(1, 1), PB_MESSAGE(4, PB_RAW(50)));
    ck_assert_int_eq(read_bytes(SIGNAL_PROFILES, false, profiles_of(by_index)).verdict, VERDICT_OK);
    ck_assert(view_eq(buffer_view(request.batch->payload), profiles_of(made)));
    release();
    /* This one does, but a sample with neither values nor timestamps is invalid. */
    by_index = PB_MESSAGE(2, pb_varint(1, 1), PB_MESSAGE(2, PB_RAW(1)));
    made = PB_MESSAGE(2, pb_varint(1, 1), PB_MESSAGE(4, PB_RAW(1)));
    ck_assert_int_eq(read_bytes(SIGNAL_PROFILES, false, profiles_of(by_index)).verdict, VERDICT_OK);
    ck_assert(view_eq(buffer_view(request.batch->payload), profiles_of(made)));
    release();
}
END_TEST

START_TEST(profiles_that_fit_no_layout_are_refused)
{
    /* Neither values nor timestamps in any version. */
    struct view nothing = PB_MESSAGE(2, pb_varint(1, 1), pb_varint(3, 1));
    struct outcome outcome = read_bytes(SIGNAL_PROFILES, false, profiles_of(nothing));
    ck_assert_int_eq(outcome.verdict, VERDICT_REJECT);
    ck_assert_int_eq(outcome.cause, CAUSE_INVALID);
    ck_assert_msg(strstr(outcome.text, "malformed profiles: "), "%s", outcome.text);
    /* An older one with an attribute that does not exist. */
    struct view outside = PB_MESSAGE(2, pb_varint(1, 1), PB_MESSAGE(2, PB_RAW(1)),
                                     PB_MESSAGE(3, PB_RAW(9)), pb_varint(4, 1));
    outcome = read_bytes(SIGNAL_PROFILES, false, profiles_of(outside));
    ck_assert_int_eq(outcome.verdict, VERDICT_REJECT);
    ck_assert_int_eq(outcome.cause, CAUSE_INVALID);
}
END_TEST

START_TEST(profiles_come_as_json_too)
{
    struct outcome outcome = read_bytes(
        SIGNAL_PROFILES, true,
        VIEW(
            "{\"resourceProfiles\":[{\"scopeProfiles\":[{\"profiles\":[{\"samples\":[{"
            "\"stackIndex\":1,\"values\":[\"50\"],\"attributeIndices\":[1],\"linkIndex\":1}]}]}]}],"
            "\"dictionary\":{\"locationTable\":[{},{}],\"linkTable\":[{},{\"traceId\":"
            "\"a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1\",\"spanId\":\"b2b2b2b2b2b2b2b2\"}],"
            "\"stringTable\":[\"\",\"thread\"],\"attributeTable\":[{},{\"keyStrindex\":1,\"value\":"
            "{"
            "\"stringValue\":\"main\"}}],\"stackTable\":[{},{\"locationIndices\":[1]}]}}"));
    ck_assert_msg(outcome.verdict == VERDICT_OK, "%s", outcome.text);
    ck_assert_uint_eq(request.batch->items, 1);
    release();
}
END_TEST

START_TEST(an_upgrade_that_finds_no_memory_is_to_come_back)
{
    struct bytes body;
    struct view old = profiles_of(PB_MESSAGE(2, pb_varint(1, 1), PB_MESSAGE(2, PB_RAW(50)),
                                             PB_MESSAGE(3, PB_RAW(1)), pb_fill(99, 5000, 1)));
    budget_init(&budget, 64 << 20);
    bytes_init(&body, 1 << 20, &budget);
    ck_assert_int_eq(bytes_append_view(&body, old), BYTES_OK);
    budget.limit = budget_used(&budget) + 100;
    struct outcome outcome = otlp_request_read(SIGNAL_PROFILES, false, &body, &request);
    ck_assert_int_eq(outcome.verdict, VERDICT_RETRY);
    ck_assert_int_eq(outcome.cause, CAUSE_MEMORY);
    ck_assert_uint_eq(budget_used(&budget), 0);
}
END_TEST

START_TEST(json_that_finds_no_memory_is_to_come_back)
{
    struct bytes body;
    budget_init(&budget, 64 << 20);
    bytes_init(&body, 1 << 20, &budget);
    ck_assert_int_eq(bytes_append_view(&body, VIEW("{\"resourceSpans\":[{}]}")), BYTES_OK);
    ck_assert(budget_take(&budget, (64 << 20) - budget_used(&budget)));
    struct outcome outcome = otlp_request_read(SIGNAL_TRACES, true, &body, &request);
    ck_assert_int_eq(outcome.verdict, VERDICT_RETRY);
    ck_assert_int_eq(outcome.cause, CAUSE_MEMORY);
}
END_TEST

START_TEST(profiles_with_more_entries_than_the_budget_has_room_for_are_too_large)
{
    struct bytes body;
    struct proto_write write;
    budget_init(&budget, 8 << 20);
    bytes_init(&body, 4 << 20, &budget);
    write = proto_write_begin(&body);
    size_t opened = proto_write_open(&write, 2);
    for (size_t i = 0; i < 600000; i++)
        proto_write_bytes(&write, 5, VIEW(""));
    proto_write_close(&write, opened);
    ck_assert_ptr_null(proto_write_fault(&write));
    struct outcome outcome = otlp_request_read(SIGNAL_PROFILES, false, &body, &request);
    ck_assert_int_eq(outcome.verdict, VERDICT_REJECT);
    ck_assert_int_eq(outcome.cause, CAUSE_TOO_LARGE);
    ck_assert_uint_eq(budget_used(&budget), 0);
}
END_TEST

START_TEST(without_memory_the_client_is_told_to_come_back)
{
    struct view body = TRACES(BAD_SPAN, PB_SPAN(pb_fill(5, 5000, 'x')));
    unsigned refused = 0;
    for (size_t room = 5000; room < 40000; room += 500) {
        struct bytes bytes;
        budget_init(&budget, room);
        bytes_init(&bytes, 1 << 20, &budget);
        if (bytes_append_view(&bytes, body) != BYTES_OK)
            continue;
        struct outcome outcome = otlp_request_read(SIGNAL_TRACES, false, &bytes, &request);
        if (outcome.verdict == VERDICT_OK) {
            ck_assert_uint_gt(refused, 0);
            release();
            return;
        }
        ck_assert_int_eq(outcome.verdict, VERDICT_RETRY);
        ck_assert_int_eq(outcome.cause, CAUSE_MEMORY);
        ck_assert_uint_ge(outcome_retry_seconds(&outcome), RETRY_AFTER_S);
        ck_assert_uint_le(outcome_retry_seconds(&outcome), RETRY_MEMORY_MOST_S);
        ck_assert_uint_eq(budget_used(&budget), 0);
        refused++;
    }
    ck_abort_msg("never accepted");
}
END_TEST

SUITE_MAIN("otlp_request", a_good_request_becomes_a_batch_of_the_same_bytes,
           a_request_without_items_is_no_batch, spans_without_good_ids_are_taken_out,
           where_all_spans_are_bad_there_is_no_batch_but_a_reason,
           malformed_requests_are_refused_with_the_place,
           profiles_in_the_layout_of_older_protocols_are_brought_up_to_date,
           without_attributes_the_rest_tells_the_layout, profiles_that_fit_no_layout_are_refused,
           profiles_come_as_json_too, an_upgrade_that_finds_no_memory_is_to_come_back,
           json_that_finds_no_memory_is_to_come_back,
           profiles_with_more_entries_than_the_budget_has_room_for_are_too_large,
           without_memory_the_client_is_told_to_come_back)
