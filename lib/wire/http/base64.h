/*
 * Base64 (RFC 4648) as in protobuf's JSON mapping: either alphabet, with or without padding. Pure.
 * Implemented here because, of the linked libraries, only GnuTLS has Base64: it only accepts the
 * standard alphabet with padding, and would have to be loaded for JSON without TLS.
 */
#ifndef LIB_WIRE_HTTP_BASE64_H
#define LIB_WIRE_HTTP_BASE64_H

#include "lib/base/bytes.h"

enum base64_result {
    BASE64_OK,
    BASE64_BAD, /* an invalid character or length */
    BASE64_FULL /* out has no room */
};

/* Appends the decoded bytes; on failure out's size is unchanged. */
enum base64_result base64_decode(struct view text, struct bytes *out);

/* Appends base64 in the standard alphabet, with padding. False: out is full. */
bool base64_encode(struct view in, struct bytes *out);

#endif
