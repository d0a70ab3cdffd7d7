/* Histograms. Adding a value takes no lock. Any thread. */
#ifndef LIB_METRICS_HISTOGRAM_H
#define LIB_METRICS_HISTOGRAM_H

#include <stdatomic.h>
#include <stdint.h>

enum { HISTOGRAM_BUCKETS = 24 };

/* Shared by all histograms of a kind. */
struct histogram_bounds {
    unsigned count; /* number of limits; less than HISTOGRAM_BUCKETS */
    double scale;   /* factor from a value to the exported unit: 1e-9 for ns to s */
    uint64_t limits[HISTOGRAM_BUCKETS - 1]; /* ascending, inclusive */
};

struct histogram {
    _Atomic uint64_t
        buckets[HISTOGRAM_BUCKETS]; /* the last one in use holds values above every limit */
    _Atomic uint64_t sum;
};

/* Bounds for items per request, bytes per request, and times in ns (exported in seconds), as in the
 * Collector. */
extern const struct histogram_bounds histogram_items;
extern const struct histogram_bounds histogram_bytes;
extern const struct histogram_bounds histogram_durations;
/* Bounds for waits in ns: 0.1 s to 5 min. */
extern const struct histogram_bounds histogram_waits;

void histogram_add(struct histogram *histogram, const struct histogram_bounds *bounds,
                   uint64_t value);

#endif
