/* DNS lookups. The only user of the resolver besides libcurl. */
#ifndef LIB_NET_DNS_H
#define LIB_NET_DNS_H

#include "lib/base/bytes.h"

enum dns_type { DNS_A, DNS_AAAA, DNS_SRV };

/* Their names, in that order, NULL-terminated. */
extern const char *const dns_types[];

/* Resolves a name and appends each result as "host:port" with a trailing NUL: addresses with the
 * given port (also from /etc/hosts), or the hosts and ports of SRV records. Blocks for as long as
 * the resolver waits. False: error is a sentence; a name without records is an error. */
bool dns_lookup(enum dns_type type, const char *name, unsigned port, struct bytes *out, char *error,
                size_t error_size);

#endif
