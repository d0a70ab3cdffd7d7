#include "lib/wire/profiles/pprof_to_profiles.h"

#include "lib/wire/pprof/pprof_fields.h"
#include "lib/wire/profiles/profiles_dictionary.h"
#include "lib/wire/proto/text.h"

enum { REQUEST_RESOURCES = 1, RESOURCE = 1, RESOURCE_SCOPES = 2, SCOPE_PROFILES = 2 };
enum { RESOURCE_ATTRIBUTES = 1, KEY_VALUE_KEY = 1, KEY_VALUE_VALUE = 2, ANY_STRING = 1 };
enum {
    OTLP_SAMPLE_TYPE = 1,
    OTLP_SAMPLES,
    OTLP_TIME,
    OTLP_DURATION,
    OTLP_PERIOD_TYPE,
    OTLP_PERIOD
};
enum { OTLP_PROFILE_ATTRIBUTES = 11, TYPE = 1, UNIT = 2 };
enum { SAMPLE_STACK = 1, SAMPLE_ATTRIBUTES, SAMPLE_LINK, SAMPLE_VALUES };
enum { LABEL_NUM = 3 };

/* A sample, as dictionary indices. */
struct sample {
    uint32_t stack, link;
    struct view attributes; /* packed */
};

struct conversion {
    const struct pprof_source *source;
    struct profiles_dictionary dictionary;
    struct sample *samples;
    struct bytes scratch;
    struct proto_write write;
    struct view profile_attributes; /* packed */
};

struct label {
    uint64_t key, text, unit;
    int64_t number;
};

static struct label pprof_to_profiles_read_label(struct view message)
{
    struct proto_scan scan = proto_scan_begin(message);
    struct proto_field field;
    struct label label = {0};
    while (proto_scan_next(&scan, &field)) {
        if (field.number == LABEL_KEY)
            label.key = field.value;
        else if (field.number == LABEL_STR)
            label.text = field.value;
        else if (field.number == LABEL_NUM)
            label.number = (int64_t)field.value;
        else if (field.number == LABEL_NUM_UNIT)
            label.unit = field.value;
    }
    return label;
}

/* Reads size bytes from hex digits of either case. False: another number of digits, or all 0. */
static bool read_hex(struct view text, uint8_t *id, size_t size)
{
    static const uint8_t none[16];
    assert(size <= sizeof none);
    return text_hex_bytes(text, id, size) && memcmp(id, none, size) != 0;
}

/* Makes a sample's link. Returns the labels that it replaces, as bits 1 << enum pprof_key. */
static unsigned make_link(struct conversion *conversion, const struct pprof_sample *sample,
                          uint32_t *link)
{
    uint8_t span[8], trace[16];
    *link = 0;
    if (!read_hex(sample->span_id, span, sizeof span))
        return 0;
    unsigned replaced = 1u << PPROF_KEY_SPAN_ID | 1u << PPROF_KEY_PROFILE_ID;
    if (read_hex(sample->trace_id, trace, sizeof trace))
        replaced |= 1u << PPROF_KEY_TRACE_ID;
    else
        memset(trace, 0, sizeof trace);
    *link = profiles_dictionary_link(&conversion->dictionary, trace, span);
    return replaced;
}

static void add_attribute(struct conversion *conversion, const struct label *label,
                          unsigned replaced, struct proto_write *list)
{
    const struct pprof *pprof = conversion->source->pprof;
    if (pprof_string(pprof, label->key).size == 0)
        return;
    if (label->text && (replaced & 1u << pprof->keys[label->key]))
        return;
    proto_write_packed(
        list, label->text
                  ? profiles_dictionary_text(&conversion->dictionary, label->key, label->text)
                  : profiles_dictionary_number(&conversion->dictionary, label->key, label->number,
                                               label->unit));
}

/* Copies the content of scratch to the arena. */
static struct view pprof_to_profiles_keep(struct conversion *conversion)
{
    struct view kept = bytes_view(&conversion->scratch);
    uint8_t *copy = arena_alloc(conversion->dictionary.arena, kept.size);
    if (!copy)
        conversion->dictionary.fault = "too large";
    else
        proto_bytes_put(copy, kept);
    return (struct view){copy, copy ? kept.size : 0};
}

