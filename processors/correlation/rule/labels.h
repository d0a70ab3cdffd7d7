/*
 * What adds span ids to samples, by the language of a service's SDK, as in docs/sdks.md.
 */
#ifndef PROCESSORS_CORRELATION_RULE_LABELS_H
#define PROCESSORS_CORRELATION_RULE_LABELS_H

#include "pipeline/watch.h"

struct labels {
    const char *language;       /* its telemetry.sdk.language; NULL: any other */
    const char *way;            /* part of a sentence */
    struct watch_reason no_ids; /* with the way as what to do */
};

/* language: NULL: not known. The result is static. */
const struct labels *labels_of(const char *language);

#endif
