#include "lib/wire/jfr/jfr_metadata.h"

#include "lib/base/sort.h"

#include <stdlib.h>

static const char part[] = "metadata";

/* An element of the tree; its children follow it. */
struct element {
    struct view name;
    const uint8_t *attributes; /* pairs of indices of strings */
    uint64_t attribute_count;
    uint64_t child_count;
};

/* Reads the tree twice: to count, then to fill. */
struct reader {
    struct jfr_metadata *metadata;
    const uint8_t *at; /* NULL: malformed */
    const uint8_t *end;
    struct view *strings;
    uint64_t string_count;
};

static struct view string_of(const struct reader *reader, uint64_t index)
{
    return reader->strings[index];
}

static uint64_t jfr_metadata_read_number(struct reader *reader)
{
    uint64_t number = 0;
    if (reader->at)
        reader->at = jfr_varint(reader->at, reader->end, &number);
    return number;
}

/* Reads the count of items of at least `least` bytes each that follow; a count that cannot fit is
 * malformed. */
static uint64_t read_count(struct reader *reader, size_t least)
{
    uint64_t count = jfr_metadata_read_number(reader);
    if (!reader->at || count > (uint64_t)(reader->end - reader->at) / least) {
        reader->at = NULL;
        return 0;
    }
    return count;
}

static uint64_t read_index(struct reader *reader)
{
    uint64_t index = jfr_metadata_read_number(reader);
    if (index < reader->string_count)
        return index;
    reader->at = NULL;
    return 0;
}

static bool read_element(struct reader *reader, struct element *element)
{
    uint64_t name = read_index(reader);
    element->attribute_count = read_count(reader, 2);
    element->attributes = reader->at;
    for (uint64_t i = 0; i < 2 * element->attribute_count && reader->at; i++)
        read_index(reader);
    element->child_count = read_count(reader, 3);
    if (!reader->at)
        return false;
    element->name = string_of(reader, name);
    return true;
}

/* Counts open elements instead of recursing, so that any depth is fine. */
static bool skip_children(struct reader *reader, const struct element *parent)
{
    struct element element;
    for (uint64_t open = parent->child_count; open; open += element.child_count, open--)
        if (!read_element(reader, &element))
            return false;
    return true;
}

/* The value of an attribute; empty: none. */
static struct view attribute(const struct reader *reader, const struct element *element,
                             const char *name)
{
    const uint8_t *at = element->attributes;
    for (uint64_t i = 0; i < element->attribute_count; i++) {
        uint64_t key, value;
        at = jfr_varint(at, reader->end, &key);
        at = jfr_varint(at, reader->end, &value);
        if (view_eq(string_of(reader, key), view_of(name)))
            return string_of(reader, value);
    }
    return VIEW("");
}

static uint64_t id_attribute(struct reader *reader, const struct element *element, const char *name)
{
    struct view text = attribute(reader, element, name);
    uint64_t id = 0;
    bool good = text.size > 0 && text.size <= 18;
    for (size_t i = 0; good && i < text.size; i++) {
        good = text.data[i] >= '0' && text.data[i] <= '9';
        id = id * 10 + (uint64_t)(text.data[i] - '0');
    }
    if (!good)
        reader->at = NULL;
    return id;
}

static bool jfr_metadata_read_field(struct reader *reader, const struct element *element)
{
    struct jfr_metadata *metadata = reader->metadata;
    if (metadata->fields)
        metadata->fields[metadata->field_count] = (struct jfr_field){
            .name = attribute(reader, element, "name"),
            .type = id_attribute(reader, element, "class"),
            .constant = view_eq(attribute(reader, element, "constantPool"), VIEW("true")),
            .array = attribute(reader, element, "dimension").size > 0,
        };
    metadata->field_count++;
    return reader->at && skip_children(reader, element);
}

static bool read_class(struct reader *reader, const struct element *element)
{
    struct jfr_metadata *metadata = reader->metadata;
    struct jfr_type type = {.name = attribute(reader, element, "name"),
                            .id = id_attribute(reader, element, "id"),
                            .first = metadata->field_count};
    struct element child;
    if (!reader->at)
        return false;
    for (uint64_t i = 0; i < element->child_count; i++) {
        if (!read_element(reader, &child))
            return false;
        bool is_field = view_eq(child.name, VIEW("field"));
        if (!(is_field ? jfr_metadata_read_field(reader, &child) : skip_children(reader, &child)))
            return false;
    }
    type.count = metadata->field_count - type.first;
    if (metadata->types)
        metadata->types[metadata->type_count] = type;
    metadata->type_count++;
    return true;
}

