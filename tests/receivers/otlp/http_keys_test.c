/* The settings of the Collector's HTTP servers, as seen by a client. */
#include "receivers/otlp/otlp.h"

#include "tests/support/forever.h"
#include "tests/support/proto_build.h"
#include "tests/support/receiver_rig.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

extern const struct component receiver_otlp;
const struct component *const component_table[] = {&receiver_otlp, &scripted_keeper, NULL};

#define PROTO "Content-Type: application/x-protobuf\r\n"
#define HTTP(keys)                                                                                 \
    "receivers: {otlp: {protocols: {http: {endpoint: 'unix:%s/http'" keys "}}}}\n"                 \
    "exporters: {keeper: }\n"                                                                      \
    "service: {pipelines: {traces: {receivers: [otlp], exporters: [keeper]}}}\n"
#define PREFLIGHT(headers) "OPTIONS /v1/traces HTTP/1.1\r\nHost: x\r\n" headers "\r\n"

static struct view span(void)
{
    return PB_MESSAGE(1, PB_MESSAGE(2, PB_SPAN(PB_TEXT(5, "work"))));
}

static void post_packed(enum encoding_name encoding, const char *name, int status)
{
    char headers[128];
    struct bytes packed;
    bytes_init(&packed, 1 << 20, NULL);
    ck_assert(deflate_append(encoding, span(), &packed));
    snprintf(headers, sizeof headers, PROTO "Content-Encoding: %s\r\n", name);
    receiver_post(fd, "/v1/traces", headers, bytes_view(&packed), status, &answer);
    bytes_release(&packed);
}

START_TEST(every_encoding_of_the_collector_is_read)
{
    rig_begin(HTTP());
    for (int encoding = ENCODING_GZIP; encoding < ENCODING_UNKNOWN; encoding++)
        post_packed((enum encoding_name)encoding, encoding_text((enum encoding_name)encoding), 200);
    post_packed(ENCODING_SNAPPY_FRAMED, "snappy", 200);
    for (size_t i = 0; i < ENCODING_UNKNOWN; i++)
        ck_assert(view_eq(buffer_view(keeper_batch(i)->payload), span()));
    rig_end();
}
END_TEST

START_TEST(compression_algorithms_are_obeyed)
{
    rig_begin(HTTP(", compression_algorithms: [snappy, zstd]"));
    post_packed(ENCODING_SNAPPY, "snappy", 200);
    post_packed(ENCODING_ZSTD, "zstd", 200);
    post_packed(ENCODING_GZIP, "gzip", 400);
    ck_assert_ptr_nonnull(strstr(answer.body, "\"gzip\", expected zstd or snappy"));
    receiver_post(fd, "/v1/traces", PROTO, span(), 400, &answer);
    rig_end();
}
END_TEST

START_TEST(an_algorithm_that_is_none_is_an_error_at_start)
{
    char *faults = given_faults(
        "receivers: {otlp: {protocols: {http: {compression_algorithms: ['', gzip, brotli]}}}}\n"
        "exporters: {keeper: }\n"
        "service: {pipelines: {traces: {receivers: [otlp], exporters: [keeper]}}}\n");
    ck_assert_ptr_nonnull(strstr(faults, "protocols.http.compression_algorithms: \"brotli\" is "
                                         "unknown, expected \"\", gzip, zstd, "));
    free(faults);
}
END_TEST

START_TEST(suites_and_curves_that_are_none_are_errors_at_start)
{
    char *faults =
        given_faults("receivers:\n  otlp:\n    protocols:\n      http:\n        tls:\n"
                     "          cert_file: a\n          key_file: b\n"
                     "          cipher_suites: [TLS_FOO, TLS_RSA_WITH_AES_128_CBC_SHA]\n"
                     "          curve_preferences: [P224]\n"
                     "exporters: {keeper: }\n"
                     "service: {pipelines: {traces: {receivers: [otlp], exporters: [keeper]}}}\n");
    ck_assert_ptr_nonnull(strstr(faults, "http.tls.cipher_suites: \"TLS_FOO\" is unknown"));
    ck_assert_ptr_nonnull(strstr(faults, "TLS_RSA_WITH_AES_128_CBC_SHA is insecure, and "
                                         "include_insecure_cipher_suites is not true"));
    ck_assert_ptr_nonnull(strstr(faults, "tls.curve_preferences: \"P224\" is unknown"));
    free(faults);
}
END_TEST

