#include "lib/net/http/http_client.h"

#include "lib/base/clock.h"
#include "lib/net/endpoint.h"
#include "tests/support/script_server.h"
#include "tests/support/suite.h"
#include "tests/support/tls_server.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define OK_EMPTY "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"

static struct http_client_options defaults(void)
{
    return (struct http_client_options){.timeout_ns = 20 * NS_PER_S, .max_reply = 1000};
}

static struct http_client *make_client(const struct http_client_options *options)
{
    char error[256];
    struct http_client *client = http_client_new(options, error, sizeof error);
    ck_assert_msg(client, "%s", error);
    return client;
}

static bool post(struct http_client *client, const char *bound, struct view body,
                 struct http_reply *reply)
{
    const struct http_header headers[] = {{"Content-Type", "application/x-protobuf"},
                                          {"X-Own", "of the call"}};
    char url[300];
    snprintf(url, sizeof url, "http://%s/v1/traces", bound);
    return http_client_post(client, url, headers, 2, body, reply);
}

/* One request to a server that gives this response. */
static bool exchange(const char *answer, struct http_reply *reply)
{
    const char *answers[] = {answer, NULL};
    struct script_server script = {.answers = answers};
    struct http_client_options options = defaults();
    struct http_client *client = make_client(&options);
    script_server_start(&script);
    bool ok = post(client, script.bound, VIEW("body"), reply);
    http_client_free(client);
    script_server_stop(&script);
    return ok;
}

START_TEST(a_post_sends_the_body_and_the_headers_of_client_and_call)
{
    const char *answers[] = {OK_EMPTY, NULL};
    struct key_pair pairs[] = {
        {"X-Scope-OrgID", "tenant"}, {"x-own", "of the client"}, {"X-Empty", ""}};
    const struct key_map map = {pairs, 3};
    struct script_server script = {.answers = answers};
    struct http_client_options options = defaults();
    struct http_reply reply;
    options.headers = &map;
    struct http_client *client = make_client(&options);
    script_server_start(&script);
    ck_assert(post(client, script.bound, VIEW("the body"), &reply));
    http_reply_release(&reply);
    http_client_free(client);
    script_server_stop(&script);
    ck_assert_ptr_eq(strstr(script.request, "POST /v1/traces HTTP/1.1\r\n"), script.request);
    ck_assert_ptr_nonnull(strstr(script.request, "\r\nX-Scope-OrgID: tenant\r\n"));
    ck_assert_ptr_nonnull(strstr(script.request, "\r\nContent-Type: application/x-protobuf\r\n"));
    ck_assert_ptr_nonnull(strstr(script.request, "\r\nx-own: of the client\r\n"));
    ck_assert_ptr_null(strstr(script.request, "of the call"));
    ck_assert_ptr_nonnull(strstr(script.request, "\r\nX-Empty:\r\n"));
    ck_assert_ptr_null(strcasestr(script.request, "\r\nExpect:"));
    ck_assert_ptr_nonnull(strstr(script.request, "\r\n\r\nthe body"));
}
END_TEST

static bool give(void *self, struct bytes *value)
{
    return *(char *)self && bytes_append_view(value, view_of(self)) == BYTES_OK;
}

START_TEST(an_authenticators_header_wins_over_all_others)
{
    const char *answers[] = {OK_EMPTY, NULL};
    struct key_pair pairs[] = {{"x-OWN", "of the client"}, {"X-Other", "stays"}};
    const struct key_map map = {pairs, 2};
    char value[] = "of the authenticator";
    const struct authenticator auth = {.self = value, .header = "X-Own", .give = give};
    struct script_server script = {.answers = answers};
    struct http_client_options options = defaults();
    struct http_reply reply;
    options.headers = &map;
    options.auth = &auth;
    struct http_client *client = make_client(&options);
    script_server_start(&script);
    ck_assert(post(client, script.bound, VIEW("the body"), &reply));
    http_reply_release(&reply);
    script_server_stop(&script);
    ck_assert_ptr_nonnull(strstr(script.request, "\r\nX-Own: of the authenticator\r\n"));
    ck_assert_ptr_nonnull(strstr(script.request, "\r\nX-Other: stays\r\n"));
    ck_assert_ptr_null(strstr(script.request, "of the client"));
    ck_assert_ptr_null(strstr(script.request, "of the call"));
    value[0] = '\0';
    ck_assert(!post(client, script.bound, VIEW("the body"), &reply));
    ck_assert_str_eq(reply.error, "there are no credentials to send");
    http_reply_release(&reply);
    http_client_free(client);
}
END_TEST

START_TEST(secrets_of_the_request_are_hidden_in_the_reply)
{
    static const char body[] =
        "bad Bearer SECRETH3, SECRETH3, key-of-mine, user:PASSWORD1, sender's TOKEN-7 of tenant-a";
    char answer[400], value[] = "Basic dXNlcjpQQVNTV09SRDE=", url[300];
    snprintf(answer, sizeof answer, "HTTP/1.1 403 No\r\nContent-Length: %zu\r\n\r\n%s",
             strlen(body), body);
    const char *answers[] = {answer, NULL};
    struct key_pair pairs[] = {
        {"X-Auth", "Bearer SECRETH3"}, {"x-own", "key-of-mine"}, {"X-Scope-OrgID", "tenant-a"}};
    const struct key_map map = {pairs, 3};
    const struct authenticator auth = {.self = value, .header = "Authorization", .give = give};
    const struct http_header senders = {"X-Token", "TOKEN-7"};
    struct script_server script = {.answers = answers};
    struct http_client_options options = defaults();
    struct http_reply reply;
    options.headers = &map;
    options.auth = &auth;
    struct http_client *client = make_client(&options);
    script_server_start(&script);
    snprintf(url, sizeof url, "http://%s/", script.bound);
    ck_assert(http_client_post(client, url, &senders, 1, VIEW("the body"), &reply));
    ck_assert(view_eq(bytes_view(&reply.body),
                      VIEW("bad ***************, ********, ***********, user:*********, sender's "
                           "******* of tenant-a")));
    http_reply_release(&reply);
    http_client_free(client);
    script_server_stop(&script);
}
END_TEST

