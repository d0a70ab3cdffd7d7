/* A DNS message: the hosts of its SRV records are names that fit a URL. */
#include "lib/wire/http/dns_answer.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct dns_answer answer = dns_answer_begin((struct view){data, size});
    struct dns_srv srv;
    while (dns_answer_next(&answer, &srv)) {
        if (strnlen(srv.host, sizeof srv.host) == sizeof srv.host || srv.port > 65535)
            abort();
        for (const char *at = srv.host; *at; at++)
            if (*at <= ' ' || *at > '~' || strchr("/\\@[]:%?#", *at))
                abort();
    }
    return 0;
}
