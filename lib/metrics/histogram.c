#include "lib/metrics/histogram.h"

#define S UINT64_C(1000000000)

const struct histogram_bounds histogram_items = {
    22, 1.0, {10,   25,   50,   75,   100,  250,  500,   750,   1000,  2000,  3000,
              4000, 5000, 6000, 7000, 8000, 9000, 10000, 20000, 30000, 50000, 100000}};

const struct histogram_bounds histogram_bytes = {18,
                                                 1.0,
                                                 {128, 256, 512, 1024, 2048, 4096, 8192, 16384,
                                                  32768, 65536, 131072, 262144, 1 << 19, 1 << 20,
                                                  1 << 21, 1 << 22, 1 << 23, 1 << 24}};

/* The default boundaries of OpenTelemetry's SDKs, in seconds, which the Collector uses here. */
const struct histogram_bounds histogram_durations = {15,
                                                     1e-9,
                                                     {0, 5 * S, 10 * S, 25 * S, 50 * S, 75 * S,
                                                      100 * S, 250 * S, 500 * S, 750 * S, 1000 * S,
                                                      2500 * S, 5000 * S, 7500 * S, 10000 * S}};

const struct histogram_bounds histogram_waits = {14,
                                                 1e-9,
                                                 {S / 10, S / 4, S / 2, S, 5 * S / 2, 5 * S, 10 * S,
                                                  15 * S, 20 * S, 30 * S, 45 * S, 60 * S, 120 * S,
                                                  300 * S}};

void histogram_add(struct histogram *histogram, const struct histogram_bounds *bounds,
                   uint64_t value)
{
    unsigned at = 0;
    while (at < bounds->count && value > bounds->limits[at])
        at++;
    atomic_fetch_add_explicit(&histogram->buckets[at], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&histogram->sum, value, memory_order_relaxed);
}
