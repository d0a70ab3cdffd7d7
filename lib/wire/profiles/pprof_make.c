#include "lib/wire/profiles/pprof_make.h"

#include "lib/base/utf8.h"
#include "lib/wire/pprof/pprof_fields.h"
#include "lib/wire/proto/proto_numbers.h"

enum { OTLP_STACK_LOCATIONS = 1, OTLP_SAMPLE_ATTRIBUTES = 2 };
enum {
    OTLP_LOCATION_MAPPING = 1,
    OTLP_LOCATION_ADDRESS,
    OTLP_LOCATION_LINES,
    OTLP_LOCATION_ATTRIBUTES
};
enum { OTLP_LINE_FUNCTION = 1, OTLP_LINE_LINE, OTLP_LINE_COLUMN };
enum { OTLP_FUNCTION_NAME = 1, OTLP_FUNCTION_FILENAME = 3, OTLP_FUNCTION_START = 4 };
enum { OTLP_MAPPING_FILENAME = 4, OTLP_MAPPING_ATTRIBUTES = 5 };
enum { MAPPING_FILENAME = 5, MAPPING_BUILD_ID = 6, MAPPING_HAS_FUNCTIONS = 7 };
enum { LOCATION_ADDRESS = 3, LOCATION_IS_FOLDED = 5, LINE_LINE = 2, LINE_COLUMN = 3 };
enum { FUNCTION_NAME = 2, FUNCTION_START_LINE = 5 };

static struct view pprof_make_entry_of(const struct pprof_make *make, enum otlp_table table,
                                       uint64_t index)
{
    const struct otlp_dictionary *dictionary = make->dictionary;
    return index < dictionary->of[table].count ? dictionary->of[table].entries[index] : VIEW("");
}

/* Makes room for one more element in a list; old arrays stay in the arena. */
static bool pprof_make_room(struct pprof_make *make, void **list, size_t *has, size_t count,
                            size_t size)
{
    if (count < *has)
        return true;
    size_t more = *has ? 2 * *has : 32;
    void *larger = arena_array(make->arena, more, size);
    make->failed |= !larger;
    if (!larger)
        return false;
    if (count)
        memcpy(larger, *list, count * size);
    *list = larger;
    *has = more;
    return true;
}

/* Assigns an entry its id in the current pprof. False: no room, nothing assigned. */
static bool pprof_make_give(struct pprof_make *make, uint32_t *slot, uint32_t id)
{
    void *list = make->touched;
    if (!pprof_make_room(make, &list, &make->touched_room, make->touched_count,
                         sizeof *make->touched))
        return false;
    make->touched = list;
    make->touched[make->touched_count++] = slot;
    *slot = id;
    return true;
}

uint32_t pprof_make_text(struct pprof_make *make, uint32_t *id, struct view text)
{
    void *list = make->texts;
    if (text.size == 0 || (id && *id))
        return id && text.size ? *id : 0;
    if (!pprof_make_room(make, &list, &make->text_room, make->text_count, sizeof *make->texts))
        return 0;
    make->texts = list;
    uint32_t index = (uint32_t)make->text_count + 1;
    if (id && !pprof_make_give(make, id, index))
        return 0;
    make->texts[make->text_count++] = text;
    return index;
}

/* As pprof_make_text, for a string of the dictionary. */
static uint32_t pprof_make_string(struct pprof_make *make, uint64_t index)
{
    if (index >= make->dictionary->of[OTLP_TABLE_STRING].count)
        return 0;
    return pprof_make_text(make, &make->strings[index],
                           pprof_make_entry_of(make, OTLP_TABLE_STRING, index));
}

bool pprof_make_open(struct pprof_make *make, const struct profiles_attributes *attributes,
                     struct arena *arena)
{
    const struct otlp_dictionary *dictionary = attributes->dictionary;
    *make = (struct pprof_make){.attributes = attributes, .dictionary = dictionary, .arena = arena};
    const struct {
        uint32_t **slots;
        enum otlp_table table;
    } lists[] = {{&make->strings, OTLP_TABLE_STRING},     {&make->values, OTLP_TABLE_ATTRIBUTE},
                 {&make->spans, OTLP_TABLE_LINK},         {&make->traces, OTLP_TABLE_LINK},
                 {&make->functions, OTLP_TABLE_FUNCTION}, {&make->locations, OTLP_TABLE_LOCATION},
                 {&make->mappings, OTLP_TABLE_MAPPING}};
    bool good = true;
    for (size_t i = 0; good && i < sizeof lists / sizeof *lists; i++) {
        *lists[i].slots =
            arena_array(arena, dictionary->of[lists[i].table].count + 1, sizeof(uint32_t));
        good = *lists[i].slots;
    }
    return good && profiles_links_open(&make->links, dictionary, arena);
}

