/*
 * Randomness and thresholds of consistent probability sampling (OTEP 235), in 56 bits: an item is
 * kept where its randomness is not below the threshold. Pure.
 */
#ifndef PROCESSORS_PROBABILISTIC_SAMPLER_RANDOMNESS_H
#define PROCESSORS_PROBABILISTIC_SAMPLER_RANDOMNESS_H

#include "lib/base/arena.h"
#include "lib/base/view.h"

#define SAMPLE_NEVER  (UINT64_C(1) << 56) /* a threshold that no randomness reaches */
#define SAMPLE_ALWAYS UINT64_C(0)
#define RANDOM_MOST   (SAMPLE_NEVER - 1)

enum { SAMPLE_DIGITS = 14, SAMPLE_EXTRA = 32 };

/* What an item says of its sampling: a span in its tracestate, a log record in attributes. */
struct sample_state {
    bool has_randomness, has_threshold;
    uint64_t randomness, threshold;
    struct view of_ot[SAMPLE_EXTRA]; /* other members of "ot", as they are */
    size_t of_ot_count;
    struct view others[SAMPLE_EXTRA]; /* other vendors' members, as they are */
    size_t others_count;
};

/* Threshold of a probability from 2^-56 to 1 with so many hex digits. False: out of that range. */
bool sample_threshold(double probability, int precision, uint64_t *threshold);

/* The hash that the mode hash_seed decides by, as randomness. */
uint64_t sample_hash(struct view bytes, uint32_t seed);

/* "8" and "9b8233f7e3a151". False: no such value. */
bool sample_read_threshold(struct view text, uint64_t *threshold);
bool sample_read_randomness(struct view text, uint64_t *randomness);

/* The text of a threshold, "" for never, and of randomness. Return the size. */
size_t sample_put_threshold(uint64_t threshold, char out[SAMPLE_DIGITS + 1]);
size_t sample_put_randomness(uint64_t randomness, char out[SAMPLE_DIGITS + 1]);

/* Reads a tracestate (W3C Trace Context 3.3). False: it is malformed. */
bool sample_read_state(struct view text, struct sample_state *state);

/* Writes it anew. Data NULL: no room. */
struct view sample_write_state(const struct sample_state *state, struct arena *arena);

#endif
