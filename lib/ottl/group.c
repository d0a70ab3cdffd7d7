#include "lib/ottl/group.h"

#include "lib/base/log.h"
#include "lib/base/refusal.h"
#include "lib/ottl/plain.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#define MINUTE UINT64_C(60000000000)

const char *const ottl_error_modes[] = {"ignore", "silent", "propagate", NULL};

/* A statement or condition, and its place in the configuration. */
struct member {
    struct ottl *ottl;
    char *place;
    enum ottl_context context;
};

/* The conditions of one context. */
struct part {
    struct member *conditions;
    size_t count;
    struct ottl_plain *plains; /* those in front that need no run */
    size_t plain_count;
    enum ottl_context context;
};

struct ottl_group {
    enum ottl_context context; /* the innermost one */
    enum edit_level level;     /* its records' */
    enum ottl_error_mode mode;
    struct member *conditions, *statements;
    size_t condition_count, statement_count;
    struct part parts[EDIT_LEVELS];
    bool reaches_out, adds_items, reads_client;
};

/* ---- making and checking ---- */

/* Where faults are reported: a report, or the text of an error. */
struct teller {
    struct key_report *report;
    const char *path;
    size_t first; /* number of the first text of a list that is at the path */
    char *error;
    size_t error_size;
    bool any;
};

static void tell(struct teller *teller, const char *path, const char *text)
{
    teller->any = true;
    if (teller->report)
        key_report_add(teller->report, path, "%s", text);
    else
        snprintf(teller->error, teller->error_size, "%s", text);
}

/* The place of the i-th text of a list; list NULL: the list itself is at the path. */
static void place_of(const struct teller *teller, const char *list, size_t i, char place[200])
{
    snprintf(place, 200, "%s%s%s[%zu]", teller->path, list ? "." : "", list ? list : "",
             list ? i : teller->first + i);
}

static void tell_fault(struct teller *teller, const char *list, size_t i, const char *text,
                       const struct ottl_fault *fault)
{
    char path[200], sentence[460];
    if (strchr(text, '\n'))
        snprintf(sentence, sizeof sentence, "line %zu, column %zu: %s", fault->line, fault->column,
                 fault->text);
    else
        snprintf(sentence, sizeof sentence, "column %zu: %s", fault->column, fault->text);
    place_of(teller, list, i, path);
    tell(teller, path, sentence);
}

static struct member *parse_all(struct teller *teller, enum ottl_kind kind, const char *name,
                                const struct key_list *list, size_t *count)
{
    struct member *parsed = calloc(list->count + 1, sizeof *parsed);
    struct ottl_fault fault;
    char place[200];
    if (!parsed)
        tell(teller, teller->path, "out of memory");
    for (size_t i = 0; parsed && i < list->count; i++) {
        place_of(teller, name, i, place);
        parsed[i].place = strdup(place);
        parsed[i].ottl = ottl_parse(kind, view_of(list->items[i]), &fault);
        if (!parsed[i].ottl)
            tell_fault(teller, name, i, list->items[i], &fault);
        else if (!parsed[i].place)
            tell(teller, place, "out of memory");
    }
    *count = parsed ? list->count : 0;
    return parsed;
}

static void bind_all(struct teller *teller, struct ottl_group *group, const struct member *parsed,
                     const char *name, const struct key_list *list, bool named)
{
    struct ottl_fault fault;
    for (size_t i = 0; parsed && i < list->count; i++) {
        if (!parsed[i].ottl || parsed[i].context == OTTL_NONE)
            continue;
        if (!ottl_bind(parsed[i].ottl, parsed[i].context, named, &fault))
            tell_fault(teller, name, i, list->items[i], &fault);
        group->reaches_out = group->reaches_out || ottl_reaches_out(parsed[i].ottl);
        group->adds_items = group->adds_items || ottl_adds_items(parsed[i].ottl);
        group->reads_client = group->reads_client || ottl_reads_client(parsed[i].ottl);
    }
}

static enum ottl_context innermost(enum ottl_context context, const struct member *members,
                                   size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (members[i].ottl && ottl_inferred(members[i].ottl) > context)
            context = ottl_inferred(members[i].ottl);
    return context;
}

static bool all_have(const struct member *members, size_t count, enum ottl_context context)
{
    for (size_t i = 0; i < count; i++)
        if (members[i].ottl && !ottl_has_functions(members[i].ottl, context))
            return false;
    return true;
}