static bool read_classes(struct reader *reader, const struct element *element)
{
    struct element child;
    for (uint64_t i = 0; i < element->child_count; i++) {
        if (!read_element(reader, &child))
            return false;
        bool is_class = view_eq(child.name, VIEW("class"));
        if (!(is_class ? read_class(reader, &child) : skip_children(reader, &child)))
            return false;
    }
    return true;
}

static bool read_tree(struct reader *reader)
{
    struct element root, child;
    reader->metadata->type_count = reader->metadata->field_count = 0;
    if (!read_element(reader, &root))
        return false;
    for (uint64_t i = 0; i < root.child_count; i++) {
        if (!read_element(reader, &child))
            return false;
        bool has_classes = view_eq(child.name, VIEW("metadata"));
        if (!(has_classes ? read_classes(reader, &child) : skip_children(reader, &child)))
            return false;
    }
    return true;
}

static bool read_strings(struct reader *reader)
{
    for (uint64_t i = 0; i < reader->string_count && reader->at; i++)
        reader->at = jfr_string(reader->at, reader->end, &reader->strings[i]);
    return reader->at != NULL;
}

static int jfr_jfr_metadata_by_id(const void *a, const void *b)
{
    uint64_t left = ((const struct jfr_type *)a)->id, right = ((const struct jfr_type *)b)->id;
    return (left > right) - (left < right);
}

static bool index_types(struct jfr_metadata *metadata, struct jfr_reading *reading)
{
    sort_rows(metadata->types, metadata->type_count, sizeof *metadata->types,
              jfr_jfr_metadata_by_id);
    for (size_t i = 1; i < metadata->type_count; i++)
        if (metadata->types[i].id == metadata->types[i - 1].id)
            return jfr_refuse(reading, part, "two classes have one id", metadata->at);
    return true;
}

/* Reads what precedes the strings: time, duration and metadata id. */
static bool read_head(struct reader *reader, struct jfr_reading *reading,
                      const struct jfr_frame *frame)
{
    reader->at = frame->content;
    reader->end = frame->end;
    for (int i = 0; i < 3; i++)
        jfr_metadata_read_number(reader);
    reader->string_count = read_count(reader, 1);
    if (!reader->at)
        return jfr_refuse(reading, part, "truncated", frame->content);
    reader->strings = arena_array(&reading->scratch, reader->string_count, sizeof *reader->strings);
    return reader->strings || jfr_refuse(reading, part, "too large", frame->content);
}

bool jfr_metadata_open(struct jfr_metadata *metadata, struct jfr_reading *reading,
                       struct view chunk, uint64_t offset)
{
    struct reader reader = {.metadata = metadata};
    struct jfr_frame frame;
    const uint8_t *end = chunk.data + chunk.size;
    *metadata = (struct jfr_metadata){.at = chunk.data + offset};
    if (!jfr_frame(metadata->at, end, &frame) || frame.type != 0)
        return jfr_refuse(reading, part, "not where the chunk says", metadata->at);
    if (!read_head(&reader, reading, &frame))
        return false;
    const uint8_t *tree = read_strings(&reader) ? reader.at : NULL;
    if (!tree || !read_tree(&reader))
        return jfr_refuse(reading, part, "malformed", metadata->at);
    if (metadata->type_count == 0)
        return jfr_refuse(reading, part, "declares no class", metadata->at);
    metadata->work = (size_t)(frame.end - metadata->at);
    metadata->types = arena_array(&reading->scratch, metadata->type_count, sizeof *metadata->types);
    metadata->fields =
        arena_array(&reading->scratch, metadata->field_count, sizeof *metadata->fields);
    if (!metadata->types || !metadata->fields)
        return jfr_refuse(reading, part, "too large", metadata->at);
    reader.at = tree;
    if (!read_tree(&reader))
        return jfr_refuse(reading, part, "malformed", metadata->at);
    return index_types(metadata, reading);
}

const struct jfr_type *jfr_metadata_by_id(const struct jfr_metadata *metadata, uint64_t id)
{
    size_t low = 0, high = metadata->type_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (metadata->types[middle].id == id)
            return &metadata->types[middle];
        if (metadata->types[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

const struct jfr_type *jfr_metadata_by_name(const struct jfr_metadata *metadata, struct view name)
{
    for (size_t i = 0; i < metadata->type_count; i++)
        if (view_eq(metadata->types[i].name, name))
            return &metadata->types[i];
    return NULL;
}
