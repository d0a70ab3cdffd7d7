#include "lib/net/http/http_host.h"

#include <arpa/inet.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static bool is_port(const char *text)
{
    size_t size = strspn(text, "0123456789");
    return size > 0 && size <= 5 && !text[size] && strtoul(text, NULL, 10) <= UINT16_MAX;
}

/* The host of "host", "host:port" or "[ipv6]:port". False: it is too long, or no port follows. */
static bool host_of(const char *authority, char *out, size_t size)
{
    bool literal = *authority == '[';
    const char *from = authority + literal, *end = from + strcspn(from, literal ? "]" : ":");
    const char *rest = end + (literal && *end);
    snprintf(out, size, "%.*s", (int)(end - from), from);
    if (literal && !*end)
        return false;
    return (size_t)(end - from) < size && (!*rest || (*rest == ':' && is_port(rest + 1)));
}

bool http_host_is_own(const char *authority, const char *configured)
{
    char host[256];
    uint8_t address[16];
    if (!authority || !host_of(authority, host, sizeof host))
        return false;
    return inet_pton(AF_INET, host, address) == 1 || inet_pton(AF_INET6, host, address) == 1 ||
           strcasecmp(host, "localhost") == 0 || (*configured && strcasecmp(host, configured) == 0);
}
