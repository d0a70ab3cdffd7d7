#include "lib/wire/pprof/push.h"

#include "push.pb-c.h"
#include "tests/support/suite.h"

static struct bytes out;

static Push__V1__PushRequest *read_json(const char *json)
{
    const char *reason = NULL;
    struct proto_fault fault;
    bytes_init(&out, 1 << 20, NULL);
    ck_assert_msg(push_from_json(view_of(json), &out, &reason), "%s: %s", json, reason);
    ck_assert(proto_check(&shape_push_request, bytes_view(&out), &fault));
    Push__V1__PushRequest *request = push__v1__push_request__unpack(NULL, out.size, out.data);
    ck_assert_ptr_nonnull(request);
    bytes_release(&out);
    return request;
}

START_TEST(a_request_as_its_documentation_shows_it)
{
    Push__V1__PushRequest *request = read_json(
        "{\"series\":[{\"labels\":[{\"name\":\"__name__\",\"value\":\"process_cpu\"},"
        "{\"name\":\"service_name\",\"value\":\"ride \\u00e4\"}],"
        "\"samples\":[{\"rawProfile\":\"cHByb2Y=\",\"ID\":\"734FD599\"},{\"rawProfile\":\"_-8\"}],"
        "\"annotations\":[{\"key\":\"k\",\"value\":\"v\"}]},{\"labels\":[],\"samples\":[]}]}");
    ck_assert_uint_eq(request->n_series, 2);
    Push__V1__RawProfileSeries *series = request->series[0];
    ck_assert_uint_eq(series->n_labels, 2);
    ck_assert_str_eq(series->labels[0]->name, "__name__");
    ck_assert_str_eq(series->labels[1]->value, "ride \xc3\xa4");
    ck_assert_uint_eq(series->n_samples, 2);
    ck_assert_uint_eq(series->samples[0]->raw_profile.len, 5);
    ck_assert_int_eq(memcmp(series->samples[0]->raw_profile.data, "pprof", 5), 0);
    ck_assert_str_eq(series->samples[0]->id, "734FD599");
    ck_assert_int_eq(memcmp(series->samples[1]->raw_profile.data, "\xff\xef", 2), 0);
    ck_assert_str_eq(series->annotations[0]->key, "k");
    push__v1__push_request__free_unpacked(request, NULL);
}
END_TEST

START_TEST(unknown_members_and_nulls_are_passed_over)
{
    Push__V1__PushRequest *request =
        read_json("{\"other\":[1,{}],\"series\":[{\"labels\":null,\"x\":1,\"samples\":[{"
                  "\"raw_profile\":\"AA==\",\"ID\":null,\"y\":{}}]}]}");
    ck_assert_uint_eq(request->n_series, 1);
    ck_assert_uint_eq(request->series[0]->n_labels, 0);
    ck_assert_uint_eq(request->series[0]->samples[0]->raw_profile.len, 1);
    push__v1__push_request__free_unpacked(request, NULL);
    request = read_json("{}");
    ck_assert_uint_eq(request->n_series, 0);
    push__v1__push_request__free_unpacked(request, NULL);
}
END_TEST

START_TEST(what_is_no_request_is_refused_with_a_sentence)
{
    static const char *const bad[] = {"",
                                      "{",
                                      "[]",
                                      "null",
                                      "{\"series\":{}}",
                                      "{\"series\":[1]}",
                                      "{\"series\":[null]}",
                                      "{\"series\":[{\"labels\":\"a\"}]}",
                                      "{\"series\":[{\"labels\":[{\"name\":1}]}]}",
                                      "{\"series\":[{\"samples\":[{\"rawProfile\":1}]}]}",
                                      "{\"series\":[{\"samples\":[{\"rawProfile\":\"%%\"}]}]}",
                                      "{\"series\":[{\"labels\":[{\"name\":\"\xff\"}]}]}",
                                      "{} trailing"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const char *reason = NULL;
        bytes_init(&out, 1 << 20, NULL);
        ck_assert_int_eq(bytes_append_view(&out, VIEW("before")), BYTES_OK);
        ck_assert_msg(!push_from_json(view_of(bad[i]), &out, &reason), "%s", bad[i]);
        ck_assert_ptr_nonnull(reason);
        ck_assert(view_eq(bytes_view(&out), VIEW("before")));
        bytes_release(&out);
    }
}
END_TEST

START_TEST(without_room_there_is_a_reason)
{
    const char *reason = NULL;
    bool read = false;
    for (size_t max = 0; !read; max++) {
        bytes_init(&out, max, NULL);
        read = push_from_json(VIEW("{\"series\":[{\"labels\":[{\"name\":\"a\",\"value\":\"b\"}],"
                                   "\"samples\":[{\"rawProfile\":\"cHByb2Y=\",\"ID\":\"x\"}]}]}"),
                              &out, &reason);
        if (!read)
            ck_assert_str_eq(reason, "the request is too large");
        ck_assert_uint_lt(max, 200);
        bytes_release(&out);
    }
}
END_TEST

SUITE_MAIN("push_json", a_request_as_its_documentation_shows_it,
           unknown_members_and_nulls_are_passed_over, what_is_no_request_is_refused_with_a_sentence,
           without_room_there_is_a_reason)
