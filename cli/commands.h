/* The commands. Each returns the exit code. Main thread. */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

#include "cli/flags.h"

int run_command(const struct flags *flags);
int validate_command(const struct flags *flags);
int check_command(const struct flags *flags);
int health_command(const struct flags *flags); /* of a running process; EXIT_CONFIG: not ready */
int top_command(const struct flags *flags);    /* draws what the extension status tells */
int components_command(void);
int version_command(void);
int print_config_command(const struct flags *flags);

#endif
