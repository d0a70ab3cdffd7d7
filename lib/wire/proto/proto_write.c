#include "lib/wire/proto/proto_write.h"

#include <endian.h>

/* A tag and a number. */
enum { MAX_FIELD = 20 };

static bool reserve(struct proto_write *write, size_t size)
{
    if (write->result == BYTES_OK)
        write->result = bytes_reserve(write->out, size);
    return write->result == BYTES_OK;
}

static void proto_write_append(struct proto_write *write, const uint8_t *text, const uint8_t *end)
{
    if (write->result == BYTES_OK)
        write->result = bytes_append_view(write->out, view_between(text, end));
}

void proto_write_varint(struct proto_write *write, uint32_t number, uint64_t value)
{
    uint8_t text[MAX_FIELD];
    proto_write_append(
        write, text,
        proto_varint_put(proto_varint_put(text, proto_tag(number, WIRE_VARINT)), value));
}

void proto_write_number(struct proto_write *write, uint32_t number, uint64_t value)
{
    if (value)
        proto_write_varint(write, number, value);
}

void proto_write_fixed64(struct proto_write *write, uint32_t number, uint64_t value)
{
    uint8_t text[MAX_FIELD];
    uint64_t little = htole64(value);
    uint8_t *end = proto_varint_put(text, proto_tag(number, WIRE_I64));
    proto_write_append(write, text,
                       proto_bytes_put(end, (struct view){(uint8_t *)&little, sizeof little}));
}

void proto_write_bytes(struct proto_write *write, uint32_t number, struct view bytes)
{
    uint8_t text[MAX_FIELD];
    proto_write_append(write, text, proto_len_put(text, number, bytes.size));
    proto_write_raw(write, bytes);
}

size_t proto_write_open(struct proto_write *write, uint32_t number)
{
    uint8_t text[MAX_FIELD];
    proto_write_append(write, text, proto_len_put(text, number, 0));
    return write->out->size;
}

void proto_write_close(struct proto_write *write, size_t opened)
{
    if (write->result != BYTES_OK)
        return;
    size_t size = write->out->size - opened;
    size_t more = proto_varint_size(size) - 1;
    if (more && !reserve(write, more))
        return;
    uint8_t *content = write->out->data + opened;
    if (more)
        memmove(content + more, content, size);
    proto_varint_put(content - 1, size);
    write->out->size += more;
}

void proto_write_packed(struct proto_write *write, uint64_t value)
{
    uint8_t text[MAX_FIELD];
    proto_write_append(write, text, proto_varint_put(text, value));
}

void proto_write_raw(struct proto_write *write, struct view bytes)
{
    if (write->result == BYTES_OK)
        write->result = bytes_append_view(write->out, bytes);
}

const char proto_write_no_memory[] = "there is no memory for the result";

const char *proto_write_fault(const struct proto_write *write)
{
    switch (write->result) {
    case BYTES_OK:
        break;
    case BYTES_FULL:
        return "the result is too large";
    case BYTES_NO_MEMORY:
        return proto_write_no_memory;
    }
    return NULL;
}
