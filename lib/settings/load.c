#include "lib/settings/load.h"

#include "lib/base/log.h"
#include "lib/settings/expand.h"
#include "lib/settings/source.h"
#include "lib/settings/tree.h"
#include "lib/settings/yaml.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SETTINGS_MAX = 32 << 20 }; /* bytes of trees, including aliases and expansions */

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

const char *settings_source_name(const struct settings_source *sources, size_t index,
                                 char out[SETTINGS_NAME])
{
    const char *rest;
    enum source_scheme scheme = source_scheme(sources[index].text, &rest);
    unsigned number = 1;
    if (scheme == SOURCE_UNKNOWN) {
        snprintf(out, SETTINGS_NAME, "%.*s", (int)strcspn(sources[index].text, ":"),
                 sources[index].text);
        return out;
    }
    if (scheme != SOURCE_YAML)
        return sources[index].text;
    for (size_t i = 0; i < index; i++)
        number += sources[i].origin == SETTINGS_FILE &&
                  source_scheme(sources[i].text, &rest) == SOURCE_YAML;
    snprintf(out, SETTINGS_NAME, "yaml: source %u", number);
    return out;
}

/* Returns the source's text, and its name for problems in place of the given one. data NULL: a
 * problem was added. */
static struct view source_text(struct settings *settings, const char *source, const char **name,
                               struct problems *problems)
{
    const char *rest, *given = *name;
    enum source_scheme scheme = source_scheme(source, &rest);
    struct view none = {0};
    char error[256];
    *name = arena_text(&settings->arena, view_of(scheme == SOURCE_FILE ? rest : given));
    if (scheme == SOURCE_UNKNOWN) {
        load_fail(problems, given, "spanlink reads only file:, env: and yaml:");
        return none;
    }
    if (scheme == SOURCE_YAML)
        return view_of(rest);
    if (scheme == SOURCE_ENV) {
        if (!getenv(rest))
            load_fail(problems, given, "the variable is not set");
        return view_of(getenv(rest));
    }
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

static struct node *parse_source(struct settings *settings, const char *source, const char *given,
                                 struct problems *problems)
{
    const char *name = given, *rest;
    struct view text = source_text(settings, source, &name, problems);
    if (!text.data)
        return NULL;
    if (!name)
        return load_fail(problems, given, "the configuration is too large");
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
    return root ? root : load_fail(problems, given, "the configuration is too large");
}

/* Whether every step of "a.b.c" has a name. */
static bool path_whole(const char *path)
{
    size_t n = strlen(path);
    return n && path[0] != '.' && path[n - 1] != '.' && !strstr(path, "..");
}

/* --set a.b=c, named without the value, which may be a secret. */
static struct node *parse_set(struct settings *settings, const char *text,
                              struct problems *problems)
{
    struct arena *arena = &settings->arena;
    const char *equals = strchr(text, '=');
    size_t size = strcspn(text, equals ? "=" : ": ");
    char *name = arena_alloc(arena, size + sizeof "--set ");
    char *path = arena_text(arena, (struct view){(const uint8_t *)text, size});
    if (!name || !path)
        return load_fail(problems, "--set", "the configuration is too large");
    snprintf(name, size + sizeof "--set ", "--set %s", path);
    if (!equals || !path_whole(path))
        return load_fail(problems, name, "expected a path and a value such as a.b.c=value");
    struct node *value = yaml_parse(arena, view_of(equals + 1), name, problems);
    if (!value)
        return NULL;
    struct node *map = tree_wrap(arena, path, ".", value);
    return map ? map : load_fail(problems, name, "the configuration is too large");
}

static bool load_source(struct settings *settings, const struct settings_source *sources,
                        size_t index, struct problems *problems)
{
    const struct settings_source *source = &sources[index];
    char room[SETTINGS_NAME];
    bool set = source->origin == SETTINGS_SET;
    const char *name = set ? "--set" : settings_source_name(sources, index, room);
    struct node *tree = set ? parse_set(settings, source->text, problems)
                            : parse_source(settings, source->text, name, problems);
    if (!tree)
        return false;
    if (!settings->root || settings->root->kind == NODE_NULL) {
        settings->root = tree;
        return true;
    }
    if (tree->kind == NODE_NULL || tree_merge(&settings->arena, settings->root, tree))
        return true;
    load_fail(problems, name, "the configuration is too large");
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
                ok = load_source(settings, sources, i, problems) && ok;
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