static bool group_has_functions(const struct ottl_group *group, enum ottl_context context)
{
    return all_have(group->statements, group->statement_count, context) &&
           all_have(group->conditions, group->condition_count, context);
}

/* The innermost context that any path names; or, if it lacks a function, the innermost around which
 * it is that has all of them. */
static enum ottl_context inferred(const struct ottl_group *group, const struct member *conditions,
                                  size_t condition_count, enum signal signal)
{
    enum ottl_context context = innermost(OTTL_NONE, group->statements, group->statement_count);
    context = innermost(context, conditions, condition_count);
    if (context == OTTL_NONE || (all_have(group->statements, group->statement_count, context) &&
                                 all_have(conditions, condition_count, context)))
        return context;
    for (int inner = OTTL_CONTEXTS - 1; inner > (int)context; inner--)
        if (ottl_context_fits((enum ottl_context)inner, signal) &&
            all_have(group->statements, group->statement_count, (enum ottl_context)inner) &&
            all_have(conditions, condition_count, (enum ottl_context)inner))
            return (enum ottl_context)inner;
    return context;
}

/* The context of the first editor that is available in one context only. */
static enum ottl_context only_context(const struct ottl_group *group)
{
    enum ottl_context context = OTTL_NONE;
    for (size_t i = 0; i < group->statement_count && context == OTTL_NONE; i++)
        context = ottl_only_context(group->statements[i].ottl);
    return context;
}

/* The first with a path that does not begin with a context; NULL: there is none. */
static const struct member *stray_of(const struct member *members, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (members[i].ottl && members[i].ottl->stray.size)
            return &members[i];
    return NULL;
}

/* False: the context is no good, which was told. */
static bool check_context(struct teller *teller, const struct ottl_group *group, const char *path,
                          enum ottl_context context, enum signal signal)
{
    char text[260];
    const struct member *stray = stray_of(group->statements, group->statement_count);
    if (ottl_context_fits(context, signal))
        return true;
    if (!stray)
        stray = stray_of(group->conditions, group->condition_count);
    if (context == OTTL_NONE && only_context(group) != OTTL_NONE)
        snprintf(text, sizeof text,
                 "no path names a context, expected a group with context: %s and statements",
                 ottl_context_name(only_context(group)));
    else if (context == OTTL_NONE && stray)
        snprintf(text, sizeof text,
                 "%.*s does not begin with a context, expected for example "
                 "resource.attributes[\"a\"], or a group with context and statements",
                 (int)(stray->ottl->stray.size < 80 ? stray->ottl->stray.size : 80),
                 (const char *)stray->ottl->stray.data);
    else if (context == OTTL_NONE)
        snprintf(text, sizeof text,
                 "no path names a context, expected for example resource.attributes[\"a\"], or a "
                 "group with context and statements");
    else
        snprintf(text, sizeof text, "context %s does not exist in pipelines of this signal",
                 ottl_context_name(context));
    tell(teller, context == OTTL_NONE && stray ? stray->place : path, text);
    return false;
}

static void give_context(struct ottl_group *group, enum ottl_context context)
{
    group->context = context;
    for (size_t i = 0; i < group->statement_count; i++)
        group->statements[i].context = context;
    for (size_t i = 0; i < group->condition_count; i++)
        group->conditions[i].context = context;
}

/* The place of the first text of a list that names a context. False: none does. */
static bool place_of_context(const struct teller *teller, const struct member *members,
                             size_t count, const char *list, enum ottl_context context,
                             char path[200])
{
    for (size_t i = 0; i < count; i++)
        if (members[i].ottl && context != OTTL_NONE && ottl_inferred(members[i].ottl) == context) {
            place_of(teller, list, i, path);
            return true;
        }
    return false;
}

static enum ottl_context context_in_any_case(const char *name)
{
    char lower[40];
    size_t size = 0;
    for (; name[size] && size < sizeof lower; size++)
        lower[size] = (char)tolower((unsigned char)name[size]);
    return ottl_context_of((struct view){(const uint8_t *)lower, size});
}

/* As in the Collector, statements and their conditions share a context, and conditions without
 * statements have one each. */
