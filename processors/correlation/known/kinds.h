/*
 * Kinds of profile, as Pyroscope names them in __name__. A link opens the profile of one kind, so
 * windows, watermarks and samples are kept separately by kind. Pure.
 */
#ifndef PROCESSORS_CORRELATION_KNOWN_KINDS_H
#define PROCESSORS_CORRELATION_KNOWN_KINDS_H

#include "lib/base/view.h"

enum kind {
    KIND_PROCESS_CPU,
    KIND_WALL,
    KIND_MEMORY,
    KIND_MUTEX,
    KIND_BLOCK,
    KIND_GOROUTINE,
    KIND_OFF_CPU,
    KIND_EXCEPTIONS,
    KIND_OTHER, /* any other name; never confirms a span */
    KIND_COUNT
};

/* A set of kinds is an unsigned with these bits; those that can confirm a span fit into a byte. */
#define KIND_BIT(kind) (1u << (kind))
#define KINDS_TIMED    (KIND_BIT(KIND_PROCESS_CPU) | KIND_BIT(KIND_WALL))
#define KINDS_ALL      (KIND_BIT(KIND_COUNT) - 1)

/* Parses a __name__ or a configured name; KIND_OTHER: unknown. */
enum kind kind_parse(struct view name);

const char *kind_name(enum kind kind);

/* Whether its profiles measure CPU or wall time. */
static inline bool kind_is_timed(enum kind kind)
{
    return kind == KIND_PROCESS_CPU || kind == KIND_WALL;
}

#endif
