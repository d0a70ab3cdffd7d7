/* Callback for requests and clients that a server refuses by itself. */
#ifndef LIB_NET_REFUSED_H
#define LIB_NET_REFUSED_H

#include "lib/base/peer.h"
#include "lib/base/verdict.h"

/* The handler is not called for these. path NULL: no path was received. Arguments are valid during
 * the call. Called on any thread; must not block. */
typedef void refused_fn(void *ctx, const char *path, const struct peer *peer,
                        const struct outcome *why);

#endif