START_TEST(the_password_of_a_url_is_hidden_in_base64_too)
{
    const char *answers[] = {"HTTP/1.1 400 No\r\nContent-Length: 32\r\n\r\n"
                             "PWDONE1, got dXNlcjpQV0RPTkUx!!!",
                             NULL};
    struct script_server script = {.answers = answers};
    struct http_client_options options = defaults();
    struct http_client *client = make_client(&options);
    struct http_reply reply;
    char bound[300];
    script_server_start(&script);
    snprintf(bound, sizeof bound, "user:PWDONE1@%s", script.bound);
    ck_assert(post(client, bound, VIEW("the body"), &reply));
    ck_assert_ptr_nonnull(strstr(script.request, "dXNlcjpQV0RPTkUx"));
    ck_assert(view_eq(bytes_view(&reply.body), VIEW("*******, got ****************!!!")));
    http_reply_release(&reply);
    http_client_free(client);
    script_server_stop(&script);
}
END_TEST

START_TEST(a_get_has_no_body)
{
    const char *answers[] = {"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nyes", NULL};
    struct script_server script = {.answers = answers};
    struct http_client_options options = defaults();
    struct http_client *client = make_client(&options);
    const struct http_header header = {"X-Own", "of the call"};
    struct http_reply reply;
    char url[300];
    script_server_start(&script);
    snprintf(url, sizeof url, "http://%s/debug/pprof/profile?seconds=1", script.bound);
    ck_assert(http_client_get(client, url, &header, 1, &reply));
    ck_assert_int_eq(reply.status, 200);
    ck_assert(view_eq(bytes_view(&reply.body), VIEW("yes")));
    ck_assert_int_eq(reply.cut, BYTES_OK);
    http_reply_release(&reply);
    http_client_free(client);
    script_server_stop(&script);
    ck_assert_ptr_eq(strstr(script.request, "GET /debug/pprof/profile?seconds=1 HTTP/1.1\r\n"),
                     script.request);
    ck_assert_ptr_nonnull(strstr(script.request, "\r\nX-Own: of the call\r\n"));
    ck_assert_ptr_null(strcasestr(script.request, "\r\nContent-Length"));
    ck_assert_str_eq(strstr(script.request, "\r\n\r\n"), "\r\n\r\n");
}
END_TEST

START_TEST(a_client_that_got_can_post)
{
    const char *answers[] = {OK_EMPTY, OK_EMPTY, NULL};
    struct script_server script = {.answers = answers};
    struct http_client_options options = defaults();
    struct http_client *client = make_client(&options);
    struct http_reply reply;
    char url[300];
    script_server_start(&script);
    snprintf(url, sizeof url, "http://%s/", script.bound);
    ck_assert(http_client_get(client, url, NULL, 0, &reply));
    http_reply_release(&reply);
    ck_assert(post(client, script.bound, VIEW("the body"), &reply));
    http_reply_release(&reply);
    http_client_free(client);
    script_server_stop(&script);
    ck_assert_ptr_eq(strstr(script.request, "POST "), script.request);
    ck_assert_ptr_nonnull(strstr(script.request, "\r\n\r\nthe body"));
    ck_assert_uint_eq(script.connections, 1);
}
END_TEST

/* One GET of "yes" with a client that keeps max_reply bytes, within a budget. */
static enum bytes_result cut_of(size_t max_reply, size_t limit)
{
    const char *answers[] = {"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nyes", NULL};
    struct script_server script = {.answers = answers};
    struct http_client_options options = defaults();
    struct budget budget;
    struct http_reply reply;
    char url[300];
    budget_init(&budget, limit);
    options.max_reply = max_reply;
    options.budget = &budget;
    struct http_client *client = make_client(&options);
    script_server_start(&script);
    snprintf(url, sizeof url, "http://%s/", script.bound);
    ck_assert(http_client_get(client, url, NULL, 0, &reply));
    enum bytes_result cut = reply.cut;
    ck_assert((cut == BYTES_OK) == view_eq(bytes_view(&reply.body), VIEW("yes")));
    http_reply_release(&reply);
    ck_assert_uint_eq(budget_used(&budget), 0);
    http_client_free(client);
    script_server_stop(&script);
    return cut;
}

START_TEST(a_reply_that_is_not_whole_says_why)
{
    ck_assert_int_eq(cut_of(3, 1 << 20), BYTES_OK);
    ck_assert_int_eq(cut_of(2, 1 << 20), BYTES_FULL);
    ck_assert_int_eq(cut_of(1000, 0), BYTES_NO_MEMORY);
}
END_TEST

START_TEST(a_large_body_goes_without_waiting_for_100_continue)
{
    const char *answers[] = {OK_EMPTY, NULL};
    struct script_server script = {.answers = answers};
    struct http_client_options options = defaults();
    struct http_client *client = make_client(&options);
    struct http_reply reply;
    size_t size = 8 << 20;
    uint8_t *body = calloc(1, size);
    script_server_start(&script);
    ck_assert(post(client, script.bound, (struct view){body, size}, &reply));
    ck_assert_int_eq(reply.status, 200);
    ck_assert_uint_eq(script.requests, 1);
    ck_assert_ptr_null(strcasestr(script.request, "\r\nExpect:"));
    http_reply_release(&reply);
    http_client_free(client);
    script_server_stop(&script);
    free(body);
}
END_TEST

