/* The command line: one file for each command. */
#ifndef CLI_CLI_H
#define CLI_CLI_H

enum exit_code {
    EXIT_OK = 0,
    EXIT_CONFIG = 1, /* the configuration is wrong, or something could not be opened */
    EXIT_USAGE = 2,  /* the command line is wrong */
    EXIT_LOST = 3    /* stopped, but acknowledged data were not delivered */
};

/* Runs the command in an argument list; returns the exit code of the process. */
int cli_main(int argc, char **argv);

#endif
