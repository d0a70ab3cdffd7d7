/* Names spans from attributes, takes attributes from names, and sets the status. */
#include "lib/attributes/match.h"
#include "lib/regex/regex.h"
#include "pipeline/batch_pass.h"
#include "pipeline/component.h"

#include <stdio.h>
#include <stdlib.h>

enum { SPAN_NAME = 5, SPAN_STATUS = 15, STATUS_MESSAGE = 2, STATUS_CODE = 3 };

struct span_rules {
    struct key_list rules;
    bool break_after_match;
    bool keep_original_name;
};

struct span_name {
    struct key_list from_attributes;
    char *separator;
    struct span_rules to_attributes;
    bool has_rules;
};

struct span_status {
    char *code;
    char *description;
};

struct span_processor {
    struct match_settings include, exclude;
    bool includes, excludes;
    struct span_name name;
    struct span_status status;
    bool sets_status;
    struct match *include_match, *exclude_match; /* NULL: none */
    struct regex **rules;                        /* NULL-ended */
};

static const struct key rules_keys[] = {
    KEY_LIST(struct span_rules, rules, "rules", NULL,
             "regular expressions with named groups, each of which becomes an attribute and stands "
             "as {name} in the name"),
    KEY_BOOL(struct span_rules, break_after_match, "break_after_match", "false",
             "the first that matches is the last"),
    KEY_BOOL(struct span_rules, keep_original_name, "keep_original_name", "false",
             "leave the name as it is"),
    KEY_END,
};
static const struct key name_keys[] = {
    KEY_LIST(struct span_name, from_attributes, "from_attributes", NULL,
             "attributes whose values make the name, where all are there"),
    KEY_STRING(struct span_name, separator, "separator", NULL, 0, "between these values"),
    KEY_SWITCHED(struct span_name, to_attributes, struct span_rules, has_rules, "to_attributes",
                 rules_keys, "attributes from the name"),
    KEY_END,
};
static const struct key status_keys[] = {
    KEY_STRING(struct span_status, code, "code", NULL, 0, "Ok, Error or Unset"),
    KEY_STRING(struct span_status, description, "description", NULL, 0, "of an Error"),
    KEY_END,
};
static const struct key span_keys[] = {
    KEY_SWITCHED(struct span_processor, include, struct match_settings, includes, "include",
                 match_keys, "which spans are changed"),
    KEY_SWITCHED(struct span_processor, exclude, struct match_settings, excludes, "exclude",
                 match_keys, "which of these are not"),
    KEY_GROUP(struct span_processor, name, struct span_name, "name", name_keys, "the name"),
    KEY_SWITCHED(struct span_processor, status, struct span_status, sets_status, "status",
                 status_keys, "the status that spans get"),
    KEY_END,
};

static const char *const codes[] = {"Unset", "Ok", "Error"};
enum { UNSET, OK, ERROR, CODES };

static int code_of(const char *text)
{
    for (int i = 0; i < CODES; i++)
        if (strcmp(text, codes[i]) == 0)
            return i;
    return CODES;
}

static void check_match(const struct match_settings *settings, const char *path,
                        struct key_report *report)
{
    const char *wrong = match_misplaced(settings, SIGNAL_TRACES);
    match_check(settings, path, report);
    if (wrong)
        key_report_add(report, path, "%s", wrong);
}

static void check_rule(const char *rule, size_t i, struct key_report *report)
{
    char path[64], error[256];
    struct regex *regex = regex_new(view_of(rule), error, sizeof error);
    snprintf(path, sizeof path, "name.to_attributes.rules[%zu]", i);
    if (!regex)
        key_report_add(report, path, "not a regular expression: %s", error);
    for (size_t group = 1; regex && group <= regex_groups(regex); group++)
        if (!*regex_group_name(regex, group)) {
            key_report_warn(report, path,
                            "has a group without a name, whose text goes to the attribute \"\"");
            break;
        }
    regex_free(regex);
}

static void span_check(const void *instance, struct key_report *report)
{
    const struct span_processor *self = instance;
    const struct key_list *rules = &self->name.to_attributes.rules;
    if (self->includes)
        check_match(&self->include, "include", report);
    if (self->excludes)
        check_match(&self->exclude, "exclude", report);
    for (size_t i = 0; i < rules->count; i++)
        check_rule(rules->items[i], i, report);
    if (self->name.has_rules && !rules->count)
        key_report_add(report, "name.to_attributes.rules", "required and not given");
    if (!self->name.from_attributes.count && !self->name.has_rules && !self->sets_status)
        key_report_warn(report, "",
                        "has none of name.from_attributes, name.to_attributes and "
                        "status, and so does nothing");
    if (self->sets_status && code_of(self->status.code) == CODES)
        key_report_add(report, "status.code", "expected Ok, Error or Unset");
    else if (self->sets_status && *self->status.description && code_of(self->status.code) != ERROR)
        key_report_add(report, "status.description", "allowed only with the code Error");
}

static bool span_open(void *instance, const struct env *env, char *error, size_t error_size)
{
    struct span_processor *self = instance;
    const struct key_list *rules = &self->name.to_attributes.rules;
    (void)env;
    snprintf(error, error_size, "out of memory");
    self->rules = calloc(rules->count + 1, sizeof(struct regex *));
    for (size_t i = 0; self->rules && i < rules->count; i++)
        if (!(self->rules[i] = regex_new(view_of(rules->items[i]), error, error_size)))
            return false;
    if (self->includes)
        self->include_match = match_new(&self->include, error, error_size);
    if (self->excludes)
        self->exclude_match = match_new(&self->exclude, error, error_size);
    return self->rules && (!self->includes || self->include_match) &&
           (!self->excludes || self->exclude_match);
}

