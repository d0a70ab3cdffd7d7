/* Grok patterns: regular expressions with references to others by name. For lib/ottl alone. */
#ifndef LIB_OTTL_GROK_H
#define LIB_OTTL_GROK_H

#include "lib/ottl/function.h"

/* The groups of a compiled pattern, by number. */
struct grok {
    struct {
        struct view name;                      /* size 0: it has none */
        const struct ottl_function *converter; /* of its text; NULL: none */
    } groups[REGEX_GROUPS_MAX];
    size_t references; /* while it is expanded: those that are groups */
};

struct grok_pattern {
    const char *name, *pattern;
};

/* By what writes such logs; each ends with a name that is NULL. */
extern const struct grok_pattern grok_web[], grok_network[], grok_java[], grok_services[];

/* The built-in definition of a name; data NULL: there is none. */
struct view grok_definition(struct view name);

/* Compiles the pattern of a call of ExtractGrokPatterns, whose arguments are bound. NULL: error
 * holds a sentence's part. */
struct regex *grok_compile(struct ottl_node *call, struct arena *arena, char *error,
                           size_t error_size);

#endif
