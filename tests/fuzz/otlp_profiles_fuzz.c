/* An OTLP profiles request: check, dictionary, every sample. */
#include "lib/wire/profiles/otlp_profiles.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_profile(const struct otlp_dictionary *dictionary, struct view body)
{
    struct otlp_profile profile;
    struct otlp_profile_sample sample;
    uint32_t samples = 0;
    otlp_profile_read(dictionary, body, &profile);
    struct proto_scan scan = proto_scan_begin(body);
    while (otlp_profile_next_sample(dictionary, &profile, &scan, &sample)) {
        if (sample.span_id_bytes.size != 0 && sample.span_id_bytes.size != 8)
            abort();
        samples++;
    }
    if (samples != profile.sample_count)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct view request = {data, size};
    struct otlp_dictionary dictionary;
    struct proto_fault fault;
    struct arena arena;
    const char *reason = NULL;
    uint32_t items;
    if (!otlp_check(SIGNAL_PROFILES, request, &items, &fault))
        return 0;
    arena_init(&arena, 1 << 22);
    if (otlp_dictionary_open(&dictionary, request, &arena, &reason)) {
        struct otlp_walk walk;
        enum otlp_step step;
        otlp_walk_begin(&walk, SIGNAL_PROFILES, request);
        while ((step = otlp_walk_next(&walk)) != OTLP_END) {
            if (step == OTLP_RESOURCE)
                otlp_profiles_resource_attribute(&dictionary, walk.resource_entry.bytes,
                                                 VIEW("service.name"));
            if (step == OTLP_ITEM)
                read_profile(&dictionary, walk.item.bytes);
        }
    } else if (!reason) {
        abort();
    }
    arena_release(&arena);
    return 0;
}
