/* Spans with the link of an ancestor, from correlation's `children: inherit` or their SDK. */
#ifndef EXTENSIONS_STATUS_INHERITED_H
#define EXTENSIONS_STATUS_INHERITED_H

#include "lib/wire/otlp/otlp_span.h"

#define INHERITED_REASON "inherited"
#define INHERITED_TEXT                                                                             \
    "It has the link of its nearest linked ancestor: the flame graph and the samples are that "    \
    "one's."

/* Of one that samples name, too. */
#define INHERITED_OWN_TEXT                                                                         \
    "It left with the link of its nearest linked ancestor, and samples that name the span itself " \
    "came: the flame graph and the numbers here are of those, the profile id is that one's."

/* Whether the samples that a span's link opens are those of an ancestor. A span's own link may
 * also be its id with the bytes reversed. */
static inline bool link_is_inherited(const struct otlp_span *span, uint64_t link)
{
    uint64_t id = span->span_id.size == 8 ? span_id_load(span->span_id.data) : 0;
    return link && link != id && link != span_id_reversed(id) && !otlp_span_is_local_root(span);
}

#endif
