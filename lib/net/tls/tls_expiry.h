/* When the certificates in use end: of every end of TLS in the process. Any thread; the lock is
 * held for moments, and by nobody who sends or takes data but when certificates are read. */
#ifndef LIB_NET_TLS_TLS_EXPIRY_H
#define LIB_NET_TLS_TLS_EXPIRY_H

#include <stdint.h>

/* One source of certificates. Embedded in what reads it. */
struct tls_expiry {
    struct tls_expiry *next;
    const char *id;     /* of the component; borrowed, like the next */
    const char *key;    /* the group's path, e.g. "protocols.grpc.tls" */
    const char *source; /* e.g. "cert_file"; static */
    int64_t ends;       /* s since 1970, of the one that ends first */
    int known;          /* it is in the list */
};

/* Puts it in, or changes when it ends. */
void tls_expiry_set(struct tls_expiry *expiry, int64_t ends);

/* Takes it out; legal for one that is not in. */
void tls_expiry_forget(struct tls_expiry *expiry);

typedef void tls_expiry_visit_fn(void *ctx, const struct tls_expiry *expiry);
void tls_expiry_each(tls_expiry_visit_fn *visit, void *ctx);

#endif
