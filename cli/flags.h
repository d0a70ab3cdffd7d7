/* The parsed argv: the command and the sources of the configuration. */
#ifndef CLI_FLAGS_H
#define CLI_FLAGS_H

#include "lib/settings/load.h"

enum command {
    COMMAND_RUN,
    COMMAND_VALIDATE,
    COMMAND_CHECK,
    COMMAND_HEALTH,
    COMMAND_TOP,
    COMMAND_COMPONENTS,
    COMMAND_PRINT_CONFIG,
    COMMAND_HELP,
    COMMAND_VERSION
};

/* Of top: how to reach a process that wants credentials or speaks TLS. NULL: not given. */
struct access_flags {
    const char *username, *password_file; /* basic */
    const char *token_file;               /* bearer */
    const char *ca_file, *cert_file, *key_file;
    bool insecure; /* do not verify the server's certificate */
};

struct flags {
    enum command command;
    struct settings_source *sources; /* in the order given; texts are argv's */
    size_t count;
    bool watch;           /* reload when a file changes */
    bool once;            /* of top: plain text, once */
    const char *endpoint; /* of health and top; NULL: from the configuration, or the default */
    struct access_flags access;
};

/* Parses argv. False: the fault, with a hint, was written to stderr. Release in both cases. */
bool flags_parse(struct flags *flags, int argc, char **argv);
void flags_release(struct flags *flags);

/* Whether there is a --config; if not, reports it on stderr. */
bool flags_need_config(const struct flags *flags);

#endif
