/* From the settings' tree to a graph of filled, unopened instances. All faults are reported. */
#ifndef PIPELINE_LIFE_PLAN_H
#define PIPELINE_LIFE_PLAN_H

#include "pipeline/graph/graph.h"
#include "pipeline/life/service.h"

/* False: problems were added; the caller releases both in either case. */
bool plan_read(const struct node *root, struct graph *graph, struct service_settings *service,
               struct problems *problems);

/* The names of the sections: "receivers", ... */
const char *plan_section(enum component_kind kind);
/* "receiver", ... */
const char *plan_kind(enum component_kind kind);

/* Reports a type that is not known here: with what stands here for it, if it is one of the
 * Collector's, else with the type that is written most like it. */
void plan_unknown_type(enum component_kind kind, const char *type, const struct node *node,
                       const char *path, struct problems *problems);
/* Reports the section `connectors`, of which there are none. */
void plan_connectors(const struct node *connectors, struct problems *problems);

/* Checks service.pipelines against the instances of the graph, and fills its pipelines. */
void plan_pipelines(const struct node *root, struct graph *graph, struct problems *problems);

/* The i-th of the ids that were read from node, as a scalar in its place (a scalar that stands in
 * place of a list may hold several). It borrows from both. */
struct node plan_entry(const struct node *node, const struct key_list *ids, size_t i);

/* What an id in a list stands for. NULL: not configured (a problem is added at place, unless its
 * own entry had one). */
struct instance *plan_resolve(const struct node *root, const struct graph *graph,
                              enum component_kind kind, const struct node *place, const char *path,
                              struct problems *problems);

/* Reports listeners on one address. */
void plan_places(const struct graph *graph, struct problems *problems);

/* Reports, for a graph that could not be opened and is closed again, every address on which nobody
 * can listen now and that problems does not name yet, and a way round with --set. */
void plan_places_taken(const struct graph *graph, struct problems *problems);

/* Tells of exporters that send to a receiver of the same configuration. */
void plan_places_warn(const struct graph *graph, struct problems *warnings);

/* Gives every `auth` section of an instance in use its authenticator, found by its id among the
 * extensions in use. */
void plan_auth(const struct node *root, const struct graph *graph, struct problems *problems);

/* Whether what an open instance authenticates by is another one in this graph, or gone. */
bool plan_auth_changes(const struct node *root, const struct graph *graph,
                       const struct instance *instance);

#endif
