/*
 * Base64 (RFC 4648) as protobuf's JSON mapping reads it: either alphabet, padded or not. Pure.
 * By hand: of the libraries that are linked only GnuTLS has Base64. It takes no more than the
 * standard alphabet with padding, and would be loaded for JSON without TLS.
 */
#ifndef LIB_WIRE_HTTP_BASE64_H
#define LIB_WIRE_HTTP_BASE64_H

#include "lib/base/bytes.h"

enum base64_result {
    BASE64_OK,
    BASE64_BAD, /* a character of neither alphabet, or an impossible length */
    BASE64_FULL /* out has no room */
};

/* Appends the decoded bytes; on failure out's size is as before. */
enum base64_result base64_decode(struct view text, struct bytes *out);

/* Appends the text, standard alphabet with padding. False: out is full. */
bool base64_encode(struct view in, struct bytes *out);

#endif
