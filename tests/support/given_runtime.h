/* A runtime made from a configuration's text, on a clock that the test moves. */
#ifndef TESTS_SUPPORT_GIVEN_RUNTIME_H
#define TESTS_SUPPORT_GIVEN_RUNTIME_H

#include "pipeline/life/runtime_state.h"
#include "tests/support/fake_clock.h"

struct given_runtime {
    struct fake_clock fake;
    struct settings *settings;
    struct runtime *runtime;
    char report[4096]; /* after given_stop */
};

/* Plans and starts; fails the test on any problem. */
void given_start(struct given_runtime *given, const char *yaml);

/* Stops and frees. During the stop each reading of the clock advances it by 50 ms, so that
 * deadlines pass. Returns what runtime_stop does. */
uint64_t given_stop(struct given_runtime *given);

/* Advances the clock and runs the ticks that are then due. */
void given_advance(struct given_runtime *given, uint64_t ns);

/* Returns the counters of an instance; fails the test if there is none with that id. */
const struct meter *given_meter(const struct given_runtime *given, const char *id);

/* Returns the problems of a configuration, one a line, including places such as "yaml:"; "" if
 * there are none. Freed by the caller. */
char *given_faults(const char *yaml);

#endif
