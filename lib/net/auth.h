/* The `auth` key of servers and clients, and the log of what authenticators refuse. */
#ifndef LIB_NET_AUTH_H
#define LIB_NET_AUTH_H

#include "lib/base/authenticator.h"
#include "lib/base/verdict.h"
#include "lib/settings/key.h"

#include <stdatomic.h>

/* Rows of the auth section. */
extern const struct key auth_keys[];

/* The row for member `auth` (struct auth_settings) of T. */
#define AUTH_ROW(T, auth, role, line)                                                              \
    {                                                                                              \
        .name = "auth", .type = KEY_TYPE_GROUP, .flags = KEY_PRESENCE | (role),                    \
        .offset = KEY_AT(T, auth, struct auth_settings), .present = KEY_AT(T, auth.on, bool),      \
        .rows = auth_keys, .text = line                                                            \
    }
#define AUTH_SERVER_KEY(T, auth) AUTH_ROW(T, auth, KEY_AUTH_SERVER, "who may send; off: anyone")
#define AUTH_CLIENT_KEY(T, auth) AUTH_ROW(T, auth, KEY_AUTH_CLIENT, "credentials to send")

/* The outcome for a client that is not admitted: CAUSE_AUTH, or RETRY for AUTH_LATER. */
struct outcome auth_outcome(enum auth_result result);

/* Statistics of an authenticator's decisions. */
struct auth_tally {
    _Atomic uint64_t counts[AUTH_PENDING]; /* by result */
    _Atomic uint64_t logged;               /* when last logged, mono; 0: never */
};

/* Counts a result. Refusals are logged at debug, at most one a minute, since the server also logs
 * them together with the client. why must not contain secrets. */
void auth_tally_add(struct auth_tally *tally, const char *id, enum auth_result result,
                    const char *why, uint64_t mono_ns);
void auth_tally_explain(struct auth_tally *tally, const char *id, struct bytes *out);

#endif