void pprof_make_begin(struct pprof_make *make, struct bytes *out)
{
    for (size_t i = 0; i < make->touched_count; i++)
        *make->touched[i] = 0;
    make->touched_count = make->text_count = make->mapping_count = 0;
    make->function_count = make->location_count = 0;
    make->write = proto_write_begin(out);
}

/* Returns a function's id, writing the Function at its first use; 0: none. */
static uint32_t function_id(struct pprof_make *make, uint64_t index)
{
    if (index == 0 || index >= make->dictionary->of[OTLP_TABLE_FUNCTION].count)
        return 0;
    if (make->functions[index])
        return make->functions[index];
    struct view function = pprof_make_entry_of(make, OTLP_TABLE_FUNCTION, index);
    if (!pprof_make_give(make, &make->functions[index], make->function_count + 1))
        return 0;
    make->function_count++;
    size_t opened = proto_write_open(&make->write, PROFILE_FUNCTION);
    proto_write_varint(&make->write, TABLE_ID, make->function_count);
    /* The field numbers of name, system name and file name are one higher in pprof. */
    for (uint32_t field = OTLP_FUNCTION_NAME; field <= OTLP_FUNCTION_FILENAME; field++)
        proto_write_number(&make->write, field + FUNCTION_NAME - OTLP_FUNCTION_NAME,
                           pprof_make_string(make, proto_find_number(function, field)));
    proto_write_number(&make->write, FUNCTION_START_LINE,
                       proto_find_number(function, OTLP_FUNCTION_START));
    proto_write_close(&make->write, opened);
    return make->function_count;
}

/* The id of the Mapping that a location of the dictionary belongs to; 0: none. */
static uint32_t mapping_id(struct pprof_make *make, uint64_t index)
{
    void *list = make->made_mappings;
    if (index == 0 || index >= make->dictionary->of[OTLP_TABLE_MAPPING].count)
        return 0;
    if (make->mappings[index])
        return make->mappings[index];
    if (!pprof_make_room(make, &list, &make->mapping_room, make->mapping_count,
                         sizeof *make->made_mappings))
        return 0;
    make->made_mappings = list;
    if (!pprof_make_give(make, &make->mappings[index], (uint32_t)make->mapping_count + 1))
        return 0;
    make->made_mappings[make->mapping_count++] =
        (struct pprof_mapping){(uint32_t)index, true, true, true, true, false};
    return (uint32_t)make->mapping_count;
}

/* Evaluates a location's lines for the mapping's symbol flags. */
static void survey(struct pprof_make *make, struct pprof_mapping *mapping, struct view location)
{
    struct proto_scan scan = proto_scan_begin(location);
    struct proto_field field;
    unsigned lines = 0;
    while (proto_scan_next(&scan, &field)) {
        if (field.number != OTLP_LOCATION_LINES)
            continue;
        uint64_t function = proto_find_number(field.bytes, OTLP_LINE_FUNCTION);
        struct view entry =
            function ? pprof_make_entry_of(make, OTLP_TABLE_FUNCTION, function) : VIEW("");
        mapping->functions &= function != 0;
        mapping->filenames &= proto_find_number(entry, OTLP_FUNCTION_FILENAME) != 0;
        mapping->lines &= proto_find_number(field.bytes, OTLP_LINE_LINE) != 0;
        lines++;
    }
    mapping->inlined |= lines > 1;
    mapping->symbolized &= lines > 0;
}

static void write_lines(struct pprof_make *make, struct view location)
{
    struct proto_scan scan = proto_scan_begin(location);
    struct proto_field field;
    while (proto_scan_next(&scan, &field)) {
        if (field.number != OTLP_LOCATION_LINES)
            continue;
        uint32_t function = function_id(make, proto_find_number(field.bytes, OTLP_LINE_FUNCTION));
        /* Readers of pprof refuse a line without a function. */
        if (!function)
            continue;
        size_t line = proto_write_open(&make->write, LOCATION_LINE);
        proto_write_varint(&make->write, LINE_FUNCTION_ID, function);
        proto_write_number(&make->write, LINE_LINE, proto_find_number(field.bytes, OTLP_LINE_LINE));
        proto_write_number(&make->write, LINE_COLUMN,
                           proto_find_number(field.bytes, OTLP_LINE_COLUMN));
        proto_write_close(&make->write, line);
    }
}

