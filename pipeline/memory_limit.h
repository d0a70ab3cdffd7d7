/*
 * The process's memory budget: the memory of the machine or control group, the default share of it,
 * and the keys by which the memory_limiter processor and extension set it.
 */
#ifndef PIPELINE_MEMORY_LIMIT_H
#define PIPELINE_MEMORY_LIMIT_H

#include "lib/settings/key.h"

struct memory_limit_settings {
    int64_t limit_mib;
    int64_t limit_percentage;
};

extern const struct key memory_limit_keys[]; /* over struct memory_limit_settings */
void memory_limit_check(const void *settings, struct key_report *report);

/* The bytes that the settings ask for; total is memory_limit_total's. */
size_t memory_limit_of(const struct memory_limit_settings *settings, size_t total);

/* Memory limit of this process's control group, v2 or v1, in bytes; 0: none. root: prefix of /proc
 * and /sys, "" except in tests. */
size_t memory_limit_cgroup(const char *root);

/* The control group's limit, or else the machine's memory. */
size_t memory_limit_total(void);

/* The budget without a memory_limiter: 128 MiB, but at most a quarter of the control group's
 * limit. */
size_t memory_limit_default(size_t cgroup_limit);

#endif
