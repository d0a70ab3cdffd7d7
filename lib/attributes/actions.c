#include "lib/attributes/actions.h"

#include "lib/attributes/given_value.h"
#include "lib/base/numeral.h"
#include "lib/base/sha256.h"
#include "lib/regex/regex.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

enum kind { INSERT, UPDATE, UPSERT, DELETE, HASH, EXTRACT, CONVERT, KINDS };
enum { LIST_MAX = 9 }; /* the largest number of a list of attributes */
enum target { TO_STRING, TO_INT, TO_DOUBLE, TARGETS };

static const char *const kind_names[KINDS] = {
    "insert", "update", "upsert", "delete", "hash", "extract", "convert",
};
static const char *const target_names[TARGETS] = {"string", "int", "double"};

const struct key action_keys[] = {
    KEY_STRING(struct action_settings, key, "key", NULL, 0, "attribute that is acted on"),
    KEY_STRING(struct action_settings, action, "action", NULL, KEY_REQUIRED,
               "insert, update, upsert, delete, hash, extract or convert"),
    KEY_TREE(struct action_settings, value, "value", "insert, update, upsert: the value"),
    KEY_TREE(struct action_settings, default_value, "default_value",
             "the same where from_attribute or from_context gives none"),
    KEY_STRING(struct action_settings, from_attribute, "from_attribute", NULL, 0,
               "the same: the value of this attribute"),
    KEY_STRING(struct action_settings, from_context, "from_context", NULL, 0,
               "the same: metadata.NAME, a header of the request (the receiver needs "
               "include_metadata), or client.address"),
    KEY_STRING(struct action_settings, pattern, "pattern", NULL, 0,
               "extract: a regular expression with named groups; delete, hash: one for keys"),
    KEY_STRING(struct action_settings, converted_type, "converted_type", NULL, 0,
               "convert: int, double or string"),
    KEY_END,
};

struct action {
    enum kind kind;
    enum target target;
    struct view key;
    struct view from_attribute;
    const char *from_context;
    struct value value, fallback;
    bool has_value, has_fallback;
    struct view any;                /* the value's AnyValue */
    struct view made[LIST_MAX + 1]; /* key and value as a field of a number */
    struct regex *pattern;
};

struct actions {
    struct arena arena;
    size_t count;
    struct action items[];
};

static int word_of(const char *word, const char *const *words, int count)
{
    for (int i = 0; i < count; i++)
        if (strcasecmp(word, words[i]) == 0)
            return i;
    return -1;
}

static const char *header_name(const char *name)
{
    static const char prefix[] = "metadata.";
    return name + (strncmp(name, prefix, sizeof prefix - 1) == 0 ? sizeof prefix - 1 : 0);
}

/* ---- what may be wrong ---- */

struct place {
    const struct action_settings *action;
    const char *path;
    size_t index;
    struct key_report *report;
};

static void say(const struct place *place, const char *key, const char *text)
{
    char path[160];
    snprintf(path, sizeof path, "%s[%zu]%s%s", place->path, place->index, *key ? "." : "", key);
    key_report_add(place->report, path, "%s", text);
}

static void check_absent(const struct place *place, bool given, const char *key)
{
    char text[80];
    snprintf(text, sizeof text, "the action %s does not use it", place->action->action);
    if (given)
        say(place, key, text);
}

static void check_pattern(const struct place *place, bool named)
{
    char error[256], text[300];
    struct regex *regex = regex_new(view_of(place->action->pattern), error, sizeof error);
    if (!regex) {
        snprintf(text, sizeof text, "not a regular expression: %s", error);
        say(place, "pattern", text);
        return;
    }
    size_t groups = regex_groups(regex);
    if (named && groups == 0)
        say(place, "pattern", "has no named group, expected (?P<name>...)");
    for (size_t i = 1; named && i <= groups; i++)
        if (!*regex_group_name(regex, i)) {
            say(place, "pattern", "has a group without a name, expected (?P<name>...)");
            break;
        }
    regex_free(regex);
}

static int sources(const struct action_settings *action)
{
    return (action->value.kind != KEY_VALUE_NONE) + (*action->from_attribute != '\0') +
           (*action->from_context != '\0');
}

