/*
 * The graph: instances, pipelines, and the ways between them. Built by plan, wired once the
 * queues exist, immutable while data flow; a reload puts another in its place (graph_install).
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

/* One stage of a pipeline: a processor with the way ahead of it, or the end with its exporters.
 * Processors keep the address of the one behind them as long as they are open. */
struct outlet {
    struct instance *processor; /* NULL: the end */
    struct meter *behind;       /* of the processor whose way ahead this is; NULL: of none */
    struct outlet *next;
    struct sender **branches; /* the end: one per exporter */
    size_t branch_count;
};

struct pipeline {
    char *name; /* "traces/2" */
    enum signal signal;
    struct instance_list stages[COMPONENT_EXTENSION]; /* by receiver, processor, exporter */
    struct outlet **outlets;                          /* one per processor and the end */
};

/* Places that one request needs in a queue ahead. */
struct intake_queue {
    struct sender *sender;
    size_t places;
};

struct intake {
    struct gate *gate;        /* set once */
    _Atomic unsigned pending; /* answers that come later */
    /* what follows is under the gate */
    enum gate_mode way;
    struct outlet **heads; /* one per pipeline */
    size_t head_count;
    struct intake_queue *queues;
    size_t queue_count;
    bool waits;         /* a queue ahead makes clients wait */
    unsigned encodings; /* that any exporter ahead takes */
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

/* Makes outlets and fresh intakes; every used exporter has its sender. False: no memory. */
bool graph_wire(struct graph *graph, struct budget *budget, struct gate *gate);

/* Tells every processor which signals come to it with metadata. */
void graph_tell_metadata(struct graph *graph);

/* Makes fresh intakes for a receiver of another graph, which is to end: into those pipelines of
 * this one that its id feeds, or else that are called as those it fed. False: no memory. */
bool graph_wire_leaving(struct graph *graph, const struct graph *from, struct instance *receiver);

/* Makes the fresh intakes of a receiver those of its env: in the place of those that it has, which
 * keep their addresses. Then it has no callers, or the gate is closed. */
void graph_install(struct instance *receiver);
void graph_drop_fresh(struct instance *receiver); /* frees them instead */

/* Gives the outlets behind the processors that both graphs have their contents in the new one; they
 * keep their addresses. While the gate is closed. */
void graph_move_outlets(struct graph *from, struct graph *to);

/* The instance in use with this kind and id; NULL: none. */
struct instance *graph_find(const struct graph *graph, enum component_kind kind, const char *id);

struct pipeline *graph_pipeline(const struct graph *graph, const char *name); /* NULL: none */

/* Processors in use such that each comes before those that any pipeline has behind it. */
bool graph_processors_in_order(const struct graph *graph, struct instance_list *order);

void graph_release(struct graph *graph); /* everything closed before; legal twice */

#endif
