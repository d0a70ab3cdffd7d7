/* POST /ingest, as sent by the SDKs. */
#include "receivers/pyroscope/pyroscope.h"

#include "lib/wire/pprof/pprof.h"
#include "tests/support/forever.h"
#include "tests/support/pprof_build.h"
#include "tests/support/proto_build.h"
#include "tests/support/receiver_rig.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

extern const struct component receiver_pyroscope;
const struct component *const component_table[] = {&receiver_pyroscope, &scripted_keeper, NULL};

#define SERVED_BY(keys) RIG_PROFILES("pyroscope", "{endpoint: 'unix:%s/http'" keys "}")
/* Accepts profiles of any time. */
#define RECEIVER(keys) SERVED_BY(", reject_older_than: 0s, reject_newer_than: 0s" keys)
#define FORM           "Content-Type: multipart/form-data; boundary=xyz\r\n"
#define OCTETS         "Content-Type: application/octet-stream\r\n"

/* A speedscope file with the given profiles, or none. */
#define SPEEDSCOPE(profiles)                                                                       \
    VIEW("{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\","                    \
         "\"shared\":{\"frames\":[{\"name\":\"a\"}]},\"profiles\":[" profiles "]}")
#define EVENTED(events) "{\"type\":\"evented\",\"unit\":\"seconds\",\"events\":[" events "]}"

/* The fake clock's time. */
#define NOW INT64_C(1767225600000000000)

static struct view profile_of(int64_t time, const char *type, const char *file)
{
    struct pprof_build *build = pprof_build_new();
    pprof_build_type(build, type, "nanoseconds");
    pprof_build_time(build, time, 10000000000);
    pprof_build_sample(build, (int64_t[]){1}, (const char *const[]){file, NULL});
    struct bytes raw = pprof_build_raw(build);
    pprof_build_free(build);
    return forever(raw);
}

static struct view cpu_profile(void)
{
    static const char *const ids[] = {"00f067aa0ba902b7", NULL};
    struct pprof_build *build = pprof_build_new();
    pprof_build_type(build, "samples", "count");
    pprof_build_type(build, "cpu", "nanoseconds");
    pprof_build_time(build, 1700000000000000000, 10000000000);
    for (size_t i = 0; i < 2; i++) {
        pprof_build_sample(build, (int64_t[]){1, 10000000},
                           (const char *const[]){"work", "main", NULL});
        if (ids[i])
            pprof_build_label(build, "span_id", ids[i]);
    }
    struct bytes raw = pprof_build_raw(build);
    pprof_build_free(build);
    return forever(raw);
}

struct part {
    const char *name, *filename;
    struct view content;
};

static struct view form(const struct part *parts, size_t count)
{
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    for (size_t i = 0; i < count; i++) {
        fprintf(out, "--xyz\r\nContent-Disposition: form-data; name=\"%s\"", parts[i].name);
        if (parts[i].filename)
            fprintf(out, "; filename=\"%s\"", parts[i].filename);
        fputs("\r\n\r\n", out);
        fwrite(parts[i].content.data, 1, parts[i].content.size, out);
        fputs("\r\n", out);
    }
    fputs("--xyz--\r\n", out);
    fclose(out);
    return forever((struct bytes){.data = (uint8_t *)text, .size = size});
}
#define FORM_OF(...)                                                                               \
    form((const struct part[]){__VA_ARGS__},                                                       \
         sizeof((const struct part[]){__VA_ARGS__}) / sizeof(struct part))

static void assert_label(const struct batch *batch, const char *name, const char *value)
{
    struct view got = series_get(batch->series, view_of(name));
    ck_assert_msg(view_eq(got, view_of(value)), "%s is %.*s", name, VIEW_ARG(got));
}

static void assert_error(const char *code, const char *words)
{
    ck_assert(answer_has(&answer, "\r\nContent-Type: application/json"));
    ck_assert_msg(strstr(answer.body, code), "%s", answer.body);
    ck_assert_msg(strstr(answer.body, words), "%s", answer.body);
}

