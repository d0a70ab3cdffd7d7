/* What the command line accepts. Its parser, --help, the man page and the shells' completion
 * (tools/manual.py) come from these tables. */
#ifndef CLI_USAGE_H
#define CLI_USAGE_H

#include "cli/flags.h"

struct usage_command {
    const char *name; /* NULL ends the table */
    enum command command;
    const char *arguments; /* as --help shows them; "": none */
    const char *text;      /* one line; NULL: another name, accepted but not shown */
};

struct usage_flag {
    const char *name;     /* "--config"; NULL ends the table */
    const char *letter;   /* "-h"; NULL: none */
    const char *argument; /* "FILE"; NULL: none */
    const char *text;     /* one line; NULL: accepted but not shown */
};

extern const struct usage_command usage_commands[];
extern const struct usage_flag usage_flags[];

/* Writes the text of --help to stdout. */
void usage_print(void);

#endif
