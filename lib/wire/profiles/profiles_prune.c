#include "lib/wire/profiles/profiles_prune.h"

#include "lib/wire/profiles/otlp_references.h"
#include "lib/wire/proto/proto_numbers.h"

enum { REQUEST_DICTIONARY = 2 };
enum { RESOURCE = 1, RESOURCE_ATTRIBUTES = 1, SCOPE = 1, SCOPE_ATTRIBUTES = 3 };
enum { PROFILE_SAMPLE_TYPE = 1, PROFILE_SAMPLES = 2, PROFILE_PERIOD_TYPE = 5 };
enum { LOCATION_LINES = 3, ATTRIBUTE_VALUE = 2 };
enum { ANY_ARRAY = 5, ANY_LIST = 6, ANY_STRINDEX = 8, VALUES = 1 };
enum { KEY_VALUE_VALUE = 2, KEY_VALUE_KEY_STRINDEX = 3 };

struct pruning {
    struct otlp_dictionary dictionary;
    bool *used[OTLP_TABLES]; /* per entry */
};

static void mark(struct pruning *pruning, enum otlp_table table, const struct proto_field *field)
{
    struct proto_numbers numbers = proto_numbers_begin(field);
    uint64_t index;
    while (proto_numbers_next(&numbers, &index))
        if (index < pruning->dictionary.of[table].count)
            pruning->used[table][index] = true;
}

/* Marks what a message's own fields refer to. */
static void mark_message(struct pruning *pruning, struct view message,
                         const struct otlp_references *references)
{
    struct proto_scan scan = proto_scan_begin(message);
    struct proto_field field;
    while (proto_scan_next(&scan, &field))
        if (field.number < sizeof references->to && references->to[field.number])
            mark(pruning, (enum otlp_table)(references->to[field.number] - 1), &field);
}

static void mark_any(struct pruning *pruning, struct view any);

static void mark_key_value(struct pruning *pruning, struct view body)
{
    struct proto_scan scan = proto_scan_begin(body);
    struct proto_field field;
    while (proto_scan_next(&scan, &field)) {
        if (field.number == KEY_VALUE_KEY_STRINDEX)
            mark(pruning, OTLP_TABLE_STRING, &field);
        else if (field.number == KEY_VALUE_VALUE)
            mark_any(pruning, field.bytes);
    }
}

/* The depth is bounded: the request was checked. */
static void mark_any(struct pruning *pruning, struct view any)
{
    struct proto_scan scan = proto_scan_begin(any);
    struct proto_field field, value;
    while (proto_scan_next(&scan, &field)) {
        if (field.number == ANY_STRINDEX)
            mark(pruning, OTLP_TABLE_STRING, &field);
        if (field.number != ANY_ARRAY && field.number != ANY_LIST)
            continue;
        struct proto_scan values = proto_scan_begin(field.bytes);
        while (proto_scan_next(&values, &value)) {
            if (value.number == VALUES && field.number == ANY_ARRAY)
                mark_any(pruning, value.bytes);
            else if (value.number == VALUES)
                mark_key_value(pruning, value.bytes);
        }
    }
}

/* Marks the attributes in field `list` of the messages in field 1 of an entry. */
static void mark_attributes(struct pruning *pruning, struct view entry, uint32_t list)
{
    struct proto_scan scan = proto_scan_begin(entry);
    struct proto_field message, field;
    while (proto_scan_next(&scan, &message)) {
        if (message.number != 1)
            continue;
        struct proto_scan inner = proto_scan_begin(message.bytes);
        while (proto_scan_next(&inner, &field))
            if (field.number == list)
                mark_key_value(pruning, field.bytes);
    }
}