static void check_put(const struct place *place)
{
    const struct action_settings *action = place->action;
    int count = sources(action);
    if (count == 0 && action->default_value.kind == KEY_VALUE_NONE)
        say(place, "", "needs one of value, from_attribute, from_context and default_value");
    if (count > 1)
        say(place, "", "has several of value, from_attribute and from_context, expected one");
    check_absent(place, *action->pattern, "pattern");
    check_absent(place, *action->converted_type, "converted_type");
    if (strncmp(action->from_context, "auth.", 5) == 0)
        say(place, "from_context",
            "expected metadata.NAME or client.address: authenticators here pass nothing on");
}

static void check_action(const struct place *place)
{
    const struct action_settings *action = place->action;
    int kind = word_of(action->action, kind_names, KINDS);
    bool keys = kind == DELETE || kind == HASH;
    bool sourced = kind == INSERT || kind == UPDATE || kind == UPSERT;
    if (kind < 0 && *action->action)
        say(place, "action", "expected insert, update, upsert, delete, hash, extract or convert");
    if (kind < 0)
        return;
    if (!*action->key && !(keys && *action->pattern))
        say(place, keys ? "" : "key", keys ? "needs key or pattern" : "required and not given");
    if (sourced) {
        check_put(place);
        return;
    }
    check_absent(place, action->value.kind != KEY_VALUE_NONE, "value");
    check_absent(place, *action->from_attribute, "from_attribute");
    check_absent(place, !keys && *action->from_context, "from_context");
    check_absent(place, kind != CONVERT && *action->converted_type, "converted_type");
    check_absent(place, kind == CONVERT && *action->pattern, "pattern");
    if (kind == EXTRACT && !*action->pattern)
        say(place, "pattern", "required and not given");
    else if (kind != CONVERT && *action->pattern)
        check_pattern(place, kind == EXTRACT);
    if (kind == CONVERT && word_of(action->converted_type, target_names, TARGETS) < 0)
        say(place, "converted_type", "expected int, double or string");
}

void actions_check(const struct key_groups *list, const char *path, struct key_report *report)
{
    const struct action_settings *items = list->items;
    for (size_t i = 0; i < list->count; i++) {
        struct place place = {&items[i], path, i, report};
        check_action(&place);
    }
    if (!list->count)
        key_report_add(report, path, "required and not given");
}

/* ---- making ---- */

static bool make(struct action *action, const struct action_settings *from, struct arena *arena,
                 char *error, size_t error_size)
{
    int kind = word_of(from->action, kind_names, KINDS);
    int target = word_of(from->converted_type, target_names, TARGETS);
    *action = (struct action){
        .kind = kind < 0 ? DELETE : (enum kind)kind,
        .target = target < 0 ? TO_STRING : (enum target)target,
        .key = view_of(from->key),
        .from_attribute = view_of(from->from_attribute),
        .from_context = from->from_context,
        .value = given_value(&from->value, arena),
        .fallback = given_value(&from->default_value, arena),
        .has_value = from->value.kind != KEY_VALUE_NONE,
        .has_fallback = from->default_value.kind != KEY_VALUE_NONE,
    };
    if (*from->pattern)
        action->pattern = regex_new(view_of(from->pattern), error, error_size);
    return !*from->pattern || action->pattern;
}

/* What every record is given alike is encoded once. */
static bool encode(struct action *action, struct arena *arena)
{
    struct attribute whole = {.key = action->key};
    bool good =
        action->has_value && (whole.any = action->any = value_any(&action->value, arena)).data;
    for (uint32_t list = 1; good && list <= LIST_MAX; list++) {
        action->made[list] = attributes_field(&whole, list, arena);
        good = action->made[list].data;
    }
    return good || !action->has_value;
}

struct actions *actions_new(const struct key_groups *list, char *error, size_t error_size)
{
    const struct action_settings *items = list->items;
    struct actions *actions = calloc(1, sizeof *actions + list->count * sizeof actions->items[0]);
    snprintf(error, error_size, "out of memory");
    if (actions)
        arena_init(&actions->arena, SIZE_MAX);
    for (size_t i = 0; actions && i < list->count; i++) {
        actions->count++;
        if (!make(&actions->items[i], &items[i], &actions->arena, error, error_size) ||
            !encode(&actions->items[i], &actions->arena)) {
            actions_free(actions);
            return NULL;
        }
    }
    return actions;
}

void actions_free(struct actions *actions)
{
    for (size_t i = 0; actions && i < actions->count; i++)
        regex_free(actions->items[i].pattern);
    if (actions)
        arena_release(&actions->arena);
    free(actions);
}

const char *actions_header(const struct key_groups *list, size_t i)
{
    const struct action_settings *actions = list->items;
    for (size_t k = 0; k < list->count; k++)
        if (actions[k].from_context && *actions[k].from_context && i-- == 0)
            return header_name(actions[k].from_context);
    return NULL;
}

