#include "lib/net/tls/tls_session.h"

#include "tests/support/grpc_fixture.h"
#include "tests/support/suite.h"
#include "tests/support/tls_world.h"

#include <stdio.h>

/* What the gRPC client requires of its server's certificate. */

static struct tls_world world;

/* A server whose certificate is from this CA (NULL: one that the client trusts) with this name. */
static void serve_as(const struct pki *ca, const char *name)
{
    static struct tls_server_settings settings;
    struct pki leaf;
    tls_world_make(&world);
    pki_issue(&leaf, ca ? ca : &world.ca, name);
    pki_write_certificate(&leaf, world.paths[WORLD_CERT]);
    pki_write_key(&leaf, world.paths[WORLD_KEY]);
    pki_free(&leaf);
    settings = tls_world_server_settings(&world);
    struct grpc_server_options options = grpc_fixture_options();
    options.tls = tls_world_server(&settings);
    grpc_fixture_open(&options);
}

static struct http_client_options client(void)
{
    struct http_client_options options = tls_world_client(&world, false);
    options.http2 = true;
    return options;
}

static void accepts(const struct http_client_options *options)
{
    char error[192];
    bool ok = tls_world_call(options, grpc_fixture.address, error);
    ck_assert_msg(ok, "%s", error);
}

static void refuses(const struct http_client_options *options, const char *words)
{
    char error[192];
    ck_assert(!tls_world_call(options, grpc_fixture.address, error));
    ck_assert_msg(strstr(error, "TLS with localhost:") == error && strstr(error, words), "%s",
                  error);
}

START_TEST(a_certificate_for_another_name_is_refused)
{
    serve_as(NULL, "collector.example");
    struct http_client_options options = client();
    refuses(&options, "name");
    options.tls.server_name_override = (char[]){"collector.example"};
    accepts(&options);
    options.tls.server_name_override = (char[]){"other.example"};
    refuses(&options, "name");
    options.tls.server_name_override = NULL;
    options.tls.insecure_skip_verify = true;
    accepts(&options);
    tls_world_remove(&world);
}
END_TEST

START_TEST(a_name_is_none_for_an_address)
{
    char url[128], error[256];
    struct http_reply reply;
    serve_as(NULL, "localhost");
    struct http_client_options options = client();
    accepts(&options);
    struct http_client *one = http_client_new(&options, error, sizeof error);
    ck_assert_msg(one, "%s", error);
    snprintf(url, sizeof url, "https://%s%s", grpc_fixture.address, GRPC_FIXTURE_PATH);
    ck_assert(!http_client_post(one, url, NULL, 0, VIEW("\0\0\0\0\0"), &reply));
    ck_assert_msg(strstr(reply.error, "name"), "%s", reply.error);
    http_reply_release(&reply);
    http_client_free(one);
    tls_world_remove(&world);
}
END_TEST

START_TEST(a_certificate_of_another_ca_is_refused)
{
    struct pki stranger;
    pki_ca(&stranger, "another CA");
    serve_as(&stranger, "localhost");
    struct http_client_options options = client();
    refuses(&options, "issuer");
    options.tls.insecure_skip_verify = true;
    accepts(&options);
    pki_free(&stranger);
    tls_world_remove(&world);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("net/tls_session");
    TCase *tcase = grpc_fixture_case("the server's certificate");
    tcase_add_test(tcase, a_certificate_for_another_name_is_refused);
    tcase_add_test(tcase, a_name_is_none_for_an_address);
    tcase_add_test(tcase, a_certificate_of_another_ca_is_refused);
    suite_add_tcase(suite, tcase);
    return suite_finish(suite);
}
