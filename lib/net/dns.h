/* Names looked up in the DNS. The only user of the resolver besides libcurl's own. */
#ifndef LIB_NET_DNS_H
#define LIB_NET_DNS_H

#include "lib/base/bytes.h"

enum dns_type { DNS_A, DNS_AAAA, DNS_SRV };

/* Their words, in that order, NULL-ended. */
extern const char *const dns_types[];

/* Appends what a name stands for, each as "host:port" with a NUL behind it: addresses with the port
 * given (also those of /etc/hosts), or the hosts and ports of SRV records. Blocks, for as long as
 * the resolver waits. False: error is a sentence. A name without records is such an error. */
bool dns_lookup(enum dns_type type, const char *name, unsigned port, struct bytes *out, char *error,
                size_t error_size);

#endif
