#include "lib/settings/yaml.h"

#include "lib/base/shown.h"
#include "lib/settings/scalar.h"
#include "lib/settings/trail.h"
#include "lib/settings/tree.h"
#include "lib/wire/http/base64.h"

#include <stdio.h>
#include <yaml.h>

struct anchor {
    const char *name;
    struct node *node; /* NULL: still being read */
    struct anchor *next;
};

struct composer {
    yaml_parser_t parser;
    struct arena *arena;
    struct view text;
    const char *file;
    struct problems *problems;
    struct anchor *anchors;
};

static struct node *compose(struct composer *c, yaml_event_t *event, const struct trail *trail,
                            unsigned depth);

static unsigned line_of(yaml_mark_t mark)
{
    return (unsigned)mark.line + 1;
}

static struct node *yaml_fail(struct composer *c, unsigned line, const struct trail *trail,
                              const char *what)
{
    char path[TRAIL_TEXT];
    struct node at = {.file = c->file, .line = line};
    problems_add(c->problems, &at, trail_text(trail, path), "%s", what);
    return NULL;
}

/* The line of an offset; the reader's errors only have an offset. */
static unsigned line_at(struct view text, size_t offset)
{
    unsigned line = 1;
    for (size_t i = 0; i < offset && i < text.size; i++)
        line += text.data[i] == '\n';
    return line;
}

static bool tab_at(struct view text, yaml_mark_t mark)
{
    size_t line = 0, column = 0;
    for (size_t i = 0; i < text.size && line <= mark.line; i++) {
        if (line == mark.line && column++ == mark.column)
            return text.data[i] == '\t';
        line += text.data[i] == '\n';
    }
    return false;
}

/* " (line 4 has a no-break space (U+00A0) in column 15)" of the line at a mark or the one before;
 * "": there is none. */
static const char *blank_near(struct view text, yaml_mark_t mark, char out[96])
{
    size_t line = 0;
    unsigned column = 0;
    *out = '\0';
    for (size_t i = 0; i < text.size && line <= mark.line; i++) {
        column += (text.data[i] & 0xc0) != 0x80;
        const struct lookalike *found =
            line + 1 < mark.line ? NULL : lookalike_at((struct view){text.data + i, text.size - i});
        if (found && found->blank) {
            snprintf(out, 96, " (line %zu has %s in column %u)", line + 1, found->words, column);
            break;
        }
        bool ends = text.data[i] == '\n';
        line += ends;
        column = ends ? 0 : column;
    }
    return out;
}

static struct node *fail_syntax(struct composer *c)
{
    const yaml_parser_t *p = &c->parser;
    if (p->error == YAML_MEMORY_ERROR)
        return yaml_fail(c, 0, NULL, "out of memory");
    if (p->error == YAML_READER_ERROR) {
        struct node at = {.file = c->file, .line = line_at(c->text, p->problem_offset)};
        problems_add(c->problems, &at, NULL, "not valid YAML: %s",
                     p->problem ? p->problem : "unreadable");
        return NULL;
    }
    struct node at = {.file = c->file, .line = line_of(p->problem_mark)};
    char blank[96];
    const char *tab = tab_at(c->text, p->problem_mark) ? " (a tab; YAML indents with spaces)" : "";
    problems_add(c->problems, &at, NULL, "not valid YAML: %s%s%s%s%s",
                 p->problem ? p->problem : "unreadable", tab, p->context ? " " : "",
                 p->context ? p->context : "", blank_near(c->text, p->problem_mark, blank));
    return NULL;
}

static struct node *new_node(struct composer *c, enum node_kind kind, unsigned line)
{
    struct node *node = arena_alloc(c->arena, sizeof *node);
    if (!node)
        return yaml_fail(c, line, NULL, "the configuration is too large");
    *node = (struct node){.kind = kind, .file = c->file, .line = line};
    return node;
}

static const char *tag_name(const yaml_char_t *tag)
{
    static const char core[] = "tag:yaml.org,2002:";
    const char *text = (const char *)tag;
    return text && strncmp(text, core, sizeof core - 1) == 0 ? text + sizeof core - 1 : text;
}

