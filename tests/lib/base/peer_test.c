#include "lib/base/peer.h"

#include "tests/support/suite.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/un.h>

static const char *v6(const char *address)
{
    static char text[PEER_TEXT];
    struct sockaddr_in6 in = {.sin6_family = AF_INET6, .sin6_port = htons(4318)};
    ck_assert_int_eq(inet_pton(AF_INET6, address, &in.sin6_addr), 1);
    struct peer peer = peer_of((const struct sockaddr *)&in);
    return peer_text(&peer, text);
}

START_TEST(an_ipv4_peer_has_address_and_port)
{
    char text[PEER_TEXT];
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(65535)};
    in.sin_addr.s_addr = htonl(0xc0a80102);
    struct peer peer = peer_of((const struct sockaddr *)&in);
    ck_assert_str_eq(peer_text(&peer, text), "192.168.1.2:65535");
}
END_TEST

START_TEST(an_ipv6_peer_has_brackets_unless_it_is_an_ipv4_one)
{
    ck_assert_str_eq(v6("::1"), "[::1]:4318");
    ck_assert_str_eq(v6("2001:db8:1111:2222:3333:4444:5555:6666"),
                     "[2001:db8:1111:2222:3333:4444:5555:6666]:4318");
    ck_assert_str_eq(v6("::ffff:10.0.0.7"), "10.0.0.7:4318");
}
END_TEST

START_TEST(other_peers_have_words)
{
    char text[PEER_TEXT];
    struct sockaddr_un un = {.sun_family = AF_UNIX};
    struct peer peer = peer_of((const struct sockaddr *)&un);
    ck_assert_str_eq(peer_text(&peer, text), "a unix socket");
    peer = peer_of(NULL);
    ck_assert_str_eq(peer_text(&peer, text), "an unknown address");
    ck_assert_str_eq(peer_text(NULL, text), "an unknown address");
}
END_TEST

SUITE_MAIN("peer", an_ipv4_peer_has_address_and_port,
           an_ipv6_peer_has_brackets_unless_it_is_an_ipv4_one, other_peers_have_words)
