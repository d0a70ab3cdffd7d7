#include "cli/cli.h"

#include "cli/commands.h"
#include "cli/usage.h"

#include <stdio.h>

static int dispatch(const struct flags *flags)
{
    switch (flags->command) {
    case COMMAND_HELP:
        usage_print();
        return EXIT_OK;
    case COMMAND_VERSION:
        return version_command();
    case COMMAND_COMPONENTS:
        return components_command();
    case COMMAND_VALIDATE:
        return flags_need_config(flags) ? validate_command(flags) : EXIT_USAGE;
    case COMMAND_CHECK:
        return flags_need_config(flags) ? check_command(flags) : EXIT_USAGE;
    case COMMAND_HEALTH:
        return health_command(flags);
    case COMMAND_TOP:
        return top_command(flags);
    case COMMAND_PRINT_CONFIG:
        return flags_need_config(flags) ? print_config_command(flags) : EXIT_USAGE;
    case COMMAND_RUN:
        break;
    }
    return flags_need_config(flags) ? run_command(flags) : EXIT_USAGE;
}

int cli_main(int argc, char **argv)
{
    struct flags flags;
    int code = flags_parse(&flags, argc, argv) ? dispatch(&flags) : EXIT_USAGE;
    flags_release(&flags);
    if (fflush(stdout) != 0 && code == EXIT_OK)
        code = EXIT_CONFIG;
    return code;
}
