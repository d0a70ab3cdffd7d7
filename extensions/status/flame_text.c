/* Adds the text formats of /ingest to a flame graph: folded, lines, trie, tree and speedscope.
 * Their stacks have no span ids. Source of trie and tree: Pyroscope 2.x, package og. */
#include "extensions/status/flame_add.h"

#include "lib/wire/pprof/ingest_text.h"
#include "lib/wire/pprof/speedscope.h"
#include "lib/wire/proto/proto_scan.h"

#include <stdio.h>
#include <stdlib.h>

enum { NODES_DEEPEST = 1024 };

#define CPU_TYPE  "process_cpu:cpu:nanoseconds:cpu:nanoseconds"
#define WALL_TYPE "wall:wall:nanoseconds:wall:nanoseconds"

struct text_adding {
    struct flame *flame;
    const struct flame_text *text;
    uint64_t unit; /* ns that a count of 1 is; of other types 1 */
};

static uint32_t text_child(struct flame *flame, uint32_t node, struct view name)
{
    return name.size ? flame_child(flame, node, names_put(&flame->names, name)) : node;
}

static void text_weigh(struct text_adding *adding, uint32_t node, uint64_t count)
{
    flame_weigh(adding->flame, node, flame_product(count, adding->unit));
    adding->flame->samples += count;
}

/* Adds "a;b;c". */
static void text_stack(struct text_adding *adding, struct view stack, uint64_t count)
{
    uint32_t node = 0;
    for (size_t at = 0, end; at <= stack.size; at = end + 1) {
        const uint8_t *semicolon =
            at < stack.size ? memchr(stack.data + at, ';', stack.size - at) : NULL;
        end = semicolon ? (size_t)(semicolon - stack.data) : stack.size;
        node = text_child(adding->flame, node, (struct view){stack.data + at, end - at});
    }
    text_weigh(adding, node, count);
}

/* ---- folded, lines ---- */

/* Adds a line: "a;b;c 3" if counted, else "a;b;c", which is one sample. */
static void add_line(struct text_adding *adding, struct view line, bool counted)
{
    uint64_t value = 1;
    size_t size = line.size;
    if (counted) {
        char digits[24];
        while (size && line.data[size - 1] != ' ')
            size--;
        snprintf(digits, sizeof digits, "%.*s", (int)(line.size - size), line.data + size);
        long long number = size ? strtoll(digits, NULL, 10) : 0;
        value = number > 0 ? (uint64_t)number : 0;
        size -= size > 0;
    }
    if (value && size)
        text_stack(adding, (struct view){line.data, size}, value);
}

static void add_lines(struct text_adding *adding, bool counted)
{
    struct view text = adding->text->body;
    while (text.size) {
        const uint8_t *end = memchr(text.data, '\n', text.size);
        size_t size = end ? (size_t)(end - text.data) : text.size;
        add_line(adding, (struct view){text.data, size}, counted);
        size += end != NULL;
        text = (struct view){text.data + size, text.size - size};
    }
}

/* ---- trie, tree: for each node, depth first, its name, value and number of children ---- */

struct text_node {
    struct view name;
    uint64_t value, children;
};

static bool read_node(struct view *body, struct text_node *node)
{
    const uint8_t *at = body->data, *end = at + body->size;
    uint64_t size;
    if (!(at = proto_varint(at, end, &size)) || size > (size_t)(end - at))
        return false;
    node->name = (struct view){at, (size_t)size};
    at += size;
    if (!(at = proto_varint(at, end, &node->value)) ||
        !(at = proto_varint(at, end, &node->children)))
        return false;
    *body = (struct view){at, (size_t)(end - at)};
    return true;
}

/* What a node's children continue. */
struct text_parent {
    uint64_t left; /* children that are to come */
    uint32_t node; /* tree */
    size_t prefix; /* trie: size of the names down to it */
};

/* One node below the last of the parents; returns what its children continue. */
static bool take_node(struct text_adding *adding, bool trie, const struct text_node *read,
                      const struct text_parent *parent, struct bytes *prefix,
                      struct text_parent *own)
{
    *own = (struct text_parent){.left = read->children};
    if (trie) {
        prefix->size = parent ? parent->prefix : 0;
        if (bytes_append_view(prefix, read->name) != BYTES_OK)
            return false;
        own->prefix = prefix->size;
        if (read->value)
            text_stack(adding, bytes_view(prefix), read->value);
        return true;
    }
    own->node = text_child(adding->flame, parent ? parent->node : 0, read->name);
    if (read->value)
        text_weigh(adding, own->node, read->value);
    return true;
}

