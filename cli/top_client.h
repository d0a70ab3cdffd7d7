/* The HTTP client of `top`: where the API is, and the credentials it wants. One thread. */
#ifndef CLI_TOP_CLIENT_H
#define CLI_TOP_CLIENT_H

#include "cli/flags.h"
#include "cli/target.h"
#include "cli/top_value.h"
#include "lib/base/bytes.h"

struct top_client {
    struct http_client *http;
    const struct flags *flags;
    struct target target;
    struct bytes authorization; /* the header's value, with a NUL; empty: none is sent */
    char error[1024];           /* why top_client_ask failed: a sentence */
};

/* Reads the files of the flags and the environment (SPANLINK_PASSWORD, SPANLINK_TOKEN). False: the
 * reason was written to stderr. Close in both cases; flags must exist until then. */
bool top_client_open(struct top_client *client, const struct flags *flags);
void top_client_close(struct top_client *client);

/* Returns the JSON object of a GET, which has that key and lives in the arena. NULL: client->error
 * says why. */
const struct top_value *top_client_ask(struct top_client *client, const char *path, const char *key,
                                       struct arena *arena);

#endif
