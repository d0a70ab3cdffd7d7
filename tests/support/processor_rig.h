/* A processor that is run from its YAML over a request in OTLP JSON, for tests. */
#ifndef TESTS_SUPPORT_PROCESSOR_RIG_H
#define TESTS_SUPPORT_PROCESSOR_RIG_H

#include "lib/wire/otlp/signal.h"
#include "pipeline/component.h"

/* What comes out of the processor as one line of JSON without its end; "" for nothing. The yaml is
 * its section in flow style. Lives until the process ends. */
const char *rig_run(const char *type, const char *yaml, enum signal signal, const char *json);

/* The same of a request in wire form, in a process with a budget. The records that come out; they
 * go to so many Resources. */
uint32_t rig_run_bytes(const char *type, const char *yaml, enum signal signal, struct view request,
                       size_t budget_bytes, size_t *resources);

/* The verdict of the last run. */
enum verdict rig_verdict(void);

/* The sentences of what is wrong with its section, a line each; "" for none. */
const char *rig_faults(const char *type, const char *yaml);

/* A batch from JSON; unreferenced by the caller. */
struct batch *rig_batch(enum signal signal, const char *json);

#endif
