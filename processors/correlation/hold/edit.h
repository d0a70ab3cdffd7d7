/*
 * What is done with a span, and the edits for it: the attribute pyroscope.profile.id is set, kept
 * or removed. Pure.
 */
#ifndef PROCESSORS_CORRELATION_HOLD_EDIT_H
#define PROCESSORS_CORRELATION_HOLD_EDIT_H

#include "lib/wire/otlp/otlp_span.h"
#include "lib/wire/proto/splice.h"
#include "processors/correlation/known/span_index.h"

enum action {
    ACTION_WAIT,    /* undecided */
    ACTION_AS_CAME, /* passed on unedited */
    ACTION_LINK,
    ACTION_UNLINK
};

struct edit {
    enum action action;
    bool inherited;              /* LINK: with the id of its local root */
    struct span_figures figures; /* LINK: the id, and its samples */
};

struct edit_policy {
    bool keep_unconfirmed; /* UNLINK keeps one copy of an existing attribute */
    bool annotate;         /* LINK also adds the figures, unless inherited */
};

/* Edits a span through a splice that is positioned in its body. */
void edit_span(struct splice *splice, const struct otlp_span *span, const struct edit *edit,
               const struct edit_policy *policy);

#endif
