#include "lib/settings/field.h"

#include "lib/base/nearest.h"
#include "lib/base/shown.h"
#include "lib/settings/collector_keys.h"
#include "lib/settings/duration.h"
#include "lib/settings/node_json.h"
#include "lib/settings/scalar.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { SHOWN_MAX = 60, WORDS_MAX = 200 };

static bool is_secret(const struct key *key)
{
    return key->type == KEY_TYPE_SECRET || key->type == KEY_TYPE_SECRETS ||
           (key->flags & KEY_HIDDEN);
}

/* Adds the problem "found X, expected Y"; the value of a secret is not shown. */
static void field_expected(const struct field *field, const char *expected)
{
    const struct node *node = field->node;
    char shown[SHOWN_MAX + 32];
    const char *kind = node_kind_words(node);
    if (node->kind != NODE_SCALAR || is_secret(field->key))
        snprintf(shown, sizeof shown, "%s", kind);
    else if (node->quoted)
        snprintf(shown, sizeof shown, "the string \"%.*s\"", SHOWN_MAX, node->text);
    else
        snprintf(shown, sizeof shown, "%.*s", SHOWN_MAX, node->text);
    size_t at;
    bool is_plain = node->kind == NODE_SCALAR && !is_secret(field->key) && !node->quoted;
    const struct lookalike *with = is_plain ? lookalike_in(view_of(node->text), &at) : NULL;
    problems_add(field->problems, node, field->path, "found %s%s%s, expected %s", shown,
                 with ? " with " : "", with ? with->words : "", expected);
}

static void out_of_memory(const struct field *field)
{
    problems_add(field->problems, field->node, field->path, "out of memory");
}

/* The text of a plain scalar; NULL: a quoted string, or not a scalar. */
static const char *plain(const struct node *node)
{
    return node->kind == NODE_SCALAR && !node->quoted ? node->text : NULL;
}

/* Adds a hint if the value would be valid without its quotes. */
static void expected_plain(const struct field *field, const char *words, bool would_do)
{
    char text[WORDS_MAX + 16];
    snprintf(text, sizeof text, "%s%s", words, would_do ? " without quotes" : "");
    field_expected(field, text);
}

static void set_bool(const struct field *field)
{
    bool value;
    const char *text = plain(field->node);
    if (text && scalar_bool(text, &value)) {
        *(bool *)field->at = value;
        return;
    }
    bool quoted = field->node->kind == NODE_SCALAR && scalar_bool(field->node->text, &value);
    expected_plain(field, "true or false", quoted);
}

static void number_words(const struct key *key, const char *noun, char out[WORDS_MAX])
{
    if (key->min == 0 && key->max == 0)
        snprintf(out, WORDS_MAX, "%s that is not negative", noun);
    else
        snprintf(out, WORDS_MAX, "%s from %.15g to %.15g", noun, key->min, key->max);
}

static bool in_range(const struct key *key, double value)
{
    if (key->min == 0 && key->max == 0)
        return value >= 0;
    return value >= key->min && value <= key->max;
}

/* Parses an integer, or a float without fraction (1e3). */
static bool whole(const char *text, int64_t *value)
{
    double number;
    if (scalar_int(text, value))
        return true;
    if (!scalar_number(text, &number) || fabs(number) > 1e15 || number != floor(number))
        return false;
    *value = (int64_t)number;
    return true;
}

static void set_int(const struct field *field)
{
    int64_t value;
    char words[WORDS_MAX];
    const char *text = plain(field->node);
    if (text && whole(text, &value) && in_range(field->key, (double)value)) {
        *(int64_t *)field->at = value;
        return;
    }
    number_words(field->key, "a whole number", words);
    bool quoted = !text && field->node->kind == NODE_SCALAR && whole(field->node->text, &value);
    expected_plain(field, words, quoted);
}

