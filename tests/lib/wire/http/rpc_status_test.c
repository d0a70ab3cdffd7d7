#include "lib/wire/http/status.h"
#include "tests/support/proto_build.h"
#include "tests/support/suite.h"

#include "google/rpc/error_details.pb-c.h"
#include "google/rpc/status.pb-c.h"

#define RETRY_INFO "type.googleapis.com/google.rpc.RetryInfo"

static struct bytes out;

static void fresh(size_t cap)
{
    bytes_release(&out);
    bytes_init(&out, cap, NULL);
}

START_TEST(protobuf_c_reads_what_is_written)
{
    fresh(4096);
    ck_assert(rpc_status_encode(GRPC_UNAVAILABLE, "queue is full", 1500000000, &out));
    Google__Rpc__Status *status = google__rpc__status__unpack(NULL, out.size, out.data);
    ck_assert_int_eq(status->code, 14);
    ck_assert_str_eq(status->message, "queue is full");
    ck_assert_uint_eq(status->n_details, 1);
    ck_assert_str_eq(status->details[0]->type_url, RETRY_INFO);
    Google__Rpc__RetryInfo *info = google__rpc__retry_info__unpack(
        NULL, status->details[0]->value.len, status->details[0]->value.data);
    ck_assert_int_eq(info->retry_delay->seconds, 1);
    ck_assert_int_eq(info->retry_delay->nanos, 500000000);
    google__rpc__retry_info__free_unpacked(info, NULL);
    google__rpc__status__free_unpacked(status, NULL);
}
END_TEST

START_TEST(what_is_written_reads_back)
{
    static const uint64_t waits[] = {0, 1, 999999999, 1000000000, UINT64_C(3600000000001)};
    for (size_t i = 0; i < sizeof waits / sizeof waits[0]; i++) {
        int code;
        char message[64];
        bool has;
        uint64_t wait;
        fresh(4096);
        ck_assert(rpc_status_encode(GRPC_INTERNAL, "why", waits[i], &out));
        ck_assert(rpc_status_decode(bytes_view(&out), &code, message, sizeof message, &has, &wait));
        ck_assert_int_eq(code, 13);
        ck_assert_str_eq(message, "why");
        ck_assert(has == (waits[i] != 0));
        ck_assert_uint_eq(wait, waits[i]);
    }
}
END_TEST

START_TEST(json_has_the_typed_detail)
{
    fresh(4096);
    ck_assert(rpc_status_encode_json(GRPC_UNAVAILABLE, "say \"when\"\n", 1000000000, &out));
    ck_assert(view_eq(
        bytes_view(&out),
        VIEW(
            "{\"code\":14,\"message\":\"say \\\"when\\\"\\n\",\"details\":[{\"@type\":\"" RETRY_INFO
            "\",\"retryDelay\":\"1s\"}]}")));
    fresh(4096);
    ck_assert(rpc_status_encode_json(GRPC_INVALID_ARGUMENT, "no", 0, &out));
    ck_assert(view_eq(bytes_view(&out), VIEW("{\"code\":3,\"message\":\"no\"}")));
    fresh(4096);
    ck_assert(rpc_status_encode_json(GRPC_UNAVAILABLE, NULL, 1500000000, &out));
    ck_assert_ptr_nonnull(memmem(out.data, out.size, "\"1.500s\"", 8));
}
END_TEST

START_TEST(a_message_that_is_no_utf8_becomes_it)
{
    fresh(4096);
    ck_assert(rpc_status_encode(GRPC_INTERNAL, "a\xff", 0, &out));
    ck_assert(view_eq(bytes_view(&out), PB_JOIN(pb_varint(1, 13), PB_TEXT(2, "a\xef\xbf\xbd"))));
}
END_TEST

static bool decodes(struct view in, bool *has, uint64_t *wait)
{
    int code;
    char message[4];
    return rpc_status_decode(in, &code, message, sizeof message, has, wait);
}

START_TEST(a_long_message_is_cut_and_other_details_are_passed_over)
{
    int code;
    char message[4];
    bool has;
    uint64_t wait;
    struct view other =
        PB_MESSAGE(3, PB_TEXT(1, "type.googleapis.com/x"), PB_MESSAGE(2, PB_RAW(0xff)));
    ck_assert(rpc_status_decode(PB_JOIN(other, PB_TEXT(2, "abcdef"), PB_TEXT(9, "unknown")), &code,
                                message, sizeof message, &has, &wait));
    ck_assert_str_eq(message, "abc");
    ck_assert(!has && wait == 0 && code == 0);
}
END_TEST

START_TEST(retry_info_without_or_with_odd_delay_is_still_there)
{
    bool has;
    uint64_t wait;
    ck_assert(decodes(PB_MESSAGE(3, PB_TEXT(1, RETRY_INFO)), &has, &wait) && has && wait == 0);
    struct view huge = PB_MESSAGE(2, PB_MESSAGE(1, pb_varint(1, INT64_MAX)));
    ck_assert(decodes(PB_MESSAGE(3, PB_TEXT(1, RETRY_INFO), huge), &has, &wait) && has);
    ck_assert_uint_gt(wait, UINT64_C(86400) * 1000000000);
    struct view minus = PB_MESSAGE(2, PB_MESSAGE(1, pb_varint(1, (uint64_t)-1)));
    ck_assert(decodes(PB_MESSAGE(3, PB_TEXT(1, RETRY_INFO), minus), &has, &wait) && wait == 0);
}
END_TEST

START_TEST(malformed_statuses_are_refused)
{
    bool has;
    uint64_t wait;
    const struct view bad[] = {
        PB_RAW(0x12, 0x05, 'a'),
        PB_TEXT(1, "x"),
        pb_varint(2, 1),
        pb_varint(3, 1),
        PB_MESSAGE(3, PB_RAW(0x0a, 0x09)),
        PB_MESSAGE(3, PB_TEXT(1, RETRY_INFO), PB_MESSAGE(2, PB_RAW(0x0a, 0x09))),
        PB_MESSAGE(3, PB_TEXT(1, RETRY_INFO), PB_MESSAGE(2, PB_MESSAGE(1, PB_RAW(0x08)))),
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ck_assert_msg(!decodes(bad[i], &has, &wait), "case %zu", i);
}
END_TEST

START_TEST(too_little_room_is_a_clean_failure)
{
    size_t cap = 0;
    for (fresh(cap); !rpc_status_encode(GRPC_UNAVAILABLE, "m", 1, &out); fresh(cap))
        ck_assert_uint_lt(++cap, 1000);
    ck_assert_uint_gt(cap, 40);
    for (fresh(cap = 0); !rpc_status_encode_json(GRPC_UNAVAILABLE, "m", 1, &out); fresh(cap))
        ck_assert_uint_lt(++cap, 1000);
}
END_TEST

SUITE_MAIN("rpc_status", protobuf_c_reads_what_is_written, what_is_written_reads_back,
           json_has_the_typed_detail, a_message_that_is_no_utf8_becomes_it,
           a_long_message_is_cut_and_other_details_are_passed_over,
           retry_info_without_or_with_odd_delay_is_still_there, malformed_statuses_are_refused,
           too_little_room_is_a_clean_failure)
