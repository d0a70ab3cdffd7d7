#include "cli/plan.h"

#include "lib/base/log.h"
#include "lib/base/output.h"

#include <stdio.h>
#include <unistd.h>

/* An error is worth some more patience than a line of the log. */
enum { FAULTS_MAX = 1 << 20, PATIENCE_MS = 2000 };

void plan_print(struct view text)
{
    struct output output = OUTPUT_OF(STDERR_FILENO);
    fflush(stderr);
    output_write(&output, text, PATIENCE_MS);
    output_release(&output);
}

void plan_print_problems(const struct problems *problems)
{
    struct bytes text;
    bytes_init(&text, FAULTS_MAX, NULL);
    for (size_t i = 0; i < problems->count; i++) {
        const char *line = problems->lines ? problems->lines[i] : NULL;
        bytes_printf(&text, "%s\n", line ? line : "out of memory");
    }
    if (text.size)
        plan_print(bytes_view(&text));
    bytes_release(&text);
}

static void log_warnings(const struct problems *problems)
{
    for (size_t i = 0; problems->warnings && i < problems->warning_count; i++)
        if (problems->warnings[i])
            log_warn("%s", problems->warnings[i]);
}

bool plan_make(struct plan *plan, const struct flags *flags)
{
    struct problems problems = {0};
    *plan = (struct plan){0};
    plan->settings = settings_load_files(flags->sources, flags->count, &plan->files, &problems);
    if (plan->settings)
        plan->runtime = runtime_plan(plan->settings, &clock_system, &problems);
    if (plan->runtime)
        runtime_set_log(plan->runtime);
    if (plan->settings)
        settings_log_warnings(plan->settings, &problems);
    if (plan->runtime)
        runtime_log_warnings(plan->runtime);
    plan_print_problems(&problems);
    log_warnings(&problems);
    plan->severe = problems.severe;
    problems_release(&problems);
    return plan->runtime;
}

void plan_release(struct plan *plan)
{
    runtime_free(plan->runtime);
    settings_free(plan->settings);
    settings_files_release(&plan->files);
    *plan = (struct plan){0};
}

static void log_result(enum reload_result result, const struct problems *problems)
{
    for (size_t i = 0; i < problems->count; i++)
        log_error("%s", problems->lines[i]);
    if (result == RELOAD_FAILED)
        log_error("not reloaded: the previous configuration stays in force");
    else if (result == RELOAD_SAME)
        log_info("reloaded: nothing has changed");
}

void plan_reload(struct plan *plan, const struct flags *flags)
{
    struct problems problems = {0};
    settings_files_release(&plan->files);
    struct settings *settings =
        settings_load_files(flags->sources, flags->count, &plan->files, &problems);
    enum reload_result result = runtime_reload(plan->runtime, settings, &problems);
    if (settings)
        settings_log_warnings(settings, &problems);
    log_result(result, &problems);
    log_warnings(&problems);
    if (result == RELOAD_DONE) {
        runtime_set_log(plan->runtime);
        runtime_log_warnings(plan->runtime);
        settings_free(plan->settings);
        plan->settings = settings;
    } else {
        settings_free(settings);
    }
    problems_release(&problems);
}
