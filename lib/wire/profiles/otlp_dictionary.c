/* Reads and checks the dictionary of a profiles request (lib/wire/profiles/otlp_profiles.h). */
#include "lib/wire/profiles/otlp_profiles.h"

#include "lib/wire/profiles/otlp_references.h"

enum { REQUEST_DICTIONARY = 2, PROFILE_SAMPLES = 2, LOCATION_LINES = 3, SAMPLE_LINK = 3 };
enum { SAMPLE_ATTRIBUTES = 2, SAMPLE_VALUES = 4, SAMPLE_TIMESTAMPS = 5 };

static const char *const outside[OTLP_TABLES] = {
    [OTLP_TABLE_MAPPING] = "an index lies outside the mapping table",
    [OTLP_TABLE_LOCATION] = "an index lies outside the location table",
    [OTLP_TABLE_FUNCTION] = "an index lies outside the function table",
    [OTLP_TABLE_LINK] = "an index lies outside the link table",
    [OTLP_TABLE_STRING] = "an index lies outside the string table",
    [OTLP_TABLE_ATTRIBUTE] = "an index lies outside the attribute table",
    [OTLP_TABLE_STACK] = "an index lies outside the stack table",
};

static bool index_exists(const struct otlp_dictionary *dictionary, unsigned table, uint64_t index)
{
    return index == 0 || index < dictionary->of[table].count;
}

/* Checks the indices of one field, packed or not. */
static bool check_field(const struct otlp_dictionary *dictionary, unsigned table,
                        const struct proto_field *field)
{
    const uint8_t *at = field->bytes.data;
    uint64_t index;
    if (field->type != WIRE_LEN)
        return index_exists(dictionary, table, field->value);
    while (at < field->end && (at = proto_varint(at, field->end, &index)))
        if (!index_exists(dictionary, table, index))
            return false;
    return true;
}

/* What is wrong with a message's own indices; NULL: nothing. */
static const char *check_message(const struct otlp_dictionary *dictionary, struct view message,
                                 const struct otlp_references *references)
{
    struct proto_scan scan = proto_scan_begin(message);
    struct proto_field field;
    while (proto_scan_next(&scan, &field)) {
        unsigned to = field.number < sizeof references->to ? references->to[field.number] : 0;
        if (to && !check_field(dictionary, to - 1, &field))
            return outside[to - 1];
    }
    return NULL;
}

/* As check_message, for the messages in a field. */
static const char *check_inner(const struct otlp_dictionary *dictionary, struct view message,
                               uint32_t number, const struct otlp_references *references)
{
    struct proto_scan scan = proto_scan_begin(message);
    struct proto_field field;
    const char *fault = NULL;
    while (!fault && proto_scan_next(&scan, &field))
        if (field.number == number)
            fault = check_message(dictionary, field.bytes, references);
    return fault;
}

static const char *check_tables(const struct otlp_dictionary *dictionary)
{
    const char *fault = NULL;
    for (unsigned table = 0; table < OTLP_TABLES && !fault; table++) {
        if (table == OTLP_TABLE_LINK || table == OTLP_TABLE_STRING)
            continue;
        for (size_t i = 0; i < dictionary->of[table].count && !fault; i++) {
            struct view entry = dictionary->of[table].entries[i];
            fault = check_message(dictionary, entry, &otlp_entry_references[table]);
            if (!fault && table == OTLP_TABLE_LOCATION)
                fault = check_inner(dictionary, entry, LOCATION_LINES, &otlp_line_references);
        }
    }
    return fault;
}

/* Protocol 1.8 and 1.9 had values = 2, attributes = 3, link = 4. A varint in field 4 is their link
 * if the sample packs its lists; otherwise it is a value. */
static bool is_old_layout(struct view sample)
{
    struct proto_scan scan = proto_scan_begin(sample);
    struct proto_field field;
    bool packs = false, lone = false;
    while (proto_scan_next(&scan, &field)) {
        if (field.number == SAMPLE_LINK && field.type == WIRE_LEN)
            return true;
        packs |= field.type == WIRE_LEN && field.number <= SAMPLE_TIMESTAMPS;
        lone |= field.type == WIRE_VARINT && field.number == SAMPLE_VALUES;
    }
    return packs && lone;
}

