#include "lib/net/opening.h"

#include "tests/support/suite.h"

#include <string.h>

START_TEST(protocols_are_known_by_their_first_bytes)
{
    ck_assert_int_eq(opening_of("", 0), OPENING_NONE);
    ck_assert_int_eq(opening_of("POST /v1/traces", 15), OPENING_HTTP1);
    ck_assert_int_eq(opening_of("PRI * HTTP/2.0\r\n", 16), OPENING_HTTP2);
    ck_assert_int_eq(opening_of("PRI", 3), OPENING_HTTP1);
    ck_assert_int_eq(opening_of("PRINT / HTTP/1.1", 16), OPENING_HTTP1);
    ck_assert_int_eq(opening_of("\x16\x03\x01\x02\x00", 5), OPENING_TLS);
    ck_assert_int_eq(opening_of("\x16", 1), OPENING_TLS);
    ck_assert_int_eq(opening_of("\x16\x16", 2), OPENING_OTHER);
    ck_assert_int_eq(opening_of("\r\n", 2), OPENING_OTHER);
}
END_TEST

START_TEST(who_came_is_told_where_to_go)
{
    const struct endpoint endpoint = {.host = "127.0.0.1", .service = "4318"};
    struct opening_port port = {
        .speaks = "HTTP", .endpoint = &endpoint, .other = "point it at port 4317, protocols.grpc"};
    struct outcome why = opening_refusal(OPENING_HTTP2, &port);
    ck_assert_int_eq(why.verdict, VERDICT_REJECT);
    ck_assert_int_eq(why.cause, CAUSE_UNSUPPORTED);
    ck_assert_str_eq(why.text, "a gRPC client (HTTP/2) on the HTTP port 4318: point it "
                               "at port 4317, protocols.grpc");
    why = opening_refusal(OPENING_TLS, &port);
    ck_assert_int_eq(why.cause, CAUSE_TLS);
    ck_assert_str_eq(why.text, "a TLS client (https) on the cleartext HTTP port 4318: use http:// "
                               "or insecure there, or set tls here");
    why = opening_refusal(OPENING_OTHER, &port);
    ck_assert_str_eq(why.text, "a client that speaks neither HTTP nor TLS on the HTTP port 4318");
    port.other = NULL;
    why = opening_refusal(OPENING_HTTP2, &port);
    ck_assert_ptr_nonnull(strstr(why.text, ": it must speak HTTP/1.1 here"));
}
END_TEST

SUITE_MAIN("opening", protocols_are_known_by_their_first_bytes, who_came_is_told_where_to_go)
