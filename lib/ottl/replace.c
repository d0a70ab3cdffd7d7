/* Editors that replace strings, or the parts of them that match. */
#include "lib/ottl/target.h"

enum { REPLACED_MOST = 4 << 20 };

/* What a match is replaced with: a template, whose expansion a converter may change, and a format
 * for the converter's result. */
struct replacement {
    struct ottl_run *run;
    const struct ottl_node *call;
    const struct ottl_function *converter; /* NULL: none */
    struct view text;
    size_t format; /* position of the argument */
};

/* Reads the arguments from `at` on. False: the run has failed. */
static bool read_replacement(struct replacement *with, struct ottl_run *run,
                             const struct ottl_node *call, size_t at)
{
    *with = (struct replacement){.run = run, .call = call, .format = at + 2};
    with->text = ottl_arg_string(run, call, at);
    if (ottl_has(call, at + 1))
        with->converter = call->items[at + 1]->function;
    return !run->failed;
}

/* Where the format has its %s. SIZE_MAX: it does not have exactly one, or another %. */
static size_t place_in(struct view format)
{
    const uint8_t *sign = format.size ? memchr(format.data, '%', format.size) : NULL;
    size_t at = sign ? (size_t)(sign - format.data) : 0, rest = format.size - at;
    bool line = format.size && memchr(format.data, '\n', format.size);
    return !sign || line || rest < 2 || sign[1] != 's' || memchr(sign + 1, '%', rest - 1) ? SIZE_MAX
                                                                                          : at;
}

/* Appends a text in the format. False: the run has failed, or out is full. */
static bool put_formatted(const struct replacement *with, struct view text, struct bytes *out)
{
    if (!ottl_has(with->call, with->format))
        return bytes_append_view(out, text) == BYTES_OK;
    struct view format = ottl_arg_string(with->run, with->call, with->format);
    if (with->run->failed)
        return false;
    size_t at = place_in(format);
    if (at == SIZE_MAX) {
        ottl_fail(with->run, "%s: the format must contain %%s once and no other %%",
                  with->call->function->name);
        return false;
    }
    struct view before = {format.data, at}, after = {format.data + at + 2, format.size - at - 2};
    return bytes_append_view(out, before) == BYTES_OK && bytes_append_view(out, text) == BYTES_OK &&
           bytes_append_view(out, after) == BYTES_OK;
}

/* Appends what the converter makes of a text, formatted. */
static bool put_converted(const struct replacement *with, struct view text, struct bytes *out)
{
    struct ottl_value made = ottl_call_with(with->run, with->converter, text);
    return !with->run->failed && put_formatted(with, made.bytes, out);
}

static bool put_match(const void *context, const struct regex_match *match, struct bytes *out)
{
    const struct replacement *with = context;
    struct bytes expanded;
    bytes_init(&expanded, REPLACED_MOST, NULL);
    bool ok = regex_expand(with->call->regex, match, with->text, &expanded) &&
              put_converted(with, bytes_view(&expanded), out);
    bytes_release(&expanded);
    return ok;
}

/* A text with all matches replaced. REGEX_NO: it has none; REGEX_LIMIT: the run has failed. */
static enum regex_result replaced(const struct replacement *with, struct view text,
                                  struct view *made)
{
    const struct regex *regex = with->call->regex;
    struct ottl_run *run = with->run;
    struct bytes out;
    bytes_init(&out, REPLACED_MOST, NULL);
    enum regex_result result = with->converter
                                   ? regex_replace_by(regex, text, put_match, with, &out)
                                   : regex_replace(regex, text, with->text, &out);
    if (result == REGEX_YES)
        *made = ottl_keep(run, bytes_view(&out));
    else if (result == REGEX_LIMIT)
        ottl_fail(run, "the match exceeded its limits, or the result is too long");
    bytes_release(&out);
    return run->failed ? REGEX_LIMIT : result;
}

/* Whether the replacement cannot fail, so that it need not be read where nothing is replaced. */
static bool is_fixed(const struct ottl_node *call)
{
    return ottl_is_text(call->items[2]) && !ottl_has(call, 3) && !ottl_has(call, 4);
}

static struct ottl_value replace_pattern(struct ottl_run *run, const struct ottl_node *call)
{
    struct ottl_value value = ottl_path_get(call->items[0], run);
    struct replacement with;
    struct view made;
    if (is_fixed(call) && (value.type != TYPE_STRING || regex_rules_out(call->regex, value.bytes)))
        return ottl_nil();
    if (run->failed || !read_replacement(&with, run, call, 2) || value.type != TYPE_STRING ||
        replaced(&with, value.bytes, &made) != REGEX_YES)
        return ottl_nil();
    value = ottl_string(made);
    ottl_path_set(call->items[0], run, &value);
    return ottl_nil();
}

/* Whether the run failed only because a converter does not take this text: then the Collector goes
 * on with the next attribute. The run has not failed any more. */
static bool is_passed_over(const struct replacement *with)
{
    struct ottl_run *run = with->run;
    bool refused = with->converter && strcmp(run->error, "out of memory") != 0;
    if (refused)
        run->failed = false;
    return refused;
}