START_TEST(a_multipart_profile_is_inflated_and_keeps_what_stands_beside_it)
{
    struct view raw = cpu_profile();
    rig_begin(RECEIVER());
    receiver_post(
        fd,
        "/ingest?aggregationType=&from=1700000000000000001&name=shop.cart%7Bregion%3Deu%2C"
        "otel.scope.name%3Dcom.grafana%7D&sampleRate=100&spyName=gospy&units=&until="
        "1700000015000000000",
        FORM,
        FORM_OF({"profile", "profile.pprof", receiver_gzip(raw)},
                {"sample_type_config", "sample_type_config.json", VIEW("{\"cpu\":{}}")}),
        200, &answer);
    ck_assert_uint_eq(answer.size, 0);
    const struct batch *batch = keeper_batch(0);
    ck_assert_int_eq(batch->encoding, BATCH_PPROF);
    ck_assert(view_eq(buffer_view(batch->payload), raw));
    assert_label(batch, "__name__", "shop.cart");
    assert_label(batch, "region", "eu");
    assert_label(batch, "otel.scope.name", "com.grafana");
    ck_assert(batch->profile->by_ingest);
    ck_assert_uint_eq(batch->profile->from_ns, 1700000000000000001);
    ck_assert_uint_eq(batch->profile->until_ns, 1700000015000000000);
    ck_assert_str_eq(batch->profile->sample_type_config, "{\"cpu\":{}}");
    ck_assert_str_eq(batch->profile->spy_name, "gospy");
    rig_end();
}
END_TEST

START_TEST(a_plain_profile_in_a_form_is_read_too_and_plain_fields_are_not)
{
    struct view raw = cpu_profile();
    rig_begin(RECEIVER());
    receiver_post(fd, "/pyroscope/ingest?name=a", FORM,
                  FORM_OF({"profile", NULL, VIEW("no file part")}, {"profile", "p", raw}), 200,
                  &answer);
    ck_assert(view_eq(buffer_view(keeper_batch(0)->payload), raw));
    ck_assert_ptr_null(keeper_batch(0)->profile->sample_type_config);
    ck_assert_ptr_null(keeper_batch(0)->profile->spy_name);
    receiver_post(fd, "/ingest?name=a&format=pprof", FORM,
                  FORM_OF({"profile", "p", raw}, {"profile", "p", VIEW("the first one counts")}),
                  200, &answer);
    ck_assert(view_eq(buffer_view(keeper_batch(1)->payload), raw));
    rig_end();
}
END_TEST

START_TEST(a_raw_profile_is_read_plain_gzipped_encoded_and_chunked)
{
    struct view raw = cpu_profile();
    rig_begin(RECEIVER());
    receiver_post(fd, "/ingest?format=pprof&name=n", OCTETS, raw, 200, &answer);
    receiver_post(fd, "/ingest?format=pprof&name=n", OCTETS, receiver_gzip(raw), 200, &answer);
    receiver_post(fd, "/ingest?format=pprof&name=n", OCTETS "Content-Encoding: gzip\r\n",
                  receiver_gzip(raw), 200, &answer);
    receiver_post_chunked(fd, "/ingest?format=pprof&name=n", OCTETS, receiver_gzip(raw), 200,
                          &answer);
    for (size_t i = 0; i < 4; i++)
        ck_assert(view_eq(buffer_view(keeper_batch(i)->payload), raw));
    rig_end();
}
END_TEST

START_TEST(times_come_in_seconds_too_and_from_is_the_arrival_where_it_is_missing)
{
    rig_begin(RECEIVER());
    receiver_post(fd, "/ingest?format=pprof&name=n&from=1700000000&until=1700000010", OCTETS,
                  cpu_profile(), 200, &answer);
    receiver_post(fd, "/ingest?format=pprof&name=n", OCTETS, cpu_profile(), 200, &answer);
    ck_assert_uint_eq(keeper_batch(0)->profile->from_ns, UINT64_C(1700000000) * NS_PER_S);
    ck_assert_uint_eq(keeper_batch(0)->profile->until_ns, UINT64_C(1700000010) * NS_PER_S);
    ck_assert_uint_eq(keeper_batch(1)->profile->from_ns, clock_wall(&given.fake.clock));
    ck_assert_uint_eq(keeper_batch(1)->profile->until_ns, 0);
    rig_end();
}
END_TEST