static void find_contexts(struct teller *teller, struct ottl_group *group,
                          const struct ottl_settings *settings, const char *statements,
                          const char *conditions, enum signal signal)
{
    char path[200], text[200];
    enum ottl_context given = OTTL_NONE;
    if (*settings->context) {
        given = context_in_any_case(settings->context);
        snprintf(path, sizeof path, "%s.context", teller->path);
        snprintf(text, sizeof text,
                 "found %.60s, expected a context such as resource, span, metric or log",
                 settings->context);
        if (given == OTTL_NONE)
            tell(teller, path, text);
        else
            given = check_context(teller, group, path, given, signal) ? given : OTTL_NONE;
        give_context(group, given);
        return;
    }
    if (group->statement_count || !group->condition_count) {
        give_context(group, inferred(group, group->conditions, group->condition_count, signal));
        if (!place_of_context(teller, group->statements, group->statement_count, statements,
                              group->context, path) &&
            !place_of_context(teller, group->conditions, group->condition_count, conditions,
                              group->context, path))
            snprintf(path, sizeof path, "%s", teller->path);
        if (!check_context(teller, group, path, group->context, signal))
            give_context(group, OTTL_NONE);
        return;
    }
    for (size_t i = 0; i < group->condition_count; i++) {
        struct member *condition = &group->conditions[i];
        if (!condition->ottl)
            continue;
        condition->context = inferred(group, condition, 1, signal);
        place_of(teller, conditions, i, path);
        if (!check_context(teller, group, path, condition->context, signal))
            condition->context = OTTL_NONE;
        if (condition->context > group->context)
            group->context = condition->context;
    }
}

/* Where something was not parsed, it could have decided on the context of the others. They get the
 * one that they would have without it, if what is wrong in it is wrong in each. */
static void guess_context(struct ottl_group *group, enum signal signal)
{
    enum ottl_context context = inferred(group, group->conditions, group->condition_count, signal);
    bool good = context != OTTL_NONE && ottl_context_fits(context, signal) &&
                group_has_functions(group, context);
    give_context(group, good ? context : OTTL_NONE);
}

/* Finds the conditions in front that need no run. */
static bool find_plains(struct part *part)
{
    part->plains = calloc(part->count + 1, sizeof *part->plains);
    while (part->plains && part->plain_count < part->count) {
        const struct ottl_plain *plain = part->conditions[part->plain_count].ottl->where->plain;
        if (!plain)
            break;
        part->plains[part->plain_count++] = *plain;
    }
    return part->plains;
}

/* Puts conditions of one context next to one another, in their order. */
static bool part_conditions(struct ottl_group *group)
{
    struct member *sorted = calloc(group->condition_count + 1, sizeof *sorted);
    size_t count = 0;
    bool good = sorted;
    for (int level = 0; sorted && level < EDIT_LEVELS; level++) {
        struct part *part = &group->parts[level];
        part->conditions = sorted + count;
        for (size_t i = 0; i < group->condition_count; i++)
            if (ottl_level(group->conditions[i].context) == (enum edit_level)level) {
                part->context = group->conditions[i].context;
                part->conditions[part->count++] = group->conditions[i];
            }
        good = find_plains(part) && good;
        count += part->count;
    }
    if (sorted) {
        free(group->conditions);
        group->conditions = sorted;
    }
    return good;
}

static struct ottl_group *make(struct teller *teller, const struct ottl_settings *settings,
                               enum signal signal, bool conditions_are_flat)
{
    struct ottl_group *group = calloc(1, sizeof *group);
    if (!group) {
        tell(teller, teller->path, "out of memory");
        return NULL;
    }
    bool flat = settings->flat;
    const char *statements = flat ? NULL : "statements";
    const char *conditions = flat && conditions_are_flat ? NULL : "conditions";
    group->statements = parse_all(teller, OTTL_STATEMENT, statements, &settings->statements,
                                  &group->statement_count);
    group->conditions = parse_all(teller, OTTL_CONDITION, conditions, &settings->conditions,
                                  &group->condition_count);
    bool named = !*settings->context;
    if (teller->any && named && group->statement_count)
        guess_context(group, signal);
    else
        find_contexts(teller, group, settings, statements, conditions, signal);
    group->level = ottl_level(group->context);
    bind_all(teller, group, group->statements, statements, &settings->statements, named);
    bind_all(teller, group, group->conditions, conditions, &settings->conditions, named);
    if (!teller->any && !part_conditions(group))
        tell(teller, teller->path, "out of memory");
    return group;
}

static bool is_mode(const char *word, enum ottl_error_mode *mode)
{
    for (int i = 0; ottl_error_modes[i]; i++)
        if (strcasecmp(word, ottl_error_modes[i]) == 0) {
            *mode = (enum ottl_error_mode)i;
            return true;
        }
    return false;
}

