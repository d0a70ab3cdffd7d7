/* Pyroscope's limits, with its names and defaults. */
#include "receivers/pyroscope/pyroscope.h"

#include <stdio.h>
#include <time.h>

enum { SHOWN = 60 };

static struct outcome refuse_label(const char *what, struct view name, int64_t most)
{
    int shown = name.size > SHOWN ? SHOWN : (int)name.size;
    return outcome_of(VERDICT_REJECT, CAUSE_INVALID,
                      "%s of label \"%.*s\" has more than %lld bytes", what, shown,
                      (const char *)name.data, (long long)most);
}

struct outcome check_labels(const struct pyroscope_receiver *self, const struct series *series)
{
    size_t name_max = (size_t)self->max_label_name_length;
    size_t value_max = (size_t)self->max_label_value_length;
    for (size_t i = 0; i < series->count; i++) {
        const struct series_label *label = &series->labels[i];
        if (label->name.size == 0)
            return outcome_of(VERDICT_REJECT, CAUSE_INVALID, "a label has an empty name");
        if (name_max && label->name.size > name_max)
            return refuse_label("the name", label->name, self->max_label_name_length);
        if (value_max && label->value.size > value_max)
            return refuse_label("the value", label->name, self->max_label_value_length);
    }
    return OUTCOME_OK;
}

static void write_time(uint64_t time_ns, char *out, size_t size)
{
    time_t seconds = (time_t)(time_ns / NS_PER_S);
    struct tm day;
    if (!gmtime_r(&seconds, &day) || strftime(out, size, "%Y-%m-%dT%H:%M:%SZ", &day) == 0)
        snprintf(out, size, "out of range");
}

static struct outcome refuse_time(uint64_t time_ns, const char *key, uint64_t limit,
                                  const char *than)
{
    char time[40];
    write_time(time_ns, time, sizeof time);
    return outcome_of(VERDICT_REJECT, CAUSE_INVALID,
                      "the profile's time, %s, is more than %llu s (%s) %s now", time,
                      (unsigned long long)(limit / NS_PER_S), key, than);
}

struct outcome check_time(const struct pyroscope_receiver *self, uint64_t time_ns)
{
    uint64_t now = clock_wall(self->env->clock);
    if (time_ns && self->reject_older_than && time_ns < now &&
        now - time_ns >= self->reject_older_than)
        return refuse_time(time_ns, "reject_older_than", self->reject_older_than, "before");
    if (self->reject_newer_than && time_ns > now && time_ns - now >= self->reject_newer_than)
        return refuse_time(time_ns, "reject_newer_than", self->reject_newer_than, "after");
    return OUTCOME_OK;
}
