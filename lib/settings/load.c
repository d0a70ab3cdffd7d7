#include "lib/settings/load.h"

#include "lib/base/log.h"
#include "lib/settings/expand.h"
#include "lib/settings/source.h"
#include "lib/settings/tree.h"
#include "lib/settings/yaml.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SETTINGS_MAX = 32 << 20, /* bytes of trees, including aliases and expansions */
    NAME_MAX_SIZE = 60       /* of a yaml: source, whose text is its name */
};

struct settings {
    struct arena arena;
    struct node *root;
    struct problems warnings;
    struct settings_files *files; /* while loading */
};

static struct node *load_fail(struct problems *problems, const char *file, const char *what)
{
    problems_add(problems, &(struct node){.file = file}, NULL, "%s", what);
    return NULL;
}

/* Returns the source's text, and its name for problems. data NULL: a problem was added. */
static struct view source_text(struct settings *settings, const char *source, const char **name,
                               struct problems *problems)
{
    const char *rest;
    enum source_scheme scheme = source_scheme(source, &rest);
    struct view none = {0};
    char error[256];
    struct view whole = view_of(source);
    if (scheme == SOURCE_YAML && whole.size > NAME_MAX_SIZE)
        whole.size = NAME_MAX_SIZE;
    *name = arena_text(&settings->arena, whole);
    if (scheme == SOURCE_UNKNOWN) {
        load_fail(problems, source, "spanlink reads only file:, env: and yaml:");
        return none;
    }
    if (scheme == SOURCE_YAML)
        return view_of(rest);
    if (scheme == SOURCE_ENV) {
        if (!getenv(rest))
            load_fail(problems, source, "the variable is not set");
        return view_of(getenv(rest));
    }
    *name = arena_text(&settings->arena, view_of(rest));
    settings_files_add(settings->files, rest);
    struct view text = source_read_file(&settings->arena, rest, error, sizeof error);
    if (!text.data)
        load_fail(problems, rest, error);
    return text;
}

/* Keys "a::b" of a yaml: source are paths. */
static struct node *unfold(struct settings *settings, const struct node *root)
{
    struct node *out = arena_alloc(&settings->arena, sizeof *out);
    if (!out)
        return NULL;
    *out = (struct node){.kind = NODE_MAP, .file = root->file, .line = root->line};
    for (size_t i = 0; i < root->count; i++) {
        struct node *map = tree_wrap(&settings->arena, root->items[i]->key, "::", root->items[i]);
        if (!map || !tree_merge(&settings->arena, out, map))
            return NULL;
    }
    return out;
}

static struct node *parse_source(struct settings *settings, const char *source,
                                 struct problems *problems)
{
    const char *name, *rest;
    struct view text = source_text(settings, source, &name, problems);
    if (!text.data)
        return NULL;
    if (!name)
        return load_fail(problems, source, "the configuration is too large");
    struct node *root = yaml_parse(&settings->arena, text, name, problems);
    if (!root || root->kind == NODE_NULL)
        return root;
    if (root->kind != NODE_MAP) {
        problems_add(problems, root, NULL,
                     "found %s, expected a map of receivers, exporters, service ...",
                     node_kind_words(root));
        return NULL;
    }
    if (source_scheme(source, &rest) != SOURCE_YAML)
        return root;
    root = unfold(settings, root);
    return root ? root : load_fail(problems, source, "the configuration is too large");
}

/* Whether every step of "a.b.c" has a name. */
static bool path_whole(const char *path)
{
    size_t n = strlen(path);
    return n && path[0] != '.' && path[n - 1] != '.' && !strstr(path, "..");
}

/* --set a.b=c */
static struct node *parse_set(struct settings *settings, const char *text,
                              struct problems *problems)
{
    struct arena *arena = &settings->arena;
    const char *equals = strchr(text, '=');
    char *name = arena_alloc(arena, strlen(text) + sizeof "--set ");
    char *path = arena_text(arena, (struct view){(const uint8_t *)text, strcspn(text, "=")});
    if (!name || !path)
        return load_fail(problems, "--set", "the configuration is too large");
    memcpy(name, "--set ", 6);
    memcpy(name + 6, text, strlen(text));
    if (!equals || !path_whole(path))
        return load_fail(problems, name, "expected a path and a value such as a.b.c=value");
    struct node *value = yaml_parse(arena, view_of(equals + 1), name, problems);
    if (!value)
        return NULL;
    struct node *map = tree_wrap(arena, path, ".", value);
    return map ? map : load_fail(problems, name, "the configuration is too large");
}

static bool load_source(struct settings *settings, const struct settings_source *source,
                        struct problems *problems)
{
    struct node *tree = source->origin == SETTINGS_SET
                            ? parse_set(settings, source->text, problems)
                            : parse_source(settings, source->text, problems);
    if (!tree)
        return false;
    if (!settings->root || settings->root->kind == NODE_NULL) {
        settings->root = tree;
        return true;
    }
    if (tree->kind == NODE_NULL || tree_merge(&settings->arena, settings->root, tree))
        return true;
    load_fail(problems, source->text, "the configuration is too large");
    return false;
}

static bool load_sources(struct settings *settings, const struct settings_source *sources,
                         size_t count, struct problems *problems)
{
    const enum settings_origin order[] = {SETTINGS_FILE, SETTINGS_SET};
    bool ok = true;
    for (size_t round = 0; round < 2; round++)
        for (size_t i = 0; i < count; i++)
            if (sources[i].origin == order[round])
                ok = load_source(settings, &sources[i], problems) && ok;
    if (ok && (!settings->root || settings->root->count == 0)) {
        const char *file = settings->root ? settings->root->file : NULL;
        load_fail(problems, file, "empty configuration file");
        ok = false;
    }
    return ok;
}

struct settings *settings_load(const struct settings_source *sources, size_t count,
                               struct problems *problems)
{
    return settings_load_files(sources, count, NULL, problems);
}

struct settings *settings_load_files(const struct settings_source *sources, size_t count,
                                     struct settings_files *files, struct problems *problems)
{
    struct settings *settings = calloc(1, sizeof *settings);
    if (!settings) {
        problems_add(problems, NULL, NULL, "out of memory");
        return NULL;
    }
    arena_init(&settings->arena, SETTINGS_MAX);
    settings->files = files;
    struct expansion expansion = {&settings->arena, problems, &settings->warnings, files};
    if (!load_sources(settings, sources, count, problems) ||
        !expand_tree(&expansion, settings->root)) {
        settings_free(settings);
        return NULL;
    }
    settings->files = NULL;
    return settings;
}

static bool repeated(const char *warning, const struct problems *problems)
{
    for (size_t i = 0; i < problems->count; i++)
        if (problems->lines[i] && strncmp(problems->lines[i], warning, strlen(warning)) == 0)
            return true;
    return false;
}

void settings_log_warnings(const struct settings *settings, const struct problems *problems)
{
    for (size_t i = 0; i < settings->warnings.count; i++) {
        const char *line = settings->warnings.lines ? settings->warnings.lines[i] : NULL;
        if (line && !repeated(line, problems))
            log_warn("%s", line);
    }
}

const struct node *settings_root(const struct settings *settings)
{
    return settings->root;
}

void settings_free(struct settings *settings)
{
    if (!settings)
        return;
    problems_release(&settings->warnings);
    arena_release(&settings->arena);
    free(settings);
}