START_TEST(names_have_spaces_pluses_and_repeated_and_empty_parameters)
{
    rig_begin(RECEIVER());
    receiver_post(fd,
                  "/ingest?format=&name=&name=app%7Bprocess.runtime.name%3DOpenJDK+Runtime,"
                  "process.runtime.version%3D17.0.15%2B6-Debian%7D&name=other&format=pprof",
                  OCTETS, cpu_profile(), 200, &answer);
    const struct batch *batch = keeper_batch(0);
    ck_assert_int_eq(batch->encoding, BATCH_PPROF);
    assert_label(batch, "__name__", "app");
    assert_label(batch, "process.runtime.name", "OpenJDK Runtime");
    assert_label(batch, "process.runtime.version", "17.0.15+6-Debian");
    rig_end();
}
END_TEST

START_TEST(a_bad_name_is_400_with_the_reason)
{
    rig_begin(RECEIVER());
    receiver_post(fd, "/ingest?format=pprof", OCTETS, cpu_profile(), 400, &answer);
    assert_error("\"invalid_argument\"", "name: ");
    receiver_post(fd, "/ingest?format=pprof&name=a%2Bb", OCTETS, cpu_profile(), 400, &answer);
    assert_error("\"invalid_argument\"", "'/': \\\"a+b\\\"");
    receiver_post(fd, "/ingest?format=pprof&name=", OCTETS, cpu_profile(), 400, &answer);
    receiver_post(fd, "/ingest?format=pprof&name=a%7Bb-c%3Dd%7D", OCTETS, cpu_profile(), 400,
                  &answer);
    receiver_post(fd, "/ingest?format=jfr&name=a%20b", OCTETS, VIEW("FLR"), 400, &answer);
    ck_assert_uint_eq(keeper_count(), 0);
    rig_end();
}
END_TEST

START_TEST(garbage_is_422_with_the_reason)
{
    struct view raw = cpu_profile();
    rig_begin(RECEIVER());
    receiver_post(fd, "/ingest?format=pprof&name=n", OCTETS, VIEW("garbage"), 422, &answer);
    assert_error("\"invalid_argument\"", "not a valid pprof");
    receiver_post(fd, "/ingest?format=pprof&name=n", OCTETS, VIEW("\x1f\x8b\x08 no gzip"), 422,
                  &answer);
    assert_error("\"invalid_argument\"", "gzip");
    receiver_post(fd, "/ingest?name=n", FORM, VIEW("--xyz\r\nContent-"), 422, &answer);
    assert_error("\"invalid_argument\"", "malformed multipart");
    receiver_post(fd, "/ingest?name=n", FORM, FORM_OF({"other", "o", raw}), 422, &answer);
    assert_error("\"invalid_argument\"", "\\\"profile\\\"");
    receiver_post(fd, "/ingest?name=n", "Content-Type: multipart/form-data\r\n", raw, 422, &answer);
    assert_error("\"invalid_argument\"", "boundary");
    receiver_post(fd, "/ingest?name=n", FORM,
                  FORM_OF({"profile", "p", raw}, {"sample_type_config", "c", VIEW("{")}), 422,
                  &answer);
    assert_error("\"invalid_argument\"", "sample_type_config");
    receiver_post(fd, "/ingest?name=n", FORM,
                  FORM_OF({"profile", "p", raw}, {"prev_profile", "p", raw}), 422, &answer);
    assert_error("\"invalid_argument\"", "prev_profile");
    ck_assert_uint_eq(keeper_count(), 0);
    rig_end();
}
END_TEST

START_TEST(an_empty_profile_is_accepted_and_goes_nowhere)
{
    rig_begin(RECEIVER());
    receiver_post(fd, "/ingest?format=pprof&name=n", OCTETS, VIEW(""), 200, &answer);
    receiver_post(fd, "/ingest?format=pprof&name=n", OCTETS, receiver_gzip(VIEW("")), 200, &answer);
    receiver_post(fd, "/ingest?name=n", FORM, FORM_OF({"profile", "p", VIEW("")}), 200, &answer);
    ck_assert_uint_eq(keeper_count(), 0);
    rig_end();
}
END_TEST

