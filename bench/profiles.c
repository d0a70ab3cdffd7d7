#include "bench/profiles.h"

#include "bench/spans.h"
#include "bench/stage.h"
#include "lib/wire/otlp/otlp_span.h"
#include "lib/wire/pprof/pprof_fields.h"
#include "pipeline/pprof_request.h"

#include <stdio.h>
#include <stdlib.h>

enum { LABELS = 3, SHALLOWEST = 5, DEEPEST = 40, FILES_PER_PACKAGE = 7 };
enum { LINE_FUNCTION = 1, LINE_LINE = 2, LOCATION_ADDRESS = 3 };

struct making {
    const struct profiles *profiles;
    struct bytes *out;
    uint64_t strings; /* so far */
    uint64_t random;
};

static void put(struct bytes *out, const void *data, size_t size)
{
    if (bytes_append(out, data, size) != BYTES_OK)
        stage_fail("no memory");
}

static void put_number(struct bytes *out, uint32_t number, uint64_t value)
{
    uint8_t raw[20], *end = proto_varint_put(raw, proto_tag(number, WIRE_VARINT));
    put(out, raw, (size_t)(proto_varint_put(end, value) - raw));
}

static void put_message(struct bytes *out, uint32_t number, struct bytes *content)
{
    uint8_t head[20];
    put(out, head, (size_t)(proto_len_put(head, number, content->size) - head));
    put(out, content->data, content->size);
    bytes_clear(content);
}

/* String numbers are fixed before the table is written, because it comes last, as in Go's profiles.
 */
enum string {
    STRING_EMPTY,
    STRING_SAMPLES,
    STRING_COUNT,
    STRING_CPU,
    STRING_NANOSECONDS,
    STRING_SPAN_ID,
    STRING_SPAN_NAME,
    STRING_REGION,
    STRING_PROGRAM,
    STRING_BUILD_ID,
    STRING_REGIONS,
    STRING_NAMES = STRING_REGIONS + 4,
    STRING_FUNCTIONS = STRING_NAMES + 16
};

static uint64_t next_random(struct making *making)
{
    return spans_id(making->random++);
}

static uint64_t span_of(const struct profiles *profiles, uint32_t sample)
{
    return profiles->samples_each ? sample / profiles->samples_each : sample;
}

static uint64_t string_of_file(const struct profiles *profiles, uint64_t function)
{
    return STRING_FUNCTIONS + profiles->functions + function / FILES_PER_PACKAGE;
}

static uint64_t file_count(const struct profiles *profiles)
{
    return profiles->functions / FILES_PER_PACKAGE + 1;
}

static uint64_t string_of_span(const struct profiles *profiles, uint32_t sample)
{
    return string_of_file(profiles, 0) + file_count(profiles) + span_of(profiles, sample);
}

static void put_label(struct bytes *sample, struct bytes *label, uint64_t key, uint64_t value)
{
    put_number(label, LABEL_KEY, key);
    put_number(label, LABEL_STR, value);
    put_message(sample, SAMPLE_LABEL, label);
}

/* Writes a stack, leaf first. All stacks share a root, and each caller has a few callees. */
static size_t put_stack(struct making *making, struct bytes *ids)
{
    uint64_t functions = making->profiles->functions, at = 0, path[DEEPEST];
    size_t depth = SHALLOWEST + next_random(making) % (DEEPEST - SHALLOWEST + 1);
    for (size_t i = 0; i < depth; i++) {
        uint64_t choice = next_random(making);
        path[i] = at;
        /* Half of all calls go to the first callee, because real profiles have few hot spots. */
        at = (at * 3 + 1 + (choice & 1 ? choice % 5 : 0)) % functions;
    }
    for (size_t i = depth; i-- > 0;) {
        uint8_t raw[10];
        put(ids, raw, (size_t)(proto_varint_put(raw, path[i] + 1) - raw));
    }
    return depth;
}

static void put_samples(struct making *making)
{
    struct bytes sample, part;
    bytes_init(&sample, SIZE_MAX, NULL);
    bytes_init(&part, SIZE_MAX, NULL);
    for (uint32_t i = 0; i < making->profiles->samples; i++) {
        uint8_t raw[20];
        uint64_t count = 1 + next_random(making) % 3;
        uint64_t span = span_of(making->profiles, i);
        put_stack(making, &part);
        put_message(&sample, SAMPLE_LOCATION_ID, &part);
        uint8_t *end = proto_varint_put(proto_varint_put(raw, count), count * 10000000);
        put(&part, raw, (size_t)(end - raw));
        put_message(&sample, SAMPLE_VALUE, &part);
        put_label(&sample, &part, STRING_SPAN_ID, string_of_span(making->profiles, i));
        put_label(&sample, &part, STRING_SPAN_NAME, STRING_NAMES + span % 16);
        put_label(&sample, &part, STRING_REGION, STRING_REGIONS + span % 4);
        put_message(making->out, PROFILE_SAMPLE, &sample);
    }
    bytes_release(&sample);
    bytes_release(&part);
}

