/* Plans a graph of filled, unopened instances from the settings' tree. Reports all faults. */
#ifndef PIPELINE_LIFE_PLAN_H
#define PIPELINE_LIFE_PLAN_H

#include "pipeline/graph/graph.h"
#include "pipeline/life/service.h"

/* False: problems were added; the caller releases both in either case. */
bool plan_read(const struct node *root, struct graph *graph, struct service_settings *service,
               struct problems *problems);

/* The names of the sections: "receivers", ... */
const char *plan_section(enum component_kind kind);

/* Reports an unknown type: for one of the Collector's, names what replaces it here; else suggests
 * the known type with the most similar spelling. */
void plan_unknown_type(enum component_kind kind, const char *type, const struct node *node,
                       const char *path, struct problems *problems);
/* Reports the section `connectors`: there are none. */
void plan_connectors(const struct node *connectors, struct problems *problems);

/* Checks service.pipelines against the instances of the graph, and fills its pipelines. */
void plan_pipelines(const struct node *root, struct graph *graph, struct problems *problems);

/* Warns of processors that spoil what another one of their pipeline relies on. */
void plan_order(const struct graph *graph, struct problems *problems);

/* Returns the i-th of the ids read from node, as a scalar at its place (one scalar in place of a
 * list may hold several ids). It borrows from both. */
struct node plan_entry(const struct node *node, const struct key_list *ids, size_t i);

/* Finds the instance that an id in a list names. NULL: not configured (a problem is added at place,
 * unless its own entry already had one). */
struct instance *plan_resolve(const struct node *root, const struct graph *graph,
                              enum component_kind kind, const struct node *place, const char *path,
                              struct problems *problems);

/* Reports listeners that share an address. */
void plan_places(const struct graph *graph, struct problems *problems);

/* After a failed open, with the graph closed again: reports every address that cannot be listened
 * on now and that problems does not name yet, with a --set that avoids it. */
void plan_places_taken(const struct graph *graph, struct problems *problems);

/* Warns about exporters that send to a receiver of the same configuration. */
void plan_places_warn(const struct graph *graph, struct problems *warnings);

/* Gives every `auth` section of an instance in use its authenticator, looked up by id among the
 * extensions in use. */
void plan_auth(const struct node *root, const struct graph *graph, struct problems *problems);

/* Whether the authenticator that an open instance uses is another instance in this graph, or
 * gone. */
bool plan_auth_changes(const struct node *root, const struct graph *graph,
                       const struct instance *instance);

#endif
