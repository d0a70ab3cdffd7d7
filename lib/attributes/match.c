#include "lib/attributes/match.h"

#include "lib/attributes/given_value.h"
#include "lib/regex/regex.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    SPAN_NAME = 5,
    SPAN_KIND = 6,
    LOG_SEVERITY_NUMBER = 2,
    LOG_SEVERITY_TEXT = 3,
    LOG_BODY = 5,
    METRIC_NAME = 1,
    SCOPE_NAME = 1,
    SCOPE_VERSION = 2
};

const struct key match_attribute_keys[] = {
    KEY_STRING(struct match_attribute, key, "key", NULL, KEY_REQUIRED, "the attribute"),
    KEY_VALUE(struct match_attribute, value, "value", "its value; not given: any"),
    KEY_END,
};
static const struct key library_keys[] = {
    KEY_STRING(struct match_library, name, "name", NULL, 0, "name of the scope"),
    KEY_VALUE(struct match_library, version, "version", "its version; not given: any"),
    KEY_END,
};
static const struct key severity_keys[] = {
    KEY_INT(struct match_severity, min, "min", "0", 0, 24, "the least severity number"),
    KEY_BOOL(struct match_severity, match_undefined, "match_undefined", "false",
             "whether one without a severity number matches"),
    KEY_END,
};
const struct key match_regexp_keys[] = {
    KEY_IGNORED("cacheenabled", "accepted; nothing is cached"),
    KEY_IGNORED("cachemaxnumentries", "accepted; nothing is cached"),
    KEY_END,
};
const struct key match_keys[] = {
    KEY_STRING(struct match_settings, match_type, "match_type", NULL, KEY_REQUIRED,
               "strict or regexp: how texts are compared"),
    {.name = "regexp",
     .type = KEY_TYPE_GROUP,
     .rows = match_regexp_keys,
     .text = "how patterns run"},
    KEY_LIST(struct match_settings, services, "services", NULL, "spans: service.name"),
    KEY_LIST(struct match_settings, span_names, "span_names", NULL, "spans: name"),
    KEY_LIST(struct match_settings, span_kinds, "span_kinds", NULL,
             "spans: kind, such as SPAN_KIND_SERVER"),
    KEY_LIST(struct match_settings, log_bodies, "log_bodies", NULL, "log records: body as text"),
    KEY_LIST(struct match_settings, log_severity_texts, "log_severity_texts", NULL,
             "log records: severity text"),
    KEY_SWITCHED(struct match_settings, log_severity_number, struct match_severity, has_severity,
                 "log_severity_number", severity_keys, "log records: severity number"),
    KEY_LIST(struct match_settings, metric_names, "metric_names", NULL, "metrics: name"),
    KEY_GROUPS(struct match_settings, attributes, struct match_attribute, "attributes",
               match_attribute_keys, "spans, log records: all of these attributes"),
    KEY_GROUPS(struct match_settings, resources, struct match_attribute, "resources",
               match_attribute_keys, "all of these resource attributes"),
    KEY_GROUPS(struct match_settings, libraries, struct match_library, "libraries", library_keys,
               "spans, log records: scopes of these names and versions"),
    KEY_END,
};

static const char *const span_kinds[] = {
    "SPAN_KIND_UNSPECIFIED", "SPAN_KIND_INTERNAL", "SPAN_KIND_SERVER",
    "SPAN_KIND_CLIENT",      "SPAN_KIND_PRODUCER", "SPAN_KIND_CONSUMER",
};
enum { SPAN_KINDS = sizeof span_kinds / sizeof *span_kinds };

/* Texts of which one must match, each as it is or as a pattern. */
struct texts {
    size_t count;
    struct one {
        struct view text;
        struct regex *pattern; /* NULL: strict */
    } * items;
};

struct wanted {
    struct view key;
    enum { ANY_VALUE, BY_VALUE, BY_PATTERN } how;
    struct value value;
    struct regex *pattern;
};

