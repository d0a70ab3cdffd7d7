#include "lib/settings/expand.h"

#include "lib/base/utf8.h"
#include "lib/settings/scalar.h"
#include "lib/settings/source.h"
#include "lib/settings/trail.h"
#include "lib/settings/tree.h"
#include "lib/settings/yaml.h"

#include <stdio.h>
#include <stdlib.h>

enum { EXPANSIONS_MAX = 1000 };

struct walk {
    const struct expansion *to;
    const struct node *place; /* the source's scalar being expanded; NULL: none */
    unsigned left;            /* expansions left for it */
};

/* A ${} in a text. */
struct found {
    size_t open, close;
};

/* The value of a ${}. */
struct value {
    const char *text;
    const char *file; /* the file that it came from; NULL: no file */
    bool unset;
};

static bool walk_node(struct walk *walk, struct node *node, const struct trail *trail,
                      unsigned depth);

static bool expand_fail(const struct walk *walk, const struct trail *trail, const char *what,
                        const char *about)
{
    char path[TRAIL_TEXT];
    problems_add(walk->to->problems, walk->place, trail_text(trail, path), "%s%s%s", what,
                 *about ? ": " : "", about);
    return false;
}

static bool fail_size(const struct walk *walk, const struct trail *trail)
{
    return expand_fail(walk, trail, "the configuration is too large", "");
}

/* Whether an odd number of dollars precedes it: $${x} is not an expansion, $$${x} is one after a
 * dollar. */
static bool escaped(const char *text, size_t from, size_t open)
{
    size_t dollars = 0;
    while (open - dollars > from && text[open - dollars - 1] == '$')
        dollars++;
    return dollars % 2 == 1;
}

/* Finds the innermost ${} that closes first. */
static bool expand_find(const char *text, struct found *found)
{
    size_t from = 0;
    for (const char *close; (close = strchr(text + from, '}'));) {
        size_t end = (size_t)(close - text);
        for (size_t open = end; open-- > from;) {
            if (text[open] != '$' || text[open + 1] != '{')
                continue;
            if (escaped(text, from, open))
                break;
            *found = (struct found){open, end};
            return true;
        }
        from = end + 1;
    }
    return false;
}

static void undouble(char *text)
{
    char *to = text;
    for (const char *from = text; *from; from++) {
        *to++ = *from;
        if (from[0] == '$' && from[1] == '$')
            from++;
    }
    *to = '\0';
}

static void warn_unset(const struct walk *walk, const struct trail *trail, const char *name)
{
    char path[TRAIL_TEXT];
    problems_add(walk->to->warnings, walk->place, trail_text(trail, path),
                 "the variable %s is not set", name);
}

/* name is "X" or "X:-default", and is cut after the name. */
static bool value_of_env(struct walk *walk, char *name, const struct trail *trail,
                         struct value *value)
{
    char *split = strstr(name, ":-");
    if (split)
        *split = '\0';
    if (!source_env_name(view_of(name)))
        return expand_fail(
            walk, trail,
            "${...} takes the name of a variable (letters, digits, _), this is not one", name);
    value->text = getenv(name);
    if (!value->text && split)
        value->text = split + 2;
    if (value->text)
        return true;
    value->text = "";
    value->unset = true;
    warn_unset(walk, trail, name);
    return true;
}

static bool value_of_file(struct walk *walk, const char *path, const struct trail *trail,
                          struct value *value)
{
    char error[256];
    settings_files_add(walk->to->files, path);
    struct view content = source_read_file(walk->to->arena, path, error, sizeof error);
    if (!content.data) {
        char what[300];
        snprintf(what, sizeof what, "the file of ${file:...} %s", error);
        return expand_fail(walk, trail, what, path);
    }
    if (memchr(content.data, 0, content.size))
        return expand_fail(walk, trail, "the file of ${file:...} has a NUL character in it", path);
    value->text = (const char *)content.data;
    value->file = path;
    return true;
}

/* inner: the text between the braces; may be modified. */
static bool expand_value_of(struct walk *walk, char *inner, const struct trail *trail,
                            struct value *value)
{
    const char *rest;
    enum source_scheme scheme = source_scheme(inner, &rest);
    size_t name = strcspn(inner, ":");
    *value = (struct value){0};
    if (scheme == SOURCE_ENV)
        return value_of_env(walk, inner + (rest - inner), trail, value);
    if (scheme == SOURCE_FILE)
        return value_of_file(walk, rest, trail, value);
    if (scheme == SOURCE_YAML) {
        value->text = rest;
        return true;
    }
    if (scheme == SOURCE_UNKNOWN && inner[name + 1] != '-')
        return expand_fail(walk, trail, "${...} reads env:, file: and yaml:, not this", inner);
    return value_of_env(walk, inner, trail, value);
}

/* Returns text with a ${} replaced by its value. */
static char *splice(const struct walk *walk, const char *text, struct found at, const char *value)
{
    size_t middle = strlen(value), tail = strlen(text + at.close + 1);
    if (at.open + middle + tail > TREE_TEXT_MAX)
        return NULL;
    char *out = arena_alloc(walk->to->arena, at.open + middle + tail + 1);
    if (!out)
        return NULL;
    memcpy(out, text, at.open);
    memcpy(out + at.open, value, middle);
    memcpy(out + at.open + middle, text + at.close + 1, tail);
    return out;
}

static void relocate(struct node *node, const struct node *place)
{
    node->file = place->file;
    node->line = place->line;
    for (size_t i = 0; i < node->count; i++)
        relocate(node->items[i], place);
}