START_TEST(status_content_type_and_body_of_the_reply_are_told)
{
    struct http_reply reply;
    ck_assert(exchange("HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\n"
                       "Content-Length: 7\r\n\r\nbecause",
                       &reply));
    ck_assert_int_eq(reply.status, 400);
    ck_assert_str_eq(reply.content_type, "application/json");
    ck_assert(view_eq(bytes_view(&reply.body), VIEW("because")));
    ck_assert_uint_eq(reply.retry_after_ns, 0);
    ck_assert_int_eq(reply.grpc_status, -1);
    http_reply_release(&reply);
}
END_TEST

START_TEST(a_reply_is_kept_up_to_its_maximum)
{
    const char *answers[] = {"HTTP/1.1 200 OK\r\nContent-Length: 26\r\n\r\n"
                             "abcdefghijklmnopqrstuvwxyz",
                             OK_EMPTY, NULL};
    struct script_server script = {.answers = answers};
    struct http_client_options options = defaults();
    struct http_reply reply;
    options.max_reply = 5;
    struct http_client *client = make_client(&options);
    script_server_start(&script);
    ck_assert(post(client, script.bound, VIEW("1"), &reply));
    ck_assert(view_eq(bytes_view(&reply.body), VIEW("abcde")));
    http_reply_release(&reply);
    ck_assert(post(client, script.bound, VIEW("2"), &reply));
    ck_assert_uint_eq(reply.body.size, 0);
    ck_assert_uint_eq(script.connections, 1);
    http_reply_release(&reply);
    http_client_free(client);
    script_server_stop(&script);
}
END_TEST

/* libcurl may be linked without the libraries that these features need. */
START_TEST(what_nobody_asked_for_harms_nothing)
{
    static const char *const codings[] = {"gzip", "deflate", "br", "zstd"};
    struct http_reply reply;
    char answer[300];
    for (size_t i = 0; i < sizeof codings / sizeof *codings; i++) {
        snprintf(answer, sizeof answer,
                 "HTTP/1.1 200 OK\r\nTransfer-Encoding: %s, chunked\r\n\r\n2\r\nxy\r\n0\r\n\r\n",
                 codings[i]);
        ck_assert(!exchange(answer, &reply));
        ck_assert_str_ne(reply.error, "");
        http_reply_release(&reply);
    }
    ck_assert(exchange("HTTP/1.1 401 No\r\nWWW-Authenticate: Negotiate\r\n"
                       "WWW-Authenticate: Kerberos\r\nWWW-Authenticate: NTLM\r\n"
                       "Set-Cookie: a=b; domain=co.uk\r\nContent-Encoding: br\r\n"
                       "Content-Length: 2\r\n\r\nno",
                       &reply));
    ck_assert_int_eq(reply.status, 401);
    ck_assert(view_eq(bytes_view(&reply.body), VIEW("no")));
    http_reply_release(&reply);
}
END_TEST

START_TEST(only_http_is_spoken)
{
    static const char *const urls[] = {"scp://127.0.0.1/a",  "sftp://127.0.0.1/a",
                                       "ldap://127.0.0.1/",  "rtmp://127.0.0.1/a",
                                       "file:///etc/passwd", "ftp://127.0.0.1/a"};
    struct http_client_options options = defaults();
    struct http_client *client = make_client(&options);
    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++) {
        struct http_reply reply;
        ck_assert(!http_client_get(client, urls[i], NULL, 0, &reply));
        ck_assert_str_ne(reply.error, "");
        http_reply_release(&reply);
    }
    http_client_free(client);
}
END_TEST

START_TEST(an_informational_answer_leaves_nothing_behind)
{
    struct http_reply reply;
    ck_assert(exchange("HTTP/1.1 103 Early Hints\r\nRetry-After: 9\r\nContent-Type: x/y\r\n\r\n"
                       "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
                       &reply));
    ck_assert_int_eq(reply.status, 200);
    ck_assert_str_eq(reply.content_type, "");
    ck_assert_uint_eq(reply.retry_after_ns, 0);
    http_reply_release(&reply);
}
END_TEST

static uint64_t retry_after_of(const char *value)
{
    struct http_reply reply;
    char answer[256];
    snprintf(answer, sizeof answer,
             "HTTP/1.1 503 Busy\r\nRetry-After: %s\r\nContent-Length: 0\r\n\r\n", value);
    ck_assert(exchange(answer, &reply));
    ck_assert_int_eq(reply.status, 503);
    uint64_t wait = reply.retry_after_ns;
    http_reply_release(&reply);
    return wait;
}

START_TEST(retry_after_is_read_as_seconds_or_as_a_date)
{
    char date[64];
    time_t then = time(NULL) + 1000;
    struct tm utc;
    strftime(date, sizeof date, "%a, %d %b %Y %H:%M:%S GMT", gmtime_r(&then, &utc));
    ck_assert_uint_eq(retry_after_of("7"), 7 * NS_PER_S);
    ck_assert_uint_eq(retry_after_of("0"), 0);
    ck_assert_uint_gt(retry_after_of(date), 900 * NS_PER_S);
    ck_assert_uint_le(retry_after_of(date), 1000 * NS_PER_S);
    ck_assert_uint_eq(retry_after_of("Thu, 01 Jan 1998 00:00:00 GMT"), 0);
    ck_assert_uint_eq(retry_after_of("soon"), 0);
    ck_assert_uint_eq(retry_after_of("-5"), 0);
    ck_assert_uint_gt(retry_after_of("99999999999999999999999999"), 1000 * NS_PER_S);
}
END_TEST

