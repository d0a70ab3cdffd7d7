/* Input: a header's value. Credentials that are parsed must format to the same value. */
#include "extensions/basicauth/htpasswd.h"
#include "extensions/bearertokenauth/tokens.h"
#include "lib/wire/http/base64.h"

#include <assert.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_basic(const char *value)
{
    struct bytes text, again, read;
    struct view user, password, user_again, password_again;
    if (basic_credentials(value, &text, &user, &password)) {
        bytes_init(&again, SIZE_MAX / 2, NULL);
        bytes_append_view(&again, VIEW("Basic "));
        assert(base64_encode(bytes_view(&text), &again));
        bytes_append(&again, "", 1);
        assert(basic_credentials((const char *)again.data, &read, &user_again, &password_again));
        assert(view_eq(user, user_again) && view_eq(password, password_again));
        assert(!user.size || !memchr(user.data, ':', user.size));
        bytes_release(&read);
        bytes_release(&again);
    }
    bytes_release(&text);
}

static void read_tokens(const char *value, size_t size)
{
    static const uint8_t key[DIGEST_KEY_SIZE];
    struct tokens tokens;
    struct view token;
    char why[128];
    if (token_of(value, "Bearer", &token))
        assert(token.size > 0 && token.size < strlen(value));
    if (tokens_read(&tokens, key, (struct view){(const uint8_t *)value, size}, why, sizeof why)) {
        assert(tokens_have(&tokens, key, view_of(tokens.first)));
        tokens_release(&tokens);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *value = malloc(size + 1);
    if (!value)
        abort();
    if (size)
        memcpy(value, data, size);
    value[size] = '\0';
    read_basic(value);
    read_tokens(value, size);
    free(value);
    return 0;
}