bool actions_read_context(const struct actions *actions)
{
    for (size_t i = 0; i < actions->count; i++)
        if (*actions->items[i].from_context)
            return true;
    return false;
}

void actions_sieve(const struct actions *actions, struct key_sieve *sieve)
{
    for (size_t i = 0; i < actions->count; i++) {
        const struct action *action = &actions->items[i];
        key_sieve_add(sieve, action->key);
        key_sieve_add(sieve, action->from_attribute);
        for (size_t j = 1; action->kind == EXTRACT && j <= regex_groups(action->pattern); j++)
            key_sieve_add(sieve, view_of(regex_group_name(action->pattern, j)));
        if (action->pattern && action->kind != EXTRACT)
            sieve->all = true;
    }
}

/* ---- running ---- */

/* The values of all headers of this name, with ";" between them; data NULL: there is none. */
static struct view joined_headers(struct view headers, const char *name, struct arena *arena)
{
    const char *at = (const char *)headers.data, *end = at + headers.size; /* NULs follow */
    struct view all = {0};
    while (at < end) {
        const char *value = at + strlen(at) + 1;
        size_t size = strlen(value), before = all.data ? all.size + 1 : 0;
        bool same = strcasecmp(at, name) == 0;
        if (same && !all.data) {
            all = (struct view){(const uint8_t *)value, size};
        } else if (same) {
            char *joined = arena_alloc(arena, before + size);
            if (!joined)
                return (struct view){0};
            memcpy(joined, all.data, all.size);
            joined[all.size] = ';';
            memcpy(joined + before, value, size);
            all = (struct view){(uint8_t *)joined, before + size};
        }
        at = value + size + 1;
    }
    return all;
}

static bool context_text(const struct action *action, const struct request_context *context,
                         const struct attributes *attributes, struct view *text)
{
    const char *name = header_name(action->from_context);
    if (strcmp(action->from_context, "client.address") == 0)
        *text = view_of(context->address);
    else
        *text = joined_headers(context->headers, name, attributes->arena);
    if (!text->data && strcasecmp(name, "x-scope-orgid") == 0)
        *text = view_of(context->tenant);
    else if (!text->data && strcasecmp(name, "authorization") == 0)
        *text = view_of(context->authorization);
    return text->data;
}

static bool source_of(const struct action *action, const struct request_context *context,
                      struct attributes *attributes, struct value *value)
{
    struct view text;
    if (*action->from_context && context_text(action, context, attributes, &text)) {
        *value = value_string(text);
        return true;
    }
    if (action->from_attribute.size && attributes_get(attributes, action->from_attribute, value))
        return true;
    *value = action->fallback;
    return action->has_fallback;
}

static inline void put_constant(const struct action *action, struct attributes *attributes)
{
    struct attribute *item = attributes_find(attributes, action->key);
    if (item ? action->kind == INSERT : action->kind == UPDATE)
        return;
    if (item) {
        attributes_change_any(attributes, item, action->any);
        attributes_keep_one(attributes, item);
    } else {
        item = attributes_add(attributes, action->key, action->any);
    }
    if (item && attributes->list <= LIST_MAX)
        item->made = action->made[attributes->list];
}

static void run_put(const struct action *action, const struct request_context *context,
                    struct attributes *attributes)
{
    struct value value;
    if (!source_of(action, context, attributes, &value))
        return;
    struct attribute *there = attributes_find(attributes, action->key);
    if (there ? action->kind != INSERT : action->kind != UPDATE)
        attributes_set(attributes, action->key, &value);
}

static void run_delete(const struct action *action, struct attributes *attributes)
{
    attributes_delete(attributes, action->key);
    for (size_t i = 0; action->pattern && i < attributes->count; i++) {
        struct attribute *item = &attributes->items[i];
        if (!item->gone && regex_test(action->pattern, item->key) == REGEX_YES)
            attributes_remove(attributes, item);
    }
}

