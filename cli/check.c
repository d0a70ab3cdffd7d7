/* The command check (cli/commands.h). */
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/plan.h"

#include <stdio.h>

int check_command(const struct flags *flags)
{
    struct plan plan;
    struct problems problems = {0};
    bool good = plan_make(&plan, flags, true) && runtime_rehearse(plan.runtime, &problems) &&
                runtime_check(plan.runtime, &problems, stdout);
    fflush(stdout);
    problems_print(&problems, stderr);
    problems_release(&problems);
    plan_release(&plan);
    return good ? EXIT_OK : EXIT_CONFIG;
}
