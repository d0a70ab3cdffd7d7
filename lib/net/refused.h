/* What a server tells of a request, or a client, that it refuses itself. */
#ifndef LIB_NET_REFUSED_H
#define LIB_NET_REFUSED_H

#include "lib/base/peer.h"
#include "lib/base/verdict.h"

/* The handler gets none of these. path NULL: the request never came so far. All of it lives for the
 * call. Any thread; it never waits. */
typedef void refused_fn(void *ctx, const char *path, const struct peer *peer,
                        const struct outcome *why);

#endif
