/*
 * The `labels` part of a JFR upload: Pyroscope's LabelsSnapshot, a protobuf message with the
 * strings and contexts that samples refer to by number. Read in place, with an index in an arena.
 * Pure.
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

/* A map, sorted by key. */
struct jfr_label_map {
    struct jfr_label_entry *entries;
    size_t count;
};

struct jfr_labels {
    struct jfr_label_map strings;
    struct jfr_label_map contexts; /* values are Context messages */
};

/* Checks raw (inflated) bytes and indexes them; raw is borrowed, 24 bytes per entry stay in the
 * arena. Empty input has no entries. False: fault is set; an exhausted arena is reason "too
 * large". */
bool jfr_labels_open(struct jfr_labels *labels, struct view raw, struct arena *arena,
                     struct proto_fault *fault);

/* Returns the string with a key, e.g. jfr_event.span_name; data NULL: none. */
struct view jfr_labels_string(const struct jfr_labels *labels, uint64_t key);

/* Returns the value of a name in a context (jfr_event.context); data NULL: none. */
struct view jfr_labels_of_context(const struct jfr_labels *labels, uint64_t context,
                                  struct view name);

#endif
