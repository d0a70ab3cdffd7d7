#include "extensions/bearertokenauth/tokens.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

/* Whether a header's value may contain it. */
static bool is_legal(struct view token)
{
    for (size_t i = 0; i < token.size; i++)
        if (token.data[i] < 0x20 || token.data[i] == 0x7f)
            return false;
    return true;
}

static bool tokens_add(struct tokens *tokens, const uint8_t key[DIGEST_KEY_SIZE], struct view token)
{
    if (!tokens->first)
        tokens->first = strndup((const char *)token.data, token.size);
    return tokens->first && digest_keyed(key, &token, 1, tokens->digests[tokens->count++]);
}

static bool read_lines(struct tokens *tokens, const uint8_t key[DIGEST_KEY_SIZE], struct view text,
                       char *why, size_t why_size)
{
    for (unsigned number = 1; text.size; number++) {
        const uint8_t *end = memchr(text.data, '\n', text.size);
        struct view line = end ? view_between(text.data, end) : text;
        struct view token = view_trim(line, VIEW(" \t\r\n"));
        text.data += line.size + (end != NULL);
        text.size -= line.size + (end != NULL);
        if (!is_legal(token)) {
            snprintf(why, why_size, "line %u has a character that headers cannot contain", number);
            return false;
        }
        if (token.size && !tokens_add(tokens, key, token)) {
            snprintf(why, why_size, "out of memory");
            return false;
        }
    }
    if (tokens->count == 0)
        snprintf(why, why_size, "it has no tokens");
    return tokens->count > 0;
}

bool tokens_read(struct tokens *tokens, const uint8_t key[DIGEST_KEY_SIZE], struct view text,
                 char *why, size_t why_size)
{
    size_t lines = 1;
    *tokens = (struct tokens){0};
    for (size_t i = 0; i < text.size; i++)
        lines += text.data[i] == '\n';
    tokens->digests = calloc(lines, sizeof *tokens->digests);
    if (!tokens->digests)
        snprintf(why, why_size, "out of memory");
    if (tokens->digests && read_lines(tokens, key, text, why, why_size))
        return true;
    tokens_release(tokens);
    return false;
}

void tokens_release(struct tokens *tokens)
{
    if (tokens->first)
        explicit_bzero(tokens->first, strlen(tokens->first));
    free(tokens->first);
    free(tokens->digests);
    *tokens = (struct tokens){0};
}

bool tokens_have(const struct tokens *tokens, const uint8_t key[DIGEST_KEY_SIZE], struct view token)
{
    uint8_t digest[DIGEST_KEYED_SIZE];
    bool has = false;
    if (!digest_keyed(key, &token, 1, digest))
        return false;
    for (size_t i = 0; i < tokens->count; i++)
        has |= digest_same(tokens->digests[i], digest, sizeof digest);
    return has;
}

bool token_of(const char *value, const char *scheme, struct view *token)
{
    size_t size = strlen(scheme);
    if (size && (strncasecmp(value, scheme, size) != 0 || value[size] != ' '))
        return false;
    *token = view_trim(view_of(value + size), VIEW(" \t\r\n"));
    return token->size > 0;
}
