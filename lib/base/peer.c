#include "lib/base/peer.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct peer peer_of(const struct sockaddr *address)
{
    struct peer peer = {0};
    if (!address)
        return peer;
    peer.family = address->sa_family;
    if (peer.family == AF_INET) {
        struct sockaddr_in v4;
        memcpy(&v4, address, sizeof v4);
        peer.port = ntohs(v4.sin_port);
        memcpy(peer.address, &v4.sin_addr, sizeof v4.sin_addr);
    } else if (peer.family == AF_INET6) {
        struct sockaddr_in6 v6;
        memcpy(&v6, address, sizeof v6);
        peer.port = ntohs(v6.sin6_port);
        memcpy(peer.address, &v6.sin6_addr, sizeof v6.sin6_addr);
    }
    return peer;
}

static bool is_mapped(const struct peer *peer)
{
    struct in6_addr address;
    memcpy(&address, peer->address, sizeof address);
    return peer->family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&address);
}

const char *peer_address_text(const struct peer *peer, char text[PEER_TEXT])
{
    uint16_t family = peer ? peer->family : 0;
    *text = '\0';
    if (family == AF_INET)
        inet_ntop(AF_INET, peer->address, text, PEER_TEXT);
    else if (family == AF_INET6 && is_mapped(peer))
        inet_ntop(AF_INET, peer->address + 12, text, PEER_TEXT);
    else if (family == AF_INET6)
        inet_ntop(AF_INET6, peer->address, text, PEER_TEXT);
    return text;
}

const char *peer_text(const struct peer *peer, char text[PEER_TEXT])
{
    char words[PEER_TEXT];
    bool bracketed;
    switch (peer ? peer->family : 0) {
    case AF_INET:
    case AF_INET6:
        bracketed = peer->family == AF_INET6 && !is_mapped(peer);
        snprintf(text, PEER_TEXT, bracketed ? "[%.46s]:%u" : "%.46s:%u",
                 peer_address_text(peer, words), peer->port);
        return text;
    case AF_UNIX:
        snprintf(text, PEER_TEXT, "a unix socket");
        return text;
    default:
        snprintf(text, PEER_TEXT, "an unknown address");
        return text;
    }
}
