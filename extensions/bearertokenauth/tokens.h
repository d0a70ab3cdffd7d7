/* The tokens that a client may show, of a file or of the configuration. */
#ifndef EXTENSIONS_BEARERTOKENAUTH_TOKENS_H
#define EXTENSIONS_BEARERTOKENAUTH_TOKENS_H

#include "lib/net/tls/digest.h"

struct tokens {
    char *first; /* what is sent */
    uint8_t (*digests)[DIGEST_KEYED_SIZE];
    size_t count;
};

/* Reads one token a line; empty lines do not count. False: why is a sentence with nothing of its
 * content; there is nothing to release. */
bool tokens_read(struct tokens *tokens, const uint8_t key[DIGEST_KEY_SIZE], struct view text,
                 char *why, size_t why_size);
void tokens_release(struct tokens *tokens); /* legal for a zeroed one, and twice */

/* Whether a token is among them, in a time that does not tell how near it is. */
bool tokens_have(const struct tokens *tokens, const uint8_t key[DIGEST_KEY_SIZE],
                 struct view token);

/* What stands behind the scheme ("" : none is used) in a header's value. False: another scheme. */
bool token_of(const char *value, const char *scheme, struct view *token);

#endif
