/*
 * How to read the fields of a class: a list of steps, made once from its metadata with nested
 * structs flattened, so that reading an event needs no lookups. For lib/wire/jfr/jfr*.c only.
 */
#ifndef LIB_WIRE_JFR_JFR_PLAN_H
#define LIB_WIRE_JFR_JFR_PLAN_H

#include "lib/wire/jfr/jfr_read.h"

/* Fields whose values are kept. */
enum jfr_slot {
    JFR_SLOT_START_TIME, /* in ticks */
    JFR_SLOT_STACK_TRACE,
    JFR_SLOT_STATE,
    JFR_SLOT_SPAN_ID,
    JFR_SLOT_SPAN_NAME,
    JFR_SLOT_CONTEXT,
    JFR_SLOT_TRACE_HI,
    JFR_SLOT_TRACE_LO,
    JFR_SLOT_SAMPLES,
    JFR_SLOT_SIZE,     /* of an object allocated outside a TLAB, bytes */
    JFR_SLOT_TLAB,     /* size of the new TLAB, bytes */
    JFR_SLOT_DURATION, /* in ticks */
    JFR_NUMBERS,
    JFR_SLOT_NAME = JFR_NUMBERS, /* strings from here on */
    JFR_SLOT_VALUE,
    JFR_SLOTS
};

struct jfr_values {
    uint64_t numbers[JFR_NUMBERS];
    struct view strings[JFR_SLOTS - JFR_NUMBERS]; /* by slot - JFR_NUMBERS */
};

enum jfr_op {
    JFR_SKIP_NUMBERS, /* argument: the count */
    JFR_SKIP_BYTES,   /* argument: the count */
    JFR_SKIP_STRING,
    JFR_SKIP_ARRAY,  /* argument: the count of the next steps read one element */
    JFR_KEEP_NUMBER, /* enum jfr_slot */
    JFR_KEEP_STRING
};

struct jfr_step {
    enum jfr_op op;
    uint32_t argument;
};

struct jfr_plan {
    const struct jfr_step *steps;
    size_t count;
    unsigned kept; /* bits 1 << enum jfr_slot of the slots that the steps fill */
};

/* Reads a value at `at`, non-NULL, by the plan; sets the values that the plan keeps, others are
 * unchanged. Returns the end of what was read. NULL: truncated, or a string of unknown encoding. */
const uint8_t *jfr_plan_run(const struct jfr_plan *plan, const uint8_t *at, const uint8_t *end,
                            struct jfr_values *values);

#endif
