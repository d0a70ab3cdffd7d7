/*
 * Attributes of an OTLP profiles request as the labels that Pyroscope makes of them: a string as it
 * is, an integer in decimal, a list of exactly one of these as its entry; anything else, and
 * empty text, makes no label. References into the dictionary are resolved. Pure.
 */
#ifndef LIB_WIRE_PROFILES_OTLP_LABEL_H
#define LIB_WIRE_PROFILES_OTLP_LABEL_H

#include "lib/wire/profiles/otlp_profiles.h"

/* The key of a KeyValue's body: by reference, or inline where the reference is 0 or absent. */
struct view otlp_label_key(const struct otlp_dictionary *dictionary, struct view key_value);

/* Sets the text of the value of a KeyValue's or KeyValueAndUnit's body, in the request or the
 * arena; empty: it makes no label. False: the arena has no room. */
bool otlp_label_text(const struct otlp_dictionary *dictionary, struct view key_value,
                     struct arena *arena, struct view *text);

/* Whether the value is the bool true. */
bool otlp_label_flag(struct view key_value);

/* Walks the texts of a value that is a list of strings, or one string; the list starts as
 * zero. False: no more. */
struct otlp_label_list {
    struct proto_scan values;
    bool begun;
};
bool otlp_label_next(const struct otlp_dictionary *dictionary, struct view key_value,
                     struct otlp_label_list *list, struct view *text);

#endif