START_TEST(redirects_are_not_followed_unasked)
{
    struct http_reply reply;
    ck_assert(exchange("HTTP/1.1 307 Elsewhere\r\nLocation: http://127.0.0.1:1/\r\n"
                       "Content-Length: 0\r\n\r\n",
                       &reply));
    ck_assert_int_eq(reply.status, 307);
    http_reply_release(&reply);
}
END_TEST

/* One POST with credentials to a server that redirects it to another one (NULL: itself). */
static bool follow(struct script_server *from, struct script_server *to, struct http_reply *reply)
{
    struct key_pair pairs[] = {{"X-API-Key", "secret"}, {"X-Scope-OrgID", "tenant"}};
    const struct key_map map = {pairs, 2};
    char value[] = "Bearer secret", answer[700], url[300] = "/new";
    const struct authenticator auth = {.self = value, .header = "Authorization", .give = give};
    const char *answers[] = {answer, to ? NULL : OK_EMPTY, NULL};
    struct http_client_options options = defaults();
    from->answers = answers;
    options.follows = true;
    options.headers = &map;
    options.auth = &auth;
    if (to)
        snprintf(url, sizeof url, "http://localhost%s/new", strrchr(to->bound, ':'));
    snprintf(answer, sizeof answer,
             "HTTP/1.1 308 Moved\r\nLocation: %s\r\nContent-Length: 0\r\n\r\n", url);
    struct http_client *client = make_client(&options);
    script_server_start(from);
    bool ok = post(client, from->bound, VIEW("the body"), reply);
    http_client_free(client);
    script_server_stop(from);
    return ok;
}

START_TEST(a_post_follows_to_its_own_host_with_all_that_it_has)
{
    struct script_server script = {0};
    struct http_reply reply;
    ck_assert(follow(&script, NULL, &reply));
    ck_assert_int_eq(reply.status, 200);
    http_reply_release(&reply);
    ck_assert_uint_eq(script.requests, 2);
    ck_assert_ptr_eq(strstr(script.request, "POST /new HTTP/1.1\r\n"), script.request);
    ck_assert_ptr_nonnull(strstr(script.request, "\r\nAuthorization: Bearer secret\r\n"));
    ck_assert_ptr_nonnull(strstr(script.request, "\r\nX-API-Key: secret\r\n"));
    ck_assert_ptr_nonnull(strstr(script.request, "\r\n\r\nthe body"));
}
END_TEST

START_TEST(a_post_follows_to_another_host_without_credentials)
{
    const char *answers[] = {OK_EMPTY, NULL};
    struct script_server script = {0}, other = {.answers = answers};
    struct http_reply reply;
    script_server_start(&other);
    ck_assert_msg(follow(&script, &other, &reply), "%s", reply.error);
    ck_assert_int_eq(reply.status, 200);
    http_reply_release(&reply);
    script_server_stop(&other);
    ck_assert_ptr_eq(strstr(other.request, "POST /new HTTP/1.1\r\n"), other.request);
    ck_assert_ptr_null(strcasestr(other.request, "secret"));
    ck_assert_ptr_nonnull(strstr(other.request, "\r\nX-Scope-OrgID: tenant\r\n"));
    ck_assert_ptr_nonnull(strstr(other.request, "\r\n\r\nthe body"));
}
END_TEST

START_TEST(redirects_end_after_ten_requests)
{
    const char *on = "HTTP/1.1 307 On\r\nLocation: /on\r\nContent-Length: 0\r\n\r\n";
    const char *answers[] = {on, on, on, on, on, on, on, on, on, on, NULL};
    struct script_server script = {.answers = answers};
    struct http_client_options options = defaults();
    struct http_reply reply;
    options.follows = true;
    struct http_client *client = make_client(&options);
    script_server_start(&script);
    ck_assert(!post(client, script.bound, VIEW("body"), &reply));
    ck_assert_int_eq(reply.status, 0);
    ck_assert_ptr_nonnull(strstr(reply.error, "stopped after 10 redirects, the last to http://"));
    http_reply_release(&reply);
    http_client_free(client);
    script_server_stop(&script);
    ck_assert_uint_eq(script.requests, 10);
}
END_TEST

START_TEST(a_redirect_that_would_lose_the_body_is_told)
{
    const char *answers[] = {"HTTP/1.1 302 Found\r\nLocation: http://u:pw@x/there?token=t\r\n"
                             "Content-Length: 0\r\n\r\n",
                             NULL};
    struct script_server script = {.answers = answers};
    struct http_client_options options = defaults();
    struct http_reply reply;
    char text[192], want[400];
    options.follows = true;
    struct http_client *client = make_client(&options);
    script_server_start(&script);
    ck_assert(post(client, script.bound, VIEW("body"), &reply));
    http_reply_tell(&reply, "words", text, sizeof text);
    snprintf(want, sizeof want,
             "HTTP 302 from http://%s/v1/traces: moved to "
             "http://redacted@x/there?[redacted], which was not followed",
             script.bound);
    ck_assert_str_eq(text, want);
    http_reply_release(&reply);
    http_client_free(client);
    script_server_stop(&script);
}
END_TEST

START_TEST(a_server_that_does_not_speak_http_is_no_fault_of_the_request)
{
    struct http_reply reply;
    ck_assert(!exchange("\1\2\4garbage of another protocol\r\n", &reply));
    ck_assert(!reply.unsendable);
    ck_assert_msg(strstr(reply.error, "does not answer in HTTP/1.1; if the port speaks gRPC"), "%s",
                  reply.error);
    http_reply_release(&reply);
}
END_TEST

