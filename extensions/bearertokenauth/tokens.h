/* The tokens accepted from clients, from a file or the configuration. */
#ifndef EXTENSIONS_BEARERTOKENAUTH_TOKENS_H
#define EXTENSIONS_BEARERTOKENAUTH_TOKENS_H

#include "lib/net/tls/digest.h"

struct tokens {
    char *first; /* the one that is sent */
    uint8_t (*digests)[DIGEST_KEYED_SIZE];
    size_t count;
};

/* Reads one token a line; empty lines are skipped. False: why is a sentence, without any of the
 * content; nothing needs to be released. */
bool tokens_read(struct tokens *tokens, const uint8_t key[DIGEST_KEY_SIZE], struct view text,
                 char *why, size_t why_size);
void tokens_release(struct tokens *tokens); /* allowed for a zeroed one, and twice */

/* Whether a token is among them; the time taken does not depend on how similar it is. */
bool tokens_have(const struct tokens *tokens, const uint8_t key[DIGEST_KEY_SIZE],
                 struct view token);

/* Returns what follows the scheme ("": there is none) in a header's value. False: another
 * scheme. */
bool token_of(const char *value, const char *scheme, struct view *token);

#endif
