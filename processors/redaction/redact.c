/* Redacts values, lists of attributes and bodies. */
#include "lib/net/tls/named_digest.h"
#include "processors/redaction/redaction.h"

#include <stdio.h>
#include <stdlib.h>

enum { LOG_BODY = 5, SPAN_NAME = 5, SPAN_KIND = 6, PATH_MOST = 512, DEPTH_MAX = 32 };
enum what { REDACTED, MASKED, ALLOWED, IGNORED, WHATS };

/* ---- one value ---- */

/* One list of attributes, or one body, while it is worked on. */
struct work {
    const struct redaction *self;
    struct arena *arena;
    bool logs;
    struct view system; /* of the list; data NULL: it names no database */
    bool failed;
    struct {
        size_t count;
        struct bytes keys; /* in debug: separated by NUL */
    } done[WHATS];
};

static bool matches(const struct patterns *patterns, struct view text)
{
    for (size_t i = 0; i < patterns->count; i++)
        if (regex_test(patterns->items[i], text) == REGEX_YES)
            return true;
    return false;
}

bool redaction_lists(const struct key_list *list, struct view key)
{
    for (size_t i = 0; i < list->count; i++)
        if (view_eq(view_of(list->items[i]), key))
            return true;
    return false;
}

static bool is_ignored(const struct redaction *self, struct view key)
{
    return redaction_lists(&self->ignored_keys, key) || matches(&self->ignored, key);
}

static bool is_redacted(const struct redaction *self, struct view key)
{
    static const char *const own[] = {"redaction.redacted.keys", "redaction.redacted.count",
                                      "redaction.masked.keys", "redaction.masked.count",
                                      "redaction.ignored.count"};
    if (self->allow_all_keys || redaction_lists(&self->allowed_keys, key))
        return false;
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (view_eq(view_of(own[i]), key))
            return false;
    return true;
}

static void note(struct work *work, enum what what, struct view key)
{
    work->done[what].count++;
    if (work->self->detail != DEBUG || what == IGNORED)
        return;
    if (bytes_append_view(&work->done[what].keys, key) != BYTES_OK ||
        bytes_append(&work->done[what].keys, "", 1) != BYTES_OK)
        work->failed = true;
}

static bool put_mask(const struct redaction *self, struct view part, struct bytes *out)
{
    char hex[NAMED_HEX_MAX];
    if (self->digest == NO_DIGEST)
        return bytes_append(out, "****", 4) == BYTES_OK;
    size_t size =
        named_digest_hex((enum named_digest)self->digest, view_of(self->hmac_key), part, hex);
    return bytes_append(out, hex, size) == BYTES_OK;
}

static bool mask_match(const void *self, const struct regex_match *match, struct bytes *out)
{
    return put_mask(self, match->groups[0], out);
}

/* The text with all matches masked; data NULL: no room. A match that exceeds its limits masks the
 * whole text. */
static struct view masked(struct work *work, const struct regex *regex, struct view text)
{
    struct bytes out;
    bytes_init(&out, (size_t)4 << 20, NULL);
    enum regex_result found = regex_replace_by(regex, text, mask_match, work->self, &out);
    bool ok = true;
    if (found == REGEX_LIMIT) {
        bytes_clear(&out);
        ok = put_mask(work->self, text, &out);
    }
    char *made = ok ? arena_text(work->arena, bytes_view(&out)) : NULL;
    struct view view = {(const uint8_t *)made, made ? out.size : 0};
    bytes_release(&out);
    work->failed = work->failed || !made;
    return view;
}

/* The text with what is blocked in it masked. */
static struct view without_blocked(struct work *work, struct view text)
{
    const struct patterns *blocked = &work->self->blocked;
    for (size_t i = 0; i < blocked->count && !work->failed; i++)
        if (regex_test(blocked->items[i], text) != REGEX_NO)
            text = masked(work, blocked->items[i], text);
    return text;
}

/* ---- attributes ---- */

static struct view shown(struct work *work, const struct value *value, bool all_types)
{
    static const uint8_t nothing[1];
    if (value->kind == VALUE_STRING && value->bytes.data)
        return value->bytes;
    struct view text = all_types ? value_text(value, work->arena) : (struct view){nothing, 0};
    work->failed = work->failed || !text.data;
    return text;
}

