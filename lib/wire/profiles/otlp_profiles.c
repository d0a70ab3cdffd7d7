#include "lib/wire/profiles/otlp_profiles.h"

enum {
    PROFILE_SAMPLE_TYPE = 1,
    PROFILE_SAMPLES = 2,
    PROFILE_TIME = 3,
    PROFILE_DURATION = 4,
    PROFILE_PERIOD_TYPE = 5,
    PROFILE_PERIOD = 6
};
enum {
    SAMPLE_STACK = 1,
    SAMPLE_ATTRIBUTES = 2,
    SAMPLE_LINK = 3,
    SAMPLE_VALUES = 4,
    SAMPLE_TIMESTAMPS = 5
};
enum { KEY_VALUE_KEY = 1, KEY_VALUE_VALUE = 2, KEY_VALUE_KEY_STRINDEX = 3 };
enum { ANY_STRING = 1, ANY_STRINDEX = 8 };
enum { LINK_SPAN_ID = 2, STACK_LOCATIONS = 1, LINE_FUNCTION = 1 };
enum { LOCATION_ADDRESS = 2, LOCATION_LINES = 3 };
enum { RESOURCE = 1, RESOURCE_ATTRIBUTES = 1 };

static struct view otlp_profiles_entry_of(const struct otlp_dictionary *dictionary,
                                          enum otlp_table table, uint64_t index)
{
    return index < dictionary->of[table].count ? dictionary->of[table].entries[index] : VIEW("");
}

struct view otlp_dictionary_string(const struct otlp_dictionary *dictionary, struct view message,
                                   uint32_t number)
{
    struct proto_field field;
    if (!proto_find(message, number, WIRE_VARINT, &field))
        return VIEW("");
    return otlp_profiles_entry_of(dictionary, OTLP_TABLE_STRING, field.value);
}

/* Merges an AnyValue over earlier ones of the same KeyValue: the last member wins. */
static struct view merge_any(const struct otlp_dictionary *dictionary, struct view any,
                             struct view text)
{
    struct proto_scan scan = proto_scan_begin(any);
    struct proto_field field;
    while (proto_scan_next(&scan, &field)) {
        if (field.number == ANY_STRING)
            text = field.bytes;
        else if (field.number == ANY_STRINDEX)
            text = otlp_profiles_entry_of(dictionary, OTLP_TABLE_STRING, field.value);
        else if (field.number < ANY_STRINDEX)
            text = (struct view){0};
    }
    return text;
}

struct view otlp_dictionary_value(const struct otlp_dictionary *dictionary, struct view body)
{
    struct proto_scan scan = proto_scan_begin(body);
    struct proto_field field;
    struct view text = {0};
    while (proto_scan_next(&scan, &field))
        if (field.number == KEY_VALUE_VALUE)
            text = merge_any(dictionary, field.bytes, text);
    return text;
}

/* Sets the strings that a ValueType contains; a repeated singular message is merged. */
static void read_value_type(const struct otlp_dictionary *dictionary, struct view message,
                            struct view *type, struct view *unit)
{
    struct proto_field field;
    if (proto_find(message, 1, WIRE_VARINT, &field))
        *type = otlp_dictionary_string(dictionary, message, 1);
    if (proto_find(message, 2, WIRE_VARINT, &field))
        *unit = otlp_dictionary_string(dictionary, message, 2);
}

void otlp_profile_read(const struct otlp_dictionary *dictionary, struct view body,
                       struct otlp_profile *profile)
{
    struct proto_scan scan = proto_scan_begin(body);
    struct proto_field field;
    *profile = (struct otlp_profile){
        .body = body,
        .type = VIEW(""),
        .unit = VIEW(""),
        .period_type = VIEW(""),
        .period_unit = VIEW(""),
    };
    while (proto_scan_next(&scan, &field)) {
        if (field.number == PROFILE_SAMPLE_TYPE)
            read_value_type(dictionary, field.bytes, &profile->type, &profile->unit);
        else if (field.number == PROFILE_PERIOD_TYPE)
            read_value_type(dictionary, field.bytes, &profile->period_type, &profile->period_unit);
        else if (field.number == PROFILE_SAMPLES)
            profile->sample_count++;
        else if (field.number == PROFILE_TIME)
            profile->time_ns = field.value;
        else if (field.number == PROFILE_DURATION)
            profile->duration_ns = field.value;
        else if (field.number == PROFILE_PERIOD)
            profile->period = (int64_t)field.value;
    }
}

/* Counts the numbers in a varint field, packed or not, and adds them to *sum, which wraps: the
 * values are untrusted. */
static uint64_t add_numbers(const struct proto_field *field, uint64_t *sum)
{
    const uint8_t *at = field->bytes.data;
    uint64_t value, count = 0;
    if (field->type != WIRE_LEN) {
        *sum += field->value;
        return 1;
    }
    while (at < field->end && (at = proto_varint(at, field->end, &value))) {
        *sum += value;
        count++;
    }
    return count;
}

static enum otlp_frames frame_of(const struct otlp_dictionary *dictionary, uint64_t location)
{
    struct proto_scan scan =
        proto_scan_begin(otlp_profiles_entry_of(dictionary, OTLP_TABLE_LOCATION, location));
    struct proto_field field, function;
    enum otlp_frames frames = OTLP_FRAMES_NONE;
    while (proto_scan_next(&scan, &field)) {
        if (field.number == LOCATION_LINES &&
            proto_find(field.bytes, LINE_FUNCTION, WIRE_VARINT, &function) && function.value)
            return OTLP_FRAMES_NAMED;
        if (field.number == LOCATION_ADDRESS && field.value)
            frames = OTLP_FRAMES_ADDRESSES;
    }
    return frames;
}

