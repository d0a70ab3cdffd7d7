#include "base/heap.h"

#include <malloc.h>

/* glibc raises its own threshold with the largest body seen and then keeps what bodies leave
 * behind: after a stalled backend, 180 MB stayed resident under a budget of 128 MiB, with these 66
 * MB. Lower thresholds give back more, and cost a page fault for every page of every body. */
enum { MMAP_THRESHOLD = 4 << 20, TRIM_THRESHOLD = 8 << 20, ARENAS = 2 };

void heap_tune(void)
{
    mallopt(M_MMAP_THRESHOLD, MMAP_THRESHOLD);
    mallopt(M_TRIM_THRESHOLD, TRIM_THRESHOLD);
    mallopt(M_ARENA_MAX, ARENAS);
}
