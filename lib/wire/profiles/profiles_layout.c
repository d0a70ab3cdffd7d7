#include "lib/wire/profiles/profiles_layout.h"

#include "lib/wire/proto/proto_numbers.h"

enum { REQUEST_RESOURCES = 1, REQUEST_DICTIONARY = 2, RESOURCE_SCOPES = 2, SCOPE_PROFILES = 2 };
enum {
    TABLE_MAPPING = 1,
    TABLE_LOCATION = 2,
    TABLE_LINK = 4,
    TABLE_STRING = 5,
    TABLE_ATTRIBUTE = 6
};
enum { PROFILE_SAMPLES = 2, SAMPLE_TIMESTAMPS = 5, VALUE_TYPE_TEMPORALITY = 3 };

/* The fields of a Sample in one version. */
struct roles {
    uint32_t values, attributes, link;
};
static const struct roles old_roles = {2, 3, 4}, new_roles = {4, 2, 3};

/* How a request looks when read as one version. */
struct reading {
    bool possible; /* wire types, and indices within their tables */
    bool regular;  /* values and timestamps are as the protocol requires */
    bool weighs;   /* every sample has values or timestamps */
};

struct detection {
    size_t tables[8]; /* entries of the dictionary's tables, by field number */
    bool differs;     /* a sample has one of the fields that moved */
    struct reading old, new;
    bool shifted_differs;    /* a profile has one of the fields that moved */
    bool shifted, unshifted; /* 1.8's numbering of Profile is possible; 1.9's is possible */
    bool shifted_pairs, unshifted_pairs; /* original_payload has its format next to it */
    bool temporality;                    /* a field is present that only 1.8 has */
};

struct profiles_walk profiles_walk_begin(struct view request)
{
    struct profiles_walk walk = {.request = proto_scan_begin(request)};
    walk.resource = walk.scope = proto_scan_begin(VIEW(""));
    return walk;
}

bool profiles_walk_next(struct profiles_walk *walk, struct proto_field *profile)
{
    struct proto_field entry;
    while (!proto_scan_next_of(&walk->scope, SCOPE_PROFILES, profile)) {
        while (!proto_scan_next_of(&walk->resource, RESOURCE_SCOPES, &entry)) {
            if (!proto_scan_next_of(&walk->request, REQUEST_RESOURCES, &entry))
                return false;
            walk->resource = proto_scan_begin(entry.bytes);
        }
        walk->scope = proto_scan_begin(entry.bytes);
    }
    return true;
}

/* Counts the numbers of a repeated field, packed or not; false: one is above `last`. */
static bool read_numbers(const struct proto_field *field, uint64_t last, size_t *count)
{
    const uint8_t *at = field->bytes.data;
    uint64_t value;
    if (field->type == WIRE_VARINT) {
        ++*count;
        return field->value <= last;
    }
    if (field->type != WIRE_LEN)
        return false;
    for (; at < field->end; ++*count) {
        at = proto_varint(at, field->end, &value);
        if (!at || value > last)
            return false;
    }
    return true;
}

/* Index 0 means "not set" and is legal even in an empty table. */
static uint64_t last_of(const struct detection *detection, uint32_t table)
{
    size_t count = detection->tables[table];
    return count ? count - 1 : 0;
}

static bool read_stamps(const struct proto_field *field, size_t *count)
{
    *count += field->type == WIRE_LEN ? field->bytes.size / 8 : 1;
    return field->type == WIRE_I64 || (field->type == WIRE_LEN && field->bytes.size % 8 == 0);
}

static void read_sample(const struct detection *detection, struct view sample,
                        const struct roles *roles, struct reading *reading)
{
    struct proto_scan scan = proto_scan_begin(sample);
    struct proto_field field;
    size_t values = 0, stamps = 0, attributes = 0;
    bool good = true;
    while (proto_scan_next(&scan, &field)) {
        if (field.number == roles->values)
            good &= read_numbers(&field, UINT64_MAX, &values);
        else if (field.number == roles->attributes)
            good &= read_numbers(&field, last_of(detection, TABLE_ATTRIBUTE), &attributes);
        else if (field.number == roles->link)
            good &= field.type == WIRE_VARINT && field.value <= last_of(detection, TABLE_LINK);
        else if (field.number == SAMPLE_TIMESTAMPS)
            good &= read_stamps(&field, &stamps);
    }
    reading->possible &= good;
    reading->weighs &= values + stamps > 0;
    reading->regular &= values == stamps || values + stamps == 1 || values == 0;
}

/* Whether a sample packs a list and also has unpacked numbers in field 4: writers pack all lists or
 * none, so these are a link, as in 1.9. */
