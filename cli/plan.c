#include "cli/plan.h"

#include "base/log.h"

/* A level that is no word was found by the plan already. */
static void set_level(const struct runtime *runtime)
{
    enum log_level level;
    const char *word = runtime ? runtime_log_level(runtime) : NULL;
    if (word && log_level_parse(word, &level))
        log_set_level(level);
}

bool plan_make(struct plan *plan, const struct flags *flags)
{
    struct problems problems = {0};
    *plan = (struct plan){0};
    plan->settings = settings_load(flags->sources, flags->count, &problems);
    if (plan->settings)
        plan->runtime = runtime_plan(plan->settings, &clock_system, &problems);
    set_level(plan->runtime);
    if (plan->settings)
        settings_log_warnings(plan->settings);
    problems_print(&problems, stderr);
    problems_release(&problems);
    return plan->runtime;
}

void plan_release(struct plan *plan)
{
    runtime_free(plan->runtime);
    settings_free(plan->settings);
    *plan = (struct plan){0};
}
