/* Functions that read XML. */
#include "lib/base/utf8.h"
#include "lib/ottl/function.h"
#include "lib/ottl/xml.h"

#include <stdlib.h>

enum { WORK_MOST = 32 << 20 };

/* The document and what is made of it. */
struct work {
    struct xml_document document;
    struct arena arena;
    bool failed; /* the arena is full */
};

/* A copy of what was written to out, which is released. */
static struct view keep(struct work *work, struct bytes *out, bool ok)
{
    const char *copy = ok ? arena_text(&work->arena, bytes_view(out)) : NULL;
    struct view made = copy ? (struct view){(const uint8_t *)copy, out->size} : VIEW("");
    work->failed = work->failed || !copy;
    bytes_release(out);
    return made;
}

static struct value map_of(struct work *work, const struct attributes *list)
{
    struct value map = attributes_map(list);
    work->failed = work->failed || list->failed || !map.bytes.data;
    return map;
}

/* ---- ParseXML ---- */

static struct value element_map(struct work *work, const struct xml_node *element);

/* What is in an element without white space around each piece of text. */
static struct view content_of(struct work *work, const struct xml_node *element)
{
    struct bytes out;
    bool ok = true;
    bytes_init(&out, WORK_MOST, NULL);
    for (const struct xml_node *each = element->children; ok && each; each = each->next)
        ok = each->kind != XML_TEXT || bytes_append_view(&out, utf8_trim(each->value)) == BYTES_OK;
    return keep(work, &out, ok);
}

/* A list of the elements in an element; bytes.size 0: it has none. */
static struct value children_of(struct work *work, const struct xml_node *element)
{
    struct bytes out;
    bool ok = true;
    bytes_init(&out, WORK_MOST, NULL);
    for (const struct xml_node *each = element->children; ok && each; each = each->next) {
        if (each->kind != XML_ELEMENT)
            continue;
        struct value map = element_map(work, each);
        ok = !work->failed && value_append(&out, &map);
    }
    return (struct value){.kind = VALUE_LIST, .bytes = keep(work, &out, ok)};
}

static struct value element_map(struct work *work, const struct xml_node *element)
{
    struct attributes list, attributes;
    struct value value = value_string(element->name);
    attributes_read(&list, VIEW(""), 1, &work->arena);
    attributes_set(&list, VIEW("tag"), &value);
    value = value_string(content_of(work, element));
    if (value.bytes.size)
        attributes_set(&list, VIEW("content"), &value);
    attributes_read(&attributes, VIEW(""), 1, &work->arena);
    for (const struct xml_node *each = element->attributes; each; each = each->next) {
        value = value_string(each->value);
        attributes_set(&attributes, each->name, &value);
    }
    value = map_of(work, &attributes);
    if (element->attributes)
        attributes_set(&list, VIEW("attributes"), &value);
    value = children_of(work, element);
    if (value.bytes.size)
        attributes_set(&list, VIEW("children"), &value);
    return map_of(work, &list);
}

/* ---- ParseSimplifiedXML ---- */

/* The first text of an element that has no elements; size 0: none. */
static struct view leaf_of(const struct xml_node *element)
{
    struct view leaf = {0};
    for (const struct xml_node *each = element->children; each; each = each->next) {
        if (each->kind == XML_ELEMENT)
            return VIEW("");
        if (!leaf.data)
            leaf = each->value;
    }
    return leaf;
}

/* An element among its siblings, sorted so that those of one name follow each other. */
struct sibling {
    const struct xml_node *element;
    size_t place;
};

static int by_name(const void *a, const void *b)
{
    const struct sibling *one = a, *two = b;
    int order = view_order(one->element->name, two->element->name);
    return order ? order : (one->place > two->place) - (one->place < two->place);
}

static struct value contents_map(struct work *work, const struct xml_node *parent);

/* A leaf's text, or a map; of neither, an empty map. */
static struct value simple_value(struct work *work, const struct xml_node *element)
{
    struct view leaf = leaf_of(element);
    return leaf.size ? value_string(leaf) : contents_map(work, element);
}