static const char *check_profile(const struct otlp_dictionary *dictionary, struct view profile)
{
    struct proto_scan scan = proto_scan_begin(profile);
    struct proto_field field;
    const char *fault = check_message(dictionary, profile, &otlp_profile_references);
    while (!fault && proto_scan_next(&scan, &field)) {
        if (field.number == PROFILE_SAMPLES && is_old_layout(field.bytes))
            fault = "the samples are in the layout of OTLP 1.8 or 1.9; 1.10 or newer is needed";
        else if (field.number == PROFILE_SAMPLES)
            fault = check_message(dictionary, field.bytes, &otlp_sample_references);
        else if (field.number == 1 || field.number == 5)
            fault = check_message(dictionary, field.bytes, &otlp_value_type_references);
    }
    return fault;
}

static const char *otlp_dictionary_check_profiles(const struct otlp_dictionary *dictionary,
                                                  struct view request)
{
    struct otlp_walk walk;
    const char *fault = NULL;
    otlp_walk_begin(&walk, SIGNAL_PROFILES, request);
    for (enum otlp_step step; !fault && (step = otlp_walk_next(&walk)) != OTLP_END;)
        if (step == OTLP_ITEM)
            fault = check_profile(dictionary, walk.item.bytes);
    return fault;
}

/* Collects the entries of all tables; protobuf merges several dictionaries of a request into one.
 * Only counts them if no entries are allocated. */
static void each_entry(struct otlp_dictionary *dictionary, struct view request, bool keep)
{
    struct proto_scan scan = proto_scan_begin(request);
    struct proto_field field, entry;
    while (proto_scan_next(&scan, &field)) {
        if (field.number != REQUEST_DICTIONARY)
            continue;
        struct proto_scan tables = proto_scan_begin(field.bytes);
        while (proto_scan_next(&tables, &entry)) {
            if (entry.number > OTLP_TABLES)
                continue;
            size_t at = dictionary->of[entry.number - 1].count++;
            if (keep)
                dictionary->of[entry.number - 1].entries[at] = entry.bytes;
        }
    }
}

/* Records which attributes are span ids. */
static bool find_span_ids(struct otlp_dictionary *dictionary, struct arena *arena)
{
    size_t count = dictionary->of[OTLP_TABLE_ATTRIBUTE].count;
    dictionary->span_ids = arena_array(arena, count, sizeof *dictionary->span_ids);
    if (!dictionary->span_ids)
        return false;
    for (size_t i = 0; i < count; i++) {
        struct view entry = dictionary->of[OTLP_TABLE_ATTRIBUTE].entries[i], key;
        key = otlp_dictionary_string(dictionary, entry, 1);
        if (view_eq(key, VIEW("span_id")) || view_eq(key, VIEW("profile_id")))
            dictionary->span_ids[i] = otlp_dictionary_value(dictionary, entry);
    }
    return true;
}

const char otlp_profiles_too_large[] = "too large";

bool otlp_dictionary_open(struct otlp_dictionary *dictionary, struct view request,
                          struct arena *arena, const char **reason)
{
    *dictionary = (struct otlp_dictionary){0};
    each_entry(dictionary, request, false);
    *reason = otlp_profiles_too_large;
    for (unsigned table = 0; table < OTLP_TABLES; table++) {
        size_t count = dictionary->of[table].count;
        dictionary->of[table].entries = arena_array(arena, count, sizeof(struct view));
        dictionary->of[table].count = 0;
        if (!dictionary->of[table].entries)
            return false;
    }
    each_entry(dictionary, request, true);
    if (!find_span_ids(dictionary, arena))
        return false;
    *reason = check_tables(dictionary);
    if (!*reason)
        *reason = otlp_dictionary_check_profiles(dictionary, request);
    return !*reason;
}
