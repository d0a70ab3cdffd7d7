/*
 * The form in which everybody writes protobuf, of messages that say the same in another way: fields
 * of messages that are not repeated but given several times, which add up; members of a oneof that
 * a later one replaces; tags longer than they need be. Whatever else reads a message can then look
 * for a field once. Pure.
 */
#ifndef LIB_WIRE_PROTO_PROTO_NORMAL_H
#define LIB_WIRE_PROTO_PROTO_NORMAL_H

#include "lib/base/arena.h"
#include "lib/base/bytes.h"
#include "lib/wire/proto/proto_shape.h"

/* Writes a message that proto_check_tally calls `odd`, in its normal form, which is no longer.
 * Unknown fields stay. arena: for what is put together. False: no memory. */
bool proto_normal(const struct proto_shape *shape, struct view message, struct arena *arena,
                  struct bytes *out);

#endif