START_TEST(the_connection_is_kept_between_calls)
{
    const char *answers[] = {OK_EMPTY, OK_EMPTY, OK_EMPTY, NULL};
    struct script_server script = {.answers = answers};
    struct http_client_options options = defaults();
    struct http_client *client = make_client(&options);
    script_server_start(&script);
    for (int i = 0; i < 3; i++) {
        struct http_reply reply;
        ck_assert(post(client, script.bound, VIEW("body"), &reply));
        http_reply_release(&reply);
    }
    http_client_free(client);
    script_server_stop(&script);
    ck_assert_uint_eq(script.connections, 1);
    ck_assert_uint_eq(script.requests, 3);
}
END_TEST

START_TEST(a_kept_connection_that_the_server_closed_is_no_error)
{
    const char *answers[] = {OK_EMPTY, OK_EMPTY, OK_EMPTY, OK_EMPTY, OK_EMPTY, NULL};
    struct script_server script = {.answers = answers, .hang_up = true};
    struct http_client_options options = defaults();
    struct http_client *client = make_client(&options);
    script_server_start(&script);
    for (int i = 0; i < 5; i++) {
        struct http_reply reply;
        bool ok = post(client, script.bound, VIEW("body"), &reply);
        ck_assert_msg(ok, "call %d: %s", i, reply.error);
        http_reply_release(&reply);
    }
    http_client_free(client);
    script_server_stop(&script);
    ck_assert_uint_eq(script.requests, 5);
}
END_TEST

START_TEST(a_kept_connection_that_dies_under_a_request_is_tried_anew)
{
    const char *answers[] = {OK_EMPTY, "", OK_EMPTY, NULL};
    struct script_server script = {.answers = answers};
    struct http_client_options options = defaults();
    struct http_client *client = make_client(&options);
    struct http_reply reply;
    script_server_start(&script);
    ck_assert(post(client, script.bound, VIEW("first"), &reply));
    http_reply_release(&reply);
    bool ok = post(client, script.bound, VIEW("second"), &reply);
    ck_assert_msg(ok, "%s", reply.error);
    http_reply_release(&reply);
    http_client_free(client);
    script_server_stop(&script);
    ck_assert_ptr_nonnull(strstr(script.request, "\r\n\r\nsecond"));
}
END_TEST

/* The body's pieces are sent again from the first one. */
START_TEST(so_it_is_with_a_body_in_pieces)
{
    const char *answers[] = {OK_EMPTY, "", OK_EMPTY, NULL};
    struct script_server script = {.answers = answers};
    struct http_client_options options = defaults();
    struct http_client *client = make_client(&options);
    struct http_reply reply;
    const struct view views[] = {VIEW("in "), VIEW("three "), VIEW("pieces")};
    char url[300];
    script_server_start(&script);
    snprintf(url, sizeof url, "http://%s/v1/traces", script.bound);
    for (int i = 0; i < 2; i++) {
        bool ok = http_client_post_pieces(client, url, NULL, 0, (struct pieces){views, 3},
                                          VETO_NONE, &reply);
        ck_assert_msg(ok, "%s", reply.error);
        http_reply_release(&reply);
    }
    http_client_free(client);
    script_server_stop(&script);
    ck_assert_ptr_nonnull(strstr(script.request, "\r\n\r\nin three pieces"));
    ck_assert_uint_eq(script.requests, 3);
}
END_TEST

/* ---- a veto ---- */

static unsigned asked, passed; /* the veto is given when asked for more often than `passed` */

static bool is_given(const void *ctx)
{
    (void)ctx;
    return ++asked > passed;
}

/* With a veto that passes the first `passes` times. */
static bool post_unless(unsigned passes, struct http_client *client, const char *url,
                        struct view body, struct http_reply *reply)
{
    asked = 0;
    passed = passes;
    const struct view runs[] = {VIEW("the "), body};
    return http_client_post_pieces(client, url, NULL, 0, (struct pieces){runs, 2},
                                   (struct veto){is_given, NULL}, reply);
}

/* A server that accepts connections, but never reads. */
static int listen_only(char *bound, size_t size)
{
    const struct endpoint endpoint = {.host = "127.0.0.1", .service = "0"};
    char error[256];
    int listener = endpoint_listen(&endpoint, bound, size, error, sizeof error);
    ck_assert_msg(listener >= 0, "%s", error);
    return listener;
}

START_TEST(nothing_is_written_to_a_connection_after_a_veto)
{
    for (int http2 = 0; http2 < 2; http2++) {
        struct http_client_options options = defaults();
        struct http_reply reply;
        char bound[64], url[128], byte;
        int listener = listen_only(bound, sizeof bound);
        options.http2 = http2;
        struct http_client *client = make_client(&options);
        snprintf(url, sizeof url, "http://%s/v1/traces", bound);
        ck_assert(!post_unless(0, client, url, VIEW("body"), &reply));
        ck_assert(reply.withheld);
        ck_assert_str_eq(reply.error, "the call was withheld");
        ck_assert_int_eq(http_reply_failure(&reply).verdict, VERDICT_RETRY);
        ck_assert_int_eq(http_reply_failure(&reply).cause, CAUSE_REVOKED);
        ck_assert_uint_eq(asked, 1);
        http_reply_release(&reply);
        http_client_free(client);
        int fd = accept(listener, NULL, NULL);
        ck_assert_int_ge(fd, 0);
        ck_assert_int_eq(recv(fd, &byte, 1, 0), 0);
        close(fd);
        close(listener);
    }
}
END_TEST

START_TEST(a_veto_is_not_asked_for_before_the_tls_handshake_is_done)
{
    for (int http2 = 0; http2 < 2; http2++) {
        struct http_client_options options = defaults();
        struct http_reply reply;
        char bound[64], url[128];
        int listener = listen_only(bound, sizeof bound);
        options.http2 = http2;
        options.timeout_ns = 100 * NS_PER_MS;
        struct http_client *client = make_client(&options);
        snprintf(url, sizeof url, "https://%s/v1/traces", bound);
        ck_assert(!post_unless(0, client, url, VIEW("body"), &reply));
        ck_assert(reply.timed_out);
        ck_assert(!reply.withheld);
        ck_assert_uint_eq(asked, 0);
        http_reply_release(&reply);
        http_client_free(client);
        close(listener);
    }
}
END_TEST