struct wanted_list {
    size_t count;
    struct wanted *items;
};

struct match {
    const struct match_settings *settings;
    struct texts services, names, kinds, bodies, severities, metrics;
    struct wanted_list attributes, resources;
    size_t library_count;
    struct library {
        struct texts name, version;
    } * libraries;
};

static enum match_type type_of(const struct match_settings *settings)
{
    if (strcmp(settings->match_type, "strict") == 0)
        return MATCH_STRICT;
    return strcmp(settings->match_type, "regexp") == 0 ? MATCH_REGEXP : MATCH_UNSET;
}

/* ---- what may be wrong ---- */

struct spot {
    const char *path;
    bool regexp;
    struct key_report *report;
};

static void check_text(const struct spot *spot, const char *key, size_t index, const char *text)
{
    char path[200], error[256];
    struct regex *regex = NULL;
    if (!spot->regexp)
        return;
    regex = regex_new(view_of(text), error, sizeof error);
    snprintf(path, sizeof path, "%s.%s[%zu]", spot->path, key, index);
    if (!regex)
        key_report_add(spot->report, path, "not a regular expression: %s", error);
    regex_free(regex);
}

static void check_list(const struct spot *spot, const char *key, const struct key_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        check_text(spot, key, i, list->items[i]);
}

static void check_attributes(const struct spot *spot, const char *key,
                             const struct key_groups *list)
{
    const struct match_attribute *items = list->items;
    char path[200];
    for (size_t i = 0; i < list->count; i++) {
        snprintf(path, sizeof path, "%s.%s[%zu].value", spot->path, key, i);
        if (items[i].value.kind == KEY_VALUE_STRING)
            check_text(spot, key, i, items[i].value.text);
        else if (spot->regexp && items[i].value.kind != KEY_VALUE_NONE)
            key_report_add(spot->report, path, "match_type regexp takes a string");
    }
}

void match_check(const struct match_settings *settings, const char *path, struct key_report *report)
{
    char type_path[200];
    struct spot spot = {path, type_of(settings) == MATCH_REGEXP, report};
    const struct match_library *libraries = settings->libraries.items;
    snprintf(type_path, sizeof type_path, "%s.match_type", path);
    if (*settings->match_type && type_of(settings) == MATCH_UNSET)
        key_report_add(report, type_path, "found %s, expected strict or regexp",
                       settings->match_type);
    check_list(&spot, "services", &settings->services);
    check_list(&spot, "span_names", &settings->span_names);
    check_list(&spot, "span_kinds", &settings->span_kinds);
    check_list(&spot, "log_bodies", &settings->log_bodies);
    check_list(&spot, "log_severity_texts", &settings->log_severity_texts);
    check_list(&spot, "metric_names", &settings->metric_names);
    check_attributes(&spot, "attributes", &settings->attributes);
    check_attributes(&spot, "resources", &settings->resources);
    for (size_t i = 0; i < settings->libraries.count; i++)
        check_text(&spot, "libraries", i, libraries[i].name);
}

static const char *misplaced_span(const struct match_settings *settings)
{
    if (settings->log_bodies.count || settings->log_severity_texts.count ||
        settings->has_severity || settings->metric_names.count)
        return "log_bodies, log_severity_texts, log_severity_number and metric_names do not apply "
               "to spans";
    if (!settings->services.count && !settings->span_names.count && !settings->span_kinds.count &&
        !settings->attributes.count && !settings->resources.count && !settings->libraries.count)
        return "needs one of services, span_names, span_kinds, attributes, resources and libraries";
    for (size_t i = 0; type_of(settings) == MATCH_STRICT && i < settings->span_kinds.count; i++) {
        size_t kind = 1;
        while (kind < SPAN_KINDS && strcmp(span_kinds[kind], settings->span_kinds.items[i]) != 0)
            kind++;
        if (kind == SPAN_KINDS)
            return "unknown kind in span_kinds, expected for example SPAN_KIND_SERVER";
    }
    return NULL;
}

