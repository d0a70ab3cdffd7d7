/*
 * Trace requests like an SDK's, with the same bytes in every run: about 604 bytes and 14 attributes
 * per span; every third span has an event.
 */
#ifndef BENCH_SPANS_H
#define BENCH_SPANS_H

#include "lib/base/bytes.h"

struct spans {
    const char *service;
    uint32_t count;
    uint64_t first;     /* number of its first span: its id is spans_id(first) */
    uint32_t root_each; /* every root_each-th span is a local root; 0: none */
    uint64_t end_ns;    /* when its spans end, wall */
};

/* Appends an ExportTraceServiceRequest of one resource and scope. */
void spans_request(const struct spans *spans, struct bytes *out);

/* The id of a span; 0 for none. */
uint64_t spans_id(uint64_t number);

#endif