/* A list of the elements of one name; those without content are left out. */
static struct value list_of(struct work *work, const struct sibling *siblings, size_t count)
{
    struct bytes out;
    bool ok = true;
    bytes_init(&out, WORK_MOST, NULL);
    for (size_t i = 0; ok && i < count; i++) {
        struct value value = simple_value(work, siblings[i].element);
        ok = !work->failed && (!value.bytes.size || value_append(&out, &value));
    }
    return (struct value){.kind = VALUE_LIST, .bytes = keep(work, &out, ok)};
}

static void set_of_name(struct work *work, struct attributes *list, const struct sibling *siblings,
                        size_t count)
{
    size_t filled = 0;
    for (size_t i = 0; i < count; i++)
        filled += siblings[i].element->children != NULL;
    if (!filled)
        return;
    struct value value =
        count > 1 ? list_of(work, siblings, count) : simple_value(work, siblings->element);
    if (!work->failed && (count > 1 || value.bytes.size))
        attributes_set(list, siblings->element->name, &value);
}

/* The elements in an element, or in the document. */
static struct value contents_map(struct work *work, const struct xml_node *parent)
{
    struct attributes list;
    size_t count = 0, next;
    for (const struct xml_node *each = parent->children; each; each = each->next)
        count += each->kind == XML_ELEMENT;
    struct sibling *siblings = arena_array_raw(&work->arena, count + 1, sizeof *siblings);
    attributes_read(&list, VIEW(""), 1, &work->arena);
    next = 0;
    for (const struct xml_node *each = parent->children; siblings && each; each = each->next)
        if (each->kind == XML_ELEMENT) {
            siblings[next] = (struct sibling){each, next};
            next++;
        }
    if (siblings && count)
        qsort(siblings, count, sizeof *siblings, by_name);
    for (size_t i = 0; siblings && i < count && !work->failed; i = next) {
        for (next = i + 1;
             next < count && view_eq(siblings[i].element->name, siblings[next].element->name);)
            next++;
        set_of_name(work, &list, siblings + i, next - i);
    }
    work->failed = work->failed || !siblings;
    return map_of(work, &list);
}

/* ---- both ---- */

static struct value made_of(struct work *work, bool simplified)
{
    const struct xml_node *element = work->document.top.children;
    if (simplified)
        return contents_map(work, &work->document.top);
    while (element->kind != XML_ELEMENT)
        element = element->next;
    return element_map(work, element);
}

static struct ottl_value parse(struct ottl_run *run, const struct ottl_node *call, bool simplified)
{
    struct view text = ottl_arg_string(run, call, 0), kept = VIEW("");
    const char *name = call->function->name;
    struct work work = {.failed = false};
    if (run->failed)
        return ottl_nil();
    arena_init(&work.arena, WORK_MOST);
    if (!xml_read(&work.document, text, !simplified, &work.arena)) {
        ottl_fail(run, "%s: invalid XML, %s", name, work.document.error);
    } else if (!simplified && work.document.size != text.size) {
        ottl_fail(run, "%s: text after the element", name);
    } else {
        struct value map = made_of(&work, simplified);
        if (work.failed)
            ottl_fail(run, "%s: out of memory, or the result is too large", name);
        else
            kept = ottl_keep(run, map.bytes);
    }
    arena_release(&work.arena);
    return run->failed ? ottl_nil() : ottl_bytes(TYPE_MAP, kept);
}

static struct ottl_value parse_xml(struct ottl_run *run, const struct ottl_node *call)
{
    return parse(run, call, false);
}

static struct ottl_value parse_simplified(struct ottl_run *run, const struct ottl_node *call)
{
    return parse(run, call, true);
}

const struct ottl_function ottl_xml_functions[] = {
    {"ParseXML", "target", parse_xml, FN_NO_PATTERN, false, 0, NULL},
    {"ParseSimplifiedXML", "target", parse_simplified, FN_NO_PATTERN, false, 0, NULL},
    {0},
};
