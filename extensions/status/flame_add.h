/* What the readers of formats, flame.c, flame_ingest.c and flame_text.c, add samples to a flame
 * graph with. */
#ifndef EXTENSIONS_STATUS_FLAME_ADD_H
#define EXTENSIONS_STATUS_FLAME_ADD_H

#include "extensions/status/flame.h"

/* The name of the frame that samples without a stack are in. */
#define FLAME_NO_STACK "(no stack)"

/* Adds a value to a node, or to the frame FLAME_NO_STACK if that is the root. What would take the
 * sum of all beyond INT64_MAX is left out, so that a node is the sum of its children. */
void flame_weigh(struct flame *flame, uint32_t node, uint64_t value);

/* a * b, at most UINT64_MAX. */
static inline uint64_t flame_product(uint64_t a, uint64_t b)
{
    return b && a > UINT64_MAX / b ? UINT64_MAX : a * b;
}

/* Returns the child of parent with this name, and creates it if needed. Returns parent when no node
 * can be added. */
uint32_t flame_child(struct flame *flame, uint32_t parent, uint32_t name);

/* Begins a profile of a series and service, which are given by hashes. Of a type that is a state,
 * such as memory in use or goroutines, the newest profile of each series is drawn, since states do
 * not add up; of a series that ended over STATE_LIVES before the newest of all, none, since its
 * process is gone. So profiles have to be added from the newest to the oldest. */
void flame_begin_profile(struct flame *flame, uint64_t series, uint64_t service, uint64_t arrived);

/* Whether a profile overlaps the time asked for; 0 and 0: it states no time, and is at its arrival,
 * as what lies after that is. One that ends where that time begins, or begins where it ends, does
 * not, so that times behind one another share none; wall, ns. */
bool flame_overlaps(const struct flame *flame, uint64_t start, uint64_t end, uint64_t arrived);

/* Notes a sample type of the profile, and returns whether its values are to be added. Without a
 * type in the filter, the best type wins: values of a lesser type that were added before are
 * discarded. */
bool flame_takes(struct flame *flame, const char *type);

/* A body without span ids, accepted by the receiver: folded text where format is none of the
 * others' (flame_text.c). */
struct flame_text {
    const char *format, *content_type; /* content_type NULL: none */
    const char *application;           /* "shop.cpu{region=eu}" */
    uint64_t period;                   /* of the query's sampleRate, ns */
    struct view body;
};
void flame_add_text(struct flame *flame, const struct flame_text *text);
/* 1 s / sampleRate, which is 100 by default; ns. */
uint64_t flame_period(const char *query);

/* a + b, at most UINT64_MAX. */
static inline uint64_t flame_add_up(uint64_t a, uint64_t b)
{
    return b < UINT64_MAX - a ? a + b : UINT64_MAX;
}

/* How useful a type is: CPU time most, then any other time; counts of samples least. */
int flame_rank(const char *type);

/* Adds to the sum of a type, whether it is drawn or not. */
void flame_sum_type(struct flame *flame, const char *type, uint64_t value);

/* Whether the filter accepts samples with this span id; 0: no id. Notes the id. */
bool flame_wants_id(struct flame *flame, uint64_t id);

#endif