static void set_number(const struct field *field)
{
    double value;
    char words[WORDS_MAX];
    const char *text = plain(field->node);
    if (text && scalar_number(text, &value) && in_range(field->key, value)) {
        *(double *)field->at = value;
        return;
    }
    number_words(field->key, "a number", words);
    bool quoted =
        !text && field->node->kind == NODE_SCALAR && scalar_number(field->node->text, &value);
    expected_plain(field, words, quoted);
}

static void duration_range(const struct key *key, char out[WORDS_MAX])
{
    char low[DURATION_TEXT], high[DURATION_TEXT];
    snprintf(out, WORDS_MAX, "a duration from %s to %s",
             duration_text((uint64_t)(key->min * 1e9), low),
             duration_text((uint64_t)(key->max * 1e9), high));
}

static void set_duration(const struct field *field)
{
    const char *text = field->node->kind == NODE_SCALAR ? field->node->text : "";
    bool may_auto = field->key->flags & KEY_AUTO;
    uint64_t ns;
    char words[WORDS_MAX];
    if (may_auto && strcmp(text, "auto") == 0) {
        *(uint64_t *)field->at = DURATION_AUTO;
    } else if (!duration_parse(text, &ns)) {
        snprintf(words, sizeof words, "%sa duration with its unit, such as 300ms, 5s or 1m30s",
                 may_auto ? "auto or " : "");
        field_expected(field, words);
    } else if (!in_range(field->key, (double)ns / 1e9)) {
        duration_range(field->key, words);
        field_expected(field, words);
    } else {
        *(uint64_t *)field->at = ns;
    }
}

void field_unset(const struct field *field, bool may_be_empty)
{
    const char *name = field->node->variable;
    problems_add(field->problems, field->node, field->path,
                 "the variable %s is not set, expected a value%s%s%s", name,
                 may_be_empty ? " (write ${env:" : "", may_be_empty ? name : "",
                 may_be_empty ? ":-} if it may be empty)" : "");
}

/* Reports an unset variable if the value is required or has a default. */
static bool missing_variable(const struct field *field)
{
    const struct key *key = field->key;
    bool has_default = key->fallback && *key->fallback;
    if (!field->node->unset || !((key->flags & KEY_REQUIRED) || has_default))
        return false;
    field_unset(field, has_default || *node_string(field->node));
    return true;
}

static void set_string(const struct field *field)
{
    const char *text = node_string(field->node);
    if (!text) {
        field_expected(field, "a string");
        return;
    }
    if (missing_variable(field))
        return;
    if (!*text && (field->key->flags & KEY_REQUIRED)) {
        problems_add(field->problems, field->node, field->path, "must not be empty");
        return;
    }
    char *copy = strdup(text);
    if (!copy) {
        out_of_memory(field);
        return;
    }
    char **at = field->at;
    free(*at);
    *at = copy;
}

static void set_choice(const struct field *field)
{
    const char *const *choices = field->key->choices;
    const char *text = node_string(field->node);
    bool exact = field->key->flags & KEY_EXACT;
    for (int i = 0; text && choices[i]; i++)
        if ((exact ? strcmp : strcasecmp)(choices[i], text) == 0) {
            *(int *)field->at = i;
            return;
        }
    char words[WORDS_MAX];
    const char *near = text ? nearest_word(text, choices) : NULL;
    size_t at = (size_t)snprintf(words, sizeof words, "one of ");
    for (size_t i = 0; choices[i] && at < sizeof words; i++)
        at += (size_t)snprintf(words + at, sizeof words - at, "%s%s", i ? ", " : "",
                               *choices[i] ? choices[i] : "\"\"");
    const char *way = collector_key_advice(field->path);
    if (near && at < sizeof words)
        snprintf(words + at, sizeof words - at, "; did you mean \"%s\"?", near);
    else if (way && at < sizeof words)
        snprintf(words + at, sizeof words - at, "; %s", way);
    field_expected(field, words);
}

