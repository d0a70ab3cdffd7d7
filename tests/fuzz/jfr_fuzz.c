/* Opens an upload and iterates over it: it has the announced number of events, in the same order
 * twice, within the arena; a refused one has a fault with a position. */
#include "lib/wire/jfr/jfr.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t walk(const struct jfr *jfr)
{
    struct jfr_scan scan = jfr_scan_begin(jfr);
    struct jfr_event event;
    uint64_t sum = 0;
    size_t count = 0;
    for (; jfr_next_event(jfr, &scan, &event); count++) {
        if (event.time_nanos < 0 || event.kind > JFR_LOCK)
            abort();
        sum = sum * 31 + event.span_id + event.span_name + event.context + event.trace_hi +
              event.trace_lo + event.samples + (uint64_t)event.time_nanos + event.has_stack +
              event.counts_cpu + event.counts_wall;
    }
    if (count != jfr->event_count)
        abort();
    return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena;
    struct jfr jfr;
    struct jfr_fault fault = {0};
    arena_init(&arena, 1 << 20);
    if (jfr_open(&jfr, (struct view){data, size}, &arena, &fault)) {
        if (walk(&jfr) != walk(&jfr) || jfr.start_nanos > jfr.end_nanos || !jfr.chunk_count)
            abort();
    } else if (!fault.part || !fault.reason || fault.offset > size) {
        abort();
    }
    if (arena.used > arena.cap)
        abort();
    arena_release(&arena);
    return 0;
}
