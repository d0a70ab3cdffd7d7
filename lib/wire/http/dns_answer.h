/*
 * SRV records of a DNS message (RFC 1035, RFC 2782), read in place. Pure.
 * By hand: glibc's ns_initparse and ns_parserr are in libresolv, one more library to load for this
 * alone, and take any byte in a host's name.
 */
#ifndef LIB_WIRE_HTTP_DNS_ANSWER_H
#define LIB_WIRE_HTTP_DNS_ANSWER_H

#include "lib/base/view.h"

enum { DNS_NAME_SIZE = 256 };

struct dns_answer {
    struct view message;
    size_t at;
    unsigned left; /* answers that were not read yet */
    bool bad;      /* the message is malformed; nothing more is read */
};

struct dns_srv {
    unsigned priority, weight, port;
    char host[DNS_NAME_SIZE]; /* without the last dot; "" : the service is not offered */
};

/* Stands in front of the first answer. */
struct dns_answer dns_answer_begin(struct view message);

/* The next SRV record among the answers, others are passed over; false: none is left, or bad. */
bool dns_answer_next(struct dns_answer *answer, struct dns_srv *srv);

#endif
