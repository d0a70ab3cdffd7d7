#include "lib/net/http/client_keys.h"

#include "lib/net/tls/tls_expiry.h"
#include "tests/support/suite.h"
#include "tests/support/tls_server.h"

#include <stdlib.h>

START_TEST(urls_are_joined_with_one_slash)
{
    static const char *const bases[] = {"http://h:1", "http://h:1/", "http://h:1///"};
    for (size_t i = 0; i < 3; i++) {
        char *url = url_join(bases[i], "/v1/traces");
        ck_assert_str_eq(url, "http://h:1/v1/traces");
        free(url);
    }
    char *url = url_join("http://h/base/", "/x");
    ck_assert_str_eq(url, "http://h/base/x");
    free(url);
}
END_TEST

START_TEST(urls_have_a_scheme_and_a_host)
{
    static const char *const good[] = {"http://h", "HTTPS://h:443/x?y", "http://[::1]:4318"};
    static const char *const bad[] = {
        "",           "h:4318",        "http:/h",          "http://",
        "http:///x",  "http://:1",     "ftp://h",          "http://h x",
        "http://h\n", "http://h:port", "http://u:p?w@h:1", "http://h:70000"};
    const char *why = NULL;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        ck_assert_msg(url_check(good[i], &why), "%s", good[i]);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ck_assert_msg(!url_check(bad[i], &why), "%s", bad[i]);
        ck_assert_ptr_nonnull(strstr(why, "expected a URL"));
    }
}
END_TEST

START_TEST(compression_words_are_the_codings_that_they_name)
{
    for (int i = 0; compression_words[i]; i++) {
        struct client_settings settings = {.compression = i};
        const char *word = compression_words[i];
        bool none = strcmp(word, "none") == 0 || !*word;
        ck_assert_str_eq(encoding_text(compression_of(&settings)), none ? "identity" : word);
    }
    struct client_settings first = {.compression = 0};
    ck_assert_int_eq(compression_of(&first), ENCODING_GZIP);
}
END_TEST

START_TEST(a_sender_adds_what_it_has)
{
    struct http_header headers[3] = {{"A", "a"}};
    const struct client_settings plain = {0}, own = {.auth = {.on = true}};
    ck_assert_uint_eq(client_sender(&plain, headers, 1, NULL, NULL), 1);
    ck_assert_uint_eq(client_sender(&plain, headers, 1, NULL, "Basic x"), 2);
    ck_assert_str_eq(headers[1].name, "Authorization");
    ck_assert_uint_eq(client_sender(&plain, headers, 1, "t", "Basic x"), 3);
    ck_assert_str_eq(headers[1].name, "X-Scope-OrgID");
    ck_assert_str_eq(headers[1].value, "t");
    ck_assert_str_eq(headers[2].value, "Basic x");
    ck_assert_uint_eq(client_sender(&own, headers, 1, "t", "Basic x"), 2);
}
END_TEST

START_TEST(a_file_that_cannot_be_read_is_named)
{
    char error[192];
    struct client_settings settings = {.tls = {.ca_file = (char[]){"/nowhere/ca.pem"}}};
    ck_assert_ptr_null(client_open(&settings, "a", false, NULL, NULL, error, sizeof error));
    ck_assert_ptr_nonnull(strstr(error, "/nowhere/ca.pem"));
}
END_TEST

static void add_id(void *ctx, const struct tls_expiry *expiry)
{
    strcat(ctx, expiry->id);
    strcat(ctx, " ");
}

START_TEST(certificates_are_known_by_their_component)
{
    char error[192], ids[64] = "";
    static const char *const names[] = {"otlp_http", "pyroscope"};
    struct http_client *clients[2];
    struct tls_server server;
    tls_server_start(&server);
    struct client_settings settings = {.tls = {.ca_file = server.certificate_file}};
    for (int i = 0; i < 2; i++)
        clients[i] = client_open(&settings, names[i], i, NULL, NULL, error, sizeof error);
    tls_expiry_each(add_id, ids);
    ck_assert_str_eq(ids, "pyroscope otlp_http ");
    for (int i = 0; i < 2; i++)
        http_client_free(clients[i]);
    tls_server_stop(&server);
}
END_TEST

SUITE_MAIN("client_keys", certificates_are_known_by_their_component, urls_are_joined_with_one_slash,
           urls_have_a_scheme_and_a_host, compression_words_are_the_codings_that_they_name,
           a_sender_adds_what_it_has, a_file_that_cannot_be_read_is_named)
