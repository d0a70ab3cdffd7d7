/*
 * Kinds of profile, as Pyroscope names them in __name__. A link opens the profile of one kind, so
 * windows, watermarks and samples are kept apart by kind. Pure.
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

/* A set of kinds is an unsigned with these bits; those that can confirm fit a byte. */
#define KIND_BIT(kind) (1u << (kind))

/* From a __name__ or a word of the configuration; KIND_OTHER: an unknown one. */
enum kind kind_parse(struct view name);

const char *kind_name(enum kind kind);

#endif
