/* The program; all of it that tests can call is in cli/cli.c. */
#include "cli/cli.h"

int main(int argc, char **argv)
{
    return cli_main(argc, argv);
}