static void put_types(struct making *making)
{
    static const uint64_t types[][2] = {{STRING_SAMPLES, STRING_COUNT},
                                        {STRING_CPU, STRING_NANOSECONDS}};
    struct bytes type;
    bytes_init(&type, SIZE_MAX, NULL);
    for (size_t i = 0; i < 2; i++) {
        put_number(&type, 1, types[i][0]);
        put_number(&type, 2, types[i][1]);
        put_message(making->out, PROFILE_SAMPLE_TYPE, &type);
    }
    put_number(&type, 1, STRING_CPU);
    put_number(&type, 2, STRING_NANOSECONDS);
    put_message(making->out, PROFILE_PERIOD_TYPE, &type);
    put_number(making->out, PROFILE_PERIOD, 10000000);
    put_number(making->out, PROFILE_TIME_NANOS, making->profiles->time_ns);
    put_number(making->out, PROFILE_DURATION_NANOS, making->profiles->duration_ns);
    bytes_release(&type);
}

static void put_tables(struct making *making)
{
    struct bytes entry, line;
    bytes_init(&entry, SIZE_MAX, NULL);
    bytes_init(&line, SIZE_MAX, NULL);
    put_number(&entry, TABLE_ID, 1);
    put_number(&entry, 2, 0x400000);
    put_number(&entry, 3, 0x9f8000);
    put_number(&entry, 5, STRING_PROGRAM);
    put_number(&entry, 6, STRING_BUILD_ID);
    put_number(&entry, 7, 1);
    put_message(making->out, PROFILE_MAPPING, &entry);
    for (uint64_t i = 0; i < making->profiles->functions; i++) {
        put_number(&line, LINE_FUNCTION, i + 1);
        put_number(&line, LINE_LINE, 10 + next_random(making) % 900);
        put_number(&entry, TABLE_ID, i + 1);
        put_number(&entry, 2, 1);
        put_number(&entry, LOCATION_ADDRESS, 0x401000 + i * 417);
        put_message(&entry, LOCATION_LINE, &line);
        put_message(making->out, PROFILE_LOCATION, &entry);
    }
    for (uint64_t i = 0; i < making->profiles->functions; i++) {
        put_number(&entry, TABLE_ID, i + 1);
        put_number(&entry, 2, STRING_FUNCTIONS + i);
        put_number(&entry, 3, STRING_FUNCTIONS + i);
        put_number(&entry, 4, string_of_file(making->profiles, i));
        put_number(&entry, 5, 10 + next_random(making) % 900);
        put_message(making->out, PROFILE_FUNCTION, &entry);
    }
    bytes_release(&entry);
    bytes_release(&line);
}

static void put_string(struct making *making, const char *text)
{
    uint8_t head[20];
    size_t size = strlen(text);
    put(making->out, head, (size_t)(proto_len_put(head, PROFILE_STRING_TABLE, size) - head));
    put(making->out, text, size);
    making->strings++;
}

static void put_strings(struct making *making)
{
    static const char *const fixed[] = {
        "",         "samples",   "count",   "cpu",           "nanoseconds",
        "span_id",  "span_name", "region",  "/srv/shop/app", "9f1c2b7e5ad04e11",
        "eu-north", "eu-west",   "us-east", "ap-south"};
    const struct profiles *profiles = making->profiles;
    char text[128];
    for (size_t i = 0; i < sizeof fixed / sizeof fixed[0]; i++)
        put_string(making, fixed[i]);
    for (unsigned i = 0; i < 16; i++) {
        snprintf(text, sizeof text, "GET /api/v1/orders/%u", i);
        put_string(making, text);
    }
    for (uint64_t i = 0; i < profiles->functions; i++) {
        snprintf(text, sizeof text,
                 "example.org/shop/internal/package%llu.(*Service%llu).handle%llx",
                 (unsigned long long)(i / 20), (unsigned long long)(i / 5),
                 (unsigned long long)(spans_id(i) >> 40));
        put_string(making, text);
    }
    for (uint64_t i = 0; i < file_count(profiles); i++) {
        snprintf(text, sizeof text, "/srv/shop/internal/package%llu/file%llu.go",
                 (unsigned long long)(i / 3), (unsigned long long)i);
        put_string(making, text);
    }
    uint64_t spans = profiles->samples ? span_of(profiles, profiles->samples - 1) + 1 : 0;
    for (uint64_t i = 0; i < spans; i++) {
        char hex[17] = "";
        span_id_format(spans_id(profiles->first + i * profiles->step), hex);
        put_string(making, hex);
    }
}

void profiles_pprof(const struct profiles *profiles, struct bytes *out)
{
    struct making making = {.profiles = profiles, .out = out};
    put_types(&making);
    put_samples(&making);
    put_tables(&making);
    put_strings(&making);
}

struct batch *profiles_batch(const struct profiles *profiles, struct budget *budget)
{
    const struct series_label labels[] = {{VIEW("__name__"), VIEW("process_cpu")},
                                          {VIEW("service_name"), VIEW("shop")}};
    struct bytes raw;
    bytes_init(&raw, SIZE_MAX / 2, budget);
    profiles_pprof(profiles, &raw);
    struct batch *batch = pprof_request_batch(&raw, VIEW(""), series_new(labels, 2));
    if (!batch)
        stage_fail("no profile");
    batch_set_profile(batch, calloc(1, sizeof(struct profile_origin)));
    return batch;
}
