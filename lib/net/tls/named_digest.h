/* Message digests and HMACs of GnuTLS, for what has to be hashed by a named function. */
#ifndef LIB_NET_TLS_NAMED_DIGEST_H
#define LIB_NET_TLS_NAMED_DIGEST_H

#include "lib/base/view.h"

enum named_digest { NAMED_MD5, NAMED_SHA1, NAMED_SHA3_256, NAMED_HMAC_SHA256, NAMED_HMAC_SHA512 };
enum { NAMED_HEX_MAX = 128 };

/* Writes the digest in lower case hex, without a NUL, and returns its size; 0: the library does not
 * have the function. key: of an HMAC. Any thread. */
size_t named_digest_hex(enum named_digest digest, struct view key, struct view bytes,
                        char out[NAMED_HEX_MAX]);

#endif
