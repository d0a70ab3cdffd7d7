#include "lib/net/loopback.h"

#include "tests/support/suite.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <unistd.h>

static bool is_loopback(const char *text)
{
    struct sockaddr_in in = {.sin_family = AF_INET};
    struct sockaddr_in6 in6 = {.sin6_family = AF_INET6};
    if (inet_pton(AF_INET, text, &in.sin_addr) == 1)
        return loopback_is((struct sockaddr *)&in);
    ck_assert_int_eq(inet_pton(AF_INET6, text, &in6.sin6_addr), 1);
    return loopback_is((struct sockaddr *)&in6);
}

START_TEST(addresses_of_this_host_are_told_from_others)
{
    static const char *const own[] = {"127.0.0.1", "127.255.0.9", "::1", "::ffff:127.0.0.1"};
    static const char *const others[] = {
        "10.0.0.1", "128.0.0.1", "::", "::2", "::ffff:10.0.0.127", "fe80::1"};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        ck_assert_msg(is_loopback(own[i]), "%s", own[i]);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        ck_assert_msg(!is_loopback(others[i]), "%s", others[i]);
    ck_assert(!loopback_is(&(struct sockaddr){.sa_family = AF_UNIX}));
}
END_TEST

static void control_of(int fd, char name[16])
{
    socklen_t size = 16;
    ck_assert_int_eq(getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, &size), 0);
}

START_TEST(only_a_peer_on_this_host_changes_a_socket)
{
    struct sockaddr_in peer = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(0x0a000001)};
    char before[16] = "", after[16] = "";
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    control_of(fd, before);
    loopback_unpace(fd, (struct sockaddr *)&peer);
    control_of(fd, after);
    ck_assert_str_eq(before, after);
    peer.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    loopback_unpace(fd, (struct sockaddr *)&peer);
    control_of(fd, after);
    ck_assert_str_eq(after, "reno");
    close(fd);
}
END_TEST

SUITE_MAIN("loopback", addresses_of_this_host_are_told_from_others,
           only_a_peer_on_this_host_changes_a_socket)
