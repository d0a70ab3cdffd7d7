/* The members of a W3C tracestate, "a=1,b=2". For lib/ottl alone. Pure. */
#ifndef LIB_OTTL_TRACE_STATE_H
#define LIB_OTTL_TRACE_STATE_H

#include "lib/base/bytes.h"

enum { TRACE_STATE_MEMBERS = 32 };

struct trace_state {
    struct trace_state_member {
        struct view key, value;
    } members[TRACE_STATE_MEMBERS];
    size_t count;
};

/* False: it is malformed, as the Collector has it (W3C Trace Context 3.3.1). */
bool trace_state_read(struct view text, struct trace_state *state);

/* "": there is none. */
struct view trace_state_get(const struct trace_state *state, struct view key);

/* Appends the text of the state with a member in front (3.5), which replaces the one with its key,
 * or the last one of a full state. False: it is no member, or out is full. */
bool trace_state_put(const struct trace_state *state, struct view key, struct view value,
                     struct bytes *out);

#endif