/* Functions are fields of the profile, so they must be written before the location is opened. */
static void write_functions(struct pprof_make *make, struct view location)
{
    struct proto_scan scan = proto_scan_begin(location);
    struct proto_field field;
    while (proto_scan_next(&scan, &field))
        if (field.number == OTLP_LOCATION_LINES)
            function_id(make, proto_find_number(field.bytes, OTLP_LINE_FUNCTION));
}

static void write_location(struct pprof_make *make, uint32_t id, struct view location)
{
    struct profiles_attribute_list list =
        profiles_attribute_list_begin(make->attributes, location, OTLP_LOCATION_ATTRIBUTES);
    const struct profiles_attribute *attribute;
    bool folded = false;
    make->work += location.size;
    while ((attribute = profiles_attribute_list_next(&list)))
        folded |= attribute->kind == ATTRIBUTE_IS_FOLDED && attribute->flag;
    uint32_t mapping = mapping_id(make, proto_find_number(location, OTLP_LOCATION_MAPPING));
    if (mapping)
        survey(make, &make->made_mappings[mapping - 1], location);
    write_functions(make, location);
    size_t opened = proto_write_open(&make->write, PROFILE_LOCATION);
    proto_write_varint(&make->write, TABLE_ID, id);
    proto_write_number(&make->write, LOCATION_MAPPING_ID, mapping);
    proto_write_number(&make->write, LOCATION_ADDRESS,
                       proto_find_number(location, OTLP_LOCATION_ADDRESS));
    write_lines(make, location);
    proto_write_number(&make->write, LOCATION_IS_FOLDED, folded);
    proto_write_close(&make->write, opened);
}

/* Writes a stack's locations that are not in the pprof yet. */
static void write_locations(struct pprof_make *make, struct view stack)
{
    struct proto_scan scan = proto_scan_begin(stack);
    struct proto_field field;
    uint64_t index;
    while (!make->failed && proto_scan_next(&scan, &field)) {
        struct proto_numbers numbers = proto_numbers_begin(&field);
        while (field.number == OTLP_STACK_LOCATIONS && proto_numbers_next(&numbers, &index)) {
            if (index == 0 || index >= make->dictionary->of[OTLP_TABLE_LOCATION].count ||
                make->locations[index])
                continue;
            if (pprof_make_give(make, &make->locations[index], make->location_count + 1))
                write_location(make, ++make->location_count,
                               pprof_make_entry_of(make, OTLP_TABLE_LOCATION, index));
        }
    }
}

static void write_stack(struct pprof_make *make, struct view stack)
{
    struct proto_scan scan = proto_scan_begin(stack);
    struct proto_field field;
    uint64_t index;
    size_t opened = proto_write_open(&make->write, SAMPLE_LOCATION_ID);
    while (proto_scan_next(&scan, &field)) {
        struct proto_numbers numbers = proto_numbers_begin(&field);
        while (field.number == OTLP_STACK_LOCATIONS && proto_numbers_next(&numbers, &index))
            if (index && index < make->dictionary->of[OTLP_TABLE_LOCATION].count)
                proto_write_packed(&make->write, make->locations[index]);
    }
    proto_write_close(&make->write, opened);
}

static void write_label(struct pprof_make *make, uint32_t key, uint32_t value)
{
    if (!key || !value)
        return;
    size_t opened = proto_write_open(&make->write, SAMPLE_LABEL);
    proto_write_varint(&make->write, LABEL_KEY, key);
    proto_write_varint(&make->write, LABEL_STR, value);
    proto_write_close(&make->write, opened);
}

/* Writes labels with a link's ids; *has_span and *has_trace tell which it has. */
static void write_link(struct pprof_make *make, const struct pprof_make_sample *sample,
                       bool *has_span, bool *has_trace)
{
    uint64_t link = sample->link;
    if (link == 0 || link >= make->dictionary->of[OTLP_TABLE_LINK].count)
        return;
    *has_span = make->links.spans[link].size;
    *has_trace = *has_span && make->links.traces[link].size;
    if (*has_span)
        write_label(make, pprof_make_text(make, &make->span_key, VIEW("span_id")),
                    pprof_make_text(make, &make->spans[link], make->links.spans[link]));
    if (*has_trace && sample->trace_ids)
        write_label(make, pprof_make_text(make, &make->trace_key, VIEW("trace_id")),
                    pprof_make_text(make, &make->traces[link], make->links.traces[link]));
}

