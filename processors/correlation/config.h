/* The processor's configuration, as its key table fills it (correlation.c). */
#ifndef CORRELATION_CONFIG_H
#define CORRELATION_CONFIG_H

#include "lib/settings/key.h"

enum link { LINK_CONFIRMED, LINK_LOCAL_ROOT, LINK_ALL };
enum candidates { CANDIDATES_AUTO, CANDIDATES_LOCAL_ROOT, CANDIDATES_ALL };
enum unconfirmed { UNCONFIRMED_REMOVE, UNCONFIRMED_KEEP };
enum children {
    CHILDREN_NONE,
    CHILDREN_INHERIT,
    CHILDREN_WAIT /* not a word of the key: with NONE, if whole_traces of struct env is set */
};
enum trace_id { TRACE_ID_KEEP, TRACE_ID_STRIP };
enum profile_time { PROFILE_TIME_AUTO, PROFILE_TIME_KEEP };

struct correlation_config {
    int link;
    int candidates;
    uint64_t hold; /* DURATION_AUTO: from the windows seen */
    struct key_list confirm_by;
    uint64_t remember;
    int64_t index_max_mib;
    int64_t hold_max_mib;
    int64_t hold_max_spans;
    int unconfirmed;
    int children;
    bool annotate;
    struct key_map remap;
    int trace_id;
    int profile_time;
    bool symbolizer;
};

#endif
