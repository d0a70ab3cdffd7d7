/*
 * Runs a real component in one process, with a manual clock and a counting sink. For the programs
 * of bench/; failures end the process. One thread.
 */
#ifndef BENCH_STAGE_H
#define BENCH_STAGE_H

#include "pipeline/graph/graph.h"

struct stage_clock {
    struct clock clock;
    uint64_t wall, mono;
};

/* Sets the wall and the monotonic clock to fixed times. */
void stage_clock_init(struct stage_clock *clock);
void stage_clock_advance(struct stage_clock *clock, uint64_t ns);

/* One open instance; its outlet leads to next. */
struct stage {
    struct instance instance;
    struct meter meter;
    struct settings *settings;
    struct outlet outlet;
};

/* yaml: the section's content, e.g. "{timeout: 1s}". */
void stage_open(struct stage *stage, const struct component *component, const char *yaml,
                const struct stage_clock *clock, struct budget *budget, struct outlet *next);
void stage_close(struct stage *stage);

/* What is opened from now on reports to it. */
void stage_watch(struct watch *watch);

/* Pushes a batch (taken over) into it. */
void stage_offer(struct stage *stage, struct batch *batch);

/* Runs the instance's tick at the clock's time. */
void stage_tick(struct stage *stage);

/* The end of a chain. */
struct stage_sink {
    struct instance instance;
    struct meter meter; /* the instance's */
    struct outlet outlet;
    uint64_t batches, items, bytes;
    struct batch *last; /* if keeps: the last batch, one reference */
    bool keeps;
};
void stage_sink_init(struct stage_sink *sink);

/* CPU time of this thread in ns. */
uint64_t stage_cpu_ns(void);

/* Minimum, median and maximum of some values; sorts them. */
struct stage_spread {
    double min, median, max;
};
struct stage_spread stage_spread(double *figures, size_t count);

_Noreturn void stage_fail(const char *what);

#endif
