/* Targets listed in files, in the format of Prometheus' file_sd_configs: a list of
 * {targets: ["host:port"], labels: {name: value}}, as JSON or YAML. */
#include "receivers/pprof/scraper.h"

#include "lib/base/log.h"
#include "lib/base/watched_file.h"
#include "lib/settings/yaml.h"

#include <fnmatch.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>

enum { FILE_MAX = 4 << 20, TREE_MAX = 256 << 20 };

/* A file that exists and matches an entry of the configuration. */
struct sd_file {
    struct sd_file *next;
    const struct file_sd_settings *entry;
    char *path;
    struct watched_file watched;
    bool seen; /* in the last poll */
    bool bad;  /* unreadable, and logged as such */
};

bool sd_file_name(const char *path)
{
    static const char *const ends[] = {"*.json", "*.yml", "*.yaml"};
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    size_t wild = strcspn(path, "*?[");
    if (slash && wild < (size_t)(slash - path))
        return false;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (fnmatch(ends[i], name, 0) == 0)
            return true;
    return false;
}

/* A file being parsed into targets. */
struct reading {
    struct arena arena;
    struct problems problems;
    struct sd_target *targets;
    size_t count, room;
    bool no_memory;
};

static void *files_take(struct reading *reading, size_t count, size_t size)
{
    void *made = arena_array(&reading->arena, count, size);
    reading->no_memory |= !made;
    return made;
}

/* Concatenates a, joint and b. */
static const char *joined(struct reading *reading, const char *a, const char *joint, const char *b)
{
    size_t size = strlen(a) + strlen(joint) + strlen(b) + 1;
    char *text = files_take(reading, size, 1);
    if (text)
        snprintf(text, size, "%s%s%s", a, joint, b);
    return text ? text : "";
}

/* The labels of a group: those of its series, and those that configure the pull. */
struct group {
    struct key_map labels, params;
    const char *scheme, *service_name, *text;
};

static void add_pair(struct key_map *map, const char *name, const char *value)
{
    map->pairs[map->count++] = (struct key_pair){(char *)name, (char *)value};
}

static void take_label(struct reading *reading, struct group *group, const struct node *label)
{
    static const char param[] = "__param_";
    const char *name = label->key, *value = node_string(label);
    if (!value) {
        problems_add(&reading->problems, label, name, "is %s, expected a string",
                     node_kind_words(label));
        return;
    }
    if (strcmp(name, "service_name") == 0)
        group->service_name = value;
    else if (strcmp(name, "__scheme__") == 0)
        group->scheme = value;
    else if (strncmp(name, param, sizeof param - 1) == 0)
        add_pair(&group->params, name + sizeof param - 1, value);
    else if (strncmp(name, "__", 2) != 0 && *name)
        add_pair(&group->labels, name, value);
    const char *pair = joined(reading, name, "=", value);
    group->text = joined(reading, group->text, "\n", pair);
}

static bool read_labels(struct reading *reading, const struct node *labels, struct group *group)
{
    size_t count = labels ? labels->count : 0;
    *group = (struct group){.scheme = "http", .text = ""};
    if (labels && labels->kind != NODE_MAP && labels->kind != NODE_NULL) {
        problems_add(&reading->problems, labels, "labels", "is %s, expected a map",
                     node_kind_words(labels));
        return false;
    }
    group->labels.pairs = files_take(reading, count + 1, sizeof *group->labels.pairs);
    group->params.pairs = files_take(reading, count + 1, sizeof *group->params.pairs);
    for (size_t i = 0; !reading->no_memory && i < count; i++)
        take_label(reading, group, labels->items[i]);
    if (strcmp(group->scheme, "http") != 0 && strcmp(group->scheme, "https") != 0)
        problems_add(&reading->problems, labels, "__scheme__", "is \"%s\", expected http or https",
                     group->scheme);
    return !reading->no_memory;
}

/* The default port is the scheme's. */
static const char *with_port(struct reading *reading, const char *address, const char *scheme)
{
    const char *bracket = strrchr(address, ']');
    if (strchr(bracket ? bracket : address, ':'))
        return address;
    return joined(reading, address, ":", strcmp(scheme, "https") == 0 ? "443" : "80");
}

static void files_add_target(struct reading *reading, const struct node *node,
                             const struct group *group)
{
    const char *address = node_string(node);
    if (!address || !*address || strpbrk(address, "/?#@ \t")) {
        problems_add(&reading->problems, node, "targets", "expected host:port");
        return;
    }
    if (reading->count == reading->room) {
        size_t room = reading->room ? 2 * reading->room : 16;
        struct sd_target *more = files_take(reading, room, sizeof *more);
        if (!more)
            return;
        if (reading->count)
            memcpy(more, reading->targets, reading->count * sizeof *more);
        reading->targets = more;
        reading->room = room;
    }
    struct key_map *maps = files_take(reading, 2, sizeof *maps);
    if (!maps)
        return;
    maps[0] = group->labels;
    maps[1] = group->params;
    reading->targets[reading->count++] = (struct sd_target){
        .address = with_port(reading, address, group->scheme),
        .scheme = group->scheme,
        .service_name = group->service_name,
        .text = joined(reading, address, "\n", group->text),
        .labels = &maps[0],
        .params = &maps[1],
    };
}

