/* Random messages of a shape, the same ones for a seed. */
#ifndef TESTS_SUPPORT_PROTO_RANDOM_H
#define TESTS_SUPPORT_PROTO_RANDOM_H

#include "lib/base/bytes.h"
#include "lib/wire/proto/proto_shape.h"

struct random {
    uint64_t state;
};

static inline struct random random_seeded(uint64_t seed)
{
    return (struct random){seed * 2654435761u + 1};
}

/* 0 to below - 1. */
uint32_t random_below(struct random *random, uint32_t below);

enum {
    RANDOM_PLAIN = 0,
    RANDOM_UNKNOWN = 1, /* unknown fields among the known ones */
    RANDOM_GROUPS = 2,  /* unknown groups too, which protobuf-c cannot read */
    RANDOM_PADDED = 4   /* tags, lengths and values longer than necessary */
};

/* Appends a well-formed message: fields in any order and number, nested up to depth, strings in
 * UTF-8, ids of the right length, no NaN. A message that is not repeated occurs at most once:
 * protobuf-c cannot merge two that contain an empty oneof. */
void proto_random(struct random *random, const struct proto_shape *shape, unsigned flags,
                  unsigned depth, struct bytes *out);

#endif