static bool tag_known(const char *tag, bool scalar)
{
    static const char *const words[] = {"str",    "int", "float", "bool", "null", "merge",
                                        "binary", "!",   "map",   "seq",  NULL};
    if (!tag)
        return true;
    for (size_t i = 0; words[i]; i++)
        if (strcmp(words[i], tag) == 0)
            return (i < 7) == scalar || i == 7;
    return false;
}

/* Records an anchor; node NULL: still being read. */
static bool anchor_add(struct composer *c, const yaml_char_t *name, struct node *node)
{
    if (!name)
        return true;
    struct anchor *anchor = arena_alloc(c->arena, sizeof *anchor);
    const char *copy = arena_text(c->arena, view_of((const char *)name));
    if (!anchor || !copy)
        return yaml_fail(c, 0, NULL, "the configuration is too large") != NULL;
    *anchor = (struct anchor){.name = copy, .node = node, .next = c->anchors};
    c->anchors = anchor;
    return true;
}

static struct node *compose_alias(struct composer *c, const yaml_event_t *event,
                                  const struct trail *trail, unsigned depth)
{
    unsigned line = line_of(event->start_mark);
    const char *name = (const char *)event->data.alias.anchor;
    const struct anchor *anchor = c->anchors;
    while (anchor && strcmp(anchor->name, name) != 0)
        anchor = anchor->next;
    if (!anchor)
        return yaml_fail(c, line, trail, "an alias (*) to an anchor (&) that does not exist");
    if (!anchor->node)
        return yaml_fail(c, line, trail, "an alias (*) inside the anchor (&) that it refers to");
    if (depth + tree_depth(anchor->node) > TREE_DEPTH_MAX)
        return yaml_fail(c, line, trail, "nested too deep, expected at most 100 levels");
    struct node *copy = tree_copy(c->arena, anchor->node);
    return copy ? copy : yaml_fail(c, line, trail, "the configuration is too large");
}

/* What a !!binary has in base64, which may be in several lines. Data NULL: it is none. */
static struct view binary_of(struct composer *c, struct view base64)
{
    uint8_t *text = arena_alloc(c->arena, base64.size + 1), *end = text;
    struct view made = {0};
    struct bytes out;
    for (size_t i = 0; text && i < base64.size; i++)
        if (base64.data[i] != '\n' && base64.data[i] != '\r')
            *end++ = base64.data[i];
    bytes_init(&out, base64.size + 8, NULL);
    if (text && base64_decode(view_between(text, end), &out) == BASE64_OK)
        made = (struct view){memcpy(text, out.data, out.size), out.size};
    bytes_release(&out);
    return made;
}

/* The text of a node with a tag. An integer with !!float becomes the text of a float. */
static const char *tagged_text(struct composer *c, const char *tag, struct view value)
{
    char number[40];
    int64_t integer;
    const char *text = arena_text(c->arena, value);
    if (!text || !tag || strcmp(tag, "float") != 0 || !scalar_int(text, &integer))
        return text;
    snprintf(number, sizeof number, "%lld.0", (long long)integer);
    return arena_text(c->arena, view_of(number));
}

static struct node *compose_scalar(struct composer *c, const yaml_event_t *event,
                                   const struct trail *trail)
{
    unsigned line = line_of(event->start_mark);
    const char *tag = tag_name(event->data.scalar.tag);
    struct view value = {event->data.scalar.value, event->data.scalar.length};
    if (!tag_known(tag, true))
        return yaml_fail(c, line, trail, "an unknown tag (!)");
    bool binary = tag && strcmp(tag, "binary") == 0;
    if (binary && !(value = binary_of(c, value)).data)
        return yaml_fail(c, line, trail, "not base64, which !!binary takes");
    if (value.size && memchr(value.data, 0, value.size))
        return yaml_fail(c, line, trail, "a text with a NUL character in it");
    struct node *node = new_node(c, NODE_SCALAR, line);
    if (!node)
        return NULL;
    node->text = tagged_text(c, tag, value);
    if (!node->text)
        return yaml_fail(c, line, trail, "the configuration is too large");
    if (event->start_mark.line == event->end_mark.line)
        node->column = (unsigned)event->start_mark.column + 1;
    node->quoted = event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
    if (tag)
        node->quoted = binary || strcmp(tag, "str") == 0 || strcmp(tag, "!") == 0;
    if (!node->quoted && scalar_type(node->text) == SCALAR_NULL)
        node->kind = NODE_NULL;
    return anchor_add(c, event->data.scalar.anchor, node) ? node : NULL;
}

