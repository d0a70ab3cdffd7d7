/* What every component in the table keeps to; a new one is covered without a line here. */
#include "lib/settings/fill.h"
#include "pipeline/batch_pass.h"
#include "pipeline/component.h"
#include "tests/support/collecting_sink.h"
#include "tests/support/some_batch.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_KEYS = 256 };

/* One component's instance with its settings. */
struct subject {
    const struct component *component;
    struct settings *settings;
    struct problems problems;
    void *self;
};

static void fill_from(struct subject *subject, const struct component *component,
                      const struct settings_source *sources, size_t count)
{
    *subject = (struct subject){.component = component};
    subject->self = calloc(1, component->size + 1);
    subject->settings = settings_load(sources, count, &subject->problems);
    if (!subject->settings || !component->keys)
        return;
    const struct node *section = node_get(settings_root(subject->settings), "it");
    if (keys_fill(component->keys, section, section, "it", subject->self, &subject->problems) &&
        component->check)
        keys_check(component->check, subject->self, section, section, "it", &subject->problems);
}

static void fill(struct subject *subject, const struct component *component, const char *yaml)
{
    char *text;
    ck_assert_int_gt(asprintf(&text, "yaml:%s", yaml), 0);
    fill_from(subject, component, &(struct settings_source){SETTINGS_FILE, text}, 1);
    free(text);
}

static void release(struct subject *subject)
{
    if (subject->component->keys)
        keys_release(subject->component->keys, subject->self);
    free(subject->self);
    settings_free(subject->settings);
    problems_release(&subject->problems);
}

static void each_component(void (*visit)(const struct component *component))
{
    ck_assert_ptr_nonnull(component_table[0]);
    for (const struct component *const *at = component_table; *at; at++)
        visit(*at);
}

static void check_fields(const struct component *component)
{
    bool carries = component->kind != COMPONENT_EXTENSION;
    ck_assert_ptr_nonnull(component->type);
    ck_assert_msg(component->text && strlen(component->text) > 5, "%s: text", component->type);
    ck_assert_msg(component->stability && *component->stability, "%s: stability", component->type);
    ck_assert_msg(carries == (component->signals != 0), "%s: signals", component->type);
    ck_assert_msg((component->signals & ~SIGNALS_ALL) == 0, "%s: signals", component->type);
    ck_assert_msg(component->kind != COMPONENT_PROCESSOR || component->consume || component->step,
                  "%s: consume", component->type);
    ck_assert_msg(component->kind != COMPONENT_EXPORTER || component->send, "%s: send",
                  component->type);
    bool encodes = component->kind == COMPONENT_EXPORTER || component->kind == COMPONENT_RECEIVER;
    ck_assert_msg(!encodes || component->encodings, "%s: encodings", component->type);
    ck_assert_msg(!component->keys || component->size > 0, "%s: size", component->type);
    ck_assert_ptr_eq(component_find(component->kind, component->type), component);
    if (component->alias)
        ck_assert_ptr_eq(component_find(component->kind, component->alias), component);
}

START_TEST(required_fields_are_there)
{
    each_component(check_fields);
}
END_TEST

static void check_types_differ(const struct component *component)
{
    for (const struct component *const *at = component_table; *at; at++)
        if (*at != component && (*at)->kind == component->kind)
            ck_assert_str_ne((*at)->type, component->type);
}

START_TEST(no_two_of_a_kind_share_a_type)
{
    each_component(check_types_differ);
}
END_TEST

static void check_defaults(const struct component *component)
{
    struct subject subject;
    fill(&subject, component, "{it: }");
    for (size_t i = 0; i < subject.problems.count; i++)
        ck_assert_msg(strstr(subject.problems.lines[i], ": it"), "%s: %s", component->type,
                      subject.problems.lines[i]);
    release(&subject);
}

START_TEST(defaults_fill_or_fail_with_a_sentence)
{
    each_component(check_defaults);
}
END_TEST

/* The dotted names of all keys. */
struct key_names {
    char *names[MAX_KEYS];
    const struct key *keys[MAX_KEYS];
    size_t count;
};

static void collect_name(void *ctx, const char *name, const struct key *key, const char *type_words)
{
    struct key_names *names = ctx;
    ck_assert_uint_lt(names->count, MAX_KEYS);
    ck_assert_msg(key->text && *key->text, "%s has no text", name);
    ck_assert_ptr_nonnull(type_words);
    names->keys[names->count] = key;
    names->names[names->count++] = strdup(name);
}

static void names_of(const struct component *component, struct key_names *names)
{
    names->count = 0;
    if (component->keys)
        keys_visit(component->keys, collect_name, names);
}

static void free_names(struct key_names *names)
{
    for (size_t i = 0; i < names->count; i++)
        free(names->names[i]);
}

