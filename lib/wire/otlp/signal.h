/* The four signals of OpenTelemetry. */
#ifndef LIB_WIRE_OTLP_SIGNAL_H
#define LIB_WIRE_OTLP_SIGNAL_H

#include <stdbool.h>
#include <stdint.h>

enum signal { SIGNAL_TRACES, SIGNAL_METRICS, SIGNAL_LOGS, SIGNAL_PROFILES, SIGNAL_COUNT };

/* A set of signals is an unsigned with these bits. */
#define SIGNAL_BIT(signal) (1u << (signal))
#define SIGNALS_ALL        ((1u << SIGNAL_COUNT) - 1)

/* "traces", "metrics", "logs", "profiles". */
const char *signal_name(enum signal signal);
bool signal_parse(const char *name, enum signal *signal);

/* The signal's items, for messages: "spans", "data points", "log records", "profiles"; "span" etc.
 * if count is 1. */
const char *signal_items(enum signal signal, uint64_t count);

#endif