static bool next_event(struct composer *c, yaml_event_t *event)
{
    if (yaml_parser_parse(&c->parser, event))
        return true;
    fail_syntax(c);
    return false;
}

/* Reads the next event and composes the node that it starts. False: a problem. *node is NULL at the
 * end of the collection. */
static bool next_node(struct composer *c, const struct trail *trail, unsigned depth,
                      struct node **node)
{
    yaml_event_t event;
    *node = NULL;
    if (!next_event(c, &event))
        return false;
    bool end = event.type == YAML_SEQUENCE_END_EVENT || event.type == YAML_MAPPING_END_EVENT;
    if (!end)
        *node = compose(c, &event, trail, depth);
    yaml_event_delete(&event);
    return end || *node;
}

static struct node *compose_list(struct composer *c, const yaml_event_t *event,
                                 const struct trail *trail, unsigned depth)
{
    struct node *list = new_node(c, NODE_LIST, line_of(event->start_mark));
    size_t room = 0;
    while (list) {
        struct trail step = {.above = trail, .index = list->count};
        struct node *item;
        if (!next_node(c, &step, depth + 1, &item))
            return NULL;
        if (!item)
            break;
        if (list->count == TREE_ITEMS_MAX)
            return yaml_fail(c, item->line, trail, "a list of too many items");
        if (!tree_append(c->arena, list, item, &room))
            return yaml_fail(c, item->line, trail, "the configuration is too large");
    }
    return list;
}

/* Adds the pairs of from whose keys map lacks; merged values keep their positions. */
static bool merge_pairs(struct composer *c, struct node *map, const struct node *from, size_t *room)
{
    for (size_t i = 0; i < from->count; i++) {
        if (node_get(map, from->items[i]->key))
            continue;
        struct node *copy = tree_copy(c->arena, from->items[i]);
        if (!copy || !tree_append(c->arena, map, copy, room))
            return yaml_fail(c, map->line, NULL, "the configuration is too large") != NULL;
    }
    return true;
}

/* merge: the value of a << key. */
static bool merge_apply(struct composer *c, struct node *map, const struct node *merge,
                        const struct trail *trail, size_t *room)
{
    if (merge->kind == NODE_MAP)
        return merge_pairs(c, map, merge, room);
    bool maps = merge->kind == NODE_LIST;
    for (size_t i = 0; maps && i < merge->count; i++)
        maps = merge->items[i]->kind == NODE_MAP;
    if (!maps)
        return yaml_fail(c, merge->line, trail, "a merge key (<<) takes a map or a list of maps") !=
               NULL;
    for (size_t i = 0; i < merge->count; i++)
        if (!merge_pairs(c, map, merge->items[i], room))
            return false;
    return true;
}

static bool pair_add(struct composer *c, struct node *map, struct node *value,
                     const struct trail *step, size_t *room)
{
    const struct node *first = node_get(map, value->key);
    if (first) {
        char path[TRAIL_TEXT];
        problems_add(c->problems, value, trail_text(step, path),
                     "this key is given twice, first in line %u", first->line);
        return false;
    }
    if (map->count == TREE_ITEMS_MAX)
        return yaml_fail(c, value->line, step->above, "a map of too many keys") != NULL;
    if (!tree_append(c->arena, map, value, room))
        return yaml_fail(c, value->line, step->above, "the configuration is too large") != NULL;
    return true;
}

/* Whether a key without quotes has a blank in it that is no space, or begins with a quote that is
 * none: YAML takes these as part of the key. Adds the problem. */
static bool is_mistyped(struct composer *c, const struct node *key, const struct trail *trail)
{
    char path[TRAIL_TEXT];
    size_t at;
    const struct lookalike *found = key->quoted ? NULL : lookalike_in(view_of(key->text), &at);
    if (!found || (at > 0 && !found->blank))
        return false;
    problems_add(c->problems, key, trail_text(trail, path), "found %s in column %u, expected %s",
                 found->words, node_column(key, at), found->expected);
    return true;
}

