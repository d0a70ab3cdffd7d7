/* Input: an htpasswd file. Every user read can be looked up and has a hash of a known kind. */
#include "extensions/basicauth/htpasswd.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct htpasswd htpasswd;
    char why[256] = "";
    bool good = htpasswd_read(&htpasswd, (struct view){data, size}, why, sizeof why);
    assert(good == (*why == '\0'));
    for (size_t i = 0; good && i < htpasswd.count; i++) {
        const struct htpasswd_user *user = &htpasswd.users[i];
        assert(htpasswd_find(&htpasswd, user->name) == user);
        assert(user->kind != PASSWORD_UNKNOWN && user->kind == password_kind(user->hash));
        if (!password_slow(user->kind))
            password_fits(user->kind, user->hash, user->name);
    }
    htpasswd_release(&htpasswd);
    return 0;
}
