/* The parts of a JFR upload to Pyroscope's /ingest, inflated. */
#ifndef LIB_WIRE_JFR_JFR_PARTS_H
#define LIB_WIRE_JFR_JFR_PARTS_H

#include "lib/base/bytes.h"

struct jfr_parts {
    struct view jfr, labels; /* labels: data NULL if there are none */
    struct bytes inflated[2];
};

/* Finds the file parts "jfr" and "labels" of a form, the first of each name; a body of another
 * content type (NULL: none) is the recording itself. Parts with gzip are inflated, up to 64 MiB
 * each, charged to the budget; body is borrowed. False: malformed, without a recording, or no room.
 * jfr_parts_release in any case. */
bool jfr_parts_open(struct jfr_parts *parts, const char *content_type, struct view body,
                    struct budget *budget);
void jfr_parts_release(struct jfr_parts *parts);

#endif
