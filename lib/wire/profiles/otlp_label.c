#include "lib/wire/profiles/otlp_label.h"

#include <inttypes.h>
#include <stdio.h>

enum { KEY_VALUE_VALUE = 2, KEY_VALUE_KEY_STRINDEX = 3, ARRAY_VALUES = 1 };
enum { ANY_STRING = 1, ANY_BOOL = 2, ANY_INT = 3, ANY_ARRAY = 5, ANY_STRINDEX = 8 };

/* An AnyValue: the member set last; number 0: none. */
struct any {
    uint32_t number;
    struct view text; /* ANY_STRING, ANY_ARRAY */
    uint64_t value;   /* ANY_BOOL, ANY_INT */
};

struct view otlp_label_key(const struct otlp_dictionary *dictionary, struct view key_value)
{
    struct view key = otlp_dictionary_string(dictionary, key_value, KEY_VALUE_KEY_STRINDEX);
    return key.size ? key : otlp_key(key_value);
}

static void read_any(const struct otlp_dictionary *dictionary, struct view message, struct any *any)
{
    struct proto_scan scan = proto_scan_begin(message);
    struct proto_field field;
    while (proto_scan_next(&scan, &field)) {
        if (field.number > ANY_STRINDEX)
            continue;
        *any = (struct any){field.number, field.bytes, field.value};
        if (field.number == ANY_STRINDEX) {
            const struct view *strings = dictionary->of[OTLP_TABLE_STRING].entries;
            any->number = ANY_STRING;
            any->text = field.value < dictionary->of[OTLP_TABLE_STRING].count ? strings[field.value]
                                                                              : VIEW("");
        }
    }
}

/* The value of a body; several AnyValues are merged. */
static struct any otlp_label_value_of(const struct otlp_dictionary *dictionary,
                                      struct view key_value)
{
    struct proto_scan scan = proto_scan_begin(key_value);
    struct proto_field field;
    struct any any = {0};
    while (proto_scan_next(&scan, &field))
        if (field.number == KEY_VALUE_VALUE && field.type == WIRE_LEN)
            read_any(dictionary, field.bytes, &any);
    return any;
}

/* The element of a list of one; none for other lists. */
static struct any only_entry(const struct otlp_dictionary *dictionary, struct view array)
{
    struct proto_scan scan = proto_scan_begin(array);
    struct proto_field field;
    struct any any = {0};
    for (unsigned count = 0; proto_scan_next(&scan, &field);) {
        if (field.number != ARRAY_VALUES)
            continue;
        if (count++)
            return (struct any){0};
        read_any(dictionary, field.bytes, &any);
    }
    return any;
}

bool otlp_label_text(const struct otlp_dictionary *dictionary, struct view key_value,
                     struct arena *arena, struct view *text)
{
    enum { DIGITS = 24 };
    struct any any = otlp_label_value_of(dictionary, key_value);
    if (any.number == ANY_ARRAY)
        any = only_entry(dictionary, any.text);
    *text = any.number == ANY_STRING ? any.text : VIEW("");
    if (any.number != ANY_INT)
        return true;
    char *digits = arena_alloc(arena, DIGITS);
    if (!digits)
        return false;
    int size = snprintf(digits, DIGITS, "%" PRId64, (int64_t)any.value);
    *text = (struct view){(const uint8_t *)digits, (size_t)size};
    return true;
}

bool otlp_label_flag(struct view key_value)
{
    struct proto_field value, flag;
    return proto_find(key_value, KEY_VALUE_VALUE, WIRE_LEN, &value) &&
           proto_find(value.bytes, ANY_BOOL, WIRE_VARINT, &flag) && flag.value;
}

bool otlp_label_next(const struct otlp_dictionary *dictionary, struct view key_value,
                     struct otlp_label_list *list, struct view *text)
{
    struct proto_field field;
    if (!list->begun) {
        struct any any = otlp_label_value_of(dictionary, key_value);
        list->begun = true;
        list->values = proto_scan_begin(any.number == ANY_ARRAY ? any.text : VIEW(""));
        *text = any.text;
        if (any.number == ANY_STRING)
            return true;
    }
    while (proto_scan_next(&list->values, &field)) {
        struct any any = {0};
        if (field.number == ARRAY_VALUES)
            read_any(dictionary, field.bytes, &any);
        *text = any.text;
        if (any.number == ANY_STRING)
            return true;
    }
    return false;
}
