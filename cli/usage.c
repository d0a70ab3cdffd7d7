#include "cli/usage.h"

#include <stdio.h>
#include <string.h>

const struct usage_command usage_commands[] = {
    {"run", COMMAND_RUN, "--config FILE", "run the pipelines; the default command"},
    {"validate", COMMAND_VALIDATE, "--config FILE", "report all errors in a configuration"},
    {"check", COMMAND_CHECK, "--config FILE", "test whether every backend would accept data"},
    {"health", COMMAND_HEALTH, "--config FILE", "ask a running process whether it is ready"},
    {"top", COMMAND_TOP, "[--once]", "pipelines, links and cost by route of a running process"},
    {"print-config", COMMAND_PRINT_CONFIG, "--config FILE",
     "print the resolved configuration, secrets redacted"},
    {"components", COMMAND_COMPONENTS, "", "print every component and key, with defaults"},
    {"version", COMMAND_VERSION, "", "version, commit, compiler and libraries"},
    {"help", COMMAND_HELP, "", "this text"},
    {"print-initial-config", COMMAND_PRINT_CONFIG, "", NULL},
    {NULL, COMMAND_HELP, NULL, NULL},
};

const struct usage_flag usage_flags[] = {
    {"--config", NULL, "SOURCE",
     "a file, file:PATH, env:NAME or yaml:TEXT; several are merged in order"},
    {"--set", NULL, "a.b=value", "set one key, after all sources"},
    {"--endpoint", NULL, "ADDRESS",
     "of health: host:port or URL of health_check, in place of --config; of top: of status"},
    {"--once", NULL, NULL, "of top: print plain text once"},
    {"--username", NULL, "NAME", "of top: user name of basic authentication"},
    {"--password-file", NULL, "FILE", "of top: its password; or SPANLINK_PASSWORD"},
    {"--token-file", NULL, "FILE", "of top: bearer token; or SPANLINK_TOKEN"},
    {"--ca-file", NULL, "FILE", "of top: CAs to trust instead of the system's; implies https"},
    {"--cert-file", NULL, "FILE", "of top: client certificate; implies https"},
    {"--key-file", NULL, "FILE", "of top: private key of the client certificate"},
    {"--insecure", NULL, NULL, "of top: do not verify the certificate; implies https"},
    {"--watch", NULL, NULL, "reload whenever a configuration file changes"},
    {"--version", "-v", NULL, "version, commit, compiler and libraries"},
    {"--help", "-h", NULL, "this text"},
    {"--feature-gates", NULL, "LIST", NULL},
    {NULL, NULL, NULL, NULL},
};

static const char ends[] =
    "\n"
    "Exit codes:\n"
    "  0  success\n"
    "  1  invalid configuration, startup failed, or a failed check or health query\n"
    "  2  invalid arguments\n"
    "  3  stopped, but acknowledged data were not delivered\n"
    "\n"
    "Environment:\n"
    "  SPANLINK_PASSWORD  of top: the password of --username\n"
    "  SPANLINK_TOKEN     of top: a bearer token\n"
    "  NO_COLOR           if not empty: no colours\n"
    "\n"
    "Signals:\n"
    "  TERM, INT  drain and stop; a second one ends service.shutdown_delay, or stops immediately\n"
    "  HUP        reload the configuration\n"
    "  USR1       log what every component did and why\n";

/* Writes the left column of a row, "NAME, LETTER ARGUMENT"; returns its length. */
static int left_of(char out[64], const char *name, const char *letter, const char *argument)
{
    return snprintf(out, 64, "%s%s%s%s%s", name, letter ? ", " : "", letter ? letter : "",
                    argument && *argument ? " " : "", argument ? argument : "");
}

static int widest(void)
{
    char left[64];
    int width = 0;
    for (const struct usage_command *c = usage_commands; c->name; c++) {
        int n = c->text ? left_of(left, c->name, NULL, c->arguments) : 0;
        width = n > width ? n : width;
    }
    for (const struct usage_flag *f = usage_flags; f->name; f++) {
        int n = f->text ? left_of(left, f->name, f->letter, f->argument) : 0;
        width = n > width ? n : width;
    }
    return width;
}

void usage_print(void)
{
    char left[64];
    int width = widest();
    fputs("spanlink: links spans with the profiles taken while they ran\n"
          "\n"
          "Usage: spanlink [COMMAND] --config SOURCE [FLAG...]\n"
          "\n"
          "Commands:\n",
          stdout);
    for (const struct usage_command *c = usage_commands; c->name; c++)
        if (c->text) {
            left_of(left, c->name, NULL, c->arguments);
            printf("  %-*s  %s\n", width, left, c->text);
        }
    fputs("\nFlags:\n", stdout);
    for (const struct usage_flag *f = usage_flags; f->name; f++)
        if (f->text) {
            left_of(left, f->name, f->letter, f->argument);
            printf("  %-*s  %s\n", width, left, f->text);
        }
    fputs(ends, stdout);
}
