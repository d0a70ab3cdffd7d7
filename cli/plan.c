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

static void print_lines(char *const *lines, size_t count)
{
    struct bytes text;
    bytes_init(&text, FAULTS_MAX, NULL);
    for (size_t i = 0; i < count; i++) {
        const char *line = lines ? lines[i] : NULL;
        bytes_printf(&text, "%s\n", line ? line : "out of memory");
    }
    if (text.size)
        plan_print(bytes_view(&text));
    bytes_release(&text);
}

void plan_print_problems(const struct problems *problems)
{
    print_lines(problems->lines, problems->count);
}

static void log_lines(char *const *lines, size_t count)
{
    for (size_t i = 0; lines && i < count; i++)
        if (lines[i])
            log_warn("%s", lines[i]);
}

static void log_warnings(const struct problems *problems)
{
    log_lines(problems->severe, problems->severe_count);
    log_lines(problems->warnings, problems->warning_count);
}

bool plan_make(struct plan *plan, const struct flags *flags, bool strict)
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
    if (strict)
        print_lines(problems.severe, problems.severe_count);
    else
        log_lines(problems.severe, problems.severe_count);
    log_lines(problems.warnings, problems.warning_count);
    bool good = plan->runtime && !(strict && problems.severe_count);
    problems_release(&problems);
    return good;
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
