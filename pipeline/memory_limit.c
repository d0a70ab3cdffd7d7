#include "pipeline/memory_limit.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MIB ((size_t)1 << 20)

const struct key memory_limit_keys[] = {
    KEY_INT(struct memory_limit_settings, limit_mib, "limit_mib", "0", 0, 1 << 30,
            "memory budget of the process in MiB"),
    KEY_INT(struct memory_limit_settings, limit_percentage, "limit_percentage", "0", 0, 100,
            "the same in percent of the control group's limit or the machine's memory"),
    KEY_IGNORED("check_interval", "accepted; the budget is checked at every request"),
    KEY_IGNORED("spike_limit_mib", "accepted; memory is charged before it is used"),
    KEY_IGNORED("spike_limit_percentage", "accepted; memory is charged before it is used"),
    KEY_IGNORED("min_gc_interval_when_soft_limited", "accepted; there is no garbage collector"),
    KEY_IGNORED("min_gc_interval_when_hard_limited", "accepted; there is no garbage collector"),
    KEY_IGNORED("max_gc_interval_when_soft_limited", "accepted; there is no garbage collector"),
    KEY_IGNORED("max_gc_interval_when_hard_limited", "accepted; there is no garbage collector"),
    KEY_END,
};

void memory_limit_check(const void *settings, struct key_report *report)
{
    const struct memory_limit_settings *self = settings;
    if (self->limit_mib == 0 && self->limit_percentage == 0 &&
        !key_report_refused(report, "limit_percentage"))
        key_report_add(report, "limit_mib",
                       "limit_mib or limit_percentage must be greater than zero");
}

size_t memory_limit_of(const struct memory_limit_settings *settings, size_t total)
{
    if (settings->limit_mib > 0)
        return (size_t)settings->limit_mib * MIB;
    return total / 100 * (size_t)settings->limit_percentage;
}

static size_t read_limit(const char *root, const char *mount, const char *group, const char *file)
{
    char path[1024], text[64] = "";
    snprintf(path, sizeof path, "%s%s%s/%s", root, mount, group, file);
    FILE *in = fopen(path, "re");
    if (!in)
        return 0;
    char *got = fgets(text, sizeof text, in);
    fclose(in);
    /* "max", and v1's page-rounded INT64_MAX, mean no limit. */
    uint64_t limit = got ? strtoull(text, NULL, 10) : 0;
    return limit >= UINT64_C(1) << 60 ? 0 : (size_t)limit;
}

/* Returns the lowest limit of a group and its ancestors. */
static size_t least_limit(const char *root, const char *mount, char *group, const char *file)
{
    size_t least = 0;
    for (;;) {
        size_t limit = read_limit(root, mount, strcmp(group, "/") == 0 ? "" : group, file);
        if (limit && (!least || limit < least))
            least = limit;
        char *slash = strrchr(group, '/');
        if (!slash)
            return least;
        *slash = '\0';
    }
}

/* Parses a line "4:memory:/path" (v1) or "0::/path" (v2) of /proc/self/cgroup. */
static size_t line_limit(const char *root, char *line)
{
    char *controllers = strchr(line, ':');
    char *group = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!group)
        return 0;
    *group++ = '\0';
    group[strcspn(group, "\n")] = '\0';
    if (controllers[1] == '\0')
        return least_limit(root, "/sys/fs/cgroup", group, "memory.max");
    if (strcmp(controllers + 1, "memory") == 0)
        return least_limit(root, "/sys/fs/cgroup/memory", group, "memory.limit_in_bytes");
    return 0;
}

size_t memory_limit_cgroup(const char *root)
{
    char path[1024], line[1024];
    size_t least = 0;
    snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    FILE *in = fopen(path, "re");
    if (!in)
        return 0;
    while (fgets(line, sizeof line, in)) {
        size_t limit = line_limit(root, line);
        if (limit && (!least || limit < least))
            least = limit;
    }
    fclose(in);
    return least;
}

size_t memory_limit_total(void)
{
    size_t limit = memory_limit_cgroup("");
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    size_t machine = pages > 0 && page > 0 ? (size_t)pages * (size_t)page : 0;
    return limit && (!machine || limit < machine) ? limit : machine;
}

size_t memory_limit_default(size_t cgroup_limit)
{
    size_t quarter = cgroup_limit / 4;
    return quarter && quarter < 128 * MIB ? quarter : 128 * MIB;
}
