/* The address of a connection's peer, small enough to keep with every request. Pure functions. */
#ifndef LIB_BASE_PEER_H
#define LIB_BASE_PEER_H

#include <stdint.h>

struct sockaddr;

/* Enough for "[ipv6]:port" and the words used where there is no address. */
#define PEER_TEXT 64

struct peer {
    uint16_t family; /* AF_INET, AF_INET6, AF_UNIX; 0: unknown */
    uint16_t port;
    uint8_t address[16]; /* in network order; AF_INET uses 4 bytes */
};

/* The peer with an address from accept or getpeername; NULL: unknown. */
struct peer peer_of(const struct sockaddr *address);

/* Formats the address without the port, as peer_text does; "" where there is none. Returns text. */
const char *peer_address_text(const struct peer *peer, char text[PEER_TEXT]);

/* Formats "127.0.0.1:4317", "[::1]:4317", "a unix socket" or "an unknown address" (also for NULL);
 * an IPv4-mapped IPv6 address is written as IPv4. Returns text. */
const char *peer_text(const struct peer *peer, char text[PEER_TEXT]);

#endif
