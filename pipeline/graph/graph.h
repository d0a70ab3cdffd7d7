/*
 * The graph: instances, pipelines, and the outlets and intakes between them. Built by plan, wired
 * once the queues exist, immutable while data flow; a reload replaces it (graph_install).
 */
#ifndef PIPELINE_GRAPH_GRAPH_H
#define PIPELINE_GRAPH_GRAPH_H

#include "lib/journal/journal.h"
#include "pipeline/graph/gate.h"
#include "pipeline/graph/instance.h"

/* A list of instances, not owned. */
struct instance_list {
    struct instance **items;
    size_t count;
};

/* False: no memory. */
bool instance_list_add(struct instance_list *list, struct instance *instance);
bool instance_list_has(const struct instance_list *list, const struct instance *instance);

/* One stage of a pipeline: a processor and the stage after it, or the end with its exporters. A
 * processor keeps the address of the outlet downstream of it as long as it is open. */
struct outlet {
    struct instance *processor; /* NULL: the end */
    struct meter *producer;     /* of the processor upstream of this outlet; NULL: none */
    struct outlet *next;
    struct sender **branches; /* the end: one per exporter */
    size_t branch_count;
    struct part_pace *pace;
    bool taken_over; /* a pipeline's first: a processor keeps its data (takes_over), so that clients
                        do not wait for its exporters */
};

struct pipeline {
    char *name; /* "traces/2" */
    enum signal signal;
    struct instance_list stages[COMPONENT_EXTENSION]; /* by receiver, processor, exporter */
    struct outlet **outlets;                          /* one per processor and the end */
};

/* How many places one request needs in a downstream queue. */
struct intake_queue {
    struct sender *sender;
    size_t pipelines; /* that lead there */
};

struct intake {
    struct gate *gate;        /* set once */
    _Atomic unsigned pending; /* answers not given yet */
    /* from here on: changed only while the gate is closed */
    enum gate_mode mode;
    struct outlet **heads; /* one per pipeline */
    size_t head_count;
    struct intake_queue *queues; /* those in which requests wait for room come last */
    size_t queue_count;
    bool waits; /* a downstream exporter has no queue (or wait_for_result), so clients wait for its
                   answer, unless a processor takes the data over on the way */
    bool holds; /* a processor may hold data for which no client waits */
    unsigned encodings; /* accepted by at least one downstream exporter */
    struct budget *budget;
    struct journal *journal; /* NULL: none */
    const char *receiver;    /* its id */
};

struct graph {
    struct instance_list instances;  /* owned, in the order of the configuration */
    struct instance_list extensions; /* those in use, in the order of service.extensions */
    struct pipeline *pipelines;
    size_t pipeline_count;
};

/* Makes outlets and fresh intakes; every exporter in use must have its sender. False: no memory. */
bool graph_wire(struct graph *graph, struct budget *budget, struct gate *gate);

/* Of which of its requests a receiver hands on the metadata. */
enum metadata_of instance_metadata(const struct instance *receiver);

/* Sets, for every processor, the signals of which all data that come to it have metadata. */
void graph_set_env(struct graph *graph);

/* Makes fresh intakes for a receiver of another graph that is being retired: into the pipelines of
 * this graph that its id feeds, or else into those with the names of the ones that it fed. False:
 * no memory. */
bool graph_wire_leaving(struct graph *graph, const struct graph *from, struct instance *receiver);

/* Makes the fresh intakes of a receiver those of its env. Existing ones are replaced in place and
 * keep their addresses. Nobody may be calling them: before the start, or while the gate is
 * closed. */
void graph_install(struct instance *receiver);
void graph_drop_fresh(struct instance *receiver); /* frees them instead */

/* Moves the new contents into the outlets of processors that both graphs have, so that these keep
 * their addresses. While the gate is closed. */
void graph_move_outlets(struct graph *from, struct graph *to);

/* Returns the instance in use with this kind and id; NULL: none. */
struct instance *graph_find(const struct graph *graph, enum component_kind kind, const char *id);

/* SIGNAL_BITs of the pipelines that name an instance. */
unsigned graph_signals(const struct graph *graph, const struct instance *instance);

struct pipeline *graph_pipeline(const struct graph *graph, const char *name); /* NULL: none */
/* What a pipeline of one graph is in another: the one with its name, else the one that it was
 * renamed to or from, which is known if each graph has one pipeline of the signal whose name the
 * other does not have. NULL: none. */
struct pipeline *graph_counterpart(const struct graph *of, const struct pipeline *pipeline,
                                   const struct graph *in);

/* What became of the place of a processor that both graphs use. */
enum graph_place {
    PLACE_KEPT,
    PLACE_LEFT,  /* a pipeline that had it does not any more */
    PLACE_PASSED /* in a pipeline, another processor that was behind it is before it, or the reverse
                  */
};
enum graph_place graph_place(const struct graph *from, const struct graph *to, const char *id);

/* Lists the processors in use in topological order: each comes before all that any pipeline has
 * after it. */
bool graph_processors_in_order(const struct graph *graph, struct instance_list *order);

void graph_release(struct graph *graph); /* everything must be closed; may be called twice */

#endif