/* The server closes the kept connection when it has read the second request. */
START_TEST(a_request_is_not_sent_again_after_a_veto)
{
    const char *answers[] = {OK_EMPTY, "", OK_EMPTY, NULL};
    struct script_server script = {.answers = answers};
    struct http_client_options options = defaults();
    struct http_client *client = make_client(&options);
    struct http_reply reply;
    char url[300];
    script_server_start(&script);
    snprintf(url, sizeof url, "http://%s/v1/traces", script.bound);
    ck_assert(post_unless(1, client, url, VIEW("first"), &reply));
    ck_assert_uint_eq(asked, 1);
    http_reply_release(&reply);
    ck_assert(!post_unless(1, client, url, VIEW("second"), &reply));
    ck_assert(reply.withheld);
    ck_assert_uint_eq(asked, 2);
    http_reply_release(&reply);
    ck_assert_uint_eq(script.requests, 2);
    ck_assert(post_unless(1, client, url, VIEW("third"), &reply));
    ck_assert(!reply.withheld);
    http_reply_release(&reply);
    http_client_free(client);
    script_server_stop(&script);
    ck_assert_uint_eq(script.requests, 3);
    ck_assert_ptr_nonnull(strstr(script.request, "\r\n\r\nthe third"));
}
END_TEST

/* ---- */

START_TEST(a_refusal_in_the_middle_of_a_body_is_an_answer)
{
    const char *answers[] = {"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n"
                             "Connection: close\r\n\r\n",
                             NULL};
    struct script_server script = {.answers = answers, .early = true};
    struct http_client_options options = defaults();
    struct http_client *client = make_client(&options);
    struct http_reply reply;
    size_t size = 16 << 20;
    uint8_t *body = calloc(1, size);
    script_server_start(&script);
    ck_assert(post(client, script.bound, (struct view){body, size}, &reply));
    ck_assert_int_eq(reply.status, 413);
    http_reply_release(&reply);
    http_client_free(client);
    script_server_stop(&script);
    free(body);
}
END_TEST

START_TEST(calls_go_over_a_unix_socket)
{
    char path[] = "/tmp/http_client_test.XXXXXX", file[64];
    const char *answers[] = {OK_EMPTY, NULL};
    struct http_client_options options = defaults();
    struct http_reply reply;
    ck_assert_ptr_nonnull(mkdtemp(path));
    snprintf(file, sizeof file, "%s/socket", path);
    struct script_server script = {.answers = answers, .unix_path = file};
    options.unix_path = file;
    struct http_client *client = make_client(&options);
    script_server_start(&script);
    bool ok = post(client, "localhost", VIEW("body"), &reply);
    ck_assert_msg(ok, "%s", reply.error);
    http_reply_release(&reply);
    script_server_stop(&script);
    unlink(file);
    ck_assert(!post(client, "localhost", VIEW("body"), &reply));
    ck_assert_ptr_nonnull(strstr(reply.error, file));
    http_reply_release(&reply);
    http_client_free(client);
    rmdir(path);
}
END_TEST

/* ---- failures ---- */

START_TEST(a_refused_connection_names_the_peer_and_the_reason)
{
    const struct endpoint endpoint = {.host = "127.0.0.1", .service = "0"};
    struct http_client_options options = defaults();
    struct http_client *client = make_client(&options);
    struct http_reply reply;
    char bound[64], error[256], want[128];
    close(endpoint_listen(&endpoint, bound, sizeof bound, error, sizeof error));
    ck_assert(!post(client, bound, VIEW("body"), &reply));
    snprintf(want, sizeof want, "connect to %s: connection refused", bound);
    ck_assert_str_eq(reply.error, want);
    ck_assert_int_eq(reply.status, 0);
    ck_assert(!reply.timed_out);
    http_reply_release(&reply);
    http_client_free(client);
}
END_TEST

START_TEST(a_lack_of_descriptors_is_the_reason_of_a_failed_connection)
{
    const char *answers[] = {"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
                             NULL};
    struct script_server script = {.answers = answers};
    struct http_client_options options = defaults();
    struct http_client *client = make_client(&options);
    struct http_reply reply;
    struct rlimit limit;
    script_server_start(&script);
    ck_assert(post(client, script.bound, VIEW("x"), &reply));
    http_reply_release(&reply);
    getrlimit(RLIMIT_NOFILE, &limit);
    rlim_t before = limit.rlim_cur;
    limit.rlim_cur = 0;
    setrlimit(RLIMIT_NOFILE, &limit);
    bool posted = post(client, script.bound, VIEW("x"), &reply);
    limit.rlim_cur = before;
    setrlimit(RLIMIT_NOFILE, &limit);
    ck_assert(!posted);
    ck_assert_msg(strstr(reply.error, ": too many open files"), "%s", reply.error);
    http_reply_release(&reply);
    http_client_free(client);
    script_server_stop(&script);
}
END_TEST

START_TEST(a_server_that_hangs_up_without_an_answer_is_an_error)
{
    struct http_reply reply;
    ck_assert(!exchange("", &reply));
    ck_assert_int_eq(reply.status, 0);
    ck_assert_ptr_nonnull(strstr(reply.error, "127.0.0.1:"));
    http_reply_release(&reply);
}
END_TEST

