#include "lib/wire/profiles/profiles_attributes.h"

#include "lib/base/sort.h"
#include "lib/wire/profiles/otlp_label.h"

#include <stdlib.h>

enum { ATTRIBUTE_KEY_STRINDEX = 1 };

static const char *const names[] = {
    [ATTRIBUTE_SERVICE_NAME] = "service.name",
    [ATTRIBUTE_SPAN_ID] = "span_id",
    [ATTRIBUTE_TRACE_ID] = "trace_id",
    [ATTRIBUTE_BUILD_ID] = "process.executable.build_id.gnu",
    [ATTRIBUTE_IS_FOLDED] = "pprof.location.is_folded",
    [ATTRIBUTE_HAS_FUNCTIONS] = "pprof.mapping.has_functions",
    [ATTRIBUTE_HAS_FILENAMES] = "pprof.mapping.has_filenames",
    [ATTRIBUTE_HAS_LINE_NUMBERS] = "pprof.mapping.has_line_numbers",
    [ATTRIBUTE_HAS_INLINE_FRAMES] = "pprof.mapping.has_inline_frames",
    [ATTRIBUTE_DROP_FRAMES] = "pprof.profile.drop_frames",
    [ATTRIBUTE_KEEP_FRAMES] = "pprof.profile.keep_frames",
    [ATTRIBUTE_COMMENT] = "pprof.profile.comment",
    [ATTRIBUTE_DOC_URL] = "pprof.profile.doc_url",
};

enum { NAMES = sizeof names / sizeof *names };

const char *profiles_attribute_name(enum profiles_attribute_kind kind)
{
    return names[kind];
}

static enum profiles_attribute_kind profiles_attributes_kind_of(struct view key)
{
    if (view_eq(key, VIEW("profile_id")))
        return ATTRIBUTE_SPAN_ID;
    for (unsigned kind = ATTRIBUTE_LABEL + 1; kind < NAMES; kind++)
        if (view_eq(key, view_of(names[kind])))
            return (enum profiles_attribute_kind)kind;
    return ATTRIBUTE_LABEL;
}

static bool read_entry(struct profiles_attributes *attributes, size_t index, struct arena *arena)
{
    const struct otlp_dictionary *dictionary = attributes->dictionary;
    struct view body = dictionary->of[OTLP_TABLE_ATTRIBUTE].entries[index];
    struct profiles_attribute *attribute = &attributes->of[index];
    struct proto_field key;
    if (proto_find(body, ATTRIBUTE_KEY_STRINDEX, WIRE_VARINT, &key))
        attribute->key = key.value;
    attribute->kind = profiles_attributes_kind_of(
        otlp_dictionary_string(dictionary, body, ATTRIBUTE_KEY_STRINDEX));
    attribute->flag = otlp_label_flag(body);
    return otlp_label_text(dictionary, body, arena, &attribute->text);
}

static int by_text(const void *a, const void *b)
{
    const struct view left = (*(struct profiles_attribute *const *)a)->text;
    const struct view right = (*(struct profiles_attribute *const *)b)->text;
    size_t both = left.size < right.size ? left.size : right.size;
    int order = both ? memcmp(left.data, right.data, both) : 0;
    return order ? order : (left.size > right.size) - (left.size < right.size);
}

/* Numbers the services; sorted, so that many of them cost only the sort. */
static bool number_services(struct profiles_attributes *attributes, struct arena *arena)
{
    size_t count = 0, at = 0;
    for (size_t i = 0; i < attributes->count; i++)
        count += attributes->of[i].kind == ATTRIBUTE_SERVICE_NAME && attributes->of[i].text.size;
    struct profiles_attribute **found = arena_array(arena, count, sizeof(void *));
    attributes->services = arena_array(arena, count + 1, sizeof *attributes->services);
    if (!found || !attributes->services || count >= UINT32_MAX)
        return false;
    for (size_t i = 0; i < attributes->count; i++)
        if (attributes->of[i].kind == ATTRIBUTE_SERVICE_NAME && attributes->of[i].text.size)
            found[at++] = &attributes->of[i];
    if (count)
        sort_rows(found, count, sizeof *found, by_text);
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || !view_eq(found[i]->text, found[i - 1]->text))
            attributes->services[++attributes->service_count] = found[i]->text;
        found[i]->service = attributes->service_count;
    }
    return true;
}

bool profiles_attributes_open(struct profiles_attributes *attributes,
                              const struct otlp_dictionary *dictionary, struct arena *arena)
{
    size_t count = dictionary->of[OTLP_TABLE_ATTRIBUTE].count;
    *attributes = (struct profiles_attributes){.dictionary = dictionary};
    /* At least one, for index 0. */
    attributes->of = arena_array(arena, count ? count : 1, sizeof *attributes->of);
    if (!attributes->of)
        return false;
    attributes->count = count;
    for (size_t i = 1; i < count; i++)
        if (!read_entry(attributes, i, arena))
            return false;
    return number_services(attributes, arena);
}

const struct profiles_attribute *profiles_attribute(const struct profiles_attributes *attributes,
                                                    uint64_t index)
{
    return &attributes->of[index < attributes->count ? index : 0];
}

struct profiles_attribute_list
profiles_attribute_list_begin(const struct profiles_attributes *attributes, struct view message,
                              uint32_t number)
{
    return (struct profiles_attribute_list){
        .all = attributes, .number = number, .scan = proto_scan_begin(message)};
}

const struct profiles_attribute *profiles_attribute_list_next(struct profiles_attribute_list *list)
{
    struct proto_field field;
    while (!proto_numbers_next(&list->numbers, &list->index)) {
        do {
            if (!proto_scan_next(&list->scan, &field))
                return NULL;
        } while (field.number != list->number);
        list->numbers = proto_numbers_begin(&field);
    }
    return profiles_attribute(list->all, list->index);
}
