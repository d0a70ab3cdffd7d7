/* Lists of numbers in histograms. */
#include "lib/ottl/counts.h"

#include "lib/ottl/function.h"

static void read_packed(struct counts *counts, const struct proto_field *field)
{
    struct view bytes = field->bytes;
    if (field->type != WIRE_LEN)
        counts->of[counts->count++] = field->value;
    for (size_t at = 0; field->type == WIRE_LEN && at + 8 <= bytes.size; at += 8) {
        uint64_t value = 0;
        for (unsigned i = 0; i < 8; i++)
            value |= (uint64_t)bytes.data[at + i] << (8 * i);
        counts->of[counts->count++] = value;
    }
}

static void read_varints(struct counts *counts, const struct proto_field *field)
{
    const uint8_t *at = field->bytes.data;
    if (field->type != WIRE_LEN) {
        counts->of[counts->count++] = field->value;
        return;
    }
    while (at < field->end && (at = proto_varint(at, field->end, &counts->of[counts->count])))
        counts->count++;
}

struct counts ottl_read_counts(struct ottl_run *run, struct view message, uint32_t number,
                               bool varints)
{
    struct proto_scan scan = proto_scan_begin(message);
    struct proto_field field;
    size_t most = varints ? message.size : message.size / 8;
    struct counts counts = {arena_array_raw(ottl_arena(run), most + 1, 8), 0};
    while (counts.of && proto_scan_next(&scan, &field)) {
        if (field.number != number)
            continue;
        if (varints)
            read_varints(&counts, &field);
        else
            read_packed(&counts, &field);
    }
    return counts;
}
