/* The command version (cli/commands.h). */
#include "cli/cli.h"
#include "cli/commands.h"

#include <generated/commit.h>
#include <gnu/libc-version.h>
#include <stdio.h>

#ifdef __clang__
#define COMPILER "clang " __clang_version__
#else
#define COMPILER "gcc " __VERSION__
#endif

/* cmake/version.cmake generates the libraries' lines: "  NAME VERSION (how it is linked)". */
int version_command(void)
{
    printf("spanlink " SPANLINK_VERSION "\n"
           "commit: " SPANLINK_COMMIT "\n"
           "compiler: " COMPILER "\n"
           "libraries, as built with:\n" SPANLINK_LIBRARIES "C library here: glibc %s\n",
           gnu_get_libc_version());
    return EXIT_OK;
}
