/* Checks and indexes a profile (lib/wire/pprof/pprof.h). */
#include "lib/wire/pprof/pprof.h"

#include "lib/base/utf8.h"
#include "lib/wire/pprof/pprof_cursor.h"
#include "lib/wire/pprof/pprof_fields.h"

/* Checks shape_pprof and all indices in one pass: two passes would take longer than inflating the
 * profile. */
struct opening {
    struct pprof *pprof;
    struct proto_fault *fault;
    size_t strings, types; /* seen so far */
    uint64_t type[PPROF_MAX_TYPES + 1]
                 [2]; /* string indices; the period's type is after the sample types */
    bool malformed;   /* not a message: proto_check finds out where */
    bool has_group;   /* proto_check finds out whether it nests too deep */
};

/* The rules for a message: the legal wire types of each field (0: unknown, any), and which fields
 * are string indices. */
struct rules {
    const char *name;
    uint8_t accepts[16];
    unsigned strings;
};

enum { V = 1u << WIRE_VARINT, L = 1u << WIRE_LEN, GROUP = 1u << WIRE_START_GROUP };

static const struct rules profile_rules = {
    "Profile", {0, L, L, L, L, L, L, V, V, V, V, L, V, V | L, V, V}, PROFILE_STRINGS};
static const struct rules value_type_rules = {"ValueType", {0, V, V}, VALUE_TYPE_STRINGS};
static const struct rules sample_rules = {"Sample", {0, V | L, V | L, L}, 0};
static const struct rules label_rules = {"Label", {0, V, V, V, V}, LABEL_STRINGS};
static const struct rules mapping_rules = {
    "Mapping", {0, V, V, V, V, V, V, V, V, V, V}, MAPPING_STRINGS};
static const struct rules location_rules = {"Location", {0, V, V, V, L, V}, 0};
static const struct rules line_rules = {"Line", {0, V, V, V}, 0};
static const struct rules function_rules = {"Function", {0, V, V, V, V, V}, FUNCTION_STRINGS};

static bool pprof_open_refuse(const struct opening *opening, const char *message,
                              const struct proto_field *field, const char *reason)
{
    *opening->fault = (struct proto_fault){
        .message = message,
        .field = field ? field->number : 0,
        .reason = reason,
        .offset = field ? (size_t)(field->start - opening->pprof->raw.data) : 0,
    };
    return false;
}

static bool malformed(struct opening *opening)
{
    opening->malformed = true;
    return false;
}

/* Reads the next field of a message and checks its wire type. False: the end, or malformed. */
static inline bool pprof_open_next(struct opening *opening, const struct rules *rules,
                                   struct proto_scan *scan, struct proto_field *field)
{
    if (!pprof_next(scan, field))
        return scan->bad && malformed(opening);
    unsigned type = 1u << field->type;
    unsigned accepts = field->number < 16 ? rules->accepts[field->number] : 0;
    opening->has_group |= type == GROUP;
    return !accepts || (accepts & type) || malformed(opening);
}

static inline bool is_string(const struct rules *rules, const struct proto_field *field)
{
    return field->number < 16 && (rules->strings & BIT(field->number));
}

static bool check_index(const struct opening *opening, const struct rules *rules,
                        const struct proto_field *field, uint64_t index)
{
    return index < opening->pprof->string_count ||
           pprof_open_refuse(opening, rules->name, field,
                             "a string index outside the string table");
}

/* Checks a message that has only numbers. */
static inline bool check_numbers(struct opening *opening, const struct rules *rules,
                                 struct view message)
{
    struct proto_scan scan = proto_scan_begin(message);
    struct proto_field field;
    while (pprof_open_next(opening, rules, &scan, &field))
        if (is_string(rules, &field) && !check_index(opening, rules, &field, field.value))
            return false;
    return !opening->malformed;
}

/* Counts the numbers of a repeated field, packed or not. */
static inline size_t count_numbers(struct opening *opening, const struct proto_field *field)
{
    size_t count = field->type == WIRE_LEN ? pprof_count_packed(field->bytes) : 1;
    opening->malformed |= count == SIZE_MAX;
    return count;
}