static struct node *compose_map(struct composer *c, const yaml_event_t *event,
                                const struct trail *trail, unsigned depth)
{
    struct node *map = new_node(c, NODE_MAP, line_of(event->start_mark));
    struct node *merges = map ? new_node(c, NODE_LIST, map->line) : NULL;
    size_t room = 0, merge_room = 0;
    while (merges) {
        struct node *key, *value;
        if (!next_node(c, trail, depth + 1, &key))
            return NULL;
        if (!key)
            break;
        if (key->kind != NODE_SCALAR && key->kind != NODE_NULL)
            return yaml_fail(c, key->line, trail,
                             "a key must be a plain word, not a map or a list");
        if (is_mistyped(c, key, trail))
            return NULL;
        struct trail step = {.above = trail, .key = key->text};
        if (!next_node(c, &step, depth + 1, &value) || !value)
            return NULL;
        bool merge = !key->quoted && strcmp(key->text, "<<") == 0;
        value->key = key->text;
        if (value->line != key->line)
            value->column = 0;
        value->line = key->line;
        if (merge && !tree_append(c->arena, merges, value, &merge_room))
            return yaml_fail(c, key->line, trail, "the configuration is too large");
        if (!merge && !pair_add(c, map, value, &step, &room))
            return NULL;
    }
    /* After all pairs, because explicit keys win wherever << is. */
    for (size_t i = 0; merges && i < merges->count; i++)
        if (!merge_apply(c, map, merges->items[i], trail, &room))
            return NULL;
    return merges ? map : NULL;
}

static struct node *compose_collection(struct composer *c, const yaml_event_t *event,
                                       const struct trail *trail, unsigned depth)
{
    bool map = event->type == YAML_MAPPING_START_EVENT;
    const yaml_char_t *name =
        map ? event->data.mapping_start.anchor : event->data.sequence_start.anchor;
    const yaml_char_t *tag = map ? event->data.mapping_start.tag : event->data.sequence_start.tag;
    if (depth >= TREE_DEPTH_MAX)
        return yaml_fail(c, line_of(event->start_mark), trail,
                         "nested too deep, expected at most 100 levels");
    if (!tag_known(tag_name(tag), false))
        return yaml_fail(c, line_of(event->start_mark), trail, "an unknown tag (!)");
    if (!anchor_add(c, name, NULL))
        return NULL;
    struct anchor *anchor = name ? c->anchors : NULL;
    struct node *node =
        map ? compose_map(c, event, trail, depth) : compose_list(c, event, trail, depth);
    if (anchor)
        anchor->node = node;
    return node;
}

static struct node *compose(struct composer *c, yaml_event_t *event, const struct trail *trail,
                            unsigned depth)
{
    if (event->type == YAML_ALIAS_EVENT)
        return compose_alias(c, event, trail, depth);
    if (event->type == YAML_SCALAR_EVENT)
        return compose_scalar(c, event, trail);
    return compose_collection(c, event, trail, depth);
}

/* Reads the whole stream: at most one document. */
static struct node *compose_stream(struct composer *c)
{
    struct node *root = NULL;
    bool more = true, failed = false;
    while (more && !failed) {
        yaml_event_t event;
        if (!next_event(c, &event))
            return NULL;
        unsigned line = line_of(event.start_mark);
        bool marker = event.type == YAML_STREAM_START_EVENT ||
                      event.type == YAML_DOCUMENT_START_EVENT ||
                      event.type == YAML_DOCUMENT_END_EVENT;
        more = event.type != YAML_STREAM_END_EVENT;
        if (more && !marker && root)
            failed =
                !yaml_fail(c, line, NULL, "a second document (---) starts here, one is expected");
        else if (more && !marker)
            failed = !(root = compose(c, &event, NULL, 0));
        yaml_event_delete(&event);
    }
    if (failed)
        return NULL;
    return root ? root : new_node(c, NODE_NULL, 1);
}

struct node *yaml_parse(struct arena *arena, struct view text, const char *file,
                        struct problems *problems)
{
    struct composer c = {.arena = arena, .text = text, .file = file, .problems = problems};
    if (text.size > TREE_TEXT_MAX)
        return yaml_fail(&c, 0, NULL, "larger than 1 MiB, the maximum");
    if (!yaml_parser_initialize(&c.parser))
        return yaml_fail(&c, 0, NULL, "out of memory");
    const unsigned char *bytes = text.size ? text.data : (const unsigned char *)"";
    yaml_parser_set_input_string(&c.parser, bytes, text.size);
    struct node *root = compose_stream(&c);
    yaml_parser_delete(&c.parser);
    return root;
}