static const char *misplaced_log(const struct match_settings *settings)
{
    if (settings->services.count || settings->span_names.count || settings->span_kinds.count ||
        settings->metric_names.count)
        return "services, span_names, span_kinds and metric_names do not apply to log records";
    if (!settings->attributes.count && !settings->resources.count && !settings->libraries.count &&
        !settings->log_bodies.count && !settings->log_severity_texts.count &&
        !settings->has_severity)
        return "needs one of attributes, resources, libraries, log_bodies, log_severity_texts and "
               "log_severity_number";
    return NULL;
}

static const char *misplaced_metric(const struct match_settings *settings)
{
    if (settings->services.count || settings->span_names.count || settings->span_kinds.count ||
        settings->attributes.count || settings->libraries.count || settings->log_bodies.count ||
        settings->log_severity_texts.count || settings->has_severity)
        return "only metric_names and resources apply to metrics";
    if (!settings->metric_names.count && !settings->resources.count)
        return "needs one of metric_names and resources";
    return NULL;
}

const char *match_misplaced(const struct match_settings *settings, enum signal signal)
{
    switch (signal) {
    case SIGNAL_TRACES:
        return misplaced_span(settings);
    case SIGNAL_LOGS:
        return misplaced_log(settings);
    case SIGNAL_METRICS:
        return misplaced_metric(settings);
    case SIGNAL_PROFILES:
    case SIGNAL_COUNT:
        break;
    }
    return NULL;
}

/* Whether one of the patterns matches any text; no patterns: any matches. */
static bool takes_all(const struct key_list *patterns)
{
    static const char *const texts[] = {"a", "42", "Front-End 2", "zähler/x.y", "<nil>"};
    enum { TEXTS = sizeof texts / sizeof *texts };
    char error[256];
    bool all = !patterns->count;
    for (size_t i = 0; !all && i < patterns->count; i++) {
        struct regex *regex = regex_new(view_of(patterns->items[i]), error, sizeof error);
        size_t matched = 0;
        while (regex && matched < TEXTS && regex_test(regex, view_of(texts[matched])) == REGEX_YES)
            matched++;
        all = matched == TEXTS;
        regex_free(regex);
    }
    return all;
}

bool match_takes_all(const struct match_settings *settings)
{
    return type_of(settings) == MATCH_REGEXP && !settings->attributes.count &&
           !settings->resources.count && !settings->libraries.count &&
           takes_all(&settings->services) && takes_all(&settings->span_names) &&
           takes_all(&settings->span_kinds);
}

/* ---- making ---- */

struct maker {
    bool regexp;
    char *error;
    size_t error_size;
};

static bool make_one(const struct maker *maker, const char *text, struct one *one)
{
    one->text = view_of(text);
    if (maker->regexp)
        one->pattern = regex_new(one->text, maker->error, maker->error_size);
    return !maker->regexp || one->pattern;
}

static bool make_texts(const struct maker *maker, char *const *texts, size_t count,
                       struct texts *out)
{
    out->items = calloc(count + 1, sizeof *out->items);
    if (!out->items)
        return false;
    for (size_t i = 0; i < count; i++, out->count++)
        if (!make_one(maker, texts[i], &out->items[i]))
            return false;
    return true;
}

static bool make_list(const struct maker *maker, const struct key_list *list, struct texts *out)
{
    return make_texts(maker, list->items, list->count, out);
}