static void write_labels(struct pprof_make *make, const struct pprof_make_sample *sample)
{
    struct profiles_attribute_list list =
        profiles_attribute_list_begin(make->attributes, sample->body, OTLP_SAMPLE_ATTRIBUTES);
    const struct profiles_attribute *attribute;
    bool has_span = false, has_trace = false;
    write_link(make, sample, &has_span, &has_trace);
    while ((attribute = profiles_attribute_list_next(&list))) {
        bool skip = attribute->kind == ATTRIBUTE_SERVICE_NAME ||
                    (attribute->kind == ATTRIBUTE_SPAN_ID && has_span) ||
                    (attribute->kind == ATTRIBUTE_TRACE_ID && (has_trace || !sample->trace_ids));
        if (!skip && attribute->text.size)
            write_label(make, pprof_make_string(make, attribute->key),
                        pprof_make_text(make, &make->values[list.index], attribute->text));
    }
}

void pprof_make_sample(struct pprof_make *make, const struct pprof_make_sample *sample)
{
    struct view stack = pprof_make_entry_of(make, OTLP_TABLE_STACK, sample->stack);
    make->work += stack.size;
    write_locations(make, stack);
    size_t opened = proto_write_open(&make->write, PROFILE_SAMPLE);
    write_stack(make, stack);
    proto_write_varint(&make->write, SAMPLE_VALUE, (uint64_t)sample->value);
    write_labels(make, sample);
    proto_write_close(&make->write, opened);
}

static void write_mapping(struct pprof_make *make, const struct pprof_mapping *mapping, uint32_t id)
{
    struct view entry = pprof_make_entry_of(make, OTLP_TABLE_MAPPING, mapping->index);
    struct profiles_attribute_list list =
        profiles_attribute_list_begin(make->attributes, entry, OTLP_MAPPING_ATTRIBUTES);
    const struct profiles_attribute *attribute;
    bool has[4] = {mapping->symbolized && mapping->functions,
                   mapping->symbolized && mapping->filenames, mapping->symbolized && mapping->lines,
                   mapping->inlined};
    uint32_t build_id = 0;
    make->work += entry.size;
    while ((attribute = profiles_attribute_list_next(&list))) {
        if (attribute->kind == ATTRIBUTE_BUILD_ID)
            build_id = pprof_make_text(make, &make->values[list.index], attribute->text);
        else if (attribute->kind >= ATTRIBUTE_HAS_FUNCTIONS &&
                 attribute->kind <= ATTRIBUTE_HAS_INLINE_FRAMES)
            has[attribute->kind - ATTRIBUTE_HAS_FUNCTIONS] = attribute->flag;
    }
    uint32_t filename = pprof_make_string(make, proto_find_number(entry, OTLP_MAPPING_FILENAME));
    size_t opened = proto_write_open(&make->write, PROFILE_MAPPING);
    proto_write_varint(&make->write, TABLE_ID, id);
    /* The field numbers of start, limit and offset are one higher in pprof. */
    for (uint32_t field = 1; field <= 3; field++)
        proto_write_number(&make->write, field + 1, proto_find_number(entry, field));
    proto_write_number(&make->write, MAPPING_FILENAME, filename);
    proto_write_number(&make->write, MAPPING_BUILD_ID, build_id);
    for (uint32_t i = 0; i < 4; i++)
        proto_write_number(&make->write, MAPPING_HAS_FUNCTIONS + i, has[i]);
    proto_write_close(&make->write, opened);
}

/* Readers of pprof refuse invalid UTF-8. */
static void write_string(struct pprof_make *make, struct view text)
{
    if (utf8_valid(text)) {
        proto_write_bytes(&make->write, PROFILE_STRING_TABLE, text);
        return;
    }
    size_t opened = proto_write_open(&make->write, PROFILE_STRING_TABLE);
    if (make->write.result == BYTES_OK && !utf8_repair(text, make->write.out))
        make->write.result = BYTES_FULL;
    proto_write_close(&make->write, opened);
}

const char *pprof_make_end(struct pprof_make *make)
{
    for (size_t i = 0; i < make->mapping_count; i++)
        write_mapping(make, &make->made_mappings[i], (uint32_t)i + 1);
    proto_write_bytes(&make->write, PROFILE_STRING_TABLE, VIEW(""));
    for (size_t i = 0; i < make->text_count; i++)
        write_string(make, make->texts[i]);
    return make->failed ? "too large" : proto_write_fault(&make->write);
}
