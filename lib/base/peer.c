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

static const char *v6_text(const struct peer *peer, char text[PEER_TEXT])
{
    struct in6_addr address;
    char words[INET6_ADDRSTRLEN];
    memcpy(&address, peer->address, sizeof address);
    bool mapped = IN6_IS_ADDR_V4MAPPED(&address);
    inet_ntop(mapped ? AF_INET : AF_INET6, peer->address + (mapped ? 12 : 0), words, sizeof words);
    snprintf(text, PEER_TEXT, mapped ? "%s:%u" : "[%s]:%u", words, peer->port);
    return text;
}

const char *peer_text(const struct peer *peer, char text[PEER_TEXT])
{
    char words[INET_ADDRSTRLEN];
    switch (peer ? peer->family : 0) {
    case AF_INET:
        inet_ntop(AF_INET, peer->address, words, sizeof words);
        snprintf(text, PEER_TEXT, "%s:%u", words, peer->port);
        return text;
    case AF_INET6:
        return v6_text(peer, text);
    case AF_UNIX:
        snprintf(text, PEER_TEXT, "a unix socket");
        return text;
    default:
        snprintf(text, PEER_TEXT, "an unknown address");
        return text;
    }
}
