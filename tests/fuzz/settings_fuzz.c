/* A configuration file of any bytes: gives a tree or problems, and fills a key table. */
#include "lib/settings/fill.h"
#include "lib/settings/yaml.h"
#include "tests/lib/settings/box.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fill(const struct settings *settings, struct problems *problems)
{
    struct box box = {0};
    const struct node *root = settings_root(settings);
    keys_fill(box_rows, root, root, "x", &box, problems);
    keys_release(box_rows, &box);
}

/* Parses like a file, including NUL characters. */
static void parse_only(struct view text)
{
    struct arena arena;
    struct problems problems = {0};
    arena_init(&arena, 1 << 20);
    const struct node *root = yaml_parse(&arena, text, "f", &problems);
    if (!root == (problems.count == 0))
        abort();
    problems_release(&problems);
    arena_release(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct problems problems = {0};
    char *source = malloc(size + 6);
    if (!source)
        return 0;
    memcpy(source, "yaml:", 5);
    memcpy(source + 5, data, size);
    source[size + 5] = '\0';
    setenv("X", "${env:Y} $$ ${file:/dev/null}", 1);
    setenv("Y", "{a: ['${env:Z:-z}']}", 1);
    const struct settings_source sources[] = {{SETTINGS_FILE, source}, {SETTINGS_SET, source + 5}};
    parse_only((struct view){data, size});
    struct settings *settings = settings_load(sources, 1, &problems);
    if (!settings == (problems.count == 0))
        abort();
    if (settings)
        fill(settings, &problems);
    settings_free(settings);
    settings_free(settings_load(&sources[1], 1, &problems));
    problems_release(&problems);
    free(source);
    return 0;
}
