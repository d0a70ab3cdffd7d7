/* A runtime made of a configuration's text, on a clock that the test moves. */
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

/* Plans and starts; fails the test where a problem comes up. */
void given_start(struct given_runtime *given, const char *yaml);

/* Stops and frees. From the beginning of the stop each look at the clock moves it by 50 ms, so
 * that deadlines pass. Returns what runtime_stop does. */
uint64_t given_stop(struct given_runtime *given);

/* Moves the clock and runs the ticks that are due then. */
void given_advance(struct given_runtime *given, uint64_t ns);

/* The counter of an instance; fails the test where there is none of that id. */
const struct meter *given_meter(const struct given_runtime *given, const char *id);

/* What is wrong with a configuration: the sentences, a line each, "yaml:" places and all; "" if
 * nothing is. Freed by the caller. */
char *given_faults(const char *yaml);

#endif
