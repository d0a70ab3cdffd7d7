/*
 * How large the parts are that pass an outlet where memory lacks for what the processors behind it
 * make of them, and whether such parts are under way: what they take comes back, so larger ones
 * wait for that instead of being divided further. Any thread.
 */
#ifndef PIPELINE_PACE_H
#define PIPELINE_PACE_H

#include "pipeline/batch.h"

struct part_pace;

/* One reference, for an outlet; each part that is under way has another. NULL: no memory. */
struct part_pace *pace_new(void);
void pace_unref(struct part_pace *pace);

/* Items of the next part; 0: memory has not lacked of late. */
uint32_t pace_size(const struct part_pace *pace);

/* Notes that a part of so many items passed. */
void pace_passed(struct part_pace *pace, uint32_t items, uint64_t mono_ns);

/* Notes that a part found no memory, after which one of `next` items is tried; 0: the same, once a
 * part under way is done with. */
void pace_starved(struct part_pace *pace, const struct batch *part, uint32_t next,
                  uint64_t mono_ns);

/* Whether parts are under way which others had better wait for: not for more than 5 s, as they may
 * wait for others themselves. */
bool pace_may_wait(const struct part_pace *pace, uint64_t mono_ns);

/* Whether a batch had better: no smaller part found memory since one that was under way was done
 * with. */
bool pace_waits(const struct part_pace *pace, const struct batch *batch, uint64_t mono_ns);

/* Notes that time was up before a part of so many items was offered; 0: of as many as ever. */
void pace_cut(struct part_pace *pace, uint32_t items, uint64_t mono_ns);

/* Returns when to offer again what is left of a batch that was just offered. */
uint64_t pace_again(struct part_pace *pace, uint64_t mono_ns);

/* A copy of a part which tells the pace when it is delivered or lost. NULL: no memory. */
struct batch *pace_track(struct part_pace *pace, const struct batch *part);

/* The same for a part that takes memory past the limit. NULL: one is under way, or no memory. */
struct batch *pace_force(struct part_pace *pace, const struct batch *part);

/* Items of the next part that is forced: 1, or more while those before took little. */
uint32_t pace_forced_items(const struct part_pace *pace);

/* Notes that a part was, for which so many bytes were charged. */
void pace_forced(struct part_pace *pace, const struct batch *part, size_t bytes, uint64_t mono_ns);

#endif
