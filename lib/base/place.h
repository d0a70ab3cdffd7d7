/* Where a component listens or sends to, as its configuration says. */
#ifndef LIB_BASE_PLACE_H
#define LIB_BASE_PLACE_H

#include <stdbool.h>
#include <stddef.h>

struct place {
    const char *key;     /* its path below the component, e.g. "protocols.grpc.endpoint" */
    bool listens;        /* false: it sends there */
    char host[256];      /* a name or an address without brackets; "": every one of this machine */
    char port[32];       /* digits */
    char unix_path[108]; /* not "": a unix socket, and no host and port */

    /* Whether one could listen there now: listens there for a moment. False: error says why not.
     * NULL: that cannot be told. */
    bool (*is_free)(const struct place *place, char *error, size_t error_size);
};

/* Called for each; the place lives for the call. */
typedef void place_visit_fn(void *ctx, const struct place *place);

#endif
