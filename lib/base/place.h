/* An address that a component listens on or sends to, from its configuration. */
#ifndef LIB_BASE_PLACE_H
#define LIB_BASE_PLACE_H

#include <stdbool.h>
#include <stddef.h>

struct place {
    const char *key; /* path below the component, e.g. "protocols.grpc.endpoint" */
    bool listens;    /* false: the component sends to it */
    bool tls;        /* it listens with TLS */
    char host[256];  /* a name, or an address without brackets; "": every address of this machine */
    char port[32];   /* digits */
    char unix_path[108]; /* if not "", a unix socket; host and port are then unset */

    /* Whether the address is free to listen on: binds it for a moment. False: error is the reason.
     * NULL: cannot be checked. */
    bool (*is_free)(const struct place *place, char *error, size_t error_size);
};

/* Called for each place, which is valid during the call only. */
typedef void place_visit_fn(void *ctx, const struct place *place);

#endif