/* Fast check of a sample with packed numbers and plain labels; false: needs the full check. */
static bool plain_sample(const struct pprof *pprof, struct view sample)
{
    const uint8_t *at = sample.data, *end = at + sample.size, *behind;
    size_t values = 0, count;
    uint64_t key, str;
    for (; at < end; at = behind) {
        uint8_t tag = *at;
        at = plain_content(at + 1, end, &behind);
        if (!at)
            return false;
        switch (tag) {
        case PLAIN_TAG(SAMPLE_LOCATION_ID, WIRE_LEN):
        case PLAIN_TAG(SAMPLE_VALUE, WIRE_LEN):
            count = pprof_count_packed(view_between(at, behind));
            if (count == SIZE_MAX)
                return false;
            values += tag == PLAIN_TAG(SAMPLE_VALUE, WIRE_LEN) ? count : 0;
            break;
        case PLAIN_TAG(SAMPLE_LABEL, WIRE_LEN):
            if (!pprof_plain_label(at, behind, &key, &str) || key >= pprof->string_count ||
                str >= pprof->string_count)
                return false;
            break;
        default:
            return false;
        }
    }
    return values == pprof->type_count;
}

static bool check_sample(struct opening *opening, const struct proto_field *sample)
{
    if (plain_sample(opening->pprof, sample->bytes))
        return true;
    struct proto_scan scan = proto_scan_begin(sample->bytes);
    struct proto_field field;
    size_t values = 0;
    while (pprof_open_next(opening, &sample_rules, &scan, &field)) {
        if (field.number == SAMPLE_LABEL) {
            if (!check_numbers(opening, &label_rules, field.bytes))
                return false;
        } else if (field.number <= SAMPLE_VALUE) {
            size_t count = count_numbers(opening, &field);
            if (opening->malformed)
                return false;
            values += field.number == SAMPLE_VALUE ? count : 0;
        }
    }
    return !opening->malformed &&
           (values == opening->pprof->type_count ||
            pprof_open_refuse(opening, "Sample", sample,
                              "not as many values as there are sample types"));
}

/* Checks a Location or Function, which must have an id. */
static bool check_entry(struct opening *opening, const struct rules *rules,
                        const struct proto_field *entry)
{
    struct proto_scan scan = proto_scan_begin(entry->bytes);
    struct proto_field field;
    uint64_t id = 0;
    while (pprof_open_next(opening, rules, &scan, &field)) {
        if (field.number == TABLE_ID)
            id = field.value;
        else if (is_string(rules, &field) && !check_index(opening, rules, &field, field.value))
            return false;
        else if (rules == &location_rules && field.number == LOCATION_LINE &&
                 !check_numbers(opening, &line_rules, field.bytes))
            return false;
    }
    return !opening->malformed &&
           (id != 0 || pprof_open_refuse(opening, rules->name, entry, "the id is 0"));
}

/* Reads a ValueType over an earlier occurrence, as protobuf merges a singular field. */
static bool pprof_open_read_type(struct opening *opening, struct view message, uint64_t type[2])
{
    struct proto_scan scan = proto_scan_begin(message);
    struct proto_field field;
    while (pprof_open_next(opening, &value_type_rules, &scan, &field)) {
        if (!is_string(&value_type_rules, &field))
            continue;
        if (!check_index(opening, &value_type_rules, &field, field.value))
            return false;
        type[field.number - 1] = field.value;
    }
    return !opening->malformed;
}

static enum pprof_key pprof_open_key_of(struct view text)
{
    switch (text.size) {
    case 4:
        return view_eq(text, VIEW("span")) ? PPROF_KEY_SPAN : PPROF_KEY_OTHER;
    case 7:
        return view_eq(text, VIEW("span_id")) ? PPROF_KEY_SPAN_ID : PPROF_KEY_OTHER;
    case 8:
        return view_eq(text, VIEW("trace_id")) ? PPROF_KEY_TRACE_ID : PPROF_KEY_OTHER;
    case 9:
        return view_eq(text, VIEW("span_name")) ? PPROF_KEY_SPAN_NAME : PPROF_KEY_OTHER;
    case 10:
        return view_eq(text, VIEW("profile_id")) ? PPROF_KEY_PROFILE_ID : PPROF_KEY_OTHER;
    default:
        return PPROF_KEY_OTHER;
    }
}