static bool make_wanted(const struct maker *maker, const struct key_groups *list,
                        struct wanted_list *out)
{
    const struct match_attribute *from = list->items;
    out->items = calloc(list->count + 1, sizeof *out->items);
    if (!out->items)
        return false;
    for (size_t i = 0; i < list->count; i++) {
        struct wanted *wanted = &out->items[out->count++];
        wanted->key = view_of(from[i].key);
        wanted->how = from[i].value.kind == KEY_VALUE_NONE ? ANY_VALUE
                      : maker->regexp                      ? BY_PATTERN
                                                           : BY_VALUE;
        wanted->value = given_value(&from[i].value, NULL); /* no list or map */
        if (wanted->how != BY_PATTERN)
            continue;
        wanted->pattern = regex_new(wanted->value.bytes, maker->error, maker->error_size);
        if (!wanted->pattern)
            return false;
    }
    return true;
}

static bool make_libraries(const struct maker *maker, const struct key_groups *list,
                           struct match *match)
{
    const struct match_library *from = list->items;
    match->libraries = calloc(list->count + 1, sizeof *match->libraries);
    if (!match->libraries)
        return false;
    for (size_t i = 0; i < list->count; i++) {
        struct library *library = &match->libraries[match->library_count++];
        char *version = from[i].version.kind == KEY_VALUE_STRING ? from[i].version.text : "";
        size_t versions = from[i].version.kind != KEY_VALUE_NONE;
        if (!make_texts(maker, (char *const *)&from[i].name, 1, &library->name) ||
            !make_texts(maker, &version, versions, &library->version))
            return false;
    }
    return true;
}

struct match *match_new(const struct match_settings *settings, char *error, size_t error_size)
{
    struct maker maker = {type_of(settings) == MATCH_REGEXP, error, error_size};
    struct match *match = calloc(1, sizeof *match);
    snprintf(error, error_size, "out of memory");
    if (!match)
        return NULL;
    match->settings = settings;
    if (make_list(&maker, &settings->services, &match->services) &&
        make_list(&maker, &settings->span_names, &match->names) &&
        make_list(&maker, &settings->span_kinds, &match->kinds) &&
        make_list(&maker, &settings->log_bodies, &match->bodies) &&
        make_list(&maker, &settings->log_severity_texts, &match->severities) &&
        make_list(&maker, &settings->metric_names, &match->metrics) &&
        make_wanted(&maker, &settings->attributes, &match->attributes) &&
        make_wanted(&maker, &settings->resources, &match->resources) &&
        make_libraries(&maker, &settings->libraries, match))
        return match;
    match_free(match);
    return NULL;
}

static void texts_release(struct texts *texts)
{
    for (size_t i = 0; texts->items && i < texts->count + 1; i++)
        regex_free(texts->items[i].pattern);
    free(texts->items);
}

static void wanted_release(struct wanted_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        regex_free(list->items[i].pattern);
    free(list->items);
}

void match_free(struct match *match)
{
    if (!match)
        return;
    texts_release(&match->services);
    texts_release(&match->names);
    texts_release(&match->kinds);
    texts_release(&match->bodies);
    texts_release(&match->severities);
    texts_release(&match->metrics);
    wanted_release(&match->attributes);
    wanted_release(&match->resources);
    for (size_t i = 0; i < match->library_count; i++) {
        texts_release(&match->libraries[i].name);
        texts_release(&match->libraries[i].version);
    }
    free(match->libraries);
    free(match);
}

/* ---- matching ---- */

static bool texts_match(const struct texts *texts, struct view text)
{
    for (size_t i = 0; i < texts->count; i++) {
        const struct one *one = &texts->items[i];
        if (one->pattern ? regex_test(one->pattern, text) == REGEX_YES : view_eq(one->text, text))
            return true;
    }
    return false;
}

/* Whether a text field of a record is one of them; no texts: any is. */
static bool field_matches(const struct texts *texts, const struct record *record, uint32_t number)
{
    struct proto_field field;
    if (!texts->count)
        return true;
    bool there = record_get(record, number, &field);
    return texts_match(texts, there ? field.bytes : VIEW(""));
}

