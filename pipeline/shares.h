/*
 * Which exporters still have data of a receipt. A reference counts for the exporter whose batch
 * holds it; those of batches that no exporter was given yet count for all, as anyone may get their
 * data. An exporter is done when neither is left and nothing that it got is to be sent again by
 * another process. Under the owner's lock.
 */
#ifndef PIPELINE_SHARES_H
#define PIPELINE_SHARES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct shares;

/* For a receipt with one reference, which counts for all. NULL: no memory. */
struct shares *shares_new(size_t exporters);

/* Adds a reference, or drops one. exporter: the key of one; 0: it counts for all. From one more
 * exporter than there is room for on, none is ever done. */
void shares_add(struct shares *shares, uint64_t exporter);
void shares_drop(struct shares *shares, uint64_t exporter);

/* Notes that data are left for another process: this exporter is never done; 0: none is. */
void shares_leave(struct shares *shares, uint64_t exporter);

/* Returns an exporter that is done while others are not, each once; 0: there is none. */
uint64_t shares_next_done(struct shares *shares);

#endif
