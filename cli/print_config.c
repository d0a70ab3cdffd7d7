/* The command print-config (cli/commands.h). */
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/plan.h"
#include "pipeline/life/config_text.h"

#include <stdio.h>

int print_config_command(const struct flags *flags)
{
    struct plan plan;
    struct bytes text;
    bool good = plan_make(&plan, flags, false);
    bytes_init(&text, SIZE_MAX / 2, NULL);
    if (plan.settings)
        config_text(settings_root(plan.settings), &text);
    if (text.size)
        fwrite(text.data, 1, text.size, stdout);
    bytes_release(&text);
    plan_release(&plan);
    return good ? EXIT_OK : EXIT_CONFIG;
}