static void hash_one(struct attributes *attributes, struct attribute *item)
{
    struct value value = value_read(item->any);
    uint8_t bytes[8];
    struct view hashed = {bytes, 0};
    char *hex = arena_alloc(attributes->arena, SHA256_HEX + 1);
    uint64_t bits = 0;
    if (value.kind == VALUE_STRING)
        hashed = value.bytes;
    else if (value.kind == VALUE_BOOL)
        hashed.size = 1;
    else if (value.kind == VALUE_INT || value.kind == VALUE_DOUBLE)
        hashed.size = 8;
    if (value.kind == VALUE_DOUBLE)
        memcpy(&bits, &value.number, sizeof bits);
    else
        bits = value.kind == VALUE_BOOL ? value.boolean : (uint64_t)value.integer;
    for (unsigned i = 0; i < 8; i++)
        bytes[i] = (uint8_t)(bits >> (8 * i));
    bool none = value.kind == VALUE_EMPTY || value.kind > VALUE_DOUBLE;
    attributes->failed = attributes->failed || !hex;
    if (!hex)
        return;
    if (!none)
        sha256_hex(hashed, hex);
    value = value_string(view_of(hex));
    attributes_change(attributes, item, &value);
}

static void run_hash(const struct action *action, struct attributes *attributes)
{
    struct attribute *item = attributes_find(attributes, action->key);
    if (item) {
        hash_one(attributes, item);
        attributes_keep_one(attributes, item);
    }
    for (size_t i = 0; action->pattern && i < attributes->count; i++) {
        item = &attributes->items[i];
        if (!item->gone && regex_test(action->pattern, item->key) == REGEX_YES)
            hash_one(attributes, item);
    }
}

static void run_extract(const struct action *action, struct attributes *attributes)
{
    struct value value;
    struct regex_match match;
    if (!attributes_get(attributes, action->key, &value) || value.kind != VALUE_STRING ||
        regex_find(action->pattern, value.bytes, &match) != REGEX_YES)
        return;
    for (size_t i = 1; i < match.count; i++) {
        struct value part = value_string(match.groups[i]);
        attributes_set(attributes, view_of(regex_group_name(action->pattern, i)), &part);
    }
}

static bool number_in(struct view text, enum target target, struct value *value)
{
    *value = (struct value){.kind = target == TO_INT ? VALUE_INT : VALUE_DOUBLE};
    return target == TO_INT ? numeral_int(text, &value->integer)
                            : numeral_double(text, &value->number);
}

static int64_t truncated(double number)
{
    if (!(number > -9223372036854775808.0 && number < 9223372036854775808.0))
        return INT64_MIN;
    return (int64_t)number;
}

static bool to_number(struct value *value, enum target target)
{
    switch (value->kind) {
    case VALUE_BOOL:
    case VALUE_INT: {
        int64_t from = value->kind == VALUE_BOOL ? value->boolean : value->integer;
        if (target == TO_INT)
            *value = value_int(from);
        else
            *value = (struct value){.kind = VALUE_DOUBLE, .number = (double)from};
        return true;
    }
    case VALUE_DOUBLE:
        if (target == TO_INT)
            *value = value_int(truncated(value->number));
        return true;
    case VALUE_STRING:
        return number_in(value->bytes, target, value);
    case VALUE_EMPTY:
    case VALUE_LIST:
    case VALUE_MAP:
    case VALUE_BYTES:
        break;
    }
    return false;
}

static void run_convert(const struct action *action, struct attributes *attributes)
{
    struct attribute *item = attributes_find(attributes, action->key);
    if (!item)
        return;
    struct value value = value_read(item->any);
    bool converted = action->target != TO_STRING && to_number(&value, action->target);
    if (action->target == TO_STRING && value.kind != VALUE_STRING) {
        value = value_string(value_text(&value, attributes->arena));
        converted = value.bytes.data;
        attributes->failed = attributes->failed || !converted;
    }
    if (converted)
        attributes_change(attributes, item, &value);
}

/* One that neither sets a constant nor deletes one key. */
static __attribute__((noinline)) void run_other(const struct action *action,
                                                const struct request_context *context,
                                                struct attributes *attributes)
{
    switch (action->kind) {
    case INSERT:
    case UPDATE:
    case UPSERT:
        run_put(action, context, attributes);
        break;
    case DELETE:
        run_delete(action, attributes);
        break;
    case HASH:
        run_hash(action, attributes);
        break;
    case EXTRACT:
        run_extract(action, attributes);
        break;
    case CONVERT:
        run_convert(action, attributes);
        break;
    case KINDS:
        break;
    }
}

void actions_run(const struct actions *actions, const struct request_context *context,
                 struct attributes *attributes)
{
    const struct action *action = actions->items, *end = action + actions->count;
    for (; action < end; action++)
        if (action->has_value)
            put_constant(action, attributes);
        else if (action->kind == DELETE && !action->pattern)
            attributes_delete(attributes, action->key);
        else
            run_other(action, context, attributes);
}
