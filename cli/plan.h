/* From flags to a planned runtime: the way of every command that reads a configuration. */
#ifndef CLI_PLAN_H
#define CLI_PLAN_H

#include "cli/flags.h"
#include "pipeline/life/runtime.h"

struct plan {
    struct settings *settings;   /* NULL: not to be read */
    struct runtime *runtime;     /* NULL: faulty */
    bool severe;                 /* it can be started, and is hardly meant so */
    struct settings_files files; /* of the last try to load */
};

/* Loads, plans and sets the log level. All faults are printed on stderr; false: there were any,
 * and settings is still there if they could be resolved. Release in both cases. */
bool plan_make(struct plan *plan, const struct flags *flags);
void plan_release(struct plan *plan);

/* Loads anew and takes it over while running; what was wrong or has changed is logged. */
void plan_reload(struct plan *plan, const struct flags *flags);

#endif
