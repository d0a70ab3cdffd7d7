/* A check that can still forbid a request at the moment when it is to be sent. */
#ifndef LIB_BASE_VETO_H
#define LIB_BASE_VETO_H

#include <stdbool.h>

/* is_given is called from any thread and does not block. NULL: never forbids. */
struct veto {
    bool (*is_given)(const void *ctx);
    const void *ctx;
};

#define VETO_NONE ((struct veto){0})

static inline bool veto_is_given(struct veto veto)
{
    return veto.is_given && veto.is_given(veto.ctx);
}

#endif
