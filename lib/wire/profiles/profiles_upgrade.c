#include "lib/wire/profiles/profiles_upgrade.h"

#include "lib/wire/profiles/profiles_layout.h"
#include "lib/wire/proto/proto_numbers.h"
#include "lib/wire/proto/proto_write.h"
#include "lib/wire/proto/splice.h"

enum { REQUEST_RESOURCES = 1, REQUEST_DICTIONARY = 2, RESOURCE_SCOPES = 2, SCOPE_PROFILES = 2 };
enum { DICTIONARY_STRINGS = 5, DICTIONARY_ATTRIBUTES = 6 };
enum { PROFILE_SAMPLE_TYPE = 1, PROFILE_SAMPLES = 2, PROFILE_PERIOD_TYPE = 5 };
enum { OLD_COMMENTS = 7, OLD_ATTRIBUTES = 12, VALUE_TYPE_TEMPORALITY = 3 };
enum { ATTRIBUTE_KEY = 1, ATTRIBUTE_VALUE = 2, ANY_STRING = 1, ANY_ARRAY = 5, ARRAY_VALUES = 1 };

/* Fields of 1.8 that later versions have elsewhere. */
struct moving {
    struct view request;
    struct view *strings;
    size_t string_count, attribute_count;
    struct proto_write additions; /* additions to the dictionary: comments as attributes */
    size_t first;                 /* index of the first addition */
    size_t added;                 /* profiles with comments so far */
    struct splice splice;
};

/* The new number of each field that moved; 0: unchanged. */
static const uint8_t sample_moves[8] = {[2] = 4, [3] = 2, [4] = 3};
static const uint8_t profile_moves[16] = {[8] = 7, [9] = 8, [10] = 9, [11] = 10, [12] = 11};

/* Numbers below 16 are in the first byte of the tag, however long it is. */
static void renumber(uint8_t *tag, uint8_t number)
{
    *tag = (uint8_t)((*tag & 0x87) | number << 3);
}

/* message is inside out. */
static void move_fields(struct bytes *out, struct view message, const uint8_t *moves,
                        uint32_t count)
{
    struct proto_scan scan = proto_scan_begin(message);
    struct proto_field field;
    while (proto_scan_next(&scan, &field))
        if (field.number < count && moves[field.number])
            renumber(out->data + (field.start - out->data), moves[field.number]);
}

/* Renumbers in place. The scan is past a field when the tags inside it change. */
static void renumber_all(struct bytes *out, bool shifted)
{
    struct profiles_walk walk = profiles_walk_begin(bytes_view(out));
    struct proto_field profile, sample;
    while (profiles_walk_next(&walk, &profile)) {
        struct proto_scan scan = proto_scan_begin(profile.bytes);
        while (proto_scan_next_of(&scan, PROFILE_SAMPLES, &sample))
            move_fields(out, sample.bytes, sample_moves, sizeof sample_moves);
        if (shifted)
            move_fields(out, profile.bytes, profile_moves, sizeof profile_moves);
    }
}

static void count_dictionary(struct moving *moving)
{
    struct proto_scan scan = proto_scan_begin(moving->request);
    struct proto_field field, entry;
    while (proto_scan_next_of(&scan, REQUEST_DICTIONARY, &field)) {
        struct proto_scan tables = proto_scan_begin(field.bytes);
        while (proto_scan_next(&tables, &entry)) {
            if (moving->strings && entry.number == DICTIONARY_STRINGS)
                moving->strings[moving->string_count] = entry.bytes;
            moving->string_count += entry.number == DICTIONARY_STRINGS;
            moving->attribute_count += entry.number == DICTIONARY_ATTRIBUTES;
        }
    }
}

static bool read_dictionary(struct moving *moving, struct arena *arena)
{
    count_dictionary(moving);
    moving->strings = arena_array(arena, moving->string_count, sizeof *moving->strings);
    moving->string_count = moving->attribute_count = 0;
    if (moving->strings)
        count_dictionary(moving);
    /* Index 0 means none: an empty table gets that entry first. */
    moving->first = moving->attribute_count ? moving->attribute_count : 1;
    return moving->strings;
}

static bool has_comments(struct view profile)
{
    struct proto_scan scan = proto_scan_begin(profile);
    struct proto_field field;
    while (proto_scan_next(&scan, &field))
        if (field.number == OLD_COMMENTS && (field.type == WIRE_VARINT || field.bytes.size))
            return true;
    return false;
}

static void write_comment(struct moving *moving, uint64_t index)
{
    struct view text = index < moving->string_count ? moving->strings[index] : VIEW("");
    size_t value = proto_write_open(&moving->additions, ARRAY_VALUES);
    proto_write_bytes(&moving->additions, ANY_STRING, text);
    proto_write_close(&moving->additions, value);
}

static void write_comments(struct moving *moving, struct view profile)
{
    struct proto_scan scan = proto_scan_begin(profile);
    struct proto_field field;
    uint64_t index;
    while (proto_scan_next(&scan, &field)) {
        struct proto_numbers numbers = proto_numbers_begin(&field);
        while (field.number == OLD_COMMENTS && proto_numbers_next(&numbers, &index))
            write_comment(moving, index);
    }
}