/* Adds a location of a stack. False: the server drops the sample. */
static bool add_location(const struct otlp_dictionary *dictionary, uint64_t location,
                         enum otlp_frames *frames)
{
    if (!location)
        return true; /* not set */
    enum otlp_frames frame = frame_of(dictionary, location);
    if (frame > *frames)
        *frames = frame;
    return frame != OTLP_FRAMES_NONE;
}

static bool add_locations(const struct otlp_dictionary *dictionary, const struct proto_field *field,
                          enum otlp_frames *frames)
{
    const uint8_t *at = field->bytes.data;
    uint64_t location;
    if (field->type != WIRE_LEN)
        return add_location(dictionary, field->value, frames);
    while (at < field->end && (at = proto_varint(at, field->end, &location)))
        if (!add_location(dictionary, location, frames))
            return false;
    return true;
}

static enum otlp_frames frames_of(const struct otlp_dictionary *dictionary, uint64_t stack)
{
    struct proto_scan scan =
        proto_scan_begin(otlp_profiles_entry_of(dictionary, OTLP_TABLE_STACK, stack));
    struct proto_field field;
    enum otlp_frames frames = OTLP_FRAMES_NONE;
    while (proto_scan_next(&scan, &field))
        if (field.number == STACK_LOCATIONS && !add_locations(dictionary, &field, &frames))
            return OTLP_FRAMES_NONE;
    return frames;
}

static struct view span_id_of_link(const struct otlp_dictionary *dictionary, uint64_t link)
{
    static const uint8_t zeros[8];
    struct proto_field id;
    if (link == 0 || !proto_find(otlp_profiles_entry_of(dictionary, OTLP_TABLE_LINK, link),
                                 LINK_SPAN_ID, WIRE_LEN, &id))
        return VIEW("");
    return view_eq(id.bytes, (struct view){zeros, sizeof zeros}) ? VIEW("") : id.bytes;
}

/* Finds the first of these attributes that is a span id. */
static void read_attributes(const struct otlp_dictionary *dictionary,
                            const struct proto_field *field, struct otlp_profile_sample *sample)
{
    const uint8_t *at = field->bytes.data;
    uint64_t index = field->value;
    bool packed = field->type == WIRE_LEN;
    while (!sample->span_id_text.data) {
        if (packed && (at >= field->end || !(at = proto_varint(at, field->end, &index))))
            return;
        if (index > 0 && index < dictionary->of[OTLP_TABLE_ATTRIBUTE].count)
            sample->span_id_text = dictionary->span_ids[index];
        if (!packed)
            return;
    }
}

static void otlp_profiles_read_sample(const struct otlp_dictionary *dictionary, struct view body,
                                      struct otlp_profile_sample *sample)
{
    struct proto_scan scan = proto_scan_begin(body);
    struct proto_field field;
    uint64_t values = 0, stamps = 0, sum = 0, stack = 0, link = 0;
    while (proto_scan_next(&scan, &field)) {
        if (field.number == SAMPLE_STACK)
            stack = field.value;
        else if (field.number == SAMPLE_LINK)
            link = field.value;
        else if (field.number == SAMPLE_ATTRIBUTES)
            read_attributes(dictionary, &field, sample);
        else if (field.number == SAMPLE_VALUES)
            values += add_numbers(&field, &sum);
        else if (field.number == SAMPLE_TIMESTAMPS)
            stamps += field.type == WIRE_LEN ? field.bytes.size / 8 : 1;
    }
    sample->span_id_bytes = span_id_of_link(dictionary, link);
    sample->frames = frames_of(dictionary, stack);
    sample->value_sum = (int64_t)(values ? sum : stamps);
    sample->count = stamps ? stamps : values;
}

bool otlp_profile_next_sample(const struct otlp_dictionary *dictionary,
                              const struct otlp_profile *profile, struct proto_scan *scan,
                              struct otlp_profile_sample *sample)
{
    (void)profile;
    struct proto_field field;
    while (proto_scan_next(scan, &field))
        if (field.number == PROFILE_SAMPLES) {
            *sample = (struct otlp_profile_sample){.span_id_bytes = VIEW("")};
            otlp_profiles_read_sample(dictionary, field.bytes, sample);
            return true;
        }
    return false;
}

/* The key of a KeyValue: by reference, or inline if the reference is 0. */
static struct view otlp_profiles_key_of(const struct otlp_dictionary *dictionary,
                                        struct view key_value)
{
    struct proto_field field;
    struct view key = otlp_dictionary_string(dictionary, key_value, KEY_VALUE_KEY_STRINDEX);
    if (key.size == 0 && proto_find(key_value, KEY_VALUE_KEY, WIRE_LEN, &field))
        key = field.bytes;
    return key;
}

struct view otlp_profiles_resource_attribute(const struct otlp_dictionary *dictionary,
                                             struct view resource_entry, struct view key)
{
    struct proto_scan scan = proto_scan_begin(resource_entry);
    struct proto_field resource, field;
    while (proto_scan_next(&scan, &resource)) {
        if (resource.number != RESOURCE)
            continue;
        struct proto_scan attributes = proto_scan_begin(resource.bytes);
        while (proto_scan_next(&attributes, &field))
            if (field.number == RESOURCE_ATTRIBUTES &&
                view_eq(otlp_profiles_key_of(dictionary, field.bytes), key))
                return otlp_dictionary_value(dictionary, field.bytes);
    }
    return (struct view){0};
}