static bool map_add(struct key_map *map, const char *name, const char *value)
{
    char *copy = strdup(value);
    if (!copy)
        return false;
    struct key_pair *pairs = reallocarray(map->pairs, map->count + 1, sizeof *pairs);
    char *key = pairs ? strdup(name) : NULL;
    if (pairs)
        map->pairs = pairs;
    if (!key) {
        free(copy);
        return false;
    }
    pairs[map->count++] = (struct key_pair){key, copy};
    return true;
}

static bool map_put(struct key_map *map, const char *name, const char *value)
{
    for (size_t i = 0; i < map->count; i++)
        if (strcmp(map->pairs[i].name, name) == 0) {
            char *copy = strdup(value);
            if (copy) {
                free(map->pairs[i].value);
                map->pairs[i].value = copy;
            }
            return copy;
        }
    return map_add(map, name, value);
}

static void put_pair(const struct field *field, const char *name, const struct node *value)
{
    char path[256];
    snprintf(path, sizeof path, "%s.%s", field->path, name);
    struct field entry = *field;
    entry.path = path;
    entry.node = value;
    const char *text = node_string(value);
    if (!text)
        field_expected(&entry, "a string");
    else if (!map_put(field->at, name, text))
        out_of_memory(&entry);
}

/* The value as JSON. */
static void put_json(const struct field *field, const struct node *value)
{
    enum { LONGEST = 16 << 20 }; /* more than a file may have */
    struct bytes json;
    bytes_init(&json, LONGEST, NULL);
    node_json(value, &json);
    if (bytes_append(&json, "", 1) != BYTES_OK ||
        !map_put(field->at, value->key, (const char *)json.data))
        out_of_memory(field);
    bytes_release(&json);
}

/* A list of {name: X, value: Y}. */
static bool set_named_pairs(const struct field *field, const struct node *list)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct node *item = list->items[i];
        const struct node *name = node_get(item, "name");
        const struct node *value = node_get(item, "value");
        if (!name || !value || item->count != 2 || !node_string(name))
            return false;
        put_pair(field, node_string(name), value);
    }
    return true;
}

/* A value may be a list: [a, b] makes two pairs with the same name. */
static void put_values(const struct field *field, const struct node *value)
{
    const struct node *const *items = (const struct node *const *)value->items;
    size_t count = value->kind == NODE_LIST ? value->count : 1;
    for (size_t i = 0; i < count; i++) {
        struct field entry = *field;
        entry.node = value->kind == NODE_LIST ? items[i] : value;
        const char *text = node_string(entry.node);
        if (!text)
            field_expected(&entry, "a string");
        else if (!map_add(field->at, value->key, text))
            out_of_memory(&entry);
    }
}

/* Whether the item of the map is one that KEY_ATTRIBUTES allows, rather than a pair. */
static bool set_attributes(const struct field *field, const struct node *item)
{
    if (!(field->key->flags & KEY_ATTRIBUTES))
        return false;
    return strcmp(item->key, "schema_url") == 0 || strncmp(item->key, "detect", 6) == 0 ||
           (strcmp(item->key, "attributes") == 0 && item->kind == NODE_LIST &&
            set_named_pairs(field, item));
}

static void set_map(const struct field *field)
{
    const struct node *node = field->node;
    if (node->kind == NODE_LIST && field->key->type == KEY_TYPE_SECRETS &&
        set_named_pairs(field, node)) /* the Collector's other form of headers */
        return;
    if (node->kind != NODE_MAP) {
        field_expected(field, "a map of names and strings");
        return;
    }
    for (size_t i = 0; i < node->count; i++)
        if (field->key->flags & KEY_MULTIPLE)
            put_values(field, node->items[i]);
        else if (field->key->flags & KEY_JSON)
            put_json(field, node->items[i]);
        else if (!set_attributes(field, node->items[i]))
            put_pair(field, node->items[i]->key, node->items[i]);
}

static bool list_put(struct key_list *list, const char *text, size_t size)
{
    char **items = reallocarray(list->items, list->count + 1, sizeof *items);
    char *copy = items ? strndup(text, size) : NULL;
    if (items)
        list->items = items;
    if (copy)
        items[list->count++] = copy;
    return copy;
}

