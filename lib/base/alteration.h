/* Where a configuration says that an attribute is removed or changed, for warnings. */
#ifndef LIB_BASE_ALTERATION_H
#define LIB_BASE_ALTERATION_H

#include "lib/base/view.h"

/* An attribute whose alterations are sought. */
struct alterable {
    const char *key;
    const char *const *examples; /* texts: what hits each of them hits any value; NULL ends */
    bool any_text;               /* what hits none of them may hit other values */
};

enum alteration_kind {
    ALTERATION_LOSES,   /* its value is gone, or is no longer known for what it was */
    ALTERATION_GIVES,   /* it gets a value that was chosen for it, and which others may have */
    ALTERATION_MAY_GIVE /* the same of some records alone, as of those that lack it */
};

struct alteration {
    enum alteration_kind kind;
    const char *path; /* of the key, below the processor's section: "attributes[0]" */
    const char *verb; /* what it does to the attribute: "removes" */
    struct view to; /* the same for all that do the same, whatever the component; size 0: unknown */
    const char *instead; /* what to do about it: "add KEY to allowed_keys"; NULL: nothing known */
};

/* `to` of one that removes. One that sets a text has "=" and the text. */
#define ALTERATION_REMOVED VIEW("-")

/* Called for each, in the order in which they are done; what it points to is valid during the call
 * only. */
typedef void alteration_visit_fn(void *ctx, const struct alteration *alteration);

#endif
