#include "extensions/status/expired.h"

#include "lib/base/clock.h"
#include "lib/net/tls/tls_expiry.h"
#include "tests/support/suite.h"

START_TEST(an_expired_certificate_is_told_with_its_component_key_and_day)
{
    struct tls_expiry server = {.id = "otlp", .key = "protocols.http.tls", .source = "cert_file"};
    struct tls_expiry ca = {.id = "otlp_http", .key = "tls", .source = "ca_file"};
    struct bytes out;
    bytes_init(&out, 1024, NULL);
    tls_expiry_set(&server, 1700000000);
    tls_expiry_set(&ca, 1600000000);
    expired_tell(UINT64_C(1699999999) * NS_PER_S, &out);
    ck_assert_uint_eq(out.size, 0);
    bytes_printf(&out, "before");
    expired_tell(UINT64_C(1700000000) * NS_PER_S, &out);
    ck_assert(view_eq(bytes_view(&out),
                      VIEW("before; otlp: the certificate of protocols.http.tls.cert_file expired "
                           "on 2023-11-14 at 22:13:20Z, so peers refuse connections")));
    tls_expiry_forget(&server);
    tls_expiry_forget(&ca);
    bytes_release(&out);
}
END_TEST

SUITE_MAIN("expired", an_expired_certificate_is_told_with_its_component_key_and_day)
