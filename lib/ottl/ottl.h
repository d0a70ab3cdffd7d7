/*
 * OTTL, the OpenTelemetry Transformation Language (pkg/ottl of the Collector's contrib 0.159):
 * statements and conditions parsed, bound to a context, and run over the records of a request.
 * docs/ottl.md says what of it is there. What was parsed and bound is immutable: any thread.
 */
#ifndef LIB_OTTL_OTTL_H
#define LIB_OTTL_OTTL_H

#include "lib/base/alteration.h"
#include "lib/base/clock.h"
#include "lib/wire/edit/request_edit.h"

enum {
    OTTL_TEXT_MAX = 16384, /* bytes of a statement */
    OTTL_DEPTH_MAX = 64,   /* of brackets in one another */
    OTTL_NODES_MAX = 2000  /* of one statement */
};

/* From the outside in: an inner one sees those around it. */
enum ottl_context {
    OTTL_NONE,
    OTTL_RESOURCE,
    OTTL_SCOPE,
    OTTL_SPAN,
    OTTL_SPANEVENT,
    OTTL_METRIC,
    OTTL_DATAPOINT,
    OTTL_LOG,
    OTTL_PROFILE,
    OTTL_CONTEXTS
};

enum ottl_kind {
    OTTL_STATEMENT, /* editor(...) where condition */
    OTTL_CONDITION  /* a boolean expression */
};

struct ottl_fault {
    char text[320];
    size_t line, column; /* in the text, from 1, columns in bytes */
};

struct ottl;

/* "span" to OTTL_SPAN; OTTL_NONE: no context's name. */
enum ottl_context ottl_context_of(struct view name);
const char *ottl_context_name(enum ottl_context context);

/* The level of records at which a context's statements run. */
enum edit_level ottl_level(enum ottl_context context);

/* Whether the context is there in requests of a signal. */
bool ottl_context_fits(enum ottl_context context, enum signal signal);

/* Parses. NULL: fault says what is wrong. The text is copied. */
struct ottl *ottl_parse(enum ottl_kind kind, struct view text, struct ottl_fault *fault);
void ottl_free(struct ottl *ottl); /* may be NULL */

/* The innermost context that its paths name; OTTL_NONE: none of them names one. */
enum ottl_context ottl_inferred(const struct ottl *ottl);

/* Whether all its functions are available in a context, or unknown. */
bool ottl_has_functions(const struct ottl *ottl, enum ottl_context context);

/* The one context that its editor is for; OTTL_NONE: it is for several, or there is none. */
enum ottl_context ottl_only_context(const struct ottl *ottl);

/* Finds its paths, functions and patterns for a context; once. named: every path has to begin with
 * its context's name. False: fault says what is wrong. */
bool ottl_bind(struct ottl *ottl, enum ottl_context context, bool named, struct ottl_fault *fault);

/* The text that was parsed. */
struct view ottl_text(const struct ottl *ottl);

/* Whether it sets something around its own record. */
bool ottl_reaches_out(const struct ottl *ottl);

/* Whether it adds metrics, for which all statements of its group then run as well. */
bool ottl_adds_items(const struct ottl *ottl);

/* Whether a bound one reads the `client` of the edit. */
bool ottl_reads_client(const struct ottl *ottl);

/* Adds the keys of attributes that a bound statement looks for, at each level. */
void ottl_sieve(const struct ottl *ottl, struct key_sieve sieves[EDIT_LEVELS]);

/* Whether a bound statement, where it runs, alters an attribute of every record of a level, or may
 * give it a value. found: how, without path; room is for its texts. */
bool ottl_alters(const struct ottl *ottl, enum edit_level level, const struct alterable *what,
                 struct alteration *found, char *room, size_t size);

/* Whether a condition, or the where of a statement, holds for any record. */
bool ottl_always(const struct ottl *ottl);

/* One evaluation. The cache is what `cache` names: statements over one record share it. */
struct ottl_run {
    struct request_edit *at;
    enum ottl_context context;
    const struct clock *clock;
    struct attributes cache; /* begins as attributes_read of nothing */
    bool failed;
    char error[200]; /* why it failed */
};

void ottl_run_begin(struct ottl_run *run, struct request_edit *at, enum ottl_context context,
                    const struct clock *clock);

enum ottl_result {
    OTTL_NO,   /* the condition does not hold; of a statement: its where does not */
    OTTL_YES,  /* it does; the statement was run */
    OTTL_ERROR /* run->error says why it cannot be told */
};

/* Evaluates a bound statement or condition. */
enum ottl_result ottl_eval(const struct ottl *ottl, struct ottl_run *run);

#endif