/* "a.b[].c" and a value: {it: {a: {b: [{c: value}]}}} */
static char *nested(const char *name, const char *value)
{
    char *text;
    const char *dot = strchr(name, '.');
    size_t size = dot ? (size_t)(dot - name) : strlen(name);
    bool list = dot && size > 2 && name[size - 1] == ']';
    char *inner = dot ? nested(dot + 1, value) : strdup(value);
    const char *ends = list ? "[]" : "  ";
    ck_assert_int_gt(asprintf(&text, "{%.*s: %c%s%c}", (int)(list ? size - 2 : size), name, ends[0],
                              inner, ends[1]),
                     0);
    free(inner);
    return text;
}

static char *yaml_of(const char *name, const char *value)
{
    char *text, *inner = nested(name, value);
    ck_assert_int_gt(asprintf(&text, "{it: %s}", inner), 0);
    free(inner);
    return text;
}

/* Whether a sentence is about a key; those in lists stand there as "a[0].b". */
static bool is_named(const char *line, const char *name)
{
    char path[256] = "";
    for (const char *at = name; *at; at++)
        strncat(path, *at == ']' ? "0]" : (const char[]){*at, '\0'}, 2);
    return strstr(line, path);
}

static void check_refusal(const struct component *component, const char *name,
                          const struct key *key)
{
    struct subject subject;
    bool mapped =
        key->type == KEY_TYPE_MAP || key->type == KEY_TYPE_SECRETS || key->type == KEY_TYPE_GROUP;
    char *yaml = yaml_of(name, mapped ? "[wrong]" : "{wrong: {wrong: wrong}}");
    bool named = false;
    fill(&subject, component, yaml);
    for (size_t i = 0; i < subject.problems.count; i++)
        named = named || is_named(subject.problems.lines[i], name);
    ck_assert_msg(named, "%s %s: %s was not refused", component->type, name, yaml);
    release(&subject);
    free(yaml);
}

/* A key with a dot in its own name, and what is below it, cannot be written from the dotted name.
 */
static bool has_dotted_step(const struct key_names *names, const char *name)
{
    for (size_t i = 0; i < names->count; i++)
        if (strchr(names->keys[i]->name, '.') &&
            strncmp(name, names->names[i], strlen(names->names[i])) == 0)
            return true;
    return false;
}

static void check_wrong_types(const struct component *component)
{
    struct key_names names;
    names_of(component, &names);
    for (size_t i = 0; i < names.count; i++)
        if (names.keys[i]->type != KEY_TYPE_IGNORED && names.keys[i]->type != KEY_TYPE_TREE &&
            !has_dotted_step(&names, names.names[i]))
            check_refusal(component, names.names[i], names.keys[i]);
    free_names(&names);
}

START_TEST(every_key_refuses_a_wrong_type)
{
    each_component(check_wrong_types);
}
END_TEST

static void check_unknown_key(const struct component *component)
{
    struct subject subject;
    if (!component->keys)
        return;
    fill(&subject, component, "{it: {surely_no_key: 1}}");
    ck_assert_msg(subject.problems.count > 0, "%s takes any key", component->type);
    release(&subject);
}

START_TEST(unknown_keys_are_refused)
{
    each_component(check_unknown_key);
}
END_TEST

static void check_close_without_open(const struct component *component)
{
    struct subject subject;
    fill(&subject, component, "{it: }");
    if (component->close) {
        component->close(subject.self);
        component->close(subject.self);
    }
    release(&subject);
}

START_TEST(close_is_legal_without_open_and_twice)
{
    each_component(check_close_without_open);
}
END_TEST

static char folder[64];

/* A value that needs no fixed port and no peer, for keys that have to be given. */
static const char *safe_value(const struct key *key, const char *name, char out[128])
{
    const char *leaf = strrchr(name, '.') ? strrchr(name, '.') + 1 : name;
    bool listens = key->fallback && strncmp(key->fallback, "localhost:", 10) == 0;
    if (strcmp(name, "limit_mib") == 0)
        return "64";
    if (strcmp(name, "timeout") == 0 && key->type == KEY_TYPE_DURATION)
        return "100ms"; /* an exporter without its peer waits for that long */
    if (strcmp(name, "token") == 0)
        return "secret";
    if (strcmp(name, "htpasswd.inline") == 0)
        return "user:secret";
    if (key->type == KEY_TYPE_GROUPS && strcmp(key->rows[1].name, "action") == 0)
        return "[{key: a, action: delete}]";
    if (key->type != KEY_TYPE_STRING || strchr(name, '['))
        return NULL;
    if (listens)
        return "127.0.0.1:0";
    if (strcmp(leaf, "endpoint") == 0)
        return "http://127.0.0.1:1";
    if ((strcmp(name, "path") == 0 || strcmp(name, "directory") == 0) && !key->fallback) {
        snprintf(out, 128, "%s/%s", folder, name);
        return out;
    }
    if ((key->flags & KEY_REQUIRED) && !key->fallback && !strchr(name, '.'))
        return "word";
    return NULL;
}

