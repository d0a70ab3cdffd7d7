/* Where a configuration says that an attribute is removed or changed, for warnings. */
#ifndef LIB_BASE_ALTERATION_H
#define LIB_BASE_ALTERATION_H

#include "lib/base/view.h"

struct alteration {
    const char *path; /* of the key, below the processor's section: "attributes[0]" */
    const char *verb; /* what it does to the attribute: "removes" */
    struct view to; /* the same for all that do the same, whatever the component; size 0: unknown */
    const char *instead; /* what to do about it: "add KEY to allowed_keys"; NULL: nothing known */
};

/* `to` of one that removes. One that sets a text has "=" and the text. */
#define ALTERATION_REMOVED VIEW("-")

/* Called for each; what it points to is valid during the call only. */
typedef void alteration_visit_fn(void *ctx, const struct alteration *alteration);

#endif