static void mark_profile(struct pruning *pruning, struct view profile)
{
    struct proto_scan scan = proto_scan_begin(profile);
    struct proto_field field;
    mark_message(pruning, profile, &otlp_profile_references);
    while (proto_scan_next(&scan, &field)) {
        if (field.number == PROFILE_SAMPLES)
            mark_message(pruning, field.bytes, &otlp_sample_references);
        else if (field.number == PROFILE_SAMPLE_TYPE || field.number == PROFILE_PERIOD_TYPE)
            mark_message(pruning, field.bytes, &otlp_value_type_references);
    }
}

static void mark_profiles(struct pruning *pruning, struct view request)
{
    struct otlp_walk walk;
    otlp_walk_begin(&walk, SIGNAL_PROFILES, request);
    for (enum otlp_step step; (step = otlp_walk_next(&walk)) != OTLP_END;) {
        if (step == OTLP_RESOURCE)
            mark_attributes(pruning, walk.resource_entry.bytes, RESOURCE_ATTRIBUTES);
        else if (step == OTLP_SCOPE)
            mark_attributes(pruning, walk.scope_entry.bytes, SCOPE_ATTRIBUTES);
        else if (step == OTLP_ITEM)
            mark_profile(pruning, walk.item.bytes);
    }
}

/* Marks what the used entries of one table refer to. */
static void mark_table(struct pruning *pruning, enum otlp_table table)
{
    for (size_t i = 0; i < pruning->dictionary.of[table].count; i++) {
        struct view entry = pruning->dictionary.of[table].entries[i];
        struct proto_scan scan = proto_scan_begin(entry);
        struct proto_field field;
        if (!pruning->used[table][i])
            continue;
        mark_message(pruning, entry, &otlp_entry_references[table]);
        while (proto_scan_next(&scan, &field)) {
            if (table == OTLP_TABLE_LOCATION && field.number == LOCATION_LINES)
                mark_message(pruning, field.bytes, &otlp_line_references);
            else if (table == OTLP_TABLE_ATTRIBUTE && field.number == ATTRIBUTE_VALUE)
                mark_any(pruning, field.bytes);
        }
    }
}

static void empty_unused(const struct pruning *pruning, struct view request, struct splice *splice)
{
    static const uint8_t empty[OTLP_TABLES][2] = {{0x0a}, {0x12}, {0x1a}, {0x22},
                                                  {0x2a}, {0x32}, {0x3a}};
    size_t at[OTLP_TABLES] = {0};
    struct proto_scan scan = proto_scan_begin(request);
    struct proto_field field, entry;
    while (proto_scan_next(&scan, &field)) {
        if (field.number != REQUEST_DICTIONARY)
            continue;
        struct proto_scan tables = proto_scan_begin(field.bytes);
        splice_enter(splice, &field);
        while (proto_scan_next(&tables, &entry)) {
            if (entry.number > OTLP_TABLES)
                continue;
            size_t table = entry.number - 1;
            if (!pruning->used[table][at[table]++] && entry.bytes.size)
                splice_replace(splice, entry.start, entry.end, (struct view){empty[table], 2});
        }
        splice_leave(splice);
    }
}

bool profiles_prune(struct view request, struct splice *splice)
{
    /* Each table before those that it refers to. */
    static const enum otlp_table order[] = {OTLP_TABLE_STACK, OTLP_TABLE_LOCATION,
                                            OTLP_TABLE_MAPPING, OTLP_TABLE_FUNCTION,
                                            OTLP_TABLE_ATTRIBUTE};
    struct pruning pruning;
    const char *reason;
    if (!otlp_dictionary_open(&pruning.dictionary, request, splice->arena, &reason))
        return false;
    for (unsigned table = 0; table < OTLP_TABLES; table++) {
        size_t count = pruning.dictionary.of[table].count;
        pruning.used[table] = arena_array(splice->arena, count, sizeof(bool));
        if (!pruning.used[table])
            return false;
    }
    mark_profiles(&pruning, request);
    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        mark_table(&pruning, order[i]);
    empty_unused(&pruning, request, splice);
    return !splice->failed;
}