const char pprof_too_large[] = "too large";

static struct view add_string(struct opening *opening, const struct proto_field *field)
{
    struct pprof *pprof = opening->pprof;
    size_t at = opening->strings++;
    enum pprof_key key = pprof_open_key_of(field->bytes);
    pprof->strings[at] = (uint32_t)(field->start - pprof->raw.data);
    pprof->keys[at] = (uint8_t)key;
    pprof->keys_seen |= 1u << key;
    return field->bytes;
}

static bool pprof_open_read_string(struct opening *opening, const struct proto_field *field)
{
    bool first = opening->strings == 0;
    struct view text = add_string(opening, field);
    if (first && text.size)
        return pprof_open_refuse(opening, "Profile", field, "the first string is not \"\"");
    return utf8_valid(text) ||
           pprof_open_refuse(opening, "Profile", field, "a string is not valid UTF-8");
}

/* Checks a top-level string index, or a packed list of them. */
static bool check_top_strings(struct opening *opening, const struct proto_field *field)
{
    const uint8_t *at = field->bytes.data;
    uint64_t index;
    if (field->type == WIRE_VARINT)
        return check_index(opening, &profile_rules, field, field->value);
    while (at < field->end) {
        at = pprof_varint(at, field->end, &index);
        if (!at)
            return malformed(opening);
        if (!check_index(opening, &profile_rules, field, index))
            return false;
    }
    return true;
}

static void pprof_open_read_number(struct pprof *pprof, const struct proto_field *field)
{
    if (field->number == PROFILE_TIME_NANOS)
        pprof->time_nanos = (int64_t)field->value;
    else if (field->number == PROFILE_DURATION_NANOS)
        pprof->duration_nanos = (int64_t)field->value;
    else if (field->number == PROFILE_PERIOD)
        pprof->period = (int64_t)field->value;
}

static bool pprof_open_read_field(struct opening *opening, const struct proto_field *field)
{
    struct pprof *pprof = opening->pprof;
    switch (field->number) {
    case PROFILE_SAMPLE_TYPE:
        return pprof_open_read_type(opening, field->bytes, opening->type[opening->types++]);
    case PROFILE_SAMPLE:
        return check_sample(opening, field);
    case PROFILE_MAPPING:
        return check_numbers(opening, &mapping_rules, field->bytes);
    case PROFILE_LOCATION:
        return check_entry(opening, &location_rules, field);
    case PROFILE_FUNCTION:
        return check_entry(opening, &function_rules, field);
    case PROFILE_STRING_TABLE:
        return pprof_open_read_string(opening, field);
    case PROFILE_PERIOD_TYPE:
        return pprof_open_read_type(opening, field->bytes, opening->type[PPROF_MAX_TYPES]);
    default:
        pprof_open_read_number(pprof, field);
        return !is_string(&profile_rules, field) || check_top_strings(opening, field);
    }
}

/* Records a field of the profile: its count and the run of fields with its number. */
static inline void pprof_open_note(struct pprof *pprof, uint32_t *last, uint32_t number,
                                   const uint8_t *start, const uint8_t *end)
{
    struct pprof_fields *fields = &pprof->fields[number < 16 ? number : 0];
    fields->count++;
    if (number != *last) {
        fields->runs++;
        fields->from = fields->from ? fields->from : start;
        *last = number;
    }
    fields->to = end;
}

/* Records the fields with short tag and length, which most are. */
static void note_plain(struct pprof *pprof, uint32_t *last, struct proto_scan *scan)
{
    /* The fields below 16 of wire type LEN. */
    const unsigned takes = BIT(1) | BIT(2) | BIT(3) | BIT(4) | BIT(5) | BIT(6) | BIT(11) | BIT(13);
    const uint8_t *at = scan->at, *end = scan->end, *behind;
    while (at < end && (*at & 0x87) == WIRE_LEN && (takes >> (*at >> 3) & 1) &&
           plain_content(at + 1, end, &behind)) {
        pprof_open_note(pprof, last, *at >> 3, at, behind);
        at = behind;
    }
    scan->at = at;
}