/* A server that has answered before does not require TLS. */
START_TEST(tls_is_advised_only_where_no_request_was_answered)
{
    const char *answers[] = {"", OK_EMPTY, "", NULL};
    struct script_server script = {.answers = answers, .hang_up = true};
    struct http_client_options options = defaults();
    struct http_client *client = make_client(&options);
    script_server_start(&script);
    for (int i = 0; i < 3; i++) {
        struct http_reply reply;
        ck_assert_int_eq(post(client, script.bound, VIEW("body"), &reply), i == 1);
        ck_assert_int_eq(strstr(reply.error, "https://") != NULL, i == 0);
        ck_assert(i == 1 || strstr(reply.error, "closed the connection without an answer"));
        http_reply_release(&reply);
    }
    http_client_free(client);
    script_server_stop(&script);
}
END_TEST

START_TEST(a_success_that_is_cut_off_is_an_error)
{
    const char *answers[] = {"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf", NULL};
    struct script_server script = {.answers = answers, .hang_up = true};
    struct http_client_options options = defaults();
    struct http_client *client = make_client(&options);
    struct http_reply reply;
    script_server_start(&script);
    ck_assert(!post(client, script.bound, VIEW("body"), &reply));
    ck_assert_int_eq(reply.status, 0);
    http_reply_release(&reply);
    http_client_free(client);
    script_server_stop(&script);
}
END_TEST

START_TEST(a_refusal_that_is_cut_off_stands)
{
    const char *answers[] = {"HTTP/1.1 400 Bad Request\r\nContent-Length: 100\r\n\r\nhalf", NULL};
    struct script_server script = {.answers = answers, .hang_up = true};
    struct http_client_options options = defaults();
    struct http_client *client = make_client(&options);
    struct http_reply reply;
    script_server_start(&script);
    ck_assert(post(client, script.bound, VIEW("body"), &reply));
    ck_assert_int_eq(reply.status, 400);
    http_reply_release(&reply);
    http_client_free(client);
    script_server_stop(&script);
}
END_TEST

START_TEST(a_server_that_never_answers_times_out)
{
    const struct endpoint endpoint = {.host = "127.0.0.1", .service = "0"};
    struct http_client_options options = defaults();
    struct http_reply reply;
    char bound[64], error[256];
    options.timeout_ns = 30 * NS_PER_MS;
    struct http_client *client = make_client(&options);
    int listener = endpoint_listen(&endpoint, bound, sizeof bound, error, sizeof error);
    ck_assert_int_ge(listener, 0);
    ck_assert(!post(client, bound, VIEW("body"), &reply));
    ck_assert(reply.timed_out);
    ck_assert_ptr_nonnull(strstr(reply.error, bound));
    ck_assert_ptr_nonnull(strstr(reply.error, "no answer within"));
    http_reply_release(&reply);
    http_client_free(client);
    close(listener);
}
END_TEST

START_TEST(a_header_value_with_a_line_end_is_not_sent)
{
    const struct http_header header = {"X-Scope-OrgID", "a\r\nX-Evil: b"};
    struct http_client_options options = defaults();
    struct http_client *client = make_client(&options);
    struct http_reply reply;
    ck_assert(!http_client_post(client, "http://127.0.0.1:1/", &header, 1, VIEW(""), &reply));
    ck_assert_ptr_nonnull(strstr(reply.error, "header"));
    http_reply_release(&reply);
    http_client_free(client);
}
END_TEST

struct blocked_call {
    struct http_client *client;
    const char *bound;
    struct http_reply reply;
    bool ok;
};

static void *call_blocked(void *arg)
{
    struct blocked_call *call = arg;
    call->ok = post(call->client, call->bound, VIEW("body"), &call->reply);
    return NULL;
}

START_TEST(abort_ends_calls_under_way_and_later_ones)
{
    const struct endpoint endpoint = {.host = "127.0.0.1", .service = "0"};
    struct http_client_options options = defaults();
    char bound[64], error[256], byte;
    pthread_t thread;
    options.timeout_ns = 0;
    struct http_client *client = make_client(&options);
    struct blocked_call call = {.client = client, .bound = bound};
    int listener = endpoint_listen(&endpoint, bound, sizeof bound, error, sizeof error);
    ck_assert_int_ge(listener, 0);
    ck_assert_int_eq(pthread_create(&thread, NULL, call_blocked, &call), 0);
    ck_assert(script_server_wait(listener));
    int fd = accept(listener, NULL, NULL);
    ck_assert_int_eq(recv(fd, &byte, 1, 0), 1);
    http_client_abort(client);
    pthread_join(thread, NULL);
    ck_assert(!call.ok);
    ck_assert_int_eq(call.reply.status, 0);
    ck_assert_ptr_nonnull(strstr(call.reply.error, "cancelled"));
    http_reply_release(&call.reply);
    ck_assert(!post(client, bound, VIEW("body"), &call.reply));
    http_reply_release(&call.reply);
    http_client_free(client);
    close(fd);
    close(listener);
}
END_TEST

/* ---- TLS ---- */

/* A POST to a server with a self-signed certificate, with these options. */
static bool post_tls(struct tls_server *server, struct http_client_options *options,
                     struct http_reply *reply)
{
    char url[128];
    struct http_client *client = make_client(options);
    snprintf(url, sizeof url, "https://localhost:%s/x", strrchr(server->bound, ':') + 1);
    bool ok = http_client_post(client, url, NULL, 0, VIEW("body"), reply);
    http_client_free(client);
    return ok;
}

START_TEST(an_unknown_certificate_is_refused_with_a_sentence)
{
    struct tls_server server;
    struct http_client_options options = defaults();
    struct http_reply reply;
    tls_server_start(&server);
    ck_assert(!post_tls(&server, &options, &reply));
    ck_assert_ptr_eq(strstr(reply.error, "TLS with localhost:"), reply.error);
    ck_assert_ptr_nonnull(strstr(reply.error, "certificate"));
    http_reply_release(&reply);
    tls_server_stop(&server);
}
END_TEST

