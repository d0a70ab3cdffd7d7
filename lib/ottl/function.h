/* Functions of OTTL. For lib/ottl alone. */
#ifndef LIB_OTTL_FUNCTION_H
#define LIB_OTTL_FUNCTION_H

#include "lib/ottl/node.h"

#include <time.h>

typedef struct ottl_value ottl_fn(struct ottl_run *run, const struct ottl_node *call);

struct ottl_function {
    const char *name;
    const char *parameters; /* "target,pattern,replacement?" : those with ? may be left out */
    ottl_fn *fn;
    int pattern;       /* number of the one that is a pattern; -1: none */
    bool glob;         /* the pattern is a glob */
    unsigned contexts; /* bits, FN_ADDS_ITEMS and FN_CONDITIONS; 0: all */
    const char *(*check)(const struct ottl_node *call); /* of its literals; NULL: none */
};

enum { FN_NO_PATTERN = -1 };

/* A bit of contexts: it adds metrics to the request. */
#define FN_ADDS_ITEMS (1u << 31)
/* The same: it is available in conditions only, not in the where of a statement. */
#define FN_CONDITIONS (1u << 30)

/* Each ends with a name that is NULL. */
extern const struct ottl_function ottl_editors[], ottl_metric_editors[], ottl_aggregate_editors[],
    ottl_span_editors[], ottl_format_functions[], ottl_type_functions[], ottl_text_functions[],
    ottl_case_functions[], ottl_url_functions[], ottl_address_functions[], ottl_list_functions[],
    ottl_list_editors[], ottl_time_functions[], ottl_time_text_functions[],
    ottl_time_reading_functions[], ottl_map_functions[], ottl_replace_editors[],
    ottl_grok_functions[], ottl_xml_functions[], ottl_histogram_editors[],
    ottl_exponential_editors[];

/* Whether an editor's first argument is the path that it changes; else it changes the record. */
static inline bool ottl_has_target(const struct ottl_function *editor)
{
    return strncmp(editor->parameters, "target", 6) == 0 &&
           (!editor->parameters[6] || editor->parameters[6] == ',');
}

const struct ottl_function *ottl_function_find(struct view name);

/* A hint for an unknown name: a similar one, or that only the Collector has it; "": none. */
void ottl_function_hint(struct view name, char hint[120]);

/* Whether the literal arguments of a bound call have the types that the Collector checks when it
 * starts. False: fault says what is wrong. */
bool ottl_check_literals(const struct ottl *ottl, const struct ottl_node *call,
                         struct ottl_fault *fault);

/* Evaluate arguments. The run fails if the type is another. */
struct ottl_value ottl_arg(struct ottl_run *run, const struct ottl_node *call, size_t i);
struct view ottl_arg_string(struct ottl_run *run, const struct ottl_node *call, size_t i);
int64_t ottl_arg_int(struct ottl_run *run, const struct ottl_node *call, size_t i);
/* Any value as text; data NULL: nil, or the run has failed. */
struct view ottl_arg_text(struct ottl_run *run, const struct ottl_node *call, size_t i);
struct view ottl_text_of(struct ottl_run *run, const struct ottl_value *value);
struct view ottl_hex_text(struct ottl_run *run, struct view bytes);
/* A time in its zone by the directives of FormatTime, and %: for Z or +hh:mm, %~ for +hhmm. data
 * NULL: the run has failed. */
struct view ottl_time_text(struct ottl_run *run, const struct ottl_value *value,
                           struct view format);
struct tm ottl_time_parts(const struct ottl_value *value);
/* How many of a unit of nanoseconds a time is after 1970, rounded down. The run fails if that is no
 * int64, as of nanoseconds before 1677 and after 2262. */
int64_t ottl_time_in(struct ottl_run *run, const struct ottl_value *time, int64_t unit);
/* A duration as Go prints it: 1h30m0.5s. */
void ottl_duration_text(int64_t ns, char text[64]);

/* A converter's result for a string. */
struct ottl_value ottl_call_with(struct ottl_run *run, const struct ottl_function *converter,
                                 struct view text);

/* What was written to out, which is released, as a string; of a list as a MAP. NIL: the run has
 * failed. */
struct ottl_value ottl_made_text(struct ottl_run *run, struct bytes *out, bool ok);
struct ottl_value ottl_made_map(struct ottl_run *run, const struct attributes *list);

/* Literal arguments, for `check`. */
bool ottl_is_text(const struct ottl_node *node);
bool ottl_is_one_of(const struct ottl_node *node, const char *const *texts); /* NULL ends */
bool ottl_is_list_of_texts(const struct ottl_node *node);

static inline bool ottl_has(const struct ottl_node *call, size_t i)
{
    return i < call->count && call->items[i];
}

/* The literal text at i, or what is in its place. */
static inline struct view ottl_text_or(const struct ottl_node *call, size_t i,
                                       const char *otherwise)
{
    return ottl_has(call, i) ? call->items[i]->value.bytes : view_of(otherwise);
}

#endif
