/* Statements of one context and their conditions, or conditions alone, which have a context each,
 * from the configuration, as transform and filter have them. */
#ifndef LIB_OTTL_GROUP_H
#define LIB_OTTL_GROUP_H

#include "lib/ottl/ottl.h"
#include "lib/settings/key.h"

enum ottl_error_mode {
    OTTL_IGNORE,   /* logged, and on with the next one */
    OTTL_SILENT,   /* the same without the log */
    OTTL_PROPAGATE /* the request is refused */
};
extern const char *const ottl_error_modes[];

/* What both processors read of a group. */
struct ottl_settings {
    struct key_list statements;
    struct key_list conditions;
    char *context;    /* "": inferred from the paths */
    char *error_mode; /* "": the processor's */
    bool flat;        /* it was a list of strings */
    size_t first;     /* of the strings, its number in their list */
};

/* Where what cannot be evaluated is counted and logged: once a minute. */
struct ottl_errors {
    _Atomic uint64_t count;
    _Atomic uint64_t log_at_ns; /* mono */
    const char *id;             /* the instance's */
    const struct clock *clock;
};

struct ottl_group;

enum { OTTL_PATH_SIZE = 64 };

/* Reports what is wrong with a group in pipelines of a signal; path is that of its section, or of
 * its list of strings. */
void ottl_group_check(const struct ottl_settings *settings, enum signal signal, const char *path,
                      struct key_report *report);

/* The path of the i-th group of the list under a key. */
void ottl_group_path(const struct ottl_settings *settings, const char *key, size_t i,
                     char path[OTTL_PATH_SIZE]);

/* The same of a list of conditions whose context is fixed. */
void ottl_conditions_check(const struct key_list *conditions, enum ottl_context context,
                           const char *path, struct key_report *report);

/* From what was checked; path as there, for what cannot be evaluated later. NULL: no memory, or the
 * library of patterns is not there (error says so). */
struct ottl_group *ottl_group_new(const struct ottl_settings *settings, enum signal signal,
                                  const char *path, enum ottl_error_mode mode, char *error,
                                  size_t error_size);
void ottl_group_free(struct ottl_group *group); /* may be NULL */

/* That of its statements. */
enum ottl_context ottl_group_context(const struct ottl_group *group);
/* Bits of the levels at which ottl_group_drops has conditions. */
unsigned ottl_group_drop_levels(const struct ottl_group *group);
bool ottl_group_reaches_out(const struct ottl_group *group);
/* Whether what cannot be evaluated is propagated. */
bool ottl_group_propagates(const struct ottl_group *group);

/* Whether one of its statements adds metrics. */
bool ottl_group_adds_items(const struct ottl_group *group);

/* Whether one of its statements or conditions reads the `client` of the edit. */
bool ottl_group_reads_client(const struct ottl_group *group);

/* Adds the keys of attributes that it looks for, at each level. */
void ottl_group_sieve(const struct ottl_group *group, struct key_sieve sieves[EDIT_LEVELS]);

/* Visits its statements that alter an attribute of records of a level: of every one, or by giving
 * it a value. */
void ottl_group_alter(const struct ottl_group *group, enum edit_level level,
                      const struct alterable *what, alteration_visit_fn *visit, void *ctx);

/* Runs its statements over the record of this level that the edit stands at, if they are for such
 * ones and one of its conditions holds or it has none. ABORT: one could not be evaluated, and that
 * is to be propagated (lib/base/refusal.h has why). Any thread. */
enum edit_verdict ottl_group_run(const struct ottl_group *group, enum edit_level level,
                                 struct request_edit *at, struct ottl_errors *errors);

/* DROP: one of its conditions on records of this level holds. */
enum edit_verdict ottl_group_drops(const struct ottl_group *group, enum edit_level level,
                                   struct request_edit *at, struct ottl_errors *errors);

#endif
