/* Where a request came from, as far as processors may read it. Borrowed. */
#ifndef LIB_BASE_REQUEST_CONTEXT_H
#define LIB_BASE_REQUEST_CONTEXT_H

#include "lib/base/view.h"

struct request_context {
    const char *address;       /* of the client, without port; NULL: not known */
    struct view headers;       /* "name\0value\0" each */
    const char *tenant;        /* X-Scope-OrgID, also where there are no headers; NULL: none */
    const char *authorization; /* Authorization, if it is to be sent on; NULL: none */
};

#endif
