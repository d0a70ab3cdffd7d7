/* How many locations a sample of a profile has. For fuzz targets too, so without the library. */
#ifndef TESTS_SUPPORT_FRAME_COUNT_H
#define TESTS_SUPPORT_FRAME_COUNT_H

#include "lib/wire/pprof/pprof.h"
#include "lib/wire/pprof/pprof_fields.h"
#include "lib/wire/proto/proto_numbers.h"

static inline size_t frame_count(const struct pprof_sample *sample)
{
    struct proto_scan scan = proto_scan_begin(sample->field.bytes);
    struct proto_field field;
    uint64_t id;
    size_t count = 0;
    while (proto_scan_next(&scan, &field)) {
        struct proto_numbers numbers = proto_numbers_begin(&field);
        while (field.number == SAMPLE_LOCATION_ID && proto_numbers_next(&numbers, &id))
            count++;
    }
    return count;
}

#endif
