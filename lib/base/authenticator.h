/*
 * The interface that an authentication extension offers to servers and clients, and the `auth`
 * section by which a component names one. An authenticator is usable while its extension is open,
 * which outlives every receiver and exporter. All functions: any thread.
 */
#ifndef LIB_BASE_AUTHENTICATOR_H
#define LIB_BASE_AUTHENTICATOR_H

#include "lib/base/bytes.h"

enum auth_result {
    AUTH_GRANTED,
    AUTH_DENIED,
    AUTH_LATER,  /* too many checks at the moment: the client may retry */
    AUTH_PENDING /* from `look` only: call `check` */
};

typedef void auth_done_fn(void *ctx, enum auth_result result);

struct authenticator {
    void *self;
    const char *header;    /* carries the credentials, e.g. "Authorization" */
    const char *challenge; /* the value of WWW-Authenticate; NULL: none */

    /* For servers; NULL: it does not check clients. Decides what it can about the header's value
     * (NULL: absent) without expensive work. Never blocks. */
    enum auth_result (*look)(void *self, const char *value);

    /* The full check; calls done once, immediately or later from another thread. NULL: look always
     * decides. */
    void (*check)(void *self, const char *value, auth_done_fn *done, void *ctx);

    /* For clients; NULL: it provides no credentials. Appends the header's value, without a NUL.
     * False: no value; the buffer is unchanged. */
    bool (*give)(void *self, struct bytes *value);
};

/* A section `auth: {authenticator: ID}`. */
struct auth_settings {
    bool on; /* the section is present */
    char *authenticator;
    const struct authenticator *by; /* resolved from service.extensions before open; NULL: off */
};

#endif
