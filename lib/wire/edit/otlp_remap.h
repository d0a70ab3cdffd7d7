/* Resource attributes copied under other names, in requests of every signal. Pure. */
#ifndef LIB_WIRE_EDIT_OTLP_REMAP_H
#define LIB_WIRE_EDIT_OTLP_REMAP_H

#include "lib/wire/otlp/signal.h"
#include "lib/wire/proto/splice.h"

/* One remap: the value of attribute `from` is also to stand under `to`. */
struct remap_pair {
    const char *from;
    const char *to;
};

/* Copies resource attributes by the table: for each resource with `from` and without `to`, an
 * attribute `to` with the same AnyValue bytes is inserted behind the resource's last attribute.
 * A resource that occurs twice in one entry is judged as protobuf merges it. Keys of profiles may
 * be references into the dictionary. Text memory comes from the splice's arena, and where keys are
 * references 16 bytes a string of the dictionary. */
void otlp_remap(enum signal signal, struct view request, const struct remap_pair *pairs,
                size_t count, struct splice *splice);

#endif
