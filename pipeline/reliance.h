/*
 * What processors do to attributes that others rely on. Where a processor `relies` on an attribute,
 * as correlation does on that which it gives spans, and another one in its pipeline `alters` that,
 * the plan warns. An instance need not be open for either.
 */
#ifndef PIPELINE_RELIANCE_H
#define PIPELINE_RELIANCE_H

#include "lib/base/alteration.h"
#include "lib/wire/otlp/signal.h"

#include <stdbool.h>

struct attribute_of {
    enum signal signal; /* of the requests */
    bool resource;      /* of their Resources; else of their spans, log records, profiles */
    struct alterable what;
};

/* An attribute that processors behind this one are to leave as it is, and those in front are not to
 * lose. */
struct reliance {
    struct attribute_of of; /* key NULL: the end of a list */
    enum signal partner;    /* they may alter it if those of this signal do the same; COUNT: none */
    const char *behind;     /* what happens if it is altered behind: "so ..." */
    const char *in_front;   /* the same if it is lost in front; NULL: it may be */
    const char *otherwise;  /* what to do where the partner cannot do the same; NULL: no partner */
};

/* Calls visit for every place in the configuration that removes or changes the attribute, whatever
 * else the records hold. What depends on a record, as conditions do, is left out, or of kind
 * MAY_GIVE. */
typedef void alters_fn(const void *self, const struct attribute_of *attribute,
                       alteration_visit_fn *visit, void *ctx);

#endif
