/* The command validate (cli/commands.h). */
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/plan.h"

#include <stdio.h>

/* Reports what would fail at the start, as far as that can be checked here. */
static bool validate_rehearse(const struct plan *plan)
{
    struct problems problems = {0};
    bool good = runtime_rehearse(plan->runtime, &problems);
    problems_print(&problems, stderr);
    problems_release(&problems);
    return good;
}

int validate_command(const struct flags *flags)
{
    struct plan plan;
    bool good = plan_make(&plan, flags, true) && validate_rehearse(&plan);
    char name[SETTINGS_NAME];
    const char *comma = "";
    for (size_t i = 0; good && i < flags->count; i++)
        if (flags->sources[i].origin == SETTINGS_FILE) {
            printf("%s%s", comma, settings_source_name(flags->sources, i, name));
            comma = ", ";
        }
    if (good)
        printf(": ok\n");
    plan_release(&plan);
    return good ? EXIT_OK : EXIT_CONFIG;
}
