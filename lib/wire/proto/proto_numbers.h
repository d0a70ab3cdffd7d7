/* Iterates over the numbers of a repeated varint field, packed or not; stops at malformed bytes. */
#ifndef LIB_WIRE_PROTO_PROTO_NUMBERS_H
#define LIB_WIRE_PROTO_PROTO_NUMBERS_H

#include "lib/wire/proto/proto_scan.h"

struct proto_numbers {
    const uint8_t *at, *end;
    uint64_t lone;
    bool has_lone;
};

static inline struct proto_numbers proto_numbers_begin(const struct proto_field *field)
{
    if (field->type == WIRE_VARINT)
        return (struct proto_numbers){.lone = field->value, .has_lone = true};
    if (field->type != WIRE_LEN)
        return (struct proto_numbers){0};
    return (struct proto_numbers){.at = field->bytes.data, .end = field->end};
}

static inline bool proto_numbers_next(struct proto_numbers *numbers, uint64_t *number)
{
    if (numbers->has_lone) {
        numbers->has_lone = false;
        *number = numbers->lone;
        return true;
    }
    if (numbers->at >= numbers->end)
        return false;
    const uint8_t *at = proto_varint(numbers->at, numbers->end, number);
    numbers->at = at ? at : numbers->end;
    return at != NULL;
}

#endif
