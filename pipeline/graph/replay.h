/*
 * Offers what an earlier process left in the journal to the pipelines, alongside new traffic, in
 * the order in which it was accepted.
 */
#ifndef PIPELINE_GRAPH_REPLAY_H
#define PIPELINE_GRAPH_REPLAY_H

#include "pipeline/graph/graph.h"

struct replay;

/* Starts the replay on its own thread. The graph must be wired and open, and change only while the
 * gate is closed. NULL: no memory or thread. */
struct replay *replay_start(struct graph *graph, struct gate *gate, struct journal *journal,
                            struct budget *budget);

/* Stops the replay; what was not offered yet stays in the journal. May be NULL. */
void replay_stop(struct replay *replay);

#endif
