/* One configured id: its component, filled configuration, counters and state. */
#ifndef PIPELINE_GRAPH_INSTANCE_H
#define PIPELINE_GRAPH_INSTANCE_H

#include "lib/settings/load.h"
#include "pipeline/backlog.h"
#include "pipeline/component.h"
#include "pipeline/delivery/sender.h"

struct instance {
    const struct component *component;
    char *id;                   /* "batch/small" */
    char *path;                 /* "processors.batch/small" */
    const struct node *section; /* borrowed from the settings */
    void *self;
    struct meter *meter;
    struct env env;
    struct ticker_entry tick;
    struct backlog backlog; /* processors: of requests that another pipeline has taken, what had no
                               room here; with an outlet downstream of it */
    struct ticker_entry again;                /* offers that */
    struct histogram durations[SIGNAL_COUNT]; /* processors: of consume without later stages */
    struct sender *sender;                    /* exporters, once open */
    struct intake *fresh[SIGNAL_COUNT]; /* receivers: wired, not yet installed by graph_install */
    bool used;                          /* a pipeline or service.extensions names it */
    bool opened;
    _Atomic bool closed;
};

/* "receiver", ... */
const char *component_kind_name(enum component_kind kind);

/* Makes an instance with a zeroed configuration. NULL: no memory. */
struct instance *instance_new(const struct component *component, const char *section_name,
                              const struct node *section);
void instance_free(struct instance *instance); /* closed before; may be NULL */

/* Fills and checks its keys. False: problems were added. */
bool instance_fill(struct instance *instance, const struct node *place, struct problems *problems);

/* Opens it with a filled env; an exporter's sender must exist. False: a problem was added;
 * instance_close follows. */
bool instance_open(struct instance *instance, struct problems *problems);

/* Hands what an open processor has not taken yet of a request that was answered (taken over) to it,
 * when it can take it, and then to that outlet, which is downstream of it. */
void instance_keep(struct instance *processor, struct outlet *downstream, struct batch *batch);

/* Ends its ticks and closes it. May be called twice, and on one that was never opened. */
void instance_close(struct instance *instance);

#endif