void ottl_group_check(const struct ottl_settings *settings, enum signal signal, const char *path,
                      struct key_report *report)
{
    struct teller teller = {.report = report, .path = path, .first = settings->first};
    enum ottl_error_mode mode;
    char mode_path[200];
    snprintf(mode_path, sizeof mode_path, "%s.error_mode", path);
    if (*settings->error_mode && !is_mode(settings->error_mode, &mode))
        key_report_add(report, mode_path, "expected ignore, silent or propagate");
    ottl_group_free(make(&teller, settings, signal, !settings->statements.count));
}

void ottl_group_path(const struct ottl_settings *settings, const char *key, size_t i,
                     char path[OTTL_PATH_SIZE])
{
    snprintf(path, OTTL_PATH_SIZE, settings->flat ? "%s" : "%s[%zu]", key, i);
}

void ottl_conditions_check(const struct key_list *conditions, enum ottl_context context,
                           const char *path, struct key_report *report)
{
    char name[16];
    enum signal signal = 0;
    snprintf(name, sizeof name, "%s", ottl_context_name(context));
    while (!ottl_context_fits(context, signal))
        signal++;
    struct ottl_settings settings = {
        .conditions = *conditions, .context = name, .error_mode = "", .flat = true};
    ottl_group_check(&settings, signal, path, report);
}

struct ottl_group *ottl_group_new(const struct ottl_settings *settings, enum signal signal,
                                  const char *path, enum ottl_error_mode mode, char *error,
                                  size_t error_size)
{
    struct teller teller = {
        .path = path, .first = settings->first, .error = error, .error_size = error_size};
    struct ottl_group *group = make(&teller, settings, signal, true);
    if (group) {
        group->mode = mode;
        (void)is_mode(settings->error_mode, &group->mode);
    }
    if (!teller.any)
        return group;
    ottl_group_free(group);
    return NULL;
}

static void free_all(struct member *members, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        ottl_free(members[i].ottl);
        free(members[i].place);
    }
    free(members);
}

void ottl_group_free(struct ottl_group *group)
{
    if (!group)
        return;
    free_all(group->conditions, group->condition_count);
    free_all(group->statements, group->statement_count);
    for (int level = 0; level < EDIT_LEVELS; level++)
        free(group->parts[level].plains);
    free(group);
}

enum ottl_context ottl_group_context(const struct ottl_group *group)
{
    return group->context;
}

unsigned ottl_group_drop_levels(const struct ottl_group *group)
{
    unsigned levels = 0;
    for (int level = 0; level < EDIT_LEVELS; level++)
        levels |= group->parts[level].count ? EDIT_BIT(level) : 0;
    return levels;
}

bool ottl_group_propagates(const struct ottl_group *group)
{
    return group->mode == OTTL_PROPAGATE;
}

bool ottl_group_reaches_out(const struct ottl_group *group)
{
    return group->reaches_out;
}

bool ottl_group_adds_items(const struct ottl_group *group)
{
    return group->adds_items;
}

bool ottl_group_reads_client(const struct ottl_group *group)
{
    return group->reads_client;
}

void ottl_group_sieve(const struct ottl_group *group, struct key_sieve sieves[EDIT_LEVELS])
{
    for (size_t i = 0; i < group->condition_count; i++)
        ottl_sieve(group->conditions[i].ottl, sieves);
    for (size_t i = 0; i < group->statement_count; i++)
        ottl_sieve(group->statements[i].ottl, sieves);
}

/* Whether its statements run for any record. */
static bool always_runs(const struct ottl_group *group)
{
    bool always = !group->condition_count;
    for (size_t i = 0; i < group->condition_count; i++)
        always = always || ottl_always(group->conditions[i].ottl);
    return always && group->level <= EDIT_ITEM;
}

void ottl_group_alter(const struct ottl_group *group, enum edit_level level,
                      const struct alterable *what, alteration_visit_fn *visit, void *ctx)
{
    struct alteration found;
    char room[600];
    for (size_t i = 0; i < group->statement_count; i++) {
        const struct member *statement = &group->statements[i];
        if (!ottl_alters(statement->ottl, level, what, &found, room, sizeof room))
            continue;
        bool certain = always_runs(group) && ottl_always(statement->ottl);
        if (!certain && found.kind == ALTERATION_LOSES)
            continue;
        if (!certain)
            found.kind = ALTERATION_MAY_GIVE;
        found.path = statement->place;
        visit(ctx, &found);
    }
}