START_TEST(other_formats_are_forwarded_byte_for_byte)
{
    struct {
        const char *target, *type;
        struct view body;
    } requests[] = {
        {"/ingest?name=j%7Ba%3Db%20c%7D&units=samples&from=1&until=2&x=&format=jfr&x=%2B",
         "multipart/form-data; boundary=xyz",
         FORM_OF({"jfr", "jfr", receiver_gzip(VIEW("FLR"))},
                 {"labels", "labels", VIEW("\x0a\x00")})},
        {"/ingest?name=f.cpu", "text/plain", VIEW("a;b 10\n")},
        {"/ingest?name=f.cpu&format=trie", "binary/octet-stream", VIEW("\x00\x01\xff")},
        {"/ingest?name=f.cpu", "binary/octet-stream+tree", VIEW("tree")},
        {"/ingest?name=f.cpu&format=speedscope", "application/json", SPEEDSCOPE("")},
    };
    rig_begin(RECEIVER());
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) {
        char header[128];
        snprintf(header, sizeof header, "Content-Type: %s\r\n", requests[i].type);
        receiver_post(fd, requests[i].target, header, requests[i].body, 200, &answer);
        const struct batch *batch = keeper_batch(i);
        ck_assert_int_eq(batch->encoding, BATCH_OPAQUE);
        ck_assert(view_eq(buffer_view(batch->payload), requests[i].body));
        ck_assert_str_eq(batch->opaque->query, strchr(requests[i].target, '?') + 1);
        ck_assert_str_eq(batch->opaque->content_type, requests[i].type);
    }
    rig_end();
}
END_TEST

START_TEST(text_is_refused_where_the_server_would_lose_it)
{
    rig_begin(RECEIVER());
    receiver_post(fd, "/ingest?name=my.service", "", VIEW("a;b 10\n"), 400, &answer);
    assert_error("\"invalid_argument\"", "unknown profile type \\\"service\\\"");
    receiver_post(fd, "/ingest?name=my.service&format=trie", OCTETS, VIEW(""), 400, &answer);
    receiver_post(fd, "/ingest?name=f.cpu", "", VIEW("a;b 10\na;c\na;b ten\n"), 422, &answer);
    assert_error("\"invalid_argument\"", "line 3");
    receiver_post(fd, "/ingest?name=f&format=unknown", OCTETS, VIEW("a b"), 422, &answer);
    ck_assert_uint_eq(keeper_count(), 0);
    receiver_post(fd, "/ingest?name=my.service&format=jfr", OCTETS, VIEW("FLR\0"), 200, &answer);
    receiver_post(fd, "/ingest?name=my.service&format=speedscope", OCTETS, SPEEDSCOPE(""), 200,
                  &answer);
    receiver_post(fd, "/ingest?name=f&format=lines", OCTETS, VIEW("a b"), 200, &answer);
    ck_assert_uint_eq(keeper_count(), 3);
    rig_end();
}
END_TEST

START_TEST(what_is_no_recording_is_refused_before_it_is_lost)
{
    rig_begin(RECEIVER());
    receiver_post(fd, "/ingest?name=j&format=jfr", OCTETS, VIEW("garbage"), 422, &answer);
    assert_error("\"invalid_argument\"", "not a JFR recording");
    receiver_post(fd, "/ingest?name=j&format=jfr", OCTETS, receiver_gzip(VIEW("FLR\0")), 422,
                  &answer);
    receiver_post(fd, "/ingest?name=j&format=jfr", FORM, FORM_OF({"profile", "p", VIEW("FLR\0")}),
                  422, &answer);
    assert_error("\"invalid_argument\"", "\\\"jfr\\\"");
    receiver_post(fd, "/ingest?name=j&format=jfr", FORM, FORM_OF({"jfr", "j", VIEW("")}), 422,
                  &answer);
    receiver_post(fd, "/ingest?name=j&format=jfr", FORM, FORM_OF({"jfr", NULL, VIEW("FLR\0")}), 422,
                  &answer);
    receiver_post(fd, "/ingest?name=j&format=jfr", FORM, VIEW("--xyz\r\nContent-"), 422, &answer);
    receiver_post(fd, "/ingest?name=j&format=jfr", "Content-Type: multipart/form-data\r\n",
                  VIEW("FLR\0"), 422, &answer);
    ck_assert_uint_eq(keeper_count(), 0);
    receiver_post(fd, "/ingest?name=j&format=jfr", FORM, FORM_OF({"jfr", "j", VIEW("FLR\0")}), 200,
                  &answer);
    ck_assert_uint_eq(keeper_count(), 1);
    rig_end();
}
END_TEST