/* Fills with a safe value for each key that has one. */
static void fill_safely(struct subject *subject, const struct component *component)
{
    struct settings_source sources[MAX_KEYS + 1] = {{SETTINGS_FILE, "yaml:{it: }"}};
    char *texts[MAX_KEYS], room[128];
    struct key_names names;
    size_t count = 0;
    names_of(component, &names);
    for (size_t i = 0; i < names.count; i++) {
        const char *value = safe_value(names.keys[i], names.names[i], room);
        if (!value)
            continue;
        ck_assert_int_gt(asprintf(&texts[count], "it.%s=%s", names.names[i], value), 0);
        sources[count + 1] = (struct settings_source){SETTINGS_SET, texts[count]};
        count++;
    }
    fill_from(subject, component, sources, count + 1);
    while (count > 0)
        free(texts[--count]);
    free_names(&names);
}

/* An open instance between a collecting sink and a budget. */
struct stage {
    struct subject subject;
    struct budget budget;
    struct meter meter;
    struct env env;
    struct collecting_sink sink;
    bool open;
};

static void stage_open(struct stage *stage, const struct component *component)
{
    char error[512] = "";
    fill_safely(&stage->subject, component);
    for (size_t i = 0; i < stage->subject.problems.count; i++)
        ck_assert_msg(false, "%s: %s", component->type, stage->subject.problems.lines[i]);
    budget_init(&stage->budget, (size_t)64 << 20);
    meter_init(&stage->meter, component->type);
    collecting_sink_init(&stage->sink);
    stage->env = (struct env){.id = component->type,
                              .clock = &clock_system,
                              .budget = &stage->budget,
                              .meter = &stage->meter};
    stage->open =
        !component->open || component->open(stage->subject.self, &stage->env, error, sizeof error);
    ck_assert_msg(stage->open, "%s: %s", component->type, error);
}

/* The second close. */
static void stage_close(struct stage *stage)
{
    const struct component *component = stage->subject.component;
    if (component->close)
        component->close(stage->subject.self);
    meter_release(&stage->meter);
    collecting_sink_clear(&stage->sink);
    ck_assert_msg(budget_used(&stage->budget) == 0, "%s keeps %zu bytes of the budget",
                  component->type, budget_used(&stage->budget));
    release(&stage->subject);
}

enum { BATCHES = 3, SPANS = 4 };

static void *hand_over(void *ctx)
{
    struct stage *stage = ctx;
    const struct component *component = stage->subject.component;
    for (unsigned i = 0; i < BATCHES; i++) {
        struct batch *batch = some_spans(i * SPANS, SPANS, &stage->budget);
        if (component->kind == COMPONENT_PROCESSOR)
            component_consume(component, stage->subject.self, batch, &stage->sink.outlet);
        else
            component->send(stage->subject.self, batch);
        batch_unref(batch);
    }
    return NULL;
}

static bool takes_traces(const struct component *component)
{
    bool takes = component->kind == COMPONENT_PROCESSOR ||
                 (component->send && (component->encodings & BATCH_BIT(BATCH_OTLP)));
    return takes && (component->signals & SIGNAL_BIT(SIGNAL_TRACES));
}

static void check_life(const struct component *component)
{
    struct stage stage;
    pthread_t threads[2];
    stage_open(&stage, component);
    if (takes_traces(component)) {
        for (int i = 0; i < 2; i++)
            pthread_create(&threads[i], NULL, hand_over, &stage);
        for (int i = 0; i < 2; i++)
            pthread_join(threads[i], NULL);
    }
    if (component->tick)
        component->tick(stage.subject.self, clock_mono(&clock_system));
    if (component->explain) {
        struct bytes out;
        bytes_init(&out, 1 << 20, NULL);
        component->explain(stage.subject.self, &out);
        bytes_release(&out);
    }
    if (component->abort)
        component->abort(stage.subject.self);
    if (component->close)
        component->close(stage.subject.self);
    if (component->kind == COMPONENT_PROCESSOR)
        ck_assert_msg(collecting_sink_items(&stage.sink) <= 2 * BATCHES * SPANS,
                      "%s handed on %d spans", component->type,
                      (int)collecting_sink_items(&stage.sink));
    stage_close(&stage);
}

START_TEST(a_life_with_two_threads_leaves_nothing_behind)
{
    strcpy(folder, "/tmp/spanlink-test-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    each_component(check_life);
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", folder);
    ck_assert_int_eq(system(command), 0);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        required_fields_are_there,
        no_two_of_a_kind_share_a_type,
        defaults_fill_or_fail_with_a_sentence,
        every_key_refuses_a_wrong_type,
        unknown_keys_are_refused,
        close_is_legal_without_open_and_twice,
        a_life_with_two_threads_leaves_nothing_behind,
        NULL,
    };
    return suite_run("conformance", tests);
}
