/*
 * SRV records of a DNS message (RFC 1035, RFC 2782), read in place. Pure. Implemented here because
 * glibc's ns_initparse and ns_parserr are in libresolv, one more library to load just for this, and
 * accept any byte in a host name.
 */
#ifndef LIB_WIRE_HTTP_DNS_ANSWER_H
#define LIB_WIRE_HTTP_DNS_ANSWER_H

#include "lib/base/view.h"

enum { DNS_NAME_SIZE = 256 };

struct dns_answer {
    struct view message;
    size_t at;
    unsigned left; /* answers not read yet */
    bool bad;      /* the message is malformed; reading has stopped */
};

struct dns_srv {
    unsigned priority, weight, port;
    char host[DNS_NAME_SIZE]; /* without the trailing dot; "": the service is not offered */
};

/* Starts reading at the first answer. */
struct dns_answer dns_answer_begin(struct view message);

/* Reads the next SRV record among the answers, skipping others. False: none left, or bad. */
bool dns_answer_next(struct dns_answer *answer, struct dns_srv *srv);

#endif
