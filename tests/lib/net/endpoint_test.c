#include "lib/net/endpoint.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/http_fixture.h"
#include "tests/support/suite.h"

static struct endpoint endpoint;
static char error[512];

static bool parses(const char *text, bool transport_unix)
{
    error[0] = '\0';
    return endpoint_parse(text, transport_unix, &endpoint, error, sizeof error);
}

START_TEST(hosts_and_ports_are_split)
{
    ck_assert(parses("localhost:4317", false));
    ck_assert_str_eq(endpoint.host, "localhost");
    ck_assert_str_eq(endpoint.service, "4317");
    ck_assert_str_eq(endpoint.unix_path, "");
    ck_assert(parses("[::1]:4318", false));
    ck_assert_str_eq(endpoint.host, "::1");
    ck_assert_str_eq(endpoint.service, "4318");
    ck_assert(parses(":0", false));
    ck_assert_str_eq(endpoint.host, "");
    ck_assert_str_eq(endpoint.service, "0");
    ck_assert(parses("0.0.0.0:65535", false));
}
END_TEST

START_TEST(unix_sockets_come_in_three_spellings)
{
    ck_assert(parses("unix:/run/a.sock", false));
    ck_assert_str_eq(endpoint.unix_path, "/run/a.sock");
    ck_assert_str_eq(endpoint.service, "");
    ck_assert(parses("unix:///run/a.sock", false));
    ck_assert_str_eq(endpoint.unix_path, "/run/a.sock");
    ck_assert(parses("/run/a.sock", true));
    ck_assert_str_eq(endpoint.unix_path, "/run/a.sock");
}
END_TEST

static void refused(const char *text, const char *why)
{
    ck_assert_msg(!parses(text, false), "%s", text);
    ck_assert_msg(strstr(error, why), "%s: %s", text, error);
}

START_TEST(what_is_not_an_endpoint_is_refused_with_the_reason)
{
    refused("", "is empty");
    refused("localhost", "\"localhost\" has no port");
    refused("alice:S3CRET@localhost:4317", "\"redacted@localhost:4317\" has");
    refused("token@localhost", "\"redacted@localhost\" has no port");
    refused("localhost:", "no port from 0 to 65535");
    refused("localhost:http", "no port from 0 to 65535");
    refused("localhost:65536", "no port from 0 to 65535");
    refused("localhost:-1", "no port from 0 to 65535");
    refused("localhost:43 17", "no port from 0 to 65535");
    refused("::1:4317", "without brackets");
    refused("[::1:4317", "no closing bracket");
    refused("[::1]", "no port after the bracket");
    refused("[localhost]:1", "host");
    refused("http://localhost:4317", "is a URL");
    refused("a/b:1", "host");
    refused("unix:run/a.sock", "does not begin with /");
    refused("unix:", "has no path");
    ck_assert(strstr(error, "expected host:port"));
}
END_TEST

START_TEST(a_path_or_host_that_is_too_long_is_refused)
{
    char text[400] = "unix:/";
    memset(text + 6, 'a', 106);
    ck_assert(parses(text, false));
    text[112] = 'a';
    refused(text, "107 bytes at most");
    memset(text, 'h', 300);
    strcpy(text + 300, ":1");
    refused(text, "host");
}
END_TEST

static int listens(char *bound, size_t size)
{
    error[0] = '\0';
    return endpoint_listen(&endpoint, bound, size, error, sizeof error);
}

START_TEST(a_listener_names_its_real_port_and_takes_connections)
{
    char bound[160];
    ck_assert(parses("localhost:0", false));
    int fd = listens(bound, sizeof bound);
    ck_assert_msg(fd >= 0, "%s", error);
    ck_assert(strncmp(bound, "127.0.0.1:", 10) == 0 || strncmp(bound, "[::1]:", 6) == 0);
    ck_assert_str_ne(strrchr(bound, ':'), ":0");
    ck_assert(fcntl(fd, F_GETFL) & O_NONBLOCK);
    ck_assert(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    close(fd);
}
END_TEST

START_TEST(every_interface_takes_connections_by_ipv4)
{
    char bound[160], local[160];
    ck_assert(parses(":0", false));
    int fd = listens(bound, sizeof bound);
    ck_assert_msg(fd >= 0, "%s", error);
    snprintf(local, sizeof local, "127.0.0.1%s", strrchr(bound, ':'));
    int client = raw_connect(local);
    ck_assert_int_ge(client, 0);
    close(client);
    close(fd);
}
END_TEST

START_TEST(a_port_in_use_is_named)
{
    char bound[160], sentence[200];
    ck_assert(parses("127.0.0.1:0", false));
    int fd = listens(bound, sizeof bound);
    ck_assert_int_ge(fd, 0);
    ck_assert(parses(bound, false));
    ck_assert_int_eq(listens(NULL, 0), -1);
    snprintf(sentence, sizeof sentence, "%s is in use", bound);
    ck_assert_str_eq(error, sentence);
    close(fd);
}
END_TEST

START_TEST(an_address_of_another_machine_is_named)
{
    ck_assert(parses("192.0.2.1:4317", false));
    ck_assert_int_eq(listens(NULL, 0), -1);
    ck_assert_str_eq(error, "192.0.2.1:4317 is not an address of this machine");
}
END_TEST

static void unix_endpoint(char *folder)
{
    ck_assert_ptr_nonnull(mkdtemp(folder));
    char text[128];
    snprintf(text, sizeof text, "unix:%s/s", folder);
    ck_assert(parses(text, false));
}

static void clean(const char *folder)
{
    endpoint_unlink(&endpoint);
    ck_assert_int_eq(rmdir(folder), 0);
}

START_TEST(a_stale_unix_socket_is_replaced_and_a_live_one_is_in_use)
{
    char folder[] = "/tmp/endpointXXXXXX", bound[160];
    unix_endpoint(folder);
    int fd = listens(bound, sizeof bound);
    ck_assert_msg(fd >= 0, "%s", error);
    ck_assert_str_eq(bound + 5, endpoint.unix_path);
    ck_assert_int_eq(listens(NULL, 0), -1);
    ck_assert_ptr_nonnull(strstr(error, "is in use"));
    close(fd);
    fd = listens(bound, sizeof bound);
    ck_assert_msg(fd >= 0, "%s", error);
    close(fd);
    clean(folder);
}
END_TEST

START_TEST(a_file_that_is_no_socket_is_left_alone)
{
    char folder[] = "/tmp/endpointXXXXXX";
    unix_endpoint(folder);
    close(open(endpoint.unix_path, O_CREAT | O_WRONLY, 0600));
    ck_assert_int_eq(listens(NULL, 0), -1);
    ck_assert_ptr_nonnull(strstr(error, "exists and is not a socket"));
    ck_assert_int_eq(access(endpoint.unix_path, F_OK), 0);
    clean(folder);
}
END_TEST

SUITE_MAIN("net/endpoint", hosts_and_ports_are_split, unix_sockets_come_in_three_spellings,
           what_is_not_an_endpoint_is_refused_with_the_reason,
           a_path_or_host_that_is_too_long_is_refused,
           a_listener_names_its_real_port_and_takes_connections,
           every_interface_takes_connections_by_ipv4, a_port_in_use_is_named,
           an_address_of_another_machine_is_named,
           a_stale_unix_socket_is_replaced_and_a_live_one_is_in_use,
           a_file_that_is_no_socket_is_left_alone)
