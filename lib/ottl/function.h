/* Functions of OTTL. For lib/ottl alone. */
#ifndef LIB_OTTL_FUNCTION_H
#define LIB_OTTL_FUNCTION_H

#include "lib/ottl/node.h"

typedef struct ottl_value ottl_fn(struct ottl_run *run, const struct ottl_node *call);

struct ottl_function {
    const char *name;
    const char *parameters; /* "target,pattern,replacement?" : those with ? may be left out */
    ottl_fn *fn;
    int pattern;       /* number of the one that is a pattern; -1: none */
    bool glob;         /* it has * and ? in place of a regular expression */
    unsigned contexts; /* bits; 0: all */
    const char *(*check)(const struct ottl_node *call); /* of its literals; NULL: none */
};

enum { FN_NO_PATTERN = -1 };

/* NULL-named ends. */
extern const struct ottl_function ottl_editors[], ottl_signal_editors[], ottl_format_functions[],
    ottl_type_functions[], ottl_text_functions[], ottl_time_functions[], ottl_map_functions[];

const struct ottl_function *ottl_function_find(struct view name);

/* What is to be said of a name that is none of them: one that is like it, or that the Collector has
 * it; "": nothing. */
void ottl_function_hint(struct view name, char hint[120]);

/* Arguments, evaluated. Each fails the run where the type is another. */
struct ottl_value ottl_arg(struct ottl_run *run, const struct ottl_node *call, size_t i);
struct view ottl_arg_string(struct ottl_run *run, const struct ottl_node *call, size_t i);
int64_t ottl_arg_int(struct ottl_run *run, const struct ottl_node *call, size_t i);
/* Any value as text; data NULL: nil, or the run has failed. */
struct view ottl_arg_text(struct ottl_run *run, const struct ottl_node *call, size_t i);
struct view ottl_text_of(struct ottl_run *run, const struct ottl_value *value);

static inline bool ottl_has(const struct ottl_node *call, size_t i)
{
    return i < call->count && call->items[i];
}

#endif