static void add_nodes(struct text_adding *adding, bool trie)
{
    struct view body = adding->text->body;
    struct text_parent parents[NODES_DEEPEST];
    struct text_node read;
    struct bytes prefix;
    size_t depth = 0;
    bool good = true;
    bytes_init(&prefix, body.size + 1, adding->flame->budget);
    do {
        struct text_parent *parent = depth ? &parents[depth - 1] : NULL, own;
        good = read_node(&body, &read) && take_node(adding, trie, &read, parent, &prefix, &own);
        if (parent)
            parent->left--;
        if (good && own.left && (good = depth < NODES_DEEPEST))
            parents[depth++] = own;
        while (depth && !parents[depth - 1].left)
            depth--;
    } while (good && depth);
    adding->flame->truncated |= !good;
    bytes_release(&prefix);
}

/* ---- speedscope ---- */

struct speedscope_adding {
    struct text_adding adding;
    struct bytes frames; /* uint32_t: their names' numbers */
};

static bool speedscope_frame(void *ctx, struct view name)
{
    struct speedscope_adding *adding = ctx;
    uint32_t number = names_put(&adding->adding.flame->names, name.size ? name : VIEW("(unknown)"));
    return bytes_append(&adding->frames, &number, sizeof number) == BYTES_OK;
}

/* Units of time as ns; 0: not one. */
static uint64_t speedscope_time(struct view unit)
{
    static const struct {
        const char *name;
        uint64_t ns;
    } units[] = {{"nanoseconds", 1},
                 {"microseconds", 1000},
                 {"milliseconds", 1000 * 1000},
                 {"seconds", 1000 * 1000 * 1000}};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (view_eq(unit, view_of(units[i].name)))
            return units[i].ns;
    return 0;
}

static bool speedscope_stack(void *ctx, struct view unit, const uint32_t *frames, size_t count,
                             double weight)
{
    struct speedscope_adding *adding = ctx;
    struct flame *flame = adding->adding.flame;
    const char *dot = strrchr(adding->adding.text->application, '.');
    uint64_t ns = speedscope_time(unit);
    const char *type = !ns                                   ? "speedscope:samples:count::"
                       : dot && strncmp(dot, ".cpu", 4) == 0 ? CPU_TYPE
                                                             : WALL_TYPE;
    if (view_eq(unit, VIEW("bytes")))
        type = "speedscope:space:bytes::";
    if (!flame_takes(flame, type))
        return true;
    double value = weight * (double)(ns ? ns : 1);
    uint32_t node = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t name;
        memcpy(&name, adding->frames.data + frames[i] * sizeof name, sizeof name);
        node = flame_child(flame, node, name);
    }
    flame_weigh(flame, node, value < 0x1p63 ? (uint64_t)value : INT64_MAX);
    flame->samples++;
    return true;
}

static void add_speedscope(struct text_adding *adding)
{
    struct speedscope_adding all = {.adding = *adding};
    const struct speedscope_visit visit = {&all, speedscope_frame, speedscope_stack};
    struct speedscope file;
    struct bytes stack;
    bytes_init(&stack, adding->text->body.size * 4 + 64, adding->flame->budget);
    bytes_init(&all.frames, adding->text->body.size * 4 + 64, adding->flame->budget);
    if (!speedscope_visit(&file, adding->text->body, &stack, &visit) || file.fault)
        adding->flame->truncated = true;
    bytes_release(&stack);
    bytes_release(&all.frames);
}

/* ---- any ---- */

/* Takes the type at the end of the application's name, and sets the unit. */
static bool takes_type(struct text_adding *adding)
{
    const char *name = adding->text->application;
    struct view application = {(const uint8_t *)name, strcspn(name, "{")};
    bool timed;
    const char *type = ingest_text_type(view_trim(application, VIEW_SPACE), &timed);
    adding->unit = timed ? adding->text->period : 1;
    return type && flame_takes(adding->flame, type);
}

static bool is_media(const struct flame_text *text, const char *type)
{
    return text->content_type && strncmp(text->content_type, type, strlen(type)) == 0;
}

void flame_add_text(struct flame *flame, const struct flame_text *text)
{
    struct text_adding adding = {.flame = flame, .text = text, .unit = 1};
    bool trie = is_media(text, "binary/octet-stream+trie"),
         tree = is_media(text, "binary/octet-stream+tree");
    if (!trie && !tree && strcmp(text->format, "speedscope") == 0)
        add_speedscope(&adding);
    else if (!takes_type(&adding))
        return;
    else if (trie || (!tree && strcmp(text->format, "trie") == 0))
        add_nodes(&adding, true);
    else if (tree || strcmp(text->format, "tree") == 0)
        add_nodes(&adding, false);
    else
        add_lines(&adding, strcmp(text->format, "lines") != 0);
}
