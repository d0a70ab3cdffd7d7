/* A statement as it was parsed. For lib/ottl alone. */
#ifndef LIB_OTTL_NODE_H
#define LIB_OTTL_NODE_H

#include "lib/ottl/ottl.h"
#include "lib/ottl/values.h"
#include "lib/regex/regex.h"

enum { OTTL_ARGUMENTS_MAX = 6, OTTL_LIST_MAX = 256 };

enum node_kind_of {
    NODE_LITERAL,
    NODE_PATH,
    NODE_CALL,
    NODE_MATH,   /* op, two children */
    NODE_NEGATE, /* one */
    NODE_COMPARE,
    NODE_AND,
    NODE_OR,
    NODE_NOT,
    NODE_ENUM,
    NODE_FUNCTION, /* a converter that is an argument */
    NODE_LIST_OF,
    NODE_MAP_OF /* children: key, value, key, value, ... */
};

struct ottl_field;
struct ottl_function;
struct ottl_plain;
struct grok;

struct ottl_node {
    enum node_kind_of kind;
    enum ottl_op op;
    size_t at;                /* offset in the text */
    struct ottl_value value;  /* LITERAL */
    struct view name;         /* PATH: all of it up to its keys; CALL, ENUM, FUNCTION */
    struct view argument;     /* its name in front of "=", as an argument */
    bool sign;                /* LITERAL: of a number with a sign */
    bool boolean;             /* it is one of the boolean kinds, or a call or literal */
    struct ottl_node **items; /* children; CALL: arguments by position, NULL: not given */
    size_t count;
    struct ottl_node **keys; /* PATH, CALL */
    size_t key_count;
    /* Once bound. */
    const struct ottl_field *field;
    enum ottl_context context; /* PATH: of the record that it is of */
    bool named;                /* PATH: an attribute by a literal key */
    const struct ottl_function *function;
    struct regex *regex;     /* CALL: its pattern */
    const struct grok *grok; /* CALL: its groups, of ExtractGrokPatterns */
    bool seeks;              /* CALL: record_sought has what it edits */
    const struct ottl_plain
        *plain; /* COMPARE: how to evaluate it without a run; NULL: it needs one */
};

struct ottl {
    enum ottl_kind kind;
    char *text;
    size_t size;
    struct arena arena;
    struct ottl_node *editor; /* STATEMENT */
    struct ottl_node *where;  /* NULL: always */
    struct ottl_node **calls; /* all, for their patterns */
    size_t call_count, call_room, node_count;
    enum ottl_context inferred;
    struct view stray; /* the first path that does not begin with a context; size 0: none */
    bool reaches_out, adds_items, reads_client;
    enum edit_level edited; /* of the record that the editor changes, or is called for */
    struct key_sieve sieves[EDIT_LEVELS]; /* once bound */
};

/* Sets fault at an offset of the text; false, for callers to return. */
bool ottl_say(const struct ottl *ottl, size_t at, struct ottl_fault *fault, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Fails the run; NIL, for callers to return. */
struct ottl_value ottl_fail(struct ottl_run *run, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static inline struct arena *ottl_arena(struct ottl_run *run)
{
    return run->at->splice->arena;
}

/* Whether what is set is nested no deeper than it may be. False: the run has failed. */
bool ottl_fits(struct ottl_run *run, const struct value *value);

/* A copy in the request's arena; data NULL: the run has failed. */
struct view ottl_keep(struct ottl_run *run, struct view bytes);
struct view ottl_keep_text(struct ottl_run *run, const char *text);

/* Fills `sieves` and `seeks` of what is bound. */
void ottl_sieve_bind(struct ottl *ottl);

/* ---- paths ---- */

/* Finds the field that a path names. */
bool ottl_path_bind(struct ottl *ottl, struct ottl_node *path, enum ottl_context context,
                    bool named, struct ottl_fault *fault);
bool ottl_path_settable(const struct ottl_node *path, enum ottl_context context);
/* The context that a path begins with; OTTL_NONE: it begins with none. */
enum ottl_context ottl_path_context(struct view name);

struct ottl_value ottl_path_get(const struct ottl_node *path, struct ottl_run *run);

/* What a node that is neither literal nor path evaluates to, of a run that has not failed. */
struct ottl_value ottl_node_compute(const struct ottl_node *node, struct ottl_run *run);

static inline struct ottl_value ottl_node_eval(const struct ottl_node *node, struct ottl_run *run)
{
    if (run->failed)
        return ottl_nil();
    if (node->kind == NODE_LITERAL)
        return node->value;
    return node->kind == NODE_PATH ? ottl_path_get(node, run) : ottl_node_compute(node, run);
}

void ottl_path_set(const struct ottl_node *path, struct ottl_run *run,
                   const struct ottl_value *value);

/* Whether a path names a list of messages, such as span.events, and the node is the same path. */
bool ottl_path_keeps(const struct ottl_node *path, const struct ottl_node *node);

/* The live list where a path is `attributes` or `cache` without keys; NULL: it is another. sought:
 * it may lack attributes that no statement looks for. */
struct attributes *ottl_path_attributes(const struct ottl_node *path, struct ottl_run *run,
                                        bool sought);

/* value[keys], as paths and calls are indexed. whole: a key that is not in a map is an error, as of
 * calls in the Collector; else the result is nil. */
struct ottl_value ottl_index(struct ottl_value value, struct ottl_node *const *keys, size_t count,
                             bool whole, struct ottl_run *run);

#endif