static bool mixes_packing(struct view sample)
{
    struct proto_scan scan = proto_scan_begin(sample);
    struct proto_field field;
    bool packs = false, lone = false;
    while (proto_scan_next(&scan, &field)) {
        packs |= field.type == WIRE_LEN && field.number <= SAMPLE_TIMESTAMPS;
        lone |= field.type == WIRE_VARINT && field.number == new_roles.values;
    }
    return packs && lone;
}

static bool sample_differs(struct view sample)
{
    struct proto_scan scan = proto_scan_begin(sample);
    struct proto_field field;
    while (proto_scan_next(&scan, &field))
        if (field.number >= 2 && field.number <= 4)
            return true;
    return false;
}

static bool has_temporality(const struct proto_field *value_type)
{
    struct proto_field field;
    return value_type->type == WIRE_LEN &&
           proto_find(value_type->bytes, VALUE_TYPE_TEMPORALITY, WIRE_VARINT, &field);
}

static bool is_id(const struct proto_field *field)
{
    return field->type == WIRE_LEN && (field->bytes.size == 0 || field->bytes.size == 16);
}

/* Whether a field 7 to 12 of a Profile fits 1.8's numbering. */
static bool fits_shifted(const struct detection *detection, const struct proto_field *field)
{
    size_t count = 0;
    switch (field->number) {
    case 7:
        return read_numbers(field, last_of(detection, TABLE_STRING), &count);
    case 8:
        return is_id(field);
    case 9:
        return field->type == WIRE_VARINT;
    case 12:
        return read_numbers(field, last_of(detection, TABLE_ATTRIBUTE), &count);
    default:
        return field->type == WIRE_LEN;
    }
}

/* Whether it fits the numbering of 1.9 and later. */
static bool fits_unshifted(const struct detection *detection, const struct proto_field *field)
{
    size_t count = 0;
    switch (field->number) {
    case 7:
        return is_id(field);
    case 8:
        return field->type == WIRE_VARINT;
    case 11:
        return read_numbers(field, last_of(detection, TABLE_ATTRIBUTE), &count);
    default:
        return field->type == WIRE_LEN || field->number == 12;
    }
}

static void read_profile(struct detection *detection, struct view profile)
{
    struct proto_scan scan = proto_scan_begin(profile);
    struct proto_field field;
    unsigned seen = 0;
    while (proto_scan_next(&scan, &field)) {
        if (field.number == 1 || field.number == 5)
            detection->temporality |= has_temporality(&field);
        if (field.number == PROFILE_SAMPLES && field.type == WIRE_LEN &&
            sample_differs(field.bytes)) {
            detection->differs = true;
            read_sample(detection, field.bytes, &old_roles, &detection->old);
            read_sample(detection, field.bytes, &new_roles, &detection->new);
            detection->new.possible &= !mixes_packing(field.bytes);
        }
        if (field.number < 7 || field.number > 12)
            continue;
        seen |= 1u << field.number;
        detection->shifted_differs = true;
        detection->shifted &= fits_shifted(detection, &field);
        detection->unshifted &= fits_unshifted(detection, &field);
    }
    detection->temporality |= (seen & 1u << 12) != 0;
    detection->unshifted_pairs &= !(seen & 1u << 9) == !(seen & 1u << 10);
    detection->shifted_pairs &= !(seen & 1u << 10) == !(seen & 1u << 11);
}

static void count_tables(struct detection *detection, struct view request)
{
    struct proto_scan scan = proto_scan_begin(request);
    struct proto_field field, entry;
    while (proto_scan_next_of(&scan, REQUEST_DICTIONARY, &field)) {
        struct proto_scan tables = proto_scan_begin(field.bytes);
        while (proto_scan_next(&tables, &entry))
            if (entry.number < 8 && entry.type == WIRE_LEN)
                detection->tables[entry.number]++;
    }
}

/* Marks the attributes that a field refers to. */
static void mark(const struct detection *detection, const struct proto_field *field, uint8_t *marks)
{
    struct proto_numbers numbers = proto_numbers_begin(field);
    uint64_t index;
    while (proto_numbers_next(&numbers, &index))
        if (index < detection->tables[TABLE_ATTRIBUTE])
            marks[index] = 1;
}

static void mark_in(const struct detection *detection, struct view message, uint32_t number,
                    uint8_t *marks)
{
    struct proto_scan scan = proto_scan_begin(message);
    struct proto_field field;
    while (proto_scan_next(&scan, &field))
        if (field.number == number)
            mark(detection, &field, marks);
}

