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

/* Of a series; pushes have the label, /ingest may have only the application's name. */
static struct view service_of(const struct series *series)
{
    struct view name = series_get(series, VIEW("service_name"));
    return name.data ? name : series_get(series, VIEW("__name__"));
}

/* The first words tell the two apart in the log, which sums messages that begin alike. */
static struct outcome refuse_time(const struct pyroscope_receiver *self,
                                  const struct series *series, uint64_t time_ns, uint64_t now)
{
    bool ahead = time_ns > now;
    uint64_t limit = ahead ? self->reject_newer_than : self->reject_older_than;
    struct view service = service_of(series);
    char time[40];
    write_time(time_ns, time, sizeof time);
    watch_refused(self->env->watch, service, (int64_t)(time_ns - now));
    return outcome_of(VERDICT_REJECT, CAUSE_INVALID,
                      "%s: a profile of \"%.*s\" has the time %s, more than %llu s (%s) %s now",
                      ahead ? "clock ahead" : "clock behind or old data",
                      service.size > SHOWN ? SHOWN : (int)service.size, (const char *)service.data,
                      time, (unsigned long long)(limit / NS_PER_S),
                      ahead ? "reject_newer_than" : "reject_older_than",
                      ahead ? "after" : "before");
}

struct outcome check_time(const struct pyroscope_receiver *self, const struct series *series,
                          uint64_t time_ns)
{
    uint64_t now = clock_wall(self->env->clock);
    bool behind = self->reject_older_than && time_ns && time_ns < now &&
                  now - time_ns >= self->reject_older_than;
    bool ahead =
        self->reject_newer_than && time_ns > now && time_ns - now >= self->reject_newer_than;
    return behind || ahead ? refuse_time(self, series, time_ns, now) : OUTCOME_OK;
}