/* ---- running ---- */

enum { SHOWN_MAX = 80 };

/* The text on one line, truncated if it is long. */
static void show(const struct ottl *ottl, char shown[SHOWN_MAX + 4])
{
    struct view text = ottl_text(ottl);
    size_t size = text.size < SHOWN_MAX ? text.size : SHOWN_MAX;
    while (size < text.size && size > 0 && (text.data[size] & 0xc0) == 0x80)
        size--;
    for (size_t i = 0; i < size; i++)
        shown[i] = (char)(text.data[i] < ' ' ? ' ' : text.data[i]);
    snprintf(shown + size, 4, "%s", size < text.size ? "..." : "");
}

/* Whether to continue after a member that cannot be evaluated. A lack of memory is no fault of the
 * record, which must not leave as it came because of it. */
static bool goes_on(const struct ottl_group *group, const struct member *member,
                    const struct ottl_run *run, struct ottl_errors *errors)
{
    if (run->at->splice->failed)
        return false;
    uint64_t now = clock_mono(errors->clock), at = atomic_load(&errors->log_at_ns);
    uint64_t count = atomic_fetch_add(&errors->count, 1) + 1;
    bool logs = group->mode != OTTL_SILENT && now >= at &&
                atomic_compare_exchange_strong(&errors->log_at_ns, &at, now + MINUTE);
    char text[SHOWN_MAX + 4], why[500];
    if (!logs && group->mode != OTTL_PROPAGATE)
        return true;
    show(member->ottl, text);
    snprintf(why, sizeof why, "%s: %s: %s: %s", errors->id, member->place, run->error, text);
    if (logs)
        log_warn("%s (%llu failed evaluation%s so far)", why, (unsigned long long)count,
                 count == 1 ? "" : "s");
    if (group->mode == OTTL_PROPAGATE)
        refusal_set(why, CAUSE_UNAVAILABLE);
    return group->mode != OTTL_PROPAGATE;
}

/* The first condition that holds, from a given one on, decides. */
static enum ottl_result any_holds(const struct ottl_group *group, const struct part *part,
                                  size_t first, struct ottl_run *run, struct ottl_errors *errors)
{
    for (size_t i = first; i < part->count; i++) {
        enum ottl_result result = ottl_eval(part->conditions[i].ottl, run);
        if (result == OTTL_YES ||
            (result == OTTL_ERROR && !goes_on(group, &part->conditions[i], run, errors)))
            return result;
    }
    return OTTL_NO;
}

enum edit_verdict ottl_group_run(const struct ottl_group *group, enum edit_level level,
                                 struct request_edit *at, struct ottl_errors *errors)
{
    const struct part *part = &group->parts[level];
    struct ottl_run run;
    if (group->level != level)
        return EDIT_KEEP;
    ottl_run_begin(&run, at, group->context, errors->clock);
    enum ottl_result holds = part->count ? any_holds(group, part, 0, &run, errors) : OTTL_YES;
    if (holds != OTTL_YES)
        return holds == OTTL_NO ? EDIT_KEEP : EDIT_ABORT;
    for (size_t i = 0; i < group->statement_count; i++)
        if (ottl_eval(group->statements[i].ottl, &run) == OTTL_ERROR &&
            !goes_on(group, &group->statements[i], &run, errors))
            return EDIT_ABORT;
    return EDIT_KEEP;
}

/* Starts at the first condition that needs a run. */
static __attribute__((noinline)) enum edit_verdict drops_from(const struct ottl_group *group,
                                                              const struct part *part,
                                                              struct request_edit *at,
                                                              struct ottl_errors *errors)
{
    struct ottl_run run;
    ottl_run_begin(&run, at, part->context, errors->clock);
    enum ottl_result holds = any_holds(group, part, part->plain_count, &run, errors);
    return holds == OTTL_YES ? EDIT_DROP : holds == OTTL_NO ? EDIT_KEEP : EDIT_ABORT;
}

enum edit_verdict ottl_group_drops(const struct ottl_group *group, enum edit_level level,
                                   struct request_edit *at, struct ottl_errors *errors)
{
    const struct part *part = &group->parts[level];
    const struct ottl_plain *plain = part->plains, *end = plain + part->plain_count;
    for (; plain < end; plain++)
        if (ottl_plain_holds(plain, at))
            return EDIT_DROP;
    return part->plain_count < part->count ? drops_from(group, part, at, errors) : EDIT_KEEP;
}
