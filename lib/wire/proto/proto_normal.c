#include "lib/wire/proto/proto_normal.h"

#include "lib/wire/proto/proto_write.h"

struct normal {
    struct proto_write write;
    struct arena *arena;
    bool starved;
};

/* The member of a message's oneof that counts: the last one, from its first occurrence on that no
 * other member follows. */
struct chosen {
    uint32_t number; /* 0: none is given */
    const uint8_t *from;
};

static const struct proto_row *row_of(const struct proto_shape *shape, uint32_t number)
{
    return &shape->rows[number < shape->count ? number : 0];
}

static bool is_single(const struct proto_row *row)
{
    return row->kind == PROTO_MESSAGE && !row->repeated;
}

static struct chosen choose(const struct proto_shape *shape, struct view message)
{
    struct proto_scan scan = proto_scan_begin(message);
    struct proto_field field;
    struct chosen chosen = {0, NULL};
    while (proto_scan_next(&scan, &field))
        if (row_of(shape, field.number)->oneof && field.number != chosen.number)
            chosen = (struct chosen){field.number, field.start};
    return chosen;
}

/* The contents of all fields of this number, from the given one on, one after the other. */
static struct view gather(struct normal *normal, struct view message,
                          const struct proto_field *first)
{
    struct proto_scan scan = proto_scan_begin(message);
    struct proto_field field;
    size_t count = 0, size = 0;
    scan.at = first->start;
    while (proto_scan_next(&scan, &field))
        if (field.number == first->number) {
            count++;
            size += field.bytes.size;
        }
    if (count == 1)
        return first->bytes;
    uint8_t *all = arena_array_raw(normal->arena, size + 1, 1), *end = all;
    if (!all) {
        normal->starved = true;
        return (struct view){message.data, 0};
    }
    scan = proto_scan_begin(message);
    scan.at = first->start;
    while (proto_scan_next(&scan, &field))
        if (field.number == first->number)
            end = proto_bytes_put(end, field.bytes);
    return view_between(all, end);
}

/* A field as it is, with the shortest tag. */
static void put_field(struct normal *normal, const struct proto_field *field)
{
    uint8_t tag[10];
    const uint8_t *content = field->start;
    while (*content++ >= 0x80)
        ;
    uint8_t *end = proto_varint_put(tag, proto_tag(field->number, field->type));
    proto_write_raw(&normal->write, view_between(tag, end));
    proto_write_raw(&normal->write, view_between(content, field->end));
}

static void put_message(struct normal *normal, const struct proto_shape *shape, struct view message)
{
    const struct chosen chosen = choose(shape, message);
    struct proto_scan scan = proto_scan_begin(message);
    struct proto_field field;
    uint32_t written = 0; /* bits of the single messages' numbers */
    while (!normal->starved && proto_scan_next(&scan, &field)) {
        const struct proto_row *row = row_of(shape, field.number);
        if (row->oneof && (field.number != chosen.number || field.start < chosen.from))
            continue;
        if (row->kind == PROTO_UNKNOWN) {
            proto_write_raw(&normal->write, view_between(field.start, field.end));
            continue;
        }
        if (row->kind != PROTO_MESSAGE) {
            put_field(normal, &field);
            continue;
        }
        struct view content = field.bytes;
        if (is_single(row)) {
            const uint32_t bit = UINT32_C(1) << (field.number & 31);
            if (written & bit)
                continue;
            written |= bit;
            content = gather(normal, message, &field);
        }
        size_t opened = proto_write_open(&normal->write, field.number);
        put_message(normal, row->shape, content);
        proto_write_close(&normal->write, opened);
    }
}

bool proto_normal(const struct proto_shape *shape, struct view message, struct arena *arena,
                  struct bytes *out)
{
    struct normal normal = {proto_write_begin(out), arena, false};
    put_message(&normal, shape, message);
    return !normal.starved && !proto_write_fault(&normal.write);
}
