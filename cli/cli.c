#include "cli/cli.h"

#include "cli/commands.h"

#include <stdio.h>

static const char help[] =
    "spanlink: links spans with the profiles taken while they ran\n"
    "\n"
    "  spanlink --config FILE                run\n"
    "  spanlink validate --config FILE       check a configuration and open nothing\n"
    "  spanlink check --config FILE          ask every backend whether it would take data\n"
    "  spanlink health --config FILE         ask a running process whether it is ready\n"
    "  spanlink print-config --config FILE   the configuration as resolved, secrets redacted\n"
    "  spanlink components                   what a configuration can name, key by key\n"
    "\n"
    "  --config SOURCE   a file, file:PATH, env:NAME or yaml:TEXT; several are merged in order\n"
    "  --set a.b=value   sets one key, after all sources\n"
    "  --endpoint ADDR   of health: host:port or URL of health_check, in place of --config\n"
    "  --watch           takes a changed file over while running, as SIGHUP does\n"
    "  --version, -v     the version\n"
    "  --help, -h        this text\n"
    "\n"
    "exit codes: 0 good, 1 configuration or start failed, or not healthy, 2 wrong command line,\n"
    "3 stopped and lost data; signals: TERM and INT drain and stop, a second one stops at once\n"
    "(or ends service.shutdown_delay), HUP reads the configuration anew, USR1 explains\n";

static int dispatch(const struct flags *flags)
{
    switch (flags->command) {
    case COMMAND_HELP:
        fputs(help, stdout);
        return EXIT_OK;
    case COMMAND_VERSION:
        puts("spanlink " SPANLINK_VERSION);
        return EXIT_OK;
    case COMMAND_COMPONENTS:
        return components_command();
    case COMMAND_VALIDATE:
        return flags_need_config(flags) ? validate_command(flags) : EXIT_USAGE;
    case COMMAND_CHECK:
        return flags_need_config(flags) ? check_command(flags) : EXIT_USAGE;
    case COMMAND_HEALTH:
        return health_command(flags);
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
