/* An authenticator for tests of servers, by the header X-Who: "yes" is let in, "ask" once the test
 * says so, "busy" may come again, all others are not let in. */
#ifndef TESTS_SUPPORT_ASKING_H
#define TESTS_SUPPORT_ASKING_H

#include "lib/base/authenticator.h"

extern const struct authenticator asking;

/* Waits until somebody asks. */
void asking_await(void);

/* Answers who asks, once somebody does. */
void asking_say(enum auth_result result);

#endif
