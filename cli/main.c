/* The program; all of it that tests can call is in cli/cli.c. */
#include "cli/cli.h"

#include <fcntl.h>
#include <unistd.h>

/* Where the standard files are closed, the next that is opened, such as a client's connection,
 * would get their numbers, and what is printed. */
static void open_standard_files(void)
{
    int fd;
    do
        fd = open("/dev/null", O_RDWR);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd > STDERR_FILENO)
        close(fd);
}

int main(int argc, char **argv)
{
    open_standard_files();
    return cli_main(argc, argv);
}