/* Text that is not YAML, or a YAML string, is used verbatim, including quotes. */
static void node_be_string(struct node *node, const char *text)
{
    node->kind = NODE_SCALAR;
    node->quoted = true;
    node->text = text;
    node->original = NULL;
    node->items = NULL;
    node->count = 0;
}

static bool parsed_is_string(const struct node *parsed)
{
    return !parsed || (parsed->kind == NODE_SCALAR &&
                       (parsed->quoted || scalar_type(parsed->text) == SCALAR_STRING));
}

static const char *without_line_end(const struct walk *walk, const char *text)
{
    size_t n = strlen(text);
    while (n && (text[n - 1] == '\n' || text[n - 1] == '\r'))
        n--;
    return arena_text(walk->to->arena, (struct view){(const uint8_t *)text, n});
}

/* For a node that is one ${}: replaces it by the value, parsed as YAML. */
static bool become(struct walk *walk, struct node *node, const struct value *value,
                   const struct trail *trail)
{
    struct problems ignored = {0};
    const char *file = value->file ? value->file : walk->place->file;
    struct node *parsed = yaml_parse(walk->to->arena, view_of(value->text), file, &ignored);
    problems_release(&ignored);
    bool tree = parsed && (parsed->kind == NODE_MAP || parsed->kind == NODE_LIST);
    const char *text = value->text;
    if (value->file && !tree)
        text = without_line_end(walk, text);
    if (!text)
        return fail_size(walk, trail);
    if (parsed_is_string(parsed)) {
        node_be_string(node, text);
        return true;
    }
    if (!value->file)
        relocate(parsed, walk->place);
    node->kind = parsed->kind;
    node->quoted = false;
    node->text = parsed->text;
    node->original = text;
    node->items = parsed->items;
    node->count = parsed->count;
    return true;
}

static bool expand_take(struct walk *walk, const struct trail *trail)
{
    if (walk->left-- > 0)
        return true;
    walk->left = 0;
    return expand_fail(walk, trail, "${...} has no end: more than 1000 expansions", "");
}

static bool expand_replace(struct walk *walk, struct node *node, struct found at,
                           const struct trail *trail)
{
    struct view inner = {(const uint8_t *)node->text + at.open + 2, at.close - at.open - 2};
    char *copy = arena_text(walk->to->arena, inner);
    struct value value;
    if (!copy)
        return fail_size(walk, trail);
    if (!expand_value_of(walk, copy, trail, &value))
        return false;
    if (!utf8_valid(view_of(value.text)))
        return expand_fail(walk, trail, "the value of ${...} is not valid UTF-8", copy);
    if (value.unset) {
        node->unset = true;
        node->variable = strncmp(copy, "env:", 4) == 0 ? copy + 4 : copy;
    }
    if (at.open == 0 && node->text[at.close + 1] == '\0')
        return become(walk, node, &value, trail);
    const char *text = value.file ? without_line_end(walk, value.text) : value.text;
    char *joined = text ? splice(walk, node->text, at, text) : NULL;
    if (!joined)
        return fail_size(walk, trail);
    node_be_string(node, joined);
    return true;
}

static bool finish_text(struct walk *walk, const char **text, const struct trail *trail)
{
    if (!*text || !strstr(*text, "$$"))
        return true;
    char *copy = arena_text(walk->to->arena, view_of(*text));
    if (!copy)
        return fail_size(walk, trail);
    undouble(copy);
    *text = copy;
    return true;
}

static bool walk_scalar(struct walk *walk, struct node *node, const struct trail *trail,
                        unsigned depth)
{
    struct found at;
    bool expanded = false;
    while (node->kind == NODE_SCALAR && expand_find(node->text, &at)) {
        if (!expand_take(walk, trail) || !expand_replace(walk, node, at, trail))
            return false;
        expanded = true;
    }
    if (node->kind == NODE_SCALAR && !finish_text(walk, &node->text, trail))
        return false;
    if (!finish_text(walk, &node->original, trail))
        return false;
    bool tree = expanded && (node->kind == NODE_MAP || node->kind == NODE_LIST);
    return !tree || walk_node(walk, node, trail, depth);
}

/* The first scalar of the source's own tree on the path is the place, with its own count;
 * everything that results from it is charged to that count, or a cycle would not end. */
static bool walk_source_scalar(struct walk *walk, struct node *node, const struct trail *trail,
                               unsigned depth)
{
    const struct node place = {.file = node->file, .line = node->line};
    if (walk->place)
        return walk_scalar(walk, node, trail, depth);
    walk->place = &place;
    walk->left = EXPANSIONS_MAX;
    bool ok = walk_scalar(walk, node, trail, depth);
    walk->place = NULL;
    return ok;
}

static bool walk_node(struct walk *walk, struct node *node, const struct trail *trail,
                      unsigned depth)
{
    if (depth > TREE_DEPTH_MAX)
        return expand_fail(walk, NULL, "nested too deep, expected at most 100 levels", "");
    if (node->kind == NODE_SCALAR)
        return walk_source_scalar(walk, node, trail, depth);
    bool ok = true;
    for (size_t i = 0; i < node->count; i++) {
        struct trail step = {.above = trail, .key = node->items[i]->key, .index = i};
        ok = walk_node(walk, node->items[i], &step, depth + 1) && ok;
        if (!ok && walk->place)
            return false;
    }
    return ok;
}

bool expand_tree(const struct expansion *expansion, struct node *root)
{
    struct walk walk = {.to = expansion};
    return walk_node(&walk, root, NULL, 0);
}