static void take_sample(struct conversion *conversion, const struct pprof_sample *sample,
                        struct sample *taken)
{
    struct proto_scan scan = proto_scan_begin(sample->field.bytes);
    struct proto_field field;
    bytes_clear(&conversion->scratch);
    struct proto_write list = proto_write_begin(&conversion->scratch);
    unsigned replaced = make_link(conversion, sample, &taken->link);
    taken->stack = profiles_dictionary_stack(&conversion->dictionary, sample->field.bytes);
    while (proto_scan_next(&scan, &field))
        if (field.number == SAMPLE_LABEL) {
            struct label label = pprof_to_profiles_read_label(field.bytes);
            add_attribute(conversion, &label, replaced, &list);
        }
    if (list.result != BYTES_OK)
        conversion->dictionary.fault = proto_write_fault(&list);
    taken->attributes = pprof_to_profiles_keep(conversion);
}

static void take_samples(struct conversion *conversion)
{
    const struct pprof *pprof = conversion->source->pprof;
    struct proto_scan scan = proto_scan_begin(pprof->raw);
    struct pprof_sample sample;
    for (size_t i = 0; !conversion->dictionary.fault && pprof_next_sample(pprof, &scan, &sample);
         i++)
        take_sample(conversion, &sample, &conversion->samples[i]);
}

/* Converts the pprof's metadata to attributes of each Profile. */
static void take_profile_attributes(struct conversion *conversion)
{
    static const struct {
        uint32_t field;
        enum profiles_attribute_kind kind;
    } texts[] = {{PROFILE_DROP_FRAMES, ATTRIBUTE_DROP_FRAMES},
                 {PROFILE_KEEP_FRAMES, ATTRIBUTE_KEEP_FRAMES},
                 {PROFILE_DOC_URL, ATTRIBUTE_DOC_URL}};
    const struct pprof *pprof = conversion->source->pprof;
    struct proto_field field;
    bytes_clear(&conversion->scratch);
    struct proto_write list = proto_write_begin(&conversion->scratch);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (proto_find(pprof->raw, texts[i].field, WIRE_VARINT, &field) && field.value)
            proto_write_packed(&list,
                               profiles_dictionary_named(&conversion->dictionary, texts[i].kind,
                                                         pprof_string(pprof, field.value)));
    uint32_t comments = profiles_dictionary_comments(&conversion->dictionary);
    if (comments)
        proto_write_packed(&list, comments);
    if (list.result != BYTES_OK)
        conversion->dictionary.fault = proto_write_fault(&list);
    conversion->profile_attributes = pprof_to_profiles_keep(conversion);
}

static void pprof_to_profiles_write_text(struct proto_write *write, struct view key,
                                         struct view text)
{
    size_t attribute = proto_write_open(write, RESOURCE_ATTRIBUTES);
    proto_write_bytes(write, KEY_VALUE_KEY, key);
    size_t value = proto_write_open(write, KEY_VALUE_VALUE);
    proto_write_bytes(write, ANY_STRING, text);
    proto_write_close(write, value);
    proto_write_close(write, attribute);
}

static bool goes_out(struct view name)
{
    return name.size && !view_starts(name, VIEW("__")) && !view_eq(name, VIEW("service_name")) &&
           !view_eq(name, VIEW("service.name"));
}

static void write_resource(struct conversion *conversion)
{
    const struct series *series = conversion->source->series;
    struct view service = series_get(series, VIEW("service_name"));
    if (!service.size)
        service = series_get(series, VIEW("service.name"));
    if (!service.size && conversion->source->by_ingest)
        service = series_get(series, VIEW("__name__"));
    size_t resource = proto_write_open(&conversion->write, RESOURCE);
    if (service.size)
        pprof_to_profiles_write_text(&conversion->write, VIEW("service.name"), service);
    for (size_t i = 0; i < series->count; i++)
        if (goes_out(series->labels[i].name))
            pprof_to_profiles_write_text(&conversion->write, series->labels[i].name,
                                         series->labels[i].value);
    proto_write_close(&conversion->write, resource);
}

/* Writes a ValueType; its string indices are the same in the dictionary. */
static void write_type(struct proto_write *write, uint32_t number, const uint64_t type[2])
{
    size_t opened = proto_write_open(write, number);
    proto_write_number(write, TYPE, type[0]);
    proto_write_number(write, UNIT, type[1]);
    proto_write_close(write, opened);
}

static void pprof_to_profiles_read_type(struct view message, uint64_t type[2])
{
    struct proto_field field;
    if (proto_find(message, TYPE, WIRE_VARINT, &field))
        type[0] = field.value;
    if (proto_find(message, UNIT, WIRE_VARINT, &field))
        type[1] = field.value;
}