START_TEST(a_body_size_of_0_is_the_default)
{
    static uint8_t large[100000];
    rig_begin(HTTP(", max_request_body_size: 0"));
    receiver_post(fd, "/v1/traces", PROTO, (struct view){large, sizeof large}, 400, &answer);
    receiver_post(fd, "/v1/traces", PROTO, span(), 200, &answer);
    rig_end();
}
END_TEST

START_TEST(response_headers_are_on_every_answer)
{
    rig_begin(HTTP(", response_headers: {X-Frame-Options: DENY, Content-Type: none}"));
    receiver_post(fd, "/v1/traces", PROTO, span(), 200, &answer);
    ck_assert(answer_has(&answer, "\r\nX-Frame-Options: DENY"));
    ck_assert(answer_has(&answer, "\r\nContent-Type: application/x-protobuf"));
    receiver_post(fd, "/v1/traces", PROTO, VIEW("bad"), 400, &answer);
    ck_assert(answer_has(&answer, "\r\nX-Frame-Options: DENY"));
    receiver_post(fd, "/other", PROTO, span(), 404, &answer);
    ck_assert(answer_has(&answer, "\r\nX-Frame-Options: DENY"));
    rig_end();
}
END_TEST

START_TEST(without_keep_alives_a_connection_ends_with_its_answer)
{
    rig_begin(HTTP(", keep_alives_enabled: false"));
    receiver_post(fd, "/v1/traces", PROTO, span(), 200, &answer);
    ck_assert(answer_has(&answer, "\r\nConnection: close"));
    raw_await_close(fd);
    rig_end();
}
END_TEST

#define CORS ", cors: {allowed_origins: ['https://*.example.com', 'http://a.b'], max_age: 7200}"

START_TEST(a_preflight_of_an_allowed_origin_is_answered)
{
    rig_begin(HTTP(CORS));
    raw_exchange(fd,
                 PREFLIGHT("Origin: https://app.EXAMPLE.com\r\nAccess-Control-Request-Method: "
                           "POST\r\nAccess-Control-Request-Headers: content-type,accept\r\n"),
                 204, &answer);
    ck_assert(answer_has(&answer, "\r\nAccess-Control-Allow-Origin: https://app.EXAMPLE.com"));
    ck_assert(answer_has(&answer, "\r\nAccess-Control-Allow-Methods: POST"));
    ck_assert(answer_has(&answer, "\r\nAccess-Control-Allow-Headers: content-type,accept"));
    ck_assert(answer_has(&answer, "\r\nAccess-Control-Allow-Credentials: true"));
    ck_assert(answer_has(&answer, "\r\nAccess-Control-Max-Age: 7200"));
    ck_assert(answer_has(&answer, "\r\nVary: Origin, Access-Control-Request-Method"));
    rig_end();
}
END_TEST

START_TEST(others_are_told_nothing_of_what_is_allowed)
{
    static const char *const refused[] = {
        PREFLIGHT("Origin: https://example.com.evil\r\nAccess-Control-Request-Method: POST\r\n"),
        PREFLIGHT("Origin: http://a.b.c\r\nAccess-Control-Request-Method: POST\r\n"),
        PREFLIGHT("Origin: http://a.b\r\nAccess-Control-Request-Method: DELETE\r\n"),
        PREFLIGHT("Origin: http://a.b\r\nAccess-Control-Request-Method: POST\r\n"
                  "Access-Control-Request-Headers: content-type,x-other\r\n"),
        PREFLIGHT("Access-Control-Request-Method: POST\r\n"),
    };
    rig_begin(HTTP(CORS));
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        raw_exchange(fd, refused[i], 204, &answer);
        ck_assert_msg(!answer_has(&answer, "Access-Control-Allow"), "%zu %s", i, answer.head);
    }
    rig_end();
}
END_TEST

START_TEST(a_request_of_an_allowed_origin_has_its_headers_also_where_it_is_refused)
{
    rig_begin(HTTP(CORS));
    receiver_post(fd, "/v1/traces", PROTO "Origin: http://a.b\r\n", span(), 200, &answer);
    ck_assert(answer_has(&answer, "\r\nAccess-Control-Allow-Origin: http://a.b"));
    ck_assert(answer_has(&answer, "\r\nVary: Origin"));
    receiver_post(fd, "/v1/traces", PROTO "Origin: http://a.b\r\n", VIEW("bad"), 400, &answer);
    ck_assert(answer_has(&answer, "\r\nAccess-Control-Allow-Origin: http://a.b"));
    receiver_post(fd, "/v1/traces", PROTO "Origin: http://b.b\r\n", span(), 403, &answer);
    ck_assert(!answer_has(&answer, "Access-Control-Allow"));
    receiver_post(fd, "/v1/traces", PROTO, span(), 200, &answer);
    ck_assert(!answer_has(&answer, "Access-Control-Allow"));
    rig_end();
}
END_TEST

