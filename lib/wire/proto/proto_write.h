/*
 * Writes protobuf messages from scratch into struct bytes. The first failure sticks: later writes
 * are ignored, and the caller checks once at the end. Pure.
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

/* Write a varint field: always; only if not zero. */
void proto_write_varint(struct proto_write *write, uint32_t number, uint64_t value);
void proto_write_number(struct proto_write *write, uint32_t number, uint64_t value);

void proto_write_fixed64(struct proto_write *write, uint32_t number, uint64_t value);
void proto_write_bytes(struct proto_write *write, uint32_t number, struct view bytes);

/* Opens a message or a packed field; pass the result to proto_write_close once the content is
 * written. */
size_t proto_write_open(struct proto_write *write, uint32_t number);
void proto_write_close(struct proto_write *write, size_t opened);

/* Write a bare varint, inside a packed field; raw bytes, e.g. copied fields. */
void proto_write_packed(struct proto_write *write, uint64_t value);
void proto_write_raw(struct proto_write *write, struct view bytes);

/* Why writing failed (static text); NULL: it did not. */
extern const char proto_write_no_memory[]; /* one such reason, identified by its address */
const char *proto_write_fault(const struct proto_write *write);

#endif
