/*
 * Converts attributes of an OTLP profiles request to labels as Pyroscope does: a string as is, an
 * integer in decimal, a list of exactly one of these as its element; anything else, and an empty
 * string, makes no label. References into the dictionary are resolved. Pure.
 */
#ifndef LIB_WIRE_PROFILES_OTLP_LABEL_H
#define LIB_WIRE_PROFILES_OTLP_LABEL_H

#include "lib/wire/profiles/otlp_profiles.h"

/* The key of a KeyValue body: by reference, or inline if the reference is 0 or absent. */
struct view otlp_label_key(const struct otlp_dictionary *dictionary, struct view key_value);

/* Converts the value of a KeyValue or KeyValueAndUnit body to text, in the request or the arena;
 * empty: it makes no label. False: the arena has no room. */
bool otlp_label_text(const struct otlp_dictionary *dictionary, struct view key_value,
                     struct arena *arena, struct view *text);

/* Whether the value is the bool true. */
bool otlp_label_flag(struct view key_value);

/* Iterates over the strings of a value that is a list of strings, or one string; zero-initialise
 * the list. otlp_label_next returns false at the end. */
struct otlp_label_list {
    struct proto_scan values;
    bool begun;
};
bool otlp_label_next(const struct otlp_dictionary *dictionary, struct view key_value,
                     struct otlp_label_list *list, struct view *text);

#endif