START_TEST(all_origins_and_headers_may_be_allowed)
{
    rig_begin(
        HTTP(", cors: {allowed_origins: ['*'], allowed_headers: ['*'], exposed_headers: [A, B]}"));
    raw_exchange(fd,
                 PREFLIGHT("Origin: null\r\nAccess-Control-Request-Method: POST\r\n"
                           "Access-Control-Request-Headers: x-anything\r\n"),
                 204, &answer);
    ck_assert(answer_has(&answer, "\r\nAccess-Control-Allow-Origin: *"));
    ck_assert(answer_has(&answer, "\r\nAccess-Control-Allow-Headers: x-anything"));
    ck_assert(!answer_has(&answer, "Max-Age"));
    receiver_post(fd, "/v1/traces", PROTO "Origin: http://b.b\r\n", span(), 200, &answer);
    ck_assert(answer_has(&answer, "\r\nAccess-Control-Expose-Headers: A, B"));
    rig_end();
}
END_TEST

START_TEST(without_cors_a_preflight_is_a_method_that_is_not_allowed)
{
    rig_begin(HTTP());
    raw_exchange(fd, PREFLIGHT("Origin: http://a.b\r\nAccess-Control-Request-Method: POST\r\n"),
                 405, &answer);
    ck_assert(!answer_has(&answer, "Access-Control-Allow"));
    rig_end();
}
END_TEST

static void post_for(const char *host, const char *origin, int status)
{
    char text[256];
    snprintf(text, sizeof text,
             "POST /v1/traces HTTP/1.1\r\nHost: %s\r\nOrigin: %s\r\n"
             "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
             host, origin);
    raw_exchange(fd, text, status, &answer);
}

START_TEST(a_page_of_the_same_host_may_send_if_that_is_surely_the_receivers)
{
    rig_begin(HTTP(", cors: {allowed_origins: ['http://app.b']}"));
    post_for("localhost:4318", "http://localhost:4318", 200);
    post_for("LOCALHOST", "https://localhost", 200);
    post_for("127.0.0.1:1", "http://127.0.0.1:1", 200);
    post_for("[::1]:1", "http://[::1]:1", 200);
    post_for("app.b", "http://app.b", 200);
    post_for("evil.b:4318", "http://evil.b:4318", 403);
    post_for("localhost.evil.b", "http://localhost.evil.b", 403);
    rig_end();
}
END_TEST

START_TEST(a_page_that_may_not_send_is_refused_and_other_clients_are_not)
{
    static const char *const refused[] = {
        PROTO "Origin: http://a.b\r\n",
        PROTO "Origin: null\r\n",
        PROTO "Origin: http://x\r\n", /* a name that anybody may have bound to this address */
        PROTO "Origin: http://x\r\nOrigin: http://a.b\r\n",
        PROTO "Origin: http://x:80\r\nSec-Fetch-Site: same-site\r\n",
        PROTO "Sec-Fetch-Site: cross-site\r\n",
        PROTO "Sec-Fetch-Site: same-origin\r\nSec-Fetch-Site: cross-site\r\n",
    };
    static const char *const taken[] = {
        PROTO,
        PROTO "Origin: https://a.b\r\nSec-Fetch-Site: same-origin\r\n",
        PROTO "Sec-Fetch-Site: none\r\n",
    };
    rig_begin(HTTP());
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        receiver_post(fd, "/v1/traces", refused[i], span(), 403, &answer);
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        receiver_post(fd, "/v1/traces", taken[i], span(), 200, &answer);
    rig_end();
}
END_TEST

SUITE_MAIN("otlp_http_keys", every_encoding_of_the_collector_is_read,
           compression_algorithms_are_obeyed, an_algorithm_that_is_none_is_an_error_at_start,
           suites_and_curves_that_are_none_are_errors_at_start, a_body_size_of_0_is_the_default,
           response_headers_are_on_every_answer,
           without_keep_alives_a_connection_ends_with_its_answer,
           a_preflight_of_an_allowed_origin_is_answered, others_are_told_nothing_of_what_is_allowed,
           a_request_of_an_allowed_origin_has_its_headers_also_where_it_is_refused,
           all_origins_and_headers_may_be_allowed,
           without_cors_a_preflight_is_a_method_that_is_not_allowed,
           a_page_that_may_not_send_is_refused_and_other_clients_are_not,
           a_page_of_the_same_host_may_send_if_that_is_surely_the_receivers)
