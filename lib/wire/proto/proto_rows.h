/*
 * Macros for the rows of shape tables, one per protobuf type, so that a table reads like its .proto
 * file: [1] = {ROW_STRING("key")}. For the shape tables in lib/wire only.
 */
#ifndef LIB_WIRE_PROTO_PROTO_ROWS_H
#define LIB_WIRE_PROTO_PROTO_ROWS_H

#include "lib/wire/proto/proto_shape.h"

#define ROW(kind_, type_, name_)                                                                   \
    .kind = (kind_), .type = (type_), .name = (name_), .name_size = sizeof(name_) - 1

#define ROW_BOOL(name)         ROW(PROTO_VARINT, PROTO_TYPE_BOOL, name)
#define ROW_INT32(name)        ROW(PROTO_VARINT, PROTO_TYPE_INT32, name)
#define ROW_UINT32(name)       ROW(PROTO_VARINT, PROTO_TYPE_UINT32, name)
#define ROW_SINT32(name)       ROW(PROTO_VARINT, PROTO_TYPE_SINT32, name)
#define ROW_INT64(name)        ROW(PROTO_VARINT, PROTO_TYPE_INT64, name)
#define ROW_UINT64(name)       ROW(PROTO_VARINT, PROTO_TYPE_UINT64, name)
#define ROW_FIXED32(name)      ROW(PROTO_FIXED32, PROTO_TYPE_UINT32, name)
#define ROW_FIXED64(name)      ROW(PROTO_FIXED64, PROTO_TYPE_UINT64, name)
#define ROW_SFIXED64(name)     ROW(PROTO_FIXED64, PROTO_TYPE_INT64, name)
#define ROW_DOUBLE(name)       ROW(PROTO_FIXED64, PROTO_TYPE_DOUBLE, name)
#define ROW_STRING(name)       ROW(PROTO_BYTES, PROTO_TYPE_STRING, name)
#define ROW_BASE64(name)       ROW(PROTO_BYTES, PROTO_TYPE_BASE64, name)
#define ROW_ENUM(name, values) ROW(PROTO_VARINT, PROTO_TYPE_ENUM, name), .names = (values)
#define ROW_MESSAGE(name, of)  ROW(PROTO_MESSAGE, PROTO_TYPE_MESSAGE, name), .shape = &(of)

/* An id, shown in hex: of any length, or of 0 or exactly size bytes. */
#define ROW_HEX(name)       ROW(PROTO_BYTES, PROTO_TYPE_HEX, name)
#define ROW_ID(name, bytes) ROW(PROTO_ID, PROTO_TYPE_HEX, name), .size = (bytes)

#define ROW_STRINGS(name)      ROW_STRING(name), .repeated = true
#define ROW_MESSAGES(name, of) ROW_MESSAGE(name, of), .repeated = true
#define ROW_INT32S(name)       ROW(PROTO_VARINTS, PROTO_TYPE_INT32, name), .repeated = true
#define ROW_INT64S(name)       ROW(PROTO_VARINTS, PROTO_TYPE_INT64, name), .repeated = true
#define ROW_UINT64S(name)      ROW(PROTO_VARINTS, PROTO_TYPE_UINT64, name), .repeated = true
#define ROW_FIXED64S(name)     ROW(PROTO_FIXED64S, PROTO_TYPE_UINT64, name), .repeated = true
#define ROW_DOUBLES(name)      ROW(PROTO_FIXED64S, PROTO_TYPE_DOUBLE, name), .repeated = true

/* After a row: proto3 `optional`, and a member of a oneof. */
#define OPTIONAL .presence = true
#define ONEOF    .presence = true, .oneof = true

#define SHAPE_OF(name, rows)                                                                       \
    {                                                                                              \
        name, (uint32_t)(sizeof(rows) / sizeof(rows)[0]), rows, NULL, false                        \
    }

#endif