/* ---- one span ---- */

static bool put_value(struct bytes *out, const struct value *value, struct arena *arena)
{
    char text[400];
    if (value->kind == VALUE_DOUBLE)
        return bytes_append(out, text, value_decimal_text(value->number, text)) == BYTES_OK;
    if (value->kind == VALUE_EMPTY || value->kind > VALUE_DOUBLE)
        return bytes_append_view(out, VIEW("<unknown-attribute-type>")) == BYTES_OK;
    return bytes_append_view(out, value_text(value, arena)) == BYTES_OK;
}

/* Gives the span the name, and the bytes back. */
static void set_name(struct record *span, struct bytes *name, bool good)
{
    char *text = good ? arena_text(span->arena, bytes_view(name)) : NULL;
    size_t size = name->size;
    span->failed = span->failed || !text;
    if (text)
        record_set_bytes(span, SPAN_NAME, (struct view){(uint8_t *)text, size});
    bytes_release(name);
}

static void name_from_attributes(const struct span_processor *self, struct record *span)
{
    const struct key_list *keys = &self->name.from_attributes;
    struct attributes *list = record_attributes(span);
    struct bytes name;
    struct value value;
    bool good = true;
    for (size_t i = 0; i < keys->count; i++)
        if (!attributes_find(list, view_of(keys->items[i])))
            return;
    bytes_init(&name, (size_t)1 << 20, NULL);
    for (size_t i = 0; good && i < keys->count; i++) {
        attributes_get(list, view_of(keys->items[i]), &value);
        good = (i == 0 || bytes_append_view(&name, view_of(self->name.separator)) == BYTES_OK) &&
               put_value(&name, &value, span->arena);
    }
    set_name(span, &name, good);
}

/* Attributes from the groups, which stand as {name} in the new name. */
static void take_groups(const struct span_processor *self, struct record *span, struct view old,
                        const struct regex *rule, const struct regex_match *match)
{
    struct bytes name;
    bool good = true;
    size_t at = 0;
    bytes_init(&name, (size_t)1 << 20, NULL);
    for (size_t i = 1; good && i < match->count; i++) {
        struct view group = match->groups[i];
        const char *key = regex_group_name(rule, i);
        struct value value = value_string(group.data ? group : VIEW(""));
        attributes_set(record_attributes(span), view_of(key), &value);
        size_t from = group.data ? (size_t)(group.data - old.data) : at;
        if (from < at) /* inside of the group before */
            continue;
        struct view between = {old.data + at, from - at};
        good = bytes_append_view(&name, between) == BYTES_OK &&
               bytes_printf(&name, "{%s}", key) == BYTES_OK;
        at = from + group.size;
    }
    struct view rest = {old.data + at, old.size - at};
    good = good && bytes_append_view(&name, rest) == BYTES_OK;
    if (self->name.to_attributes.keep_original_name)
        bytes_release(&name);
    else
        set_name(span, &name, good);
}

static void attributes_from_name(const struct span_processor *self, struct record *span)
{
    struct proto_field name;
    struct regex_match match;
    for (struct regex *const *rule = self->rules; *rule && !span->failed; rule++) {
        if (!record_get(span, SPAN_NAME, &name) || !name.bytes.size)
            return;
        if (regex_find(*rule, name.bytes, &match) != REGEX_YES)
            continue;
        take_groups(self, span, name.bytes, *rule, &match);
        if (self->name.to_attributes.break_after_match)
            return;
    }
}

static void set_status(const struct span_processor *self, struct record *span)
{
    struct proto_field field;
    struct record status;
    int code = code_of(self->status.code);
    bool there = record_get(span, SPAN_STATUS, &field);
    record_begin(&status, there ? &field : NULL, 0, NULL, span->arena);
    record_set_varint(&status, STATUS_CODE, (uint64_t)code);
    record_set_bytes(&status, STATUS_MESSAGE,
                     code == ERROR ? view_of(self->status.description) : VIEW(""));
    struct view made = record_field(&status, SPAN_STATUS);
    span->failed = span->failed || !made.data;
    if (made.data)
        record_set_fields(span, SPAN_STATUS, made);
}

static enum edit_verdict span_run(const struct pass_step *step, struct request_edit *at,
                                  enum edit_level level)
{
    const struct span_processor *self = step->self;
    struct record *span = &at->records[level];
    if ((self->include_match && !match_item(self->include_match, at)) ||
        (self->exclude_match && match_item(self->exclude_match, at)))
        return EDIT_KEEP;
    if (self->name.from_attributes.count)
        name_from_attributes(self, span);
    attributes_from_name(self, span);
    if (self->sets_status)
        set_status(self, span);
    return EDIT_KEEP;
}

static bool span_step(void *self, const struct batch *batch, struct pass_step *step)
{
    (void)self, (void)batch;
    step->levels = EDIT_BIT(EDIT_ITEM);
    step->run = span_run;
    return true;
}

static void span_close(void *instance)
{
    struct span_processor *self = instance;
    for (size_t i = 0; self->rules && self->rules[i]; i++)
        regex_free(self->rules[i]);
    free(self->rules);
    match_free(self->include_match);
    match_free(self->exclude_match);
    self->rules = NULL;
    self->include_match = self->exclude_match = NULL;
}

const struct component processor_span = {
    .type = "span",
    .text = "names spans from attributes, takes attributes from names, sets the status",
    .stability = "beta",
    .kind = COMPONENT_PROCESSOR,
    .signals = SIGNAL_BIT(SIGNAL_TRACES),
    .size = sizeof(struct span_processor),
    .keys = span_keys,
    .check = span_check,
    .open = span_open,
    .step = span_step,
    .close = span_close,
};