/* "a, b" is [a, b], as in the Collector. */
static void set_list_text(const struct field *field)
{
    const char *at = field->node->text;
    while (*at) {
        at += strspn(at, ", ");
        size_t size = strcspn(at, ",");
        size_t trimmed = size;
        while (trimmed && at[trimmed - 1] == ' ')
            trimmed--;
        if (trimmed && !list_put(field->at, at, trimmed)) {
            out_of_memory(field);
            return;
        }
        at += size;
    }
}

static void set_list(const struct field *field)
{
    const struct node *node = field->node;
    if (node->kind == NODE_SCALAR) {
        set_list_text(field);
        return;
    }
    if (node->kind != NODE_LIST) {
        field_expected(field, "a list of strings");
        return;
    }
    for (size_t i = 0; i < node->count; i++) {
        struct field entry = *field;
        entry.node = node->items[i];
        const char *text = node_string(entry.node);
        if (!text)
            field_expected(&entry, "a string");
        else if (!list_put(field->at, text, strlen(text)))
            out_of_memory(field);
    }
}

static bool read_value(const struct node *node, struct key_value *value);

static bool read_items(const struct node *node, struct key_value *value)
{
    value->kind = node->kind == NODE_LIST ? KEY_VALUE_LIST : KEY_VALUE_MAP;
    value->items = calloc(node->count + 1, sizeof *value->items);
    for (size_t i = 0; value->items && i < node->count; i++) {
        const char *name = node->items[i]->key;
        if (!read_value(node->items[i], &value->items[value->count++]))
            return false;
        if (name && !(value->items[i].name = strdup(name)))
            return false;
    }
    return value->items;
}

/* False: no memory; what was made has to be released. */
static bool read_value(const struct node *node, struct key_value *value)
{
    const char *text = plain(node);
    if (node->kind == NODE_LIST || node->kind == NODE_MAP)
        return read_items(node, value);
    if (node->kind == NODE_NULL && !node->original)
        return true;
    value->kind = KEY_VALUE_STRING;
    if (text && scalar_bool(text, &value->boolean))
        value->kind = KEY_VALUE_BOOL;
    else if (text && scalar_type(text) == SCALAR_INT && scalar_int(text, &value->integer))
        value->kind = KEY_VALUE_INT;
    else if (text && scalar_type(text) == SCALAR_FLOAT && scalar_float(text, &value->number))
        value->kind = KEY_VALUE_NUMBER;
    else
        value->text = strdup(node_string(node));
    return value->kind != KEY_VALUE_STRING || value->text;
}

static void set_value(const struct field *field)
{
    struct key_value value = {0};
    if (field->key->type == KEY_TYPE_VALUE && !node_string(field->node)) {
        field_expected(field, "a string, a number, true or false");
        return;
    }
    if (!read_value(field->node, &value))
        out_of_memory(field);
    else if (value.kind == KEY_VALUE_NONE) /* ${VARIABLE} that is empty */
        value = (struct key_value){.kind = KEY_VALUE_STRING, .text = strdup("")};
    struct key_value *at = field->at;
    key_value_release(at);
    *at = value;
}

void field_set(const struct field *field)
{
    static void (*const setters[])(const struct field *) = {
        [KEY_TYPE_BOOL] = set_bool,     [KEY_TYPE_INT] = set_int,
        [KEY_TYPE_NUMBER] = set_number, [KEY_TYPE_DURATION] = set_duration,
        [KEY_TYPE_STRING] = set_string, [KEY_TYPE_SECRET] = set_string,
        [KEY_TYPE_CHOICE] = set_choice, [KEY_TYPE_MAP] = set_map,
        [KEY_TYPE_SECRETS] = set_map,   [KEY_TYPE_LIST] = set_list,
        [KEY_TYPE_VALUE] = set_value,   [KEY_TYPE_TREE] = set_value,
        [KEY_TYPE_IGNORED] = NULL,
    };
    if (setters[field->key->type])
        setters[field->key->type](field);
}
