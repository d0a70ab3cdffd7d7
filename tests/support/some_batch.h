/* Small batches for tests of code that moves batches. */
#ifndef TESTS_SUPPORT_SOME_BATCH_H
#define TESTS_SUPPORT_SOME_BATCH_H

#include "pipeline/batch.h"

/* A traces request of one resource and scope with spans named first, first + 1, ... */
struct batch *some_spans(unsigned first, unsigned count, struct budget *budget);

/* A traces request of one span that ends now; whether it is a local root. */
struct batch *some_span(bool is_root, uint64_t wall, struct budget *budget);

/* A request of both. */
struct batch *some_root_and_child(uint64_t wall, struct budget *budget);

/* Whether a traces batch has a span with that number. */
bool some_batch_has(const struct batch *batch, unsigned number);

#endif