START_TEST(broken_labels_of_a_recording_are_refused_with_it)
{
    struct view packed = receiver_gzip(VIEW("\x12\x07\x08\x01\x12\x03GET"));
    const struct view bad[] = {VIEW("x"), VIEW("\xff\xff\xff\xff"), {packed.data, packed.size - 9}};
    rig_begin(RECEIVER());
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        receiver_post(fd, "/ingest?name=j&format=jfr", FORM,
                      FORM_OF({"jfr", "j", VIEW("FLR\0")}, {"labels", "l", bad[i]}), 422, &answer);
        assert_error("\"invalid_argument\"", "labels");
    }
    receiver_post(fd, "/ingest?name=j&format=jfr", FORM,
                  FORM_OF({"jfr", "j", VIEW("FLR\0")}, {"labels", "l", VIEW("")}), 200, &answer);
    receiver_post(fd, "/ingest?name=j&format=jfr", FORM,
                  FORM_OF({"jfr", "j", VIEW("FLR\0")}, {"labels", "l", packed}), 200, &answer);
    rig_end();
}
END_TEST

START_TEST(a_speedscope_file_that_the_server_refuses_is_refused)
{
    rig_begin(RECEIVER());
    receiver_post(fd, "/ingest?name=f&format=speedscope", OCTETS,
                  SPEEDSCOPE(EVENTED("{\"type\":\"C\",\"frame\":0,\"at\":1}")), 422, &answer);
    assert_error("\"invalid_argument\"", "profile 1 has an event closes a frame and none is open");
    receiver_post(fd, "/ingest?name=f&format=speedscope", OCTETS, VIEW("{}"), 422, &answer);
    receiver_post(fd, "/ingest?name=f.service&format=speedscope", OCTETS, SPEEDSCOPE(EVENTED("")),
                  422, &answer);
    receiver_post(fd, "/ingest?name=f.cpu&format=speedscope", OCTETS, SPEEDSCOPE(EVENTED("")), 200,
                  &answer);
    rig_end();
}
END_TEST

START_TEST(times_and_labels_that_the_server_refuses_are_refused)
{
    static const int64_t hour = 3600 * INT64_C(1000000000);
    char target[4096], value[3000];
    memset(value, 'v', 2049);
    value[2049] = '\0';
    rig_begin(SERVED_BY());
    const struct view old = profile_of(NOW - 2 * hour, "cpu", "f");
    receiver_post(fd, "/ingest?name=a&format=pprof", OCTETS, old, 422, &answer);
    assert_error("\"invalid_argument\"", "2025-12-31T22:00:00Z, more than 3600 s");
    receiver_post(fd, "/ingest?name=a&format=pprof", OCTETS, profile_of(NOW + hour, "cpu", "f"),
                  422, &answer);
    assert_error("\"invalid_argument\"", "reject_newer_than");
    receiver_post(fd, "/ingest?name=a&format=pprof", OCTETS, profile_of(NOW, "c-u", "f"), 422,
                  &answer);
    /* On this path, a time in 1970 counts as missing. */
    receiver_post(fd, "/ingest?name=a&format=pprof", OCTETS, profile_of(1000000, "cpu", "f"), 200,
                  &answer);
    receiver_post(fd, "/ingest?name=a&format=pprof&from=1700000000", OCTETS,
                  profile_of(1000000, "cpu", "f"), 422, &answer);
    /* Text profiles get the server's status for text. */
    receiver_post(fd, "/ingest?name=a&from=1700000000", "", VIEW("a;b 10\n"), 400, &answer);
    receiver_post(fd, "/ingest?name=a", "", VIEW("a;b 10\n"), 200, &answer);
    receiver_post(fd, "/ingest?name=a&format=jfr&from=1700000000", OCTETS, VIEW("FLR\0"), 422,
                  &answer);
    snprintf(target, sizeof target, "/ingest?name=a%%7Bb%%3D%s%%7D&format=pprof", value);
    receiver_post(fd, target, OCTETS, profile_of(NOW, "cpu", "f"), 422, &answer);
    assert_error("\"invalid_argument\"", "the value of label");
    ck_assert_uint_eq(keeper_count(), 2);
    rig_end();
}
END_TEST

