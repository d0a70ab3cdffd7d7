/* Expiry times of all certificates in use by the process's TLS servers and clients. Any thread; the
 * lock is held briefly, and the data path takes it only when certificates are read. */
#ifndef LIB_NET_TLS_TLS_EXPIRY_H
#define LIB_NET_TLS_TLS_EXPIRY_H

#include <stdint.h>

/* One source of certificates, embedded in its reader. */
struct tls_expiry {
    struct tls_expiry *next;
    const char *id;     /* the component's; borrowed, like the next */
    const char *key;    /* the group's path, e.g. "protocols.grpc.tls" */
    const char *source; /* e.g. "cert_file"; static */
    int64_t ends;       /* seconds since 1970, of the certificate that expires first */
    int known;          /* in the list */
};

/* Adds a source, or updates its expiry time. */
void tls_expiry_set(struct tls_expiry *expiry, int64_t ends);

/* Removes a source; legal if it was never added. */
void tls_expiry_forget(struct tls_expiry *expiry);

/* Visits sources of the same id, key and name once, with the earliest expiry time: a component may
 * have several clients with the same files. */
typedef void tls_expiry_visit_fn(void *ctx, const struct tls_expiry *expiry);
void tls_expiry_each(tls_expiry_visit_fn *visit, void *ctx);

#endif
