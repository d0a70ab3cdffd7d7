#include "lib/net/dns.h"

#include "lib/wire/http/dns_answer.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <resolv.h>
#include <stdio.h>

enum { ANSWER_SIZE = 65535, PLACE_SIZE = DNS_NAME_SIZE + 16 };

const char *const dns_types[] = {"A", "AAAA", "SRV", NULL};

static bool dns_add(struct bytes *out, const char *place, char *error, size_t error_size)
{
    if (bytes_append(out, place, strlen(place) + 1) == BYTES_OK)
        return true;
    snprintf(error, error_size, "out of memory");
    return false;
}

static bool add_address(struct bytes *out, const struct addrinfo *info, unsigned port, char *error,
                        size_t error_size)
{
    char host[INET6_ADDRSTRLEN + 32], place[PLACE_SIZE];
    if (getnameinfo(info->ai_addr, info->ai_addrlen, host, sizeof host, NULL, 0, NI_NUMERICHOST))
        return true;
    snprintf(place, sizeof place, info->ai_family == AF_INET6 ? "[%s]:%u" : "%s:%u", host, port);
    return dns_add(out, place, error, error_size);
}

static bool look_up_addresses(int family, const char *name, unsigned port, struct bytes *out,
                              char *error, size_t error_size)
{
    const struct addrinfo hints = {.ai_family = family, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    int code = getaddrinfo(name, NULL, &hints, &found);
    bool good = code == 0;
    if (!good)
        snprintf(error, error_size, "%.100s cannot be looked up: %.60s", name, gai_strerror(code));
    for (const struct addrinfo *at = found; good && at; at = at->ai_next)
        good = add_address(out, at, port, error, error_size);
    if (found)
        freeaddrinfo(found);
    return good;
}

static bool read_services(struct view message, struct bytes *out, char *error, size_t error_size)
{
    struct dns_answer answer = dns_answer_begin(message);
    struct dns_srv srv;
    char place[PLACE_SIZE];
    while (dns_answer_next(&answer, &srv)) {
        snprintf(place, sizeof place, "%s:%u", srv.host, srv.port);
        if (srv.host[0] && !dns_add(out, place, error, error_size))
            return false;
    }
    if (answer.bad)
        snprintf(error, error_size, "the DNS answer is malformed");
    else if (out->size == 0)
        snprintf(error, error_size, "the name has no SRV record");
    return !answer.bad && out->size > 0;
}

static bool look_up_services(const char *name, struct bytes *out, char *error, size_t error_size)
{
    struct __res_state state = {0};
    struct bytes message;
    bytes_init(&message, ANSWER_SIZE, NULL);
    if (bytes_reserve(&message, ANSWER_SIZE) != BYTES_OK || res_ninit(&state) != 0) {
        bytes_release(&message);
        snprintf(error, error_size, "out of memory");
        return false;
    }
    int size = res_nsearch(&state, name, ns_c_in, ns_t_srv, message.data, ANSWER_SIZE);
    if (size < 0)
        snprintf(error, error_size, "%.100s cannot be looked up: %.60s", name,
                 hstrerror(state.res_h_errno));
    size_t whole = size < 0 ? 0 : (size_t)size < ANSWER_SIZE ? (size_t)size : ANSWER_SIZE;
    bool good =
        size >= 0 && read_services((struct view){message.data, whole}, out, error, error_size);
    res_nclose(&state);
    bytes_release(&message);
    return good;
}

bool dns_lookup(enum dns_type type, const char *name, unsigned port, struct bytes *out, char *error,
                size_t error_size)
{
    if (type == DNS_SRV)
        return look_up_services(name, out, error, error_size);
    return look_up_addresses(type == DNS_AAAA ? AF_INET6 : AF_INET, name, port, out, error,
                             error_size);
}
