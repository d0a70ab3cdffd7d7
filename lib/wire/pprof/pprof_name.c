/* Display names of a profile's types (lib/wire/pprof/pprof.h). */
#include "lib/wire/pprof/pprof.h"

#include <jansson.h>

struct display_name {
    const char *type;
    const char *name;
};

/* The server's display names of types if the client sent no configuration. */
static const struct display_name defaults[] = {
    {"samples", "cpu"},
    {"goroutine", "goroutines"},
    {"contentions", "mutex_count"},
    {"delay", "mutex_duration"},
};

static bool contains(struct view text, struct view part)
{
    return text.size >= part.size && memmem(text.data, text.size, part.data, part.size);
}

/* The series of a type with this display name; data NULL: none. */
static struct view series_of(struct view shown)
{
    if (contains(shown, VIEW("cpu")))
        return VIEW("process_cpu");
    if (contains(shown, VIEW("alloc_")) || contains(shown, VIEW("inuse_")) ||
        view_eq(shown, VIEW("space")) || view_eq(shown, VIEW("objects")))
        return VIEW("memory");
    if (contains(shown, VIEW("mutex_")))
        return VIEW("mutex");
    if (contains(shown, VIEW("block_")))
        return VIEW("block");
    if (contains(shown, VIEW("goroutines")))
        return VIEW("goroutines");
    return (struct view){0};
}

/* Checks the keys of one entry against the JSON types that the server expects. */
static bool entry_valid(const json_t *entry)
{
    static const struct {
        const char *key;
        bool is_text;
    } keys[] = {{"units", true},
                {"display-name", true},
                {"aggregation", true},
                {"cumulative", false},
                {"sampled", false}};
    if (json_is_null(entry))
        return true;
    bool valid = json_is_object(entry);
    for (size_t i = 0; valid && i < sizeof keys / sizeof *keys; i++) {
        const json_t *value = json_object_get(entry, keys[i].key);
        valid = !value || json_is_null(value) ||
                (keys[i].is_text ? json_is_string(value) : json_is_boolean(value));
    }
    return valid;
}

/* NULL: not a configuration. JSON null is an empty one. */
static json_t *config_load(struct view text)
{
    json_t *config = json_loadb((const char *)text.data, text.size, JSON_DECODE_ANY, NULL);
    bool valid = json_is_null(config) || json_is_object(config);
    const char *key;
    json_t *entry;
    if (json_is_object(config))
        json_object_foreach(config, key, entry) valid = valid && entry_valid(entry);
    if (valid)
        return config;
    json_decref(config);
    return NULL;
}

bool pprof_config_valid(struct view sample_type_config)
{
    if (sample_type_config.size == 0)
        return true;
    json_t *config = config_load(sample_type_config);
    json_decref(config);
    return config != NULL;
}

/* The display name of a type. A configuration replaces all defaults. */
static struct view shown_as(struct view type, const json_t *config, struct arena *arena)
{
    const char *name = NULL;
    if (json_is_object(config)) {
        char *key = arena_text(arena, type);
        if (!key)
            return (struct view){0};
        name = json_string_value(json_object_get(json_object_get(config, key), "display-name"));
        struct view copy = view_of(name);
        char *kept = copy.size ? arena_text(arena, copy) : NULL;
        if (copy.size)
            return kept ? (struct view){(uint8_t *)kept, copy.size} : (struct view){0};
        return type;
    }
    for (size_t i = 0; i < sizeof defaults / sizeof *defaults; i++)
        if (view_eq(type, view_of(defaults[i].type)))
            return view_of(defaults[i].name);
    return type;
}

static struct view name_by_types(const struct pprof *pprof, const json_t *config,
                                 struct arena *arena)
{
    struct view shown = VIEW("");
    for (size_t i = 0; i < pprof->type_count; i++)
        if (view_eq(pprof->types[i].type, VIEW("wall")))
            return VIEW("wall");
    for (size_t i = 0; i < pprof->type_count; i++) {
        shown = shown_as(pprof->types[i].type, config, arena);
        struct view series = series_of(shown);
        if (!shown.data || series.data)
            return series;
    }
    return shown;
}

struct view pprof_series_name(const struct pprof *pprof, struct view sample_type_config,
                              struct arena *arena)
{
    json_t *config = NULL;
    if (sample_type_config.size && !(config = config_load(sample_type_config)))
        return (struct view){0};
    struct view name = name_by_types(pprof, config, arena);
    json_decref(config);
    return name;
}