START_TEST(ready_is_answered)
{
    rig_begin(RECEIVER());
    raw_exchange(fd, "GET /ready HTTP/1.1\r\nHost: x\r\n\r\n", 200, &answer);
    rig_end();
}
END_TEST

/* Functions without ids, as many as locations: sent by old .NET agents. */
static struct view broken_dotnet(void)
{
#define LOCATION(id) PB_MESSAGE(4, pb_varint(1, id), PB_MESSAGE(4, pb_varint(1, 0)))
    return PB_JOIN(PB_MESSAGE(1, pb_varint(1, 1), pb_varint(2, 2)),
                   PB_MESSAGE(2, PB_MESSAGE(1, VIEW("\x07")), PB_MESSAGE(2, VIEW("\x05"))),
                   LOCATION(7), LOCATION(9), PB_MESSAGE(5, pb_varint(2, 3)),
                   PB_MESSAGE(5, pb_varint(2, 3)), PB_EMPTY(6), PB_TEXT(6, "inuse-space"),
                   PB_TEXT(6, "bytes"), PB_TEXT(6, "Main"));
}

START_TEST(what_old_agents_of_dotnet_send_is_repaired)
{
    struct arena arena;
    struct pprof pprof;
    struct proto_fault fault;
    rig_begin(RECEIVER());
    receiver_post(fd, "/ingest?name=a&format=pprof", OCTETS, broken_dotnet(), 422, &answer);
    receiver_post(fd, "/ingest?name=a&format=pprof&spyName=dotnetspy", OCTETS, broken_dotnet(), 200,
                  &answer);
    receiver_post(fd, "/ingest?name=a", FORM,
                  FORM_OF({"profile", "p", receiver_gzip(broken_dotnet())},
                          {"sample_type_config", "c", VIEW("{\"inuse-space\":{}}")}),
                  200, &answer);
    for (size_t i = 0; i < 2; i++) {
        arena_init(&arena, 1 << 20);
        ck_assert(pprof_open(&pprof, buffer_view(keeper_batch(i)->payload), &arena, &fault));
        ck_assert(view_eq(pprof.types[0].type, VIEW("inuse_space")));
        ck_assert_ptr_null(keeper_batch(i)->payload->packed);
        arena_release(&arena);
    }
    rig_end();
}
END_TEST

START_TEST(a_format_without_a_content_type_is_forwarded_without_one)
{
    rig_begin(RECEIVER());
    receiver_post_chunked(fd, "/ingest?name=j&format=jfr", "", VIEW("FLR\x00"), 200, &answer);
    ck_assert_ptr_null(keeper_batch(0)->opaque->content_type);
    ck_assert(view_eq(buffer_view(keeper_batch(0)->payload), VIEW("FLR\x00")));
    rig_end();
}
END_TEST