static void redact_attribute(struct work *work, struct attributes *list, struct attribute *item)
{
    const struct redaction *self = work->self;
    struct value value = value_read(item->any);
    if (is_ignored(self, item->key)) {
        note(work, IGNORED, item->key);
        return;
    }
    if (is_redacted(self, item->key)) {
        note(work, REDACTED, item->key);
        attributes_remove(list, item);
        return;
    }
    struct view text = shown(work, &value, self->redact_all_types), made;
    if (matches(&self->allowed, text)) {
        note(work, ALLOWED, item->key);
        return;
    }
    bool whole = matches(&self->blocked_keys, item->key);
    made = whole ? masked(work, self->all, text) : without_blocked(work, text);
    if (!whole && self->has_databases && !work->failed) {
        made = database_attribute(self, work->arena, work->logs, work->system, item->key, made);
        work->failed = !made.data;
    }
    if (work->failed || (!whole && view_eq(made, text)))
        return;
    note(work, MASKED, item->key);
    value = value_string(made);
    attributes_change(list, item, &value);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The keys, those that are there before too, sorted and joined. */
static struct view joined_keys(struct work *work, enum what what, struct view before)
{
    struct bytes *keys = &work->done[what].keys, out;
    for (size_t i = 0; i < before.size; i++) {
        char c = before.data[i] == ',' ? '\0' : (char)before.data[i];
        work->failed = work->failed || bytes_append(keys, &c, 1) != BYTES_OK;
    }
    if (before.size)
        work->failed = work->failed || bytes_append(keys, "", 1) != BYTES_OK;
    size_t count = 0;
    for (size_t i = 0; i < keys->size; i++)
        count += !keys->data[i];
    char **list = arena_array(work->arena, count + 1, sizeof *list);
    if (!list || work->failed) {
        work->failed = true;
        return VIEW("");
    }
    char *at = (char *)keys->data;
    for (size_t i = 0; i < count; i++, at += strlen(at) + 1)
        list[i] = at;
    qsort(list, count, sizeof *list, by_text);
    bytes_init(&out, (size_t)1 << 20, NULL);
    for (size_t i = 0; i < count; i++)
        work->failed =
            work->failed || bytes_printf(&out, "%s%s", i ? "," : "", list[i]) != BYTES_OK;
    const char *text = arena_text(work->arena, bytes_view(&out));
    bytes_release(&out);
    work->failed = work->failed || !text;
    return view_of(text);
}

/* Writes what was done into attributes, and forgets it. */
static void summarize(struct work *work, struct attributes *list, bool body)
{
    static const char *const words[WHATS] = {"redacted", "masked", "allowed", "ignored"};
    for (int what = 0; what < WHATS; what++) {
        char *name = arena_alloc(work->arena, 64), *counts = arena_alloc(work->arena, 64);
        const char *in = body ? "body." : "";
        struct value value = {0}, count = value_int((int64_t)work->done[what].count);
        work->failed = work->failed || !name || !counts;
        if (count.integer && work->self->detail != SILENT && !work->failed) {
            snprintf(name, 64, "redaction.%s%s.keys", in, words[what]);
            snprintf(counts, 64, "redaction.%s%s.count", in, words[what]);
            if (attributes_get(list, view_of(counts), &value) && value.kind == VALUE_INT)
                count.integer += value.integer;
            value = (struct value){0};
            attributes_get(list, view_of(name), &value);
            struct view before = value.kind == VALUE_STRING ? value.bytes : VIEW("");
            if (work->self->detail == DEBUG && what != IGNORED) {
                value = value_string(joined_keys(work, (enum what)what, before));
                attributes_set(list, view_of(name), &value);
            }
            attributes_set(list, view_of(counts), &count);
        }
        work->done[what].count = 0;
        bytes_release(&work->done[what].keys);
    }
}

static void redact_list(struct work *work, struct attributes *list)
{
    size_t count = list->count;
    if (work->self->has_databases)
        work->system = database_system(list);
    for (size_t i = 0; i < count && !work->failed; i++)
        if (!list->items[i].gone)
            redact_attribute(work, list, &list->items[i]);
    summarize(work, list, false);
}

/* ---- bodies ---- */

static bool redact_value(struct work *work, struct value *value, const char *path, unsigned depth);

/* Whether it changed anything. */
static bool redact_map(struct work *work, struct value *value, const char *path, unsigned depth)
{
    struct attributes list;
    char inner[PATH_MOST];
    attributes_read(&list, value->bytes, 1, work->arena);
    for (size_t i = 0; i < list.count && !work->failed; i++) {
        struct attribute *item = &list.items[i];
        struct value each = value_read(item->any);
        snprintf(inner, sizeof inner, "%s%s%.*s", path, *path ? "." : "", VIEW_ARG(item->key));
        bool changed = false;
        if (is_ignored(work->self, item->key)) {
            note(work, IGNORED, view_of(inner));
        } else if (is_redacted(work->self, item->key)) {
            note(work, REDACTED, view_of(inner));
            attributes_remove(&list, item);
        } else if (matches(&work->self->blocked_keys, item->key)) {
            note(work, MASKED, view_of(inner));
            each = value_string(masked(work, work->self->all, shown(work, &each, false)));
            changed = true;
        } else {
            changed = redact_value(work, &each, inner, depth + 1);
        }
        if (changed)
            attributes_change(&list, item, &each);
    }
    if (list.changed)
        *value = attributes_map(&list);
    work->failed = work->failed || list.failed || !value->bytes.data;
    return list.changed;
}

static bool redact_items(struct work *work, struct value *value, const char *path, unsigned depth)
{
    struct proto_scan scan = proto_scan_begin(value->bytes);
    struct value each;
    struct bytes out;
    char inner[PATH_MOST];
    bool any = false;
    bytes_init(&out, (size_t)16 << 20, NULL);
    for (size_t i = 0; !work->failed && value_next(&scan, &each); i++) {
        snprintf(inner, sizeof inner, "%s%s[%zu]", path, *path ? "." : "", i);
        any = redact_value(work, &each, inner, depth + 1) || any;
        work->failed = work->failed || !value_append(&out, &each);
    }
    if (any && !work->failed) {
        uint8_t *copy = arena_array_raw(work->arena, out.size + 1, 1);
        work->failed = !copy;
        if (copy)
            memcpy(copy, out.data, out.size);
        value->bytes = (struct view){copy, out.size};
    }
    bytes_release(&out);
    return any;
}

static bool redact_text(struct work *work, struct value *value, const char *path)
{
    struct view text = value_text(value, work->arena);
    work->failed = work->failed || !text.data;
    if (work->failed)
        return false;
    if (matches(&work->self->allowed, text)) {
        note(work, ALLOWED, view_of(path));
        return false;
    }
    struct view made = without_blocked(work, text);
    if (work->self->has_databases && !work->failed) {
        made = database_body(work->self, work->arena, work->system, made);
        work->failed = !made.data;
    }
    if (work->failed || view_eq(made, text))
        return false;
    note(work, MASKED, view_of(path));
    *value = value_string(made);
    return true;
}

static bool redact_value(struct work *work, struct value *value, const char *path, unsigned depth)
{
    if (depth < DEPTH_MAX && value->kind == VALUE_MAP)
        return redact_map(work, value, path, depth);
    if (depth < DEPTH_MAX && value->kind == VALUE_LIST)
        return redact_items(work, value, path, depth);
    return redact_text(work, value, path);
}

static void redact_body(struct work *work, struct record *record)
{
    struct proto_field field;
    struct value body = {0};
    if (record_get(record, LOG_BODY, &field))
        body = value_read(field.bytes);
    bool container = body.kind == VALUE_MAP || body.kind == VALUE_LIST;
    if (redact_value(work, &body, container ? "" : "body", 0)) {
        struct view any = value_any(&body, work->arena);
        work->failed = work->failed || !any.data;
        if (any.data)
            record_set_bytes(record, LOG_BODY, any);
    }
    if (!container && work->done[ALLOWED].count) { /* the Collector says nothing of it */
        work->done[ALLOWED].count = 0;
        bytes_clear(&work->done[ALLOWED].keys);
    }
    summarize(work, record_attributes(record), true);
}

/* ---- records ---- */

/* ---- names of spans ---- */

static void redact_span_name(struct work *work, struct record *span)
{
    enum { INTERNAL = 1, SERVER = 2, CLIENT = 3 };
    struct proto_field name, kind;
    struct view system = database_system(record_attributes(span));
    bool is_kind = record_get(span, SPAN_KIND, &kind) &&
                   (kind.value == INTERNAL || kind.value == SERVER || kind.value == CLIENT);
    if (!is_kind || !system.data || !record_get(span, SPAN_NAME, &name) ||
        matches(&work->self->allowed, name.bytes))
        return;
    struct view made = database_span_name(work->self, work->arena, system, name.bytes);
    work->failed = work->failed || !made.data;
    if (made.size && !view_eq(made, VIEW("...")) && !view_eq(made, name.bytes))
        record_set_bytes(span, SPAN_NAME, made);
}

enum edit_verdict redaction_run(const struct pass_step *step, struct request_edit *at,
                                enum edit_level level)
{
    struct record *record = &at->records[level];
    struct work work = {
        .self = step->self, .arena = record->arena, .logs = at->signal == SIGNAL_LOGS};
    for (int what = 0; what < WHATS; what++)
        bytes_init(&work.done[what].keys, (size_t)1 << 20, NULL);
    if (record->list)
        redact_list(&work, record_attributes(record));
    if (at->signal == SIGNAL_LOGS && level == EDIT_ITEM)
        redact_body(&work, record);
    if (at->signal == SIGNAL_TRACES && level == EDIT_ITEM && work.self->has_databases &&
        work.self->sanitizes_span_names)
        redact_span_name(&work, record);
    record->failed = record->failed || work.failed;
    return EDIT_KEEP;
}
