/*
 * Slow password checks, on one thread that is started when there is work. Results are cached under
 * keyed digests of user, password and hash; correct and wrong ones are kept apart, so that wrong
 * ones do not evict correct ones, and a changed hash is checked again.
 *
 * Users take turns, all unknown ones as one, so that a flood of guesses for one does not delay the
 * others. Of one user, the requests that came first are checked first. A request that has waited
 * for VERIFIER_WAIT_NS is answered AUTH_LATER, but its check keeps its place: it is next when the
 * client comes back with the same credentials, before those that nobody asks for any more. So a
 * client waits for guesses that came before it, not for those that keep coming. All functions: any
 * thread.
 */
#ifndef EXTENSIONS_BASICAUTH_VERIFIER_H
#define EXTENSIONS_BASICAUTH_VERIFIER_H

#include "extensions/basicauth/password.h"
#include "lib/base/authenticator.h"
#include "lib/base/clock.h"

enum {
    VERIFIER_PER_USER = 256,         /* waiting checks of one user */
    VERIFIER_JOBS = 1024,            /* waiting checks in total; of at most PASSWORD_MAX bytes */
    VERIFIER_WAITERS_PER_USER = 512, /* requests waiting for these */
    VERIFIER_WAITERS = 2048
};
#define VERIFIER_WAIT_NS (2 * NS_PER_S)

struct verifier;

/* What to check. */
struct verify {
    struct view user, password;
    const char *hash;
    enum password_kind kind;
    bool known; /* the user exists; if not, the answer is DENIED after the same work */
};

/* NULL: no memory, or no random key. The clock is borrowed. */
struct verifier *verifier_new(const struct clock *clock);

/* Returns the cached result; PENDING: none. */
enum auth_result verifier_look(struct verifier *verifier, const struct verify *verify);

/* Calls done once: at once if the result is cached or too many wait (AUTH_LATER), else from the
 * thread, after the check or about VERIFIER_WAIT_NS (AUTH_LATER). Copies what it keeps. */
void verifier_check(struct verifier *verifier, const struct verify *verify, auth_done_fn *done,
                    void *ctx);

/* Ends the thread; requests that still wait are answered AUTH_LATER. May be NULL. */
void verifier_free(struct verifier *verifier);

#endif
