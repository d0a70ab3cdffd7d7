/* From flags to a planned runtime, for every command that reads a configuration. */
#ifndef CLI_PLAN_H
#define CLI_PLAN_H

#include "cli/flags.h"
#include "pipeline/life/runtime.h"

struct plan {
    struct settings *settings;   /* NULL: could not be read */
    struct runtime *runtime;     /* NULL: faulty */
    struct settings_files files; /* of the last attempt to load */
};

/* Writes to stderr; what its reader does not take within seconds is dropped. */
void plan_print(struct view text);
/* The same, a line for each fault. */
void plan_print_problems(const struct problems *problems);

/* Loads, plans and sets the log level. All faults are printed on stderr; false: there were any, and
 * settings is still set if they could be resolved. strict: severe warnings are faults too, else
 * they are logged as the others are. Release in all cases. */
bool plan_make(struct plan *plan, const struct flags *flags, bool strict);
void plan_release(struct plan *plan);

/* Loads again and applies the result to the running process; logs what was wrong or has changed. */
void plan_reload(struct plan *plan, const struct flags *flags);

#endif
