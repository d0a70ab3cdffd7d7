/* Copies resource attributes to other names, in requests of every signal. Pure. */
#ifndef LIB_WIRE_EDIT_OTLP_REMAP_H
#define LIB_WIRE_EDIT_OTLP_REMAP_H

#include "lib/wire/otlp/signal.h"
#include "lib/wire/proto/splice.h"

/* One remap: copies the value of attribute `from` to `to`. */
struct remap_pair {
    const char *from;
    const char *to;
};

/* Copies resource attributes by the table: each resource with `from` but without `to` gets an
 * attribute `to` with the same AnyValue bytes after its last attribute. A resource that occurs
 * twice in one entry is treated as protobuf merges it. Keys of profiles may be references into the
 * dictionary. Inserted text, and 16 bytes per dictionary string if keys are references, come from
 * the splice's arena. */
void otlp_remap(enum signal signal, struct view request, const struct remap_pair *pairs,
                size_t count, struct splice *splice);

#endif
