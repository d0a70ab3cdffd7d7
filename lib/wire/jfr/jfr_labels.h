/*
 * The `labels` part of a JFR upload: Pyroscope's LabelsSnapshot, a protobuf message that names what
 * the numbers in the samples stand for. Read in place; an index comes from an arena. Pure.
 */
#ifndef LIB_WIRE_JFR_JFR_LABELS_H
#define LIB_WIRE_JFR_JFR_LABELS_H

#include "lib/base/arena.h"
#include "lib/wire/proto/proto_shape.h"

extern const struct proto_shape shape_jfr_labels;

struct jfr_label_entry {
    int64_t key;
    struct view value;
};

/* A map, sorted by its keys. */
struct jfr_label_map {
    struct jfr_label_entry *entries;
    size_t count;
};

struct jfr_labels {
    struct jfr_label_map strings;
    struct jfr_label_map contexts; /* of Context messages */
};

/* Checks raw (inflated) bytes and indexes them; raw is borrowed, 24 bytes an entry stay in the
 * arena. Empty bytes are labels without entries. False: fault says why; an exhausted arena is
 * reason "too large". */
bool jfr_labels_open(struct jfr_labels *labels, struct view raw, struct arena *arena,
                     struct proto_fault *fault);

/* The string of a key, e.g. of jfr_event.span_name; data NULL: none. */
struct view jfr_labels_string(const struct jfr_labels *labels, uint64_t key);

/* The value that a context (jfr_event.context) has for a name; data NULL: none. */
struct view jfr_labels_of_context(const struct jfr_labels *labels, uint64_t context,
                                  struct view name);

#endif