START_TEST(unknown_encodings_and_large_bodies_are_refused)
{
    rig_begin(RECEIVER(", max_request_body_size: 500"));
    struct pprof_build *build = pprof_build_new();
    char text[3000];
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    pprof_build_type(build, "cpu", "nanoseconds");
    pprof_build_sample(build, (int64_t[]){1}, (const char *const[]){text, NULL});
    struct view raw = forever(pprof_build_raw(build));
    pprof_build_free(build);
    receiver_post(fd, "/ingest?format=pprof&name=n", OCTETS "Content-Encoding: br\r\n", VIEW("x"),
                  415, &answer);
    assert_error("\"unimplemented\"", "Content-Encoding");
    receiver_post(fd, "/ingest?format=pprof&name=n", OCTETS, receiver_gzip(raw), 413, &answer);
    assert_error("\"resource_exhausted\"", "after decompression");
    receiver_post(fd, "/ingest?format=pprof&name=n", OCTETS, raw, 413, &answer);
    ck_assert_uint_eq(keeper_count(), 0);
    rig_end();
}
END_TEST

/* Like a pprof of that size, because forwarding it uncompressed takes as much memory. */
START_TEST(a_recording_that_inflates_beyond_the_memory_limit_is_413)
{
    static uint8_t zeros[60 << 20] = "FLR";
    rig_begin(RECEIVER());
    given.runtime->budget.limit = 64 << 20;
    given.runtime->budget.reserve = 4 << 20;
    receiver_post(fd, "/ingest?name=a&format=jfr", FORM,
                  FORM_OF({"jfr", "jfr", receiver_gzip((struct view){zeros, sizeof zeros})}), 413,
                  &answer);
    assert_error("resource_exhausted", "too large");
    receiver_post(fd, "/ingest?name=a&format=jfr", FORM,
                  FORM_OF({"jfr", "jfr", receiver_gzip((struct view){zeros, 20 << 20})}), 200,
                  &answer);
    ck_assert_uint_eq(keeper_count(), 1);
    rig_end();
}
END_TEST

START_TEST(backpressure_is_503_with_a_wait)
{
    struct outcome later = outcome_of(VERDICT_RETRY, CAUSE_UNAVAILABLE, "come back");
    rig_begin(RECEIVER());
    keeper_answers(&later);
    receiver_post(fd, "/ingest?format=pprof&name=n", OCTETS, cpu_profile(), 503, &answer);
    ck_assert(answer_has(&answer, "\r\nRetry-After: 1"));
    assert_error("\"unavailable\"", "come back");
    ck_assert_uint_eq(meter_get(given_meter(&given, "pyroscope"), METER_REFUSED, SIGNAL_PROFILES),
                      1);
    rig_end();
}
END_TEST

START_TEST(what_is_refused_for_good_is_never_a_status_that_java_offers_again)
{
    enum cause causes[] = {CAUSE_INTERNAL, CAUSE_UNAVAILABLE, CAUSE_INVALID, CAUSE_NONE};
    rig_begin(RECEIVER());
    for (size_t i = 0; i < sizeof causes / sizeof *causes; i++) {
        struct outcome never = outcome_of(VERDICT_REJECT, causes[i], "no use");
        keeper_answers(&never);
        receiver_post(fd, "/ingest?format=jfr&name=n", OCTETS, VIEW("FLR\0"), 422, &answer);
        ck_assert(!answer_has(&answer, "\r\nRetry-After"));
        ck_assert_ptr_nonnull(strstr(answer.body, "no use"));
    }
    rig_end();
}
END_TEST

START_TEST(metadata_are_sent_on_request_by_request)
{
    rig_begin(RECEIVER(", include_metadata: true"));
    receiver_post(fd, "/ingest?format=pprof&name=n",
                  OCTETS "X-Scope-OrgID: a\r\nAuthorization: Basic eA==\r\nCookie: c\r\n",
                  cpu_profile(), 200, &answer);
    receiver_post(fd, "/ingest?format=jfr&name=n", OCTETS "X-Scope-OrgID: b\r\n", VIEW("FLR\0"),
                  200, &answer);
    receiver_post(fd, "/ingest?format=pprof&name=n", OCTETS, cpu_profile(), 200, &answer);
    ck_assert_str_eq(keeper_batch(0)->metadata->tenant, "a");
    ck_assert_str_eq(keeper_batch(0)->metadata->authorization, "Basic eA==");
    ck_assert_str_eq(keeper_batch(1)->metadata->tenant, "b");
    ck_assert_ptr_null(keeper_batch(1)->metadata->authorization);
    ck_assert_ptr_null(keeper_batch(2)->metadata);
    rig_end();
}
END_TEST

