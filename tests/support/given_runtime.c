#include "tests/support/given_runtime.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct settings *load(const char *yaml, struct problems *problems)
{
    char *text;
    ck_assert_int_gt(asprintf(&text, "yaml:%s", yaml), 0);
    struct settings_source source = {SETTINGS_FILE, text};
    struct settings *settings = settings_load(&source, 1, problems);
    free(text);
    return settings;
}

void given_start(struct given_runtime *given, const char *yaml)
{
    struct problems problems = {0};
    fake_clock_init(&given->fake);
    given->settings = load(yaml, &problems);
    given->runtime =
        given->settings ? runtime_plan(given->settings, &given->fake.clock, &problems) : NULL;
    bool started = given->runtime && runtime_start(given->runtime, &problems);
    problems_print(&problems, stderr);
    problems_release(&problems);
    ck_assert(started);
    ticker_step(given->runtime->ticker);
}

uint64_t given_stop(struct given_runtime *given)
{
    struct bytes report;
    bytes_init(&report, sizeof given->report - 1, NULL);
    given->fake.step = 50 * NS_PER_MS;
    uint64_t lost = runtime_stop(given->runtime, NULL, &report);
    if (report.size)
        memcpy(given->report, report.data, report.size);
    given->report[report.size] = '\0';
    bytes_release(&report);
    runtime_free(given->runtime);
    settings_free(given->settings);
    return lost;
}

void given_advance(struct given_runtime *given, uint64_t ns)
{
    fake_clock_advance(&given->fake, ns);
    ticker_step(given->runtime->ticker);
}

const struct meter *given_meter(const struct given_runtime *given, const char *id)
{
    const struct instance_list *instances = &given->runtime->graph.instances;
    for (size_t i = 0; i < instances->count; i++)
        if (strcmp(instances->items[i]->id, id) == 0)
            return instances->items[i]->meter;
    ck_abort_msg("no instance %s", id);
    return NULL;
}

char *given_faults(const char *yaml)
{
    struct problems problems = {0};
    struct settings *settings = load(yaml, &problems);
    struct runtime *runtime = settings ? runtime_plan(settings, &clock_system, &problems) : NULL;
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    problems_print(&problems, out);
    fclose(out);
    ck_assert(!!runtime == (problems.count == 0));
    runtime_free(runtime);
    settings_free(settings);
    problems_release(&problems);
    return text;
}
