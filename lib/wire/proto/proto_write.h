/*
 * Protobuf written into growing bytes, for messages that are made rather than edited. The first
 * failure sticks: everything after it is ignored, and the caller asks once at the end. Pure.
 */
#ifndef LIB_WIRE_PROTO_PROTO_WRITE_H
#define LIB_WIRE_PROTO_PROTO_WRITE_H

#include "lib/base/bytes.h"
#include "lib/wire/proto/proto_scan.h"

struct proto_write {
    struct bytes *out;
    enum bytes_result result;
};

static inline struct proto_write proto_write_begin(struct bytes *out)
{
    return (struct proto_write){out, BYTES_OK};
}

/* A field with a varint, written at zero too; and one that is left out at zero. */
void proto_write_varint(struct proto_write *write, uint32_t number, uint64_t value);
void proto_write_number(struct proto_write *write, uint32_t number, uint64_t value);

void proto_write_fixed64(struct proto_write *write, uint32_t number, uint64_t value);
void proto_write_bytes(struct proto_write *write, uint32_t number, struct view bytes);

/* Opens a message or a packed field; the answer is handed to close once the content is written. */
size_t proto_write_open(struct proto_write *write, uint32_t number);
void proto_write_close(struct proto_write *write, size_t opened);

/* A bare varint, inside a packed field; and bare bytes, e.g. fields that are copied. */
void proto_write_packed(struct proto_write *write, uint64_t value);
void proto_write_raw(struct proto_write *write, struct view bytes);

/* Why the writing failed (static text); NULL: it did not. */
extern const char proto_write_no_memory[]; /* one of them, known by its address */
const char *proto_write_fault(const struct proto_write *write);

#endif
