#include "tests/support/proto_build.h"

#include <endian.h>
#include <stdlib.h>

/* Reachable until the end, so that leak checkers ignore it. */
static struct kept {
    struct kept *next;
    uint8_t data[];
} * all;

static uint8_t *keep(size_t size)
{
    struct kept *kept = malloc(sizeof *kept + size + 1);
    if (!kept)
        abort();
    kept->next = all;
    all = kept;
    return kept->data;
}

struct view pb_join(const struct view *parts, size_t count)
{
    size_t size = 0;
    for (size_t i = 0; i < count; i++)
        size += parts[i].size;
    uint8_t *data = keep(size), *at = data;
    for (size_t i = 0; i < count; i++)
        at = proto_bytes_put(at, parts[i]);
    return (struct view){data, size};
}

struct view pb_message(uint32_t number, const struct view *parts, size_t count)
{
    struct view content = pb_join(parts, count);
    uint8_t *data = keep(content.size + 20);
    uint8_t *end = proto_bytes_put(proto_len_put(data, number, content.size), content);
    return view_between(data, end);
}

struct view pb_varint(uint32_t number, uint64_t value)
{
    uint8_t *data = keep(20);
    uint8_t *end = proto_varint_put(data, proto_tag(number, WIRE_VARINT));
    return view_between(data, proto_varint_put(end, value));
}

struct view pb_fixed64(uint32_t number, uint64_t value)
{
    uint8_t *data = keep(20);
    uint8_t *end = proto_varint_put(data, proto_tag(number, WIRE_I64));
    value = htole64(value);
    return view_between(data, proto_bytes_put(end, (struct view){(uint8_t *)&value, 8}));
}

struct view pb_fixed32(uint32_t number, uint32_t value)
{
    uint8_t *data = keep(20);
    uint8_t *end = proto_varint_put(data, proto_tag(number, WIRE_I32));
    value = htole32(value);
    return view_between(data, proto_bytes_put(end, (struct view){(uint8_t *)&value, 4}));
}

struct view pb_group(uint32_t number, struct view content)
{
    uint8_t *data = keep(content.size + 20);
    uint8_t *end = proto_varint_put(data, proto_tag(number, WIRE_START_GROUP));
    end = proto_bytes_put(end, content);
    return view_between(data, proto_varint_put(end, proto_tag(number, WIRE_END_GROUP)));
}

struct view pb_attribute(uint32_t list, const char *key, const char *value)
{
    struct view any = pb_message(1, (struct view[]){view_of(value)}, 1);
    return PB_MESSAGE(list, pb_message(1, (struct view[]){view_of(key)}, 1), PB_MESSAGE(2, any));
}

struct view pb_fill(uint32_t number, size_t size, uint8_t byte)
{
    uint8_t *data = keep(size);
    memset(data, byte, size);
    return pb_message(number, &(struct view){data, size}, 1);
}
