/* Counts of values by size. Adding takes no lock; any thread. */
#ifndef LIB_METRICS_HISTOGRAM_H
#define LIB_METRICS_HISTOGRAM_H

#include <stdatomic.h>
#include <stdint.h>

enum { HISTOGRAM_BUCKETS = 24 };

/* Shared by all histograms of a kind. */
struct histogram_bounds {
    unsigned count;                         /* of limits; below HISTOGRAM_BUCKETS */
    double scale;                           /* a value of 1 as it is shown: 1e-9 for ns as s */
    uint64_t limits[HISTOGRAM_BUCKETS - 1]; /* ascending; the bucket takes its limit too */
};

struct histogram {
    _Atomic uint64_t buckets[HISTOGRAM_BUCKETS]; /* the last one in use is above every limit */
    _Atomic uint64_t sum;
};

/* Of items in a request, of bytes in one, and of times in ns that are shown in seconds: the
 * Collector's. */
extern const struct histogram_bounds histogram_items;
extern const struct histogram_bounds histogram_bytes;
extern const struct histogram_bounds histogram_durations;
/* Of waits in ns: 0.1 s to 5 min. */
extern const struct histogram_bounds histogram_waits;

void histogram_add(struct histogram *histogram, const struct histogram_bounds *bounds,
                   uint64_t value);

#endif