START_TEST(a_ca_file_makes_a_certificate_known)
{
    struct tls_server server;
    struct http_client_options options = defaults();
    struct http_reply reply;
    tls_server_start(&server);
    options.tls.ca_file = server.certificate_file;
    bool ok = post_tls(&server, &options, &reply);
    ck_assert_msg(ok, "%s", reply.error);
    ck_assert_int_eq(reply.status, 200);
    http_reply_release(&reply);
    tls_server_stop(&server);
}
END_TEST

START_TEST(verification_can_be_skipped)
{
    struct tls_server server;
    struct http_client_options options = defaults();
    struct http_reply reply;
    tls_server_start(&server);
    options.tls.insecure_skip_verify = true;
    bool ok = post_tls(&server, &options, &reply);
    ck_assert_msg(ok, "%s", reply.error);
    http_reply_release(&reply);
    tls_server_stop(&server);
}
END_TEST

START_TEST(a_ca_file_that_cannot_be_read_is_said_at_once)
{
    char error[256];
    struct http_client_options options = defaults();
    options.tls.ca_file = (char[]){"/nonexistent/ca.pem"};
    ck_assert_ptr_null(http_client_new(&options, error, sizeof error));
    ck_assert_ptr_nonnull(strstr(error, "/nonexistent/ca.pem"));
}
END_TEST

static TCase *make_case(Suite *suite, const char *name)
{
    TCase *tcase = suite_case(name);
    suite_add_tcase(suite, tcase);
    return tcase;
}

static void add_exchanges(TCase *tcase)
{
    tcase_add_test(tcase, a_post_sends_the_body_and_the_headers_of_client_and_call);
    tcase_add_test(tcase, secrets_of_the_request_are_hidden_in_the_reply);
    tcase_add_test(tcase, the_password_of_a_url_is_hidden_in_base64_too);
    tcase_add_test(tcase, a_get_has_no_body);
    tcase_add_test(tcase, a_client_that_got_can_post);
    tcase_add_test(tcase, a_reply_that_is_not_whole_says_why);
    tcase_add_test(tcase, a_large_body_goes_without_waiting_for_100_continue);
    tcase_add_test(tcase, status_content_type_and_body_of_the_reply_are_told);
    tcase_add_test(tcase, a_reply_is_kept_up_to_its_maximum);
    tcase_add_test(tcase, an_authenticators_header_wins_over_all_others);
    tcase_add_test(tcase, what_nobody_asked_for_harms_nothing);
    tcase_add_test(tcase, only_http_is_spoken);
    tcase_add_test(tcase, an_informational_answer_leaves_nothing_behind);
    tcase_add_test(tcase, retry_after_is_read_as_seconds_or_as_a_date);
    tcase_add_test(tcase, redirects_are_not_followed_unasked);
    tcase_add_test(tcase, a_post_follows_to_its_own_host_with_all_that_it_has);
    tcase_add_test(tcase, a_post_follows_to_another_host_without_credentials);
    tcase_add_test(tcase, redirects_end_after_ten_requests);
    tcase_add_test(tcase, a_redirect_that_would_lose_the_body_is_told);
    tcase_add_test(tcase, the_connection_is_kept_between_calls);
    tcase_add_test(tcase, a_kept_connection_that_the_server_closed_is_no_error);
    tcase_add_test(tcase, a_kept_connection_that_dies_under_a_request_is_tried_anew);
    tcase_add_test(tcase, so_it_is_with_a_body_in_pieces);
    tcase_add_test(tcase, nothing_is_written_to_a_connection_after_a_veto);
    tcase_add_test(tcase, a_veto_is_not_asked_for_before_the_tls_handshake_is_done);
    tcase_add_test(tcase, a_request_is_not_sent_again_after_a_veto);
    tcase_add_test(tcase, a_refusal_in_the_middle_of_a_body_is_an_answer);
    tcase_add_test(tcase, calls_go_over_a_unix_socket);
}

static void add_failures(TCase *tcase)
{
    tcase_add_test(tcase, a_refused_connection_names_the_peer_and_the_reason);
    tcase_add_test(tcase, a_lack_of_descriptors_is_the_reason_of_a_failed_connection);
    tcase_add_test(tcase, a_server_that_hangs_up_without_an_answer_is_an_error);
    tcase_add_test(tcase, tls_is_advised_only_where_no_request_was_answered);
    tcase_add_test(tcase, a_server_that_does_not_speak_http_is_no_fault_of_the_request);
    tcase_add_test(tcase, a_success_that_is_cut_off_is_an_error);
    tcase_add_test(tcase, a_refusal_that_is_cut_off_stands);
    tcase_add_test(tcase, a_server_that_never_answers_times_out);
    tcase_add_test(tcase, a_header_value_with_a_line_end_is_not_sent);
    tcase_add_test(tcase, abort_ends_calls_under_way_and_later_ones);
}

static void add_tls(TCase *tcase)
{
    tcase_add_test(tcase, an_unknown_certificate_is_refused_with_a_sentence);
    tcase_add_test(tcase, a_ca_file_makes_a_certificate_known);
    tcase_add_test(tcase, verification_can_be_skipped);
    tcase_add_test(tcase, a_ca_file_that_cannot_be_read_is_said_at_once);
}

int main(void)
{
    Suite *suite = suite_create("net/http_client");
    add_exchanges(make_case(suite, "exchanges"));
    add_failures(make_case(suite, "failures"));
    add_tls(make_case(suite, "tls"));
    return suite_finish(suite);
}