static void write_samples(struct conversion *conversion, size_t column)
{
    const struct pprof *pprof = conversion->source->pprof;
    struct proto_write *write = &conversion->write;
    struct proto_scan scan = proto_scan_begin(pprof->raw);
    struct pprof_sample sample;
    for (size_t i = 0; pprof_next_sample(pprof, &scan, &sample); i++) {
        const struct sample *taken = &conversion->samples[i];
        if (sample.values[column] == 0)
            continue;
        size_t opened = proto_write_open(write, OTLP_SAMPLES);
        proto_write_number(write, SAMPLE_STACK, taken->stack);
        if (taken->attributes.size)
            proto_write_bytes(write, SAMPLE_ATTRIBUTES, taken->attributes);
        proto_write_number(write, SAMPLE_LINK, taken->link);
        size_t values = proto_write_open(write, SAMPLE_VALUES);
        proto_write_packed(write, (uint64_t)sample.values[column]);
        proto_write_close(write, values);
        proto_write_close(write, opened);
    }
}

static void pprof_to_profiles_write_profile(struct conversion *conversion, size_t column,
                                            const uint64_t type[2], const uint64_t period[2])
{
    const struct pprof *pprof = conversion->source->pprof;
    struct proto_write *write = &conversion->write;
    size_t opened = proto_write_open(write, SCOPE_PROFILES);
    write_type(write, OTLP_SAMPLE_TYPE, type);
    write_samples(conversion, column);
    if (pprof->time_nanos > 0)
        proto_write_fixed64(write, OTLP_TIME, (uint64_t)pprof->time_nanos);
    if (pprof->duration_nanos > 0)
        proto_write_number(write, OTLP_DURATION, (uint64_t)pprof->duration_nanos);
    if (period[0] || period[1])
        write_type(write, OTLP_PERIOD_TYPE, period);
    proto_write_number(write, OTLP_PERIOD, (uint64_t)pprof->period);
    if (conversion->profile_attributes.size)
        proto_write_bytes(write, OTLP_PROFILE_ATTRIBUTES, conversion->profile_attributes);
    proto_write_close(write, opened);
}

static void write_profiles(struct conversion *conversion)
{
    struct view raw = conversion->source->pprof->raw;
    struct proto_scan scan = proto_scan_begin(raw);
    struct proto_field field;
    uint64_t period[2] = {0};
    size_t column = 0;
    while (proto_scan_next(&scan, &field))
        if (field.number == PROFILE_PERIOD_TYPE)
            pprof_to_profiles_read_type(field.bytes, period);
    scan = proto_scan_begin(raw);
    while (proto_scan_next(&scan, &field)) {
        uint64_t type[2] = {0};
        if (field.number != PROFILE_SAMPLE_TYPE)
            continue;
        pprof_to_profiles_read_type(field.bytes, type);
        pprof_to_profiles_write_profile(conversion, column++, type, period);
    }
}

static void write_request(struct conversion *conversion)
{
    size_t resources = proto_write_open(&conversion->write, REQUEST_RESOURCES);
    write_resource(conversion);
    size_t scope = proto_write_open(&conversion->write, RESOURCE_SCOPES);
    write_profiles(conversion);
    proto_write_close(&conversion->write, scope);
    proto_write_close(&conversion->write, resources);
    profiles_dictionary_write(&conversion->dictionary, &conversion->write);
}

bool pprof_to_profiles(const struct pprof_source *source, struct arena *arena, struct bytes *out,
                       const char **reason)
{
    struct conversion conversion = {.source = source, .write = proto_write_begin(out)};
    struct profiles_dictionary *dictionary = &conversion.dictionary;
    bytes_init(&conversion.scratch, out->max, out->budget);
    conversion.samples =
        arena_array(arena, source->pprof->sample_count, sizeof *conversion.samples);
    bool room = profiles_dictionary_open(dictionary, source->pprof, arena, out);
    if (!room || !conversion.samples)
        dictionary->fault = "too large";
    if (!dictionary->fault)
        take_samples(&conversion);
    if (!dictionary->fault)
        take_profile_attributes(&conversion);
    if (!dictionary->fault)
        write_request(&conversion);
    *reason = dictionary->fault ? dictionary->fault : proto_write_fault(&conversion.write);
    bytes_release(&conversion.scratch);
    profiles_dictionary_release(dictionary);
    if (*reason)
        bytes_clear(out);
    return !*reason;
}