static void read_group(struct reading *reading, const struct node *node)
{
    const struct node *targets = node_get(node, "targets");
    struct group group;
    if (node->kind != NODE_MAP || !targets || targets->kind != NODE_LIST) {
        problems_add(&reading->problems, node, "", "expected a map with a list \"targets\"");
        return;
    }
    for (size_t i = 0; i < node->count; i++)
        if (strcmp(node->items[i]->key, "targets") != 0 &&
            strcmp(node->items[i]->key, "labels") != 0)
            problems_add(&reading->problems, node->items[i], node->items[i]->key,
                         "unknown key, expected targets or labels");
    if (!read_labels(reading, node_get(node, "labels"), &group))
        return;
    for (size_t i = 0; !reading->no_memory && i < targets->count; i++)
        files_add_target(reading, targets->items[i], &group);
}

/* False: the file's targets are kept; error is the reason. */
static bool read_targets(struct reading *reading, struct view text, const char *path, char *error,
                         size_t error_size)
{
    const struct node *root = yaml_parse(&reading->arena, text, path, &reading->problems);
    if (root && root->kind != NODE_LIST && root->kind != NODE_NULL)
        problems_add(&reading->problems, root, "", "is %s, expected a list", node_kind_words(root));
    for (size_t i = 0; root && root->kind == NODE_LIST && i < root->count; i++)
        read_group(reading, root->items[i]);
    if (reading->no_memory)
        snprintf(error, error_size, "%s: out of memory", path);
    else if (reading->problems.count)
        snprintf(error, error_size, "%s", reading->problems.lines[0]);
    return !reading->no_memory && reading->problems.count == 0;
}

static void file_log(struct scraper *scraper, struct sd_file *file, const char *error)
{
    if (error)
        env_warn(scraper->env, "%s; keeping its targets", error);
    else if (file->bad)
        env_info(scraper->env, "%s can be read again", file->path);
    file->bad = error;
}

static void take_over(struct scraper *scraper, struct sd_file *file, struct view text)
{
    struct reading reading = {0};
    char error[300] = "";
    arena_init(&reading.arena, TREE_MAX);
    bool good = read_targets(&reading, text, file->path, error, sizeof error);
    file_log(scraper, file, good ? NULL : error);
    if (good) {
        pthread_mutex_lock(&scraper->lock);
        if (!scraper->stopping)
            targets_sync_file(scraper, file, file->entry->service_name, reading.targets,
                              reading.count);
        pthread_mutex_unlock(&scraper->lock);
    }
    problems_release(&reading.problems);
    arena_release(&reading.arena);
}

static void file_poll(struct scraper *scraper, struct sd_file *file, uint64_t mono_ns)
{
    struct bytes content;
    char error[300];
    bytes_init(&content, FILE_MAX, NULL);
    enum watched_result result =
        watched_file_look(&file->watched, mono_ns, &content, error, sizeof error);
    if (result == WATCHED_FAILED)
        file_log(scraper, file, error);
    else if (result == WATCHED_READ)
        take_over(scraper, file, bytes_view(&content));
    bytes_release(&content);
}

static struct sd_file *files_find(struct scraper *scraper, const struct file_sd_settings *entry,
                                  const char *path)
{
    struct sd_file *file = scraper->sd_files;
    while (file && (file->entry != entry || strcmp(file->path, path) != 0))
        file = file->next;
    if (file)
        return file;
    file = calloc(1, sizeof *file);
    char *copy = file ? strdup(path) : NULL;
    if (!copy) {
        free(file);
        return NULL;
    }
    *file = (struct sd_file){.next = scraper->sd_files, .entry = entry, .path = copy};
    file->watched.path = copy;
    scraper->sd_files = file;
    return file;
}

static void file_mark_seen(struct scraper *scraper, const struct file_sd_settings *entry,
                           const char *path, uint64_t mono_ns)
{
    struct sd_file *file = files_find(scraper, entry, path);
    if (!file)
        return;
    file->seen = true;
    file_poll(scraper, file, mono_ns);
}

static void files_match(struct scraper *scraper, const struct file_sd_settings *entry,
                        const char *pattern, uint64_t mono_ns)
{
    glob_t found = {0};
    if (!strpbrk(pattern, "*?[")) {
        file_mark_seen(scraper, entry, pattern, mono_ns);
        return;
    }
    if (glob(pattern, 0, NULL, &found) == 0)
        for (size_t i = 0; i < found.gl_pathc; i++)
            file_mark_seen(scraper, entry, found.gl_pathv[i], mono_ns);
    globfree(&found);
}

/* Removes files that no longer match a pattern, with their targets. */
static void drop_missing(struct scraper *scraper)
{
    for (struct sd_file **at = &scraper->sd_files; *at;) {
        struct sd_file *file = *at;
        if (file->seen) {
            at = &file->next;
            continue;
        }
        pthread_mutex_lock(&scraper->lock);
        targets_sync_file(scraper, file, "", NULL, 0);
        pthread_mutex_unlock(&scraper->lock);
        *at = file->next;
        free(file->path);
        free(file);
    }
}

void sd_files_poll(struct scraper *scraper, uint64_t mono_ns)
{
    const struct file_sd_settings *entries = scraper->self->file_sd.items;
    for (struct sd_file *file = scraper->sd_files; file; file = file->next)
        file->seen = false;
    for (size_t i = 0; i < scraper->self->file_sd.count; i++)
        for (size_t j = 0; j < entries[i].files.count; j++)
            files_match(scraper, &entries[i], entries[i].files.items[j], mono_ns);
    drop_missing(scraper);
}

void sd_files_free(struct scraper *scraper)
{
    while (scraper->sd_files) {
        struct sd_file *file = scraper->sd_files;
        scraper->sd_files = file->next;
        free(file->path);
        free(file);
    }
}
