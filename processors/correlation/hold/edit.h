/*
 * What becomes of a span, and the edits that it takes: the attribute pyroscope.profile.id set,
 * kept or removed. Pure.
 */
#ifndef PROCESSORS_CORRELATION_HOLD_EDIT_H
#define PROCESSORS_CORRELATION_HOLD_EDIT_H

#include "lib/wire/otlp/otlp_span.h"
#include "lib/wire/proto/splice.h"
#include "processors/correlation/known/span_index.h"

enum action {
    ACTION_WAIT,    /* not decided yet */
    ACTION_AS_CAME, /* goes on without any edit */
    ACTION_LINK,
    ACTION_UNLINK
};

struct edit {
    enum action action;
    bool inherited;              /* LINK: with the id of its local root */
    struct span_figures figures; /* LINK: the id, and what is known of it */
};

struct edit_policy {
    bool keep_unconfirmed; /* UNLINK leaves one copy of an attribute that is there */
    bool annotate;         /* LINK adds the figures, unless inherited */
};

/* Edits of a span through a splice that stands in its body. */
void edit_span(struct splice *splice, const struct otlp_span *span, const struct edit *edit,
               const struct edit_policy *policy);

#endif