/* All keys anew: of two that become equal the last one's value stays. */
static struct ottl_value replace_keys(struct target *target, const struct replacement *with)
{
    struct ottl_run *run = with->run;
    size_t count = target->list->count;
    struct attribute *items = arena_array_raw(ottl_arena(run), count + 1, sizeof *items);
    bool any = false;
    if (!items)
        return ottl_fail(run, "out of memory");
    if (count)
        memcpy(items, target->list->items, count * sizeof *items);
    for (size_t i = 0; i < count; i++) {
        if (items[i].gone)
            continue;
        enum regex_result result = replaced(with, items[i].key, &items[i].key);
        if (result == REGEX_LIMIT && !is_passed_over(with))
            return ottl_nil();
        items[i].gone = result == REGEX_LIMIT;
        any = any || result != REGEX_NO;
    }
    target->list->partial = any;
    for (size_t i = 0; any && i < count; i++)
        if (!target->list->items[i].gone)
            attributes_remove(target->list, &target->list->items[i]);
    for (size_t i = 0; any && i < count; i++) {
        struct value value = value_read(items[i].any);
        if (!items[i].gone)
            attributes_set(target->list, items[i].key, &value);
    }
    return target_close(target, run);
}

static struct ottl_value replace_all_patterns(struct ottl_run *run, const struct ottl_node *call)
{
    struct target target;
    struct replacement with;
    struct view made;
    if (!read_replacement(&with, run, call, 3) || !target_open(&target, run, call))
        return ottl_nil();
    if (view_eq(call->items[1]->value.bytes, VIEW("key")))
        return replace_keys(&target, &with);
    for (size_t i = 0; i < target.list->count; i++) {
        struct attribute *item = &target.list->items[i];
        struct value value = value_read(item->any);
        if (item->gone || value.kind != VALUE_STRING)
            continue;
        enum regex_result result = replaced(&with, value.bytes, &made);
        if (result == REGEX_LIMIT && !is_passed_over(&with))
            break;
        if (result != REGEX_YES)
            continue;
        value.bytes = made;
        attributes_change(target.list, item, &value);
    }
    return target_close(&target, run);
}

/* What replaces a whole string. Data NULL: the run has failed. */
static struct view whole(struct ottl_run *run, const struct ottl_node *call)
{
    struct replacement with;
    struct bytes out;
    if (!read_replacement(&with, run, call, 2))
        return (struct view){0};
    if (!with.converter)
        return with.text;
    bytes_init(&out, REPLACED_MOST, NULL);
    bool ok = put_converted(&with, with.text, &out);
    struct ottl_value made = ottl_made_text(run, &out, ok);
    return run->failed ? (struct view){0} : made.bytes;
}

static struct ottl_value replace_match(struct ottl_run *run, const struct ottl_node *call)
{
    struct ottl_value value = ottl_path_get(call->items[0], run);
    struct view with = run->failed ? VIEW("") : whole(run, call);
    if (run->failed || value.type != TYPE_STRING ||
        regex_test(call->regex, value.bytes) != REGEX_YES)
        return ottl_nil();
    value = ottl_string(with);
    ottl_path_set(call->items[0], run, &value);
    return ottl_nil();
}

static struct ottl_value replace_all_matches(struct ottl_run *run, const struct ottl_node *call)
{
    struct target target;
    struct value with = value_string(whole(run, call));
    if (run->failed || !target_open(&target, run, call))
        return ottl_nil();
    for (size_t i = 0; i < target.list->count; i++) {
        struct attribute *item = &target.list->items[i];
        struct value value = value_read(item->any);
        if (!item->gone && value.kind == VALUE_STRING &&
            regex_test(call->regex, value.bytes) == REGEX_YES)
            attributes_change(target.list, item, &with);
    }
    return target_close(&target, run);
}

static const char *check_format(const struct ottl_node *call, size_t i)
{
    return !ottl_has(call, i) || !ottl_is_text(call->items[i]) ||
                   place_in(call->items[i]->value.bytes) != SIZE_MAX
               ? NULL
               : "the format must contain %s once and no other %";
}

static const char *check_replace(const struct ottl_node *call)
{
    return check_format(call, 4);
}

static const char *check_replace_all(const struct ottl_node *call)
{
    static const char *const modes[] = {"key", "value", NULL};
    return ottl_is_one_of(call->items[1], modes) ? check_format(call, 5)
                                                 : "expected the mode \"key\" or \"value\"";
}

const struct ottl_function ottl_replace_editors[] = {
    {"replace_pattern", "target,regex_pattern,replacement,function?,replacement_format?",
     replace_pattern, 1, false, 0, check_replace},
    {"replace_all_patterns", "target,mode,regex_pattern,replacement,function?,replacement_format?",
     replace_all_patterns, 2, false, 0, check_replace_all},
    {"replace_match", "target,pattern,replacement,function?,replacement_format?", replace_match, 1,
     true, 0, check_replace},
    {"replace_all_matches", "target,pattern,replacement,function?,replacement_format?",
     replace_all_matches, 1, true, 0, check_replace},
    {0},
};