START_TEST(metadata_stay_here_by_default)
{
    rig_begin(RECEIVER());
    receiver_post(fd, "/ingest?format=pprof&name=n", OCTETS "X-Scope-OrgID: a\r\n", cpu_profile(),
                  200, &answer);
    ck_assert_ptr_null(keeper_batch(0)->metadata);
    rig_end();
}
END_TEST

START_TEST(other_paths_and_methods_are_refused)
{
    rig_begin(RECEIVER());
    receiver_post(fd, "/", OCTETS, VIEW(""), 404, &answer);
    receiver_post(fd, "/ingest/x", OCTETS, VIEW(""), 404, &answer);
    raw_exchange(fd, "GET /ingest?name=a HTTP/1.1\r\nHost: x\r\n\r\n", 405, &answer);
    ck_assert(answer_has(&answer, "\r\nAllow: POST"));
    rig_end();
}
END_TEST

START_TEST(recorded_uploads_of_the_go_sdk_are_read)
{
    static const char *const files[] = {"004-15.016-ingest.bin", "009-30.017-ingest.bin"};
    rig_begin(RECEIVER());
    for (size_t i = 0; i < 2; i++) {
        char path[256], header[256];
        snprintf(path, sizeof path, "%s/tests/recorded/go/%s", SOURCE_DIR, files[i]);
        struct view body = receiver_recorded(path);
        const uint8_t *line = memchr(body.data, '\r', body.size);
        snprintf(header, sizeof header, "Content-Type: multipart/form-data; boundary=%.*s\r\n",
                 (int)(line - body.data) - 2, (const char *)body.data + 2);
        receiver_post(fd, "/ingest?name=ride%7B__session_id__%3D1%7D&from=1&until=2&spyName=gospy",
                      header, body, 200, &answer);
        struct arena arena;
        struct pprof pprof;
        struct proto_fault fault;
        arena_init(&arena, 16 << 20);
        ck_assert_int_eq(keeper_batch(i)->encoding, BATCH_PPROF);
        ck_assert(pprof_open(&pprof, buffer_view(keeper_batch(i)->payload), &arena, &fault));
        ck_assert_uint_gt(pprof.sample_count, 0);
        arena_release(&arena);
    }
    rig_end();
}
END_TEST

SUITE_MAIN("pyroscope_ingest", a_multipart_profile_is_inflated_and_keeps_what_stands_beside_it,
           a_plain_profile_in_a_form_is_read_too_and_plain_fields_are_not,
           a_raw_profile_is_read_plain_gzipped_encoded_and_chunked,
           times_come_in_seconds_too_and_from_is_the_arrival_where_it_is_missing,
           names_have_spaces_pluses_and_repeated_and_empty_parameters,
           a_bad_name_is_400_with_the_reason, garbage_is_422_with_the_reason,
           an_empty_profile_is_accepted_and_goes_nowhere, other_formats_are_forwarded_byte_for_byte,
           text_is_refused_where_the_server_would_lose_it,
           what_is_no_recording_is_refused_before_it_is_lost,
           what_is_refused_for_good_is_never_a_status_that_java_offers_again,
           broken_labels_of_a_recording_are_refused_with_it,
           a_speedscope_file_that_the_server_refuses_is_refused,
           times_and_labels_that_the_server_refuses_are_refused, ready_is_answered,
           what_old_agents_of_dotnet_send_is_repaired,
           a_format_without_a_content_type_is_forwarded_without_one,
           unknown_encodings_and_large_bodies_are_refused,
           a_recording_that_inflates_beyond_the_memory_limit_is_413,
           backpressure_is_503_with_a_wait, metadata_are_sent_on_request_by_request,
           metadata_stay_here_by_default, other_paths_and_methods_are_refused,
           recorded_uploads_of_the_go_sdk_are_read)
