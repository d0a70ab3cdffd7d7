/*
 * What an earlier process left in the journal, offered to the pipelines beside new traffic, in the
 * order in which it was accepted.
 */
#ifndef PIPELINE_GRAPH_REPLAY_H
#define PIPELINE_GRAPH_REPLAY_H

#include "pipeline/graph/graph.h"

struct replay;

/* Starts it in a thread of its own. The graph is wired and open; it changes
 * only while the gate is closed. NULL: no memory or thread. */
struct replay *replay_start(struct graph *graph, struct gate *gate, struct journal *journal,
                            struct budget *budget);

/* Ends it where it stands; what was not offered stays in the journal. NULL is legal. */
void replay_stop(struct replay *replay);

#endif
