/*
 * The process's memory budget: what the machine or the control group gives, the default share of
 * it, and the keys by which the memory_limiter processor and extension set it.
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

/* Bytes that the settings ask for, where total is memory_limit_total's. */
size_t memory_limit_of(const struct memory_limit_settings *settings, size_t total);

/* Limit of our control group, v2 or v1, in bytes; 0: none. root: prefix of /proc and /sys, ""
 * outside of tests. */
size_t memory_limit_cgroup(const char *root);

/* The control group's limit, else the machine's memory. */
size_t memory_limit_total(void);

/* The budget where no memory_limiter is in use: 128 MiB, a quarter of the control group's limit
 * at most. */
size_t memory_limit_default(size_t cgroup_limit);

#endif
