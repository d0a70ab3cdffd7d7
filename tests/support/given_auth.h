/* An extension that authenticates, in a runtime of its own with one file of secrets. */
#ifndef TESTS_SUPPORT_GIVEN_AUTH_H
#define TESTS_SUPPORT_GIVEN_AUTH_H

#include "lib/base/authenticator.h"
#include "tests/support/given_runtime.h"

struct given_auth {
    struct given_runtime given;
    const struct authenticator *by;
    char folder[64], path[96]; /* of the file; "": there is none */
};

/* Starts an extension of that type with those keys. */
void given_auth_start(struct given_auth *auth, const char *type, const char *keys);

/* Writes the file; before given_auth_start too. */
void given_auth_write(struct given_auth *auth, const char *text);

/* Stops it and removes the file. */
void given_auth_stop(struct given_auth *auth);

/* With those keys it is faulty: the sentences have these words, and no secret "sesame". */
void given_auth_faults(const char *type, const char *keys, const char *words);

#endif
