/* gRPC's message framing (gRPC over HTTP/2: one flag byte, four length bytes, big endian). Pure. */
#ifndef LIB_WIRE_HTTP_GRPC_FRAME_H
#define LIB_WIRE_HTTP_GRPC_FRAME_H

#include "lib/base/view.h"

enum { GRPC_PREFIX_SIZE = 5 };

enum grpc_frame_result {
    GRPC_FRAME_OK,
    GRPC_FRAME_SHORT, /* more bytes are needed */
    GRPC_FRAME_BAD    /* flag neither 0 nor 1, or bytes after the message */
};

/* Reads a body that must consist of exactly one message. */
enum grpc_frame_result grpc_frame_read(struct view body, bool *compressed, struct view *message);

void grpc_frame_prefix(uint8_t out[GRPC_PREFIX_SIZE], bool compressed, uint32_t size);

/* Percent-encoding of grpc-message; out needs room for 3 * size + 1 bytes and is NUL-terminated. */
void grpc_message_encode(const char *text, char *out, size_t out_size);
void grpc_message_decode(struct view encoded, char *out, size_t out_size);

#endif
