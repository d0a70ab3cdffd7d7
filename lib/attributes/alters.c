/* What actions do to one attribute, as far as their settings say. */
#include "lib/attributes/actions.h"
#include "lib/regex/regex.h"

#include <inttypes.h>
#include <stdio.h>
#include <strings.h>

enum { TO_MAX = 600 };

static bool is(const struct action_settings *action, const char *kind)
{
    return strcasecmp(action->action, kind) == 0;
}

/* Whether an action by key or pattern is for the attribute. */
static bool names(const struct action_settings *action, struct view key)
{
    char error[256];
    if (view_eq(view_of(action->key), key))
        return true;
    struct regex *regex =
        *action->pattern ? regex_new(view_of(action->pattern), error, sizeof error) : NULL;
    bool found = regex && regex_test(regex, key) == REGEX_YES;
    regex_free(regex);
    return found;
}

/* The same text for the same value; "": it is not told. */
static void write_value(const struct action_settings *action, char to[TO_MAX])
{
    const struct key_value *value = &action->value, *fallback = &action->default_value;
    bool told = fallback->kind == KEY_VALUE_NONE || fallback->kind == KEY_VALUE_STRING;
    *to = '\0';
    if (value->kind == KEY_VALUE_STRING)
        snprintf(to, TO_MAX, "=%s", value->text);
    else if (value->kind == KEY_VALUE_INT)
        snprintf(to, TO_MAX, "int %" PRIi64, value->integer);
    else if (value->kind == KEY_VALUE_NONE && told)
        snprintf(to, TO_MAX, "from %s, %s, %s", action->from_attribute, action->from_context,
                 fallback->kind == KEY_VALUE_STRING ? fallback->text : "");
}

void actions_alter(const struct key_groups *list, const char *path, struct view key,
                   alteration_visit_fn *visit, void *ctx)
{
    const struct action_settings *actions = list->items;
    char place[160], to[TO_MAX];
    for (size_t i = 0; i < list->count; i++) {
        const struct action_settings *action = &actions[i];
        struct alteration found = {.path = place, .verb = "changes"};
        bool gives = is(action, "update") || is(action, "upsert");
        bool may_give = is(action, "insert");
        snprintf(place, sizeof place, "%s[%zu]", path, i);
        if ((gives || may_give) && view_eq(view_of(action->key), key) &&
            !view_eq(view_of(action->from_attribute), key)) {
            write_value(action, to);
            found.kind = gives ? ALTERATION_GIVES : ALTERATION_MAY_GIVE;
            found.to = view_of(to);
        } else if (is(action, "hash") && names(action, key)) {
            found.to = VIEW("hash");
        } else if (is(action, "delete") && names(action, key)) {
            found.verb = "removes";
            found.to = ALTERATION_REMOVED;
        } else {
            continue;
        }
        visit(ctx, &found);
    }
}