static bool pattern_matches(const struct wanted *wanted, const struct value *value,
                            struct arena *arena)
{
    char text[400];
    if (value->kind == VALUE_DOUBLE) {
        size_t size = value_decimal_text(value->number, text);
        return regex_test(wanted->pattern, (struct view){(uint8_t *)text, size}) == REGEX_YES;
    }
    if (value->kind == VALUE_EMPTY || value->kind > VALUE_DOUBLE)
        return false;
    return regex_test(wanted->pattern, value_text(value, arena)) == REGEX_YES;
}

static bool all_wanted(const struct wanted_list *list, struct record *record)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct wanted *wanted = &list->items[i];
        struct value value;
        if (!record_attribute(record, wanted->key, &value) ||
            (wanted->how == BY_VALUE && !value_equal(&wanted->value, &value)) ||
            (wanted->how == BY_PATTERN && !pattern_matches(wanted, &value, record->arena)))
            return false;
    }
    return true;
}

static bool service_matches(const struct match *match, struct record *resource)
{
    struct value value = value_string(VIEW("<nil-service-name>"));
    if (!match->services.count)
        return true;
    (void)record_attribute(resource, VIEW("service.name"), &value);
    return texts_match(&match->services, value_text(&value, resource->arena));
}

static bool kind_matches(const struct match *match, const struct record *span)
{
    struct proto_field field;
    uint64_t kind = record_get(span, SPAN_KIND, &field) ? field.value : 0;
    return !match->kinds.count ||
           texts_match(&match->kinds, view_of(kind < SPAN_KINDS ? span_kinds[kind] : ""));
}

static bool log_matches(const struct match *match, const struct record *record)
{
    const struct match_severity *severity = &match->settings->log_severity_number;
    struct proto_field field;
    if (match->bodies.count) {
        struct value body = {0};
        if (record_get(record, LOG_BODY, &field))
            body = value_read(field.bytes);
        if (!texts_match(&match->bodies, value_text(&body, record->arena)))
            return false;
    }
    if (!field_matches(&match->severities, record, LOG_SEVERITY_TEXT))
        return false;
    if (!match->settings->has_severity)
        return true;
    int64_t number = record_get(record, LOG_SEVERITY_NUMBER, &field) ? (int64_t)field.value : 0;
    return number == 0 ? severity->match_undefined : number >= severity->min;
}

static bool libraries_match(const struct match *match, const struct record *scope)
{
    for (size_t i = 0; i < match->library_count; i++)
        if (!field_matches(&match->libraries[i].name, scope, SCOPE_NAME) ||
            !field_matches(&match->libraries[i].version, scope, SCOPE_VERSION))
            return false;
    return true;
}

/* The Collector compares the names of metrics alone: without names it includes all of them and
 * excludes none. */
static bool metric_matches(const struct match *match, const struct record *metric)
{
    return field_matches(&match->metrics, metric, METRIC_NAME);
}

bool match_resource(const struct match *match, struct request_edit *at)
{
    return all_wanted(&match->resources, &at->records[EDIT_RESOURCE]);
}

bool match_item(const struct match *match, struct request_edit *at)
{
    struct record *resource = &at->records[EDIT_RESOURCE], *item = &at->records[EDIT_ITEM];
    if (at->signal == SIGNAL_METRICS)
        return metric_matches(match, item);
    if (at->signal == SIGNAL_TRACES &&
        (!service_matches(match, resource) || !field_matches(&match->names, item, SPAN_NAME) ||
         !kind_matches(match, item)))
        return false;
    if (at->signal == SIGNAL_LOGS && !log_matches(match, item))
        return false;
    return libraries_match(match, &at->records[EDIT_SCOPE]) &&
           all_wanted(&match->resources, resource) && all_wanted(&match->attributes, item);
}

bool match_excludes(const struct match *match, struct request_edit *at)
{
    if (at->signal == SIGNAL_METRICS && !match->metrics.count)
        return false;
    return match_item(match, at);
}