/* Marks the attributes that mappings, locations and profiles refer to. */
static void mark_others(const struct detection *detection, struct view request, uint8_t *marks)
{
    struct proto_scan scan = proto_scan_begin(request);
    struct profiles_walk walk = profiles_walk_begin(request);
    struct proto_field field, entry;
    while (proto_scan_next_of(&scan, REQUEST_DICTIONARY, &field)) {
        struct proto_scan tables = proto_scan_begin(field.bytes);
        while (proto_scan_next(&tables, &entry)) {
            if (entry.number == TABLE_MAPPING && entry.type == WIRE_LEN)
                mark_in(detection, entry.bytes, 5, marks);
            if (entry.number == TABLE_LOCATION && entry.type == WIRE_LEN)
                mark_in(detection, entry.bytes, 4, marks);
        }
    }
    while (profiles_walk_next(&walk, &field)) {
        mark_in(detection, field.bytes, 11, marks);
        mark_in(detection, field.bytes, 12, marks);
    }
}

/* Whether there are attributes that only samples refer to, when read as 1.10. Dictionaries have no
 * unused entries, so this decides when nothing else does. Also false: no room. */
static bool samples_own_attributes(const struct detection *detection, struct view request,
                                   struct arena *arena)
{
    size_t count = detection->tables[TABLE_ATTRIBUTE];
    uint8_t *others = arena_alloc(arena, count), *samples = arena_alloc(arena, count);
    struct profiles_walk walk = profiles_walk_begin(request);
    struct proto_field profile, field;
    bool own = false;
    if (!others || !samples)
        return false;
    mark_others(detection, request, others);
    while (profiles_walk_next(&walk, &profile)) {
        struct proto_scan scan = proto_scan_begin(profile.bytes);
        while (proto_scan_next_of(&scan, PROFILE_SAMPLES, &field))
            mark_in(detection, field.bytes, new_roles.attributes, samples);
    }
    for (size_t i = 1; i < count; i++)
        own |= samples[i] && !others[i];
    return own;
}

static enum profiles_layout profiles_layout_refuse(const char **reason, const char *text)
{
    *reason = text;
    return PROFILES_LAYOUT_NONE;
}

/* Decides between 1.8 and 1.9 for samples in their layout. */
static enum profiles_layout detect_old(const struct detection *detection, const char **reason)
{
    if (!detection->shifted_differs)
        return detection->temporality ? PROFILES_LAYOUT_1_8 : PROFILES_LAYOUT_1_9;
    if (detection->shifted != detection->unshifted)
        return detection->shifted ? PROFILES_LAYOUT_1_8 : PROFILES_LAYOUT_1_9;
    if (!detection->shifted)
        return profiles_layout_refuse(
            reason, "the samples are in the layout of OTLP 1.8 or 1.9, and the profiles "
                    "in that of neither");
    if (detection->temporality)
        return PROFILES_LAYOUT_1_8;
    if (detection->shifted_pairs != detection->unshifted_pairs)
        return detection->shifted_pairs ? PROFILES_LAYOUT_1_8 : PROFILES_LAYOUT_1_9;
    return profiles_layout_refuse(reason,
                                  "the profiles may be in the layout of OTLP 1.8 or of 1.9");
}

/* Decides when no sample does. */
static enum profiles_layout detect_without_samples(const struct detection *detection)
{
    return detection->shifted_differs && detection->shifted && !detection->unshifted
               ? PROFILES_LAYOUT_1_8
               : PROFILES_LAYOUT_1_10;
}

enum profiles_layout profiles_layout(struct view request, struct arena *arena, const char **reason)
{
    struct detection detection = {
        .old = {true, true, true},
        .new = {true, true, true},
        .shifted = true,
        .unshifted = true,
        .shifted_pairs = true,
        .unshifted_pairs = true,
    };
    struct profiles_walk walk = profiles_walk_begin(request);
    struct proto_field profile;
    *reason = NULL;
    count_tables(&detection, request);
    while (profiles_walk_next(&walk, &profile))
        read_profile(&detection, profile.bytes);
    if (!detection.differs)
        return detect_without_samples(&detection);
    bool old = detection.old.possible && detection.old.weighs;
    bool new = detection.new.possible &&detection.new.weighs;
    if (old && new &&detection.old.regular != detection.new.regular)
        old = !(new = detection.new.regular);
    if (old && new &&samples_own_attributes(&detection, request, arena))
        old = false;
    if (old && new)
        return profiles_layout_refuse(reason,
                                      "the samples may be in the layout of OTLP 1.9 or of 1.10");
    if (old)
        return detect_old(&detection, reason);
    if (!new && (detection.new.possible || detection.old.possible))
        return profiles_layout_refuse(reason, "a sample has neither values nor timestamps");
    return PROFILES_LAYOUT_1_10;
}