/* Adds an attribute for each profile with comments, and their key. */
static void write_additions(struct moving *moving)
{
    struct profiles_walk walk = profiles_walk_begin(moving->request);
    struct proto_write *write = &moving->additions;
    struct proto_field profile;
    bool any = false;
    while (profiles_walk_next(&walk, &profile)) {
        if (!has_comments(profile.bytes))
            continue;
        if (!any && !moving->attribute_count)
            proto_write_bytes(write, DICTIONARY_ATTRIBUTES, VIEW(""));
        any = true;
        size_t attribute = proto_write_open(write, DICTIONARY_ATTRIBUTES);
        proto_write_varint(write, ATTRIBUTE_KEY, moving->string_count);
        size_t value = proto_write_open(write, ATTRIBUTE_VALUE);
        size_t array = proto_write_open(write, ANY_ARRAY);
        write_comments(moving, profile.bytes);
        proto_write_close(write, array);
        proto_write_close(write, value);
        proto_write_close(write, attribute);
    }
    if (any)
        proto_write_bytes(write, DICTIONARY_STRINGS, VIEW("pprof.profile.comment"));
}

static void drop_temporality(struct moving *moving, const struct proto_field *value_type)
{
    struct proto_scan scan = proto_scan_begin(value_type->bytes);
    struct proto_field field;
    splice_enter(&moving->splice, value_type);
    while (proto_scan_next(&scan, &field))
        if (field.number == VALUE_TYPE_TEMPORALITY && field.type == WIRE_VARINT)
            splice_delete(&moving->splice, field.start, field.end);
    splice_leave(&moving->splice);
}

/* Adds a reference to the profile's new attribute, still in 1.8's numbering. */
static void name_addition(struct moving *moving, const struct proto_field *profile)
{
    uint8_t *text = arena_alloc(moving->splice.arena, 20);
    if (!text) {
        moving->splice.failed = true;
        return;
    }
    uint8_t *end = proto_varint_put(text, proto_tag(OLD_ATTRIBUTES, WIRE_VARINT));
    end = proto_varint_put(end, moving->first + moving->added++);
    splice_insert(&moving->splice, profile->end, view_between(text, end));
}

static void edit_profile(struct moving *moving, const struct proto_field *profile)
{
    struct proto_scan scan = proto_scan_begin(profile->bytes);
    struct proto_field field;
    bool comments = has_comments(profile->bytes);
    splice_enter(&moving->splice, profile);
    while (proto_scan_next(&scan, &field)) {
        bool value_type =
            field.number == PROFILE_SAMPLE_TYPE || field.number == PROFILE_PERIOD_TYPE;
        if (value_type && field.type == WIRE_LEN)
            drop_temporality(moving, &field);
        else if (field.number == OLD_COMMENTS)
            splice_delete(&moving->splice, field.start, field.end);
    }
    if (comments)
        name_addition(moving, profile);
    splice_leave(&moving->splice);
}

static void edit_resource(struct moving *moving, const struct proto_field *resource)
{
    struct proto_scan scopes = proto_scan_begin(resource->bytes);
    struct proto_field scope, profile;
    splice_enter(&moving->splice, resource);
    while (proto_scan_next_of(&scopes, RESOURCE_SCOPES, &scope)) {
        struct proto_scan profiles = proto_scan_begin(scope.bytes);
        splice_enter(&moving->splice, &scope);
        while (proto_scan_next_of(&profiles, SCOPE_PROFILES, &profile))
            edit_profile(moving, &profile);
        splice_leave(&moving->splice);
    }
    splice_leave(&moving->splice);
}

/* Additions go after the last table of the dictionary, wherever it is. */
static void edit_request(struct moving *moving, struct view additions)
{
    struct proto_scan scan = proto_scan_begin(moving->request);
    struct proto_field field, last = {0};
    while (proto_scan_next_of(&scan, REQUEST_DICTIONARY, &field))
        last = field;
    scan = proto_scan_begin(moving->request);
    while (proto_scan_next(&scan, &field)) {
        if (field.type != WIRE_LEN)
            continue;
        if (field.number == REQUEST_RESOURCES)
            edit_resource(moving, &field);
        if (field.start != last.start || additions.size == 0)
            continue;
        splice_enter(&moving->splice, &field);
        splice_insert(&moving->splice, field.end, additions);
        splice_leave(&moving->splice);
    }
}

static const char *write_spliced(const struct splice *splice, struct bytes *out)
{
    if (splice->failed)
        return "too large";
    struct proto_write write = {out, bytes_reserve(out, splice_size(splice))};
    if (write.result == BYTES_OK) {
        splice_write(splice, out->data);
        out->size = splice_size(splice);
    }
    return proto_write_fault(&write);
}

/* Copies a request of 1.8 without what only 1.8 has. NULL: success; else why not. */
static const char *copy_1_8(struct view request, struct arena *arena, struct bytes *out)
{
    struct bytes additions;
    struct moving moving = {.request = request};
    bytes_init(&additions, out->max, out->budget);
    moving.additions = proto_write_begin(&additions);
    if (!read_dictionary(&moving, arena))
        return "too large";
    write_additions(&moving);
    const char *fault = proto_write_fault(&moving.additions);
    splice_begin(&moving.splice, request, arena);
    if (!fault) {
        edit_request(&moving, bytes_view(&additions));
        fault = write_spliced(&moving.splice, out);
    }
    bytes_release(&additions);
    return fault;
}

enum profiles_upgrade profiles_upgrade(struct view request, struct arena *arena, struct bytes *out,
                                       const char **reason)
{
    enum profiles_layout layout = profiles_layout(request, arena, reason);
    if (layout == PROFILES_LAYOUT_NONE)
        return PROFILES_REFUSED;
    if (layout == PROFILES_LAYOUT_1_10)
        return PROFILES_CURRENT;
    if (layout == PROFILES_LAYOUT_1_8) {
        *reason = copy_1_8(request, arena, out);
    } else {
        struct proto_write write = proto_write_begin(out);
        proto_write_raw(&write, request);
        *reason = proto_write_fault(&write);
    }
    if (*reason)
        return PROFILES_REFUSED;
    renumber_all(out, layout == PROFILES_LAYOUT_1_8);
    return PROFILES_UPGRADED;
}