/* Counts the tables' entries and allocates the tables. */
static bool pprof_open_prepare(struct opening *opening, struct arena *arena)
{
    struct pprof *pprof = opening->pprof;
    struct proto_scan scan = proto_scan_begin(pprof->raw);
    struct proto_field field;
    uint32_t last = 0;
    note_plain(pprof, &last, &scan);
    while (pprof_open_next(opening, &profile_rules, &scan, &field)) {
        pprof_open_note(pprof, &last, field.number, field.start, field.end);
        note_plain(pprof, &last, &scan);
    }
    pprof->string_count = pprof->fields[PROFILE_STRING_TABLE].count;
    pprof->type_count = pprof->fields[PROFILE_SAMPLE_TYPE].count;
    pprof->sample_count = pprof->fields[PROFILE_SAMPLE].count;
    if (opening->malformed)
        return false;
    if (pprof->type_count == 0)
        return pprof_open_refuse(opening, "Profile", NULL, "no sample type");
    if (pprof->type_count > PPROF_MAX_TYPES)
        return pprof_open_refuse(opening, "Profile", NULL, "too many sample types");
    if (pprof->string_count == 0)
        return pprof_open_refuse(opening, "Profile", NULL, "the first string is not \"\"");
    /* What can never fit must not look like a lack of memory for now. */
    size_t most = (arena->cap - arena->used) / (sizeof *pprof->strings + 1);
    if (pprof->raw.size > UINT32_MAX || pprof->string_count > most)
        return pprof_open_refuse(opening, "Profile", NULL, pprof_too_large);
    pprof->strings = arena_array_raw(arena, pprof->string_count, sizeof *pprof->strings);
    pprof->keys = arena_alloc(arena, pprof->string_count);
    return (pprof->strings && pprof->keys) ||
           pprof_open_refuse(opening, "Profile", NULL, pprof_too_large);
}

static struct pprof_type named(const struct pprof *pprof, const uint64_t type[2])
{
    return (struct pprof_type){pprof_string_at(pprof, type[0]), pprof_string_at(pprof, type[1])};
}

static void name_types(struct opening *opening)
{
    struct pprof *pprof = opening->pprof;
    for (size_t i = 0; i < pprof->type_count; i++)
        pprof->types[i] = named(pprof, opening->type[i]);
    pprof->period_type = named(pprof, opening->type[PPROF_MAX_TYPES]);
}

bool pprof_open(struct pprof *pprof, struct view raw, struct arena *arena,
                struct proto_fault *fault)
{
    struct opening opening = {.pprof = pprof, .fault = fault};
    struct proto_scan scan = proto_scan_begin(raw);
    struct proto_field field;
    *pprof = (struct pprof){.raw = raw};
    bool good = pprof_open_prepare(&opening, arena);
    while (good && pprof_open_next(&opening, &profile_rules, &scan, &field))
        good = pprof_open_read_field(&opening, &field);
    if ((opening.malformed || opening.has_group) && !proto_check(&shape_pprof, raw, fault))
        return false;
    if (good)
        name_types(&opening);
    return good;
}

bool pprof_reopen(struct pprof *pprof, struct view raw, struct arena *arena)
{
    struct proto_fault fault;
    struct opening opening = {.pprof = pprof, .fault = &fault};
    struct proto_scan scan = proto_scan_begin(raw);
    struct proto_field field;
    *pprof = (struct pprof){.raw = raw};
    if (!pprof_open_prepare(&opening, arena))
        return false;
    while (pprof_next_but_samples(pprof, &scan, &field)) {
        if (field.number == PROFILE_STRING_TABLE)
            add_string(&opening, &field);
        else if (field.number == PROFILE_SAMPLE_TYPE)
            pprof_open_read_type(&opening, field.bytes, opening.type[opening.types++]);
        else if (field.number == PROFILE_PERIOD_TYPE)
            pprof_open_read_type(&opening, field.bytes, opening.type[PPROF_MAX_TYPES]);
        else
            pprof_open_read_number(pprof, &field);
    }
    name_types(&opening);
    return true;
}
