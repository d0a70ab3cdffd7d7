/*
 * One pass of edits over a batch: what processors do that edit or drop records. Consecutive ones
 * share a pass where that gives the same as one pass each. Any thread.
 */
#ifndef PIPELINE_BATCH_PASS_H
#define PIPELINE_BATCH_PASS_H

#include "lib/base/refusal.h"
#include "lib/wire/edit/request_edit.h"
#include "pipeline/batch_edit.h"

enum pass_result {
    PASS_DONE,    /* *result is the batch as it is now, with one reference */
    PASS_EMPTY,   /* nothing is left of it */
    PASS_ABORTED, /* a step aborted, or the result could never fit: lib/base/refusal.h has why */
    PASS_NO_ROOM  /* no memory */
};

/* A batch whose entries have their Resource and Scope in front: a reference to the same one where
 * that is so. NULL: no memory. */
struct batch *batch_in_order(struct batch *batch);

/* What one processor does in a pass. */
struct pass_step {
    unsigned levels; /* EDIT_BITs of the records to call for; 0: nothing is to be done */
    enum edit_verdict (*run)(const struct pass_step *step, struct request_edit *at,
                             enum edit_level level);
    void *self;
    const struct key_sieve
        *sieves;            /* of each level: keys that record_sought must have; NULL: all */
    bool reaches_out;       /* run also changes what is around the record: it joins no other step */
    bool drops;             /* run may return EDIT_DROP; entries that were empty before go too */
    struct view schema_url; /* as that of struct request_edit */

    /* Called once the items that it dropped are gone for good; lost: those of an answered batch
     * that it could not process (pipeline/answered.h), which the first does not count. NULL:
     * nothing to do. */
    void (*dropped)(void *self, enum signal signal, uint32_t items);
    void (*lost)(void *self, const struct batch *batch, uint32_t items, const char *why);

    bool timed;                /* of the first of several steps: sampled_ns is wanted of each */
    const struct batch *batch; /* set by the pass */
    enum edit_level skips;     /* by the pass: it is not called below records of this level */
    uint64_t sampled_ns;       /* by the pass: time in run, summed over some of its records */
};

enum { PASS_STEPS_MAX = 8 };

/* Whether another step can follow in the same pass. */
bool pass_joins(const struct pass_step *steps, size_t count, const struct pass_step *next);

/* What went, and is gone from the result's number; only the last step can drop any. */
struct pass_drops {
    uint32_t items, lost; /* lost: those of items that the step could not process */
    char why[REFUSAL_MAX];
};

/* Runs steps that join over an OTLP batch. */
enum pass_result batch_pass_run(struct batch *batch, struct pass_step *steps, size_t count,
                                struct batch **result, struct pass_drops *drops);

/* Tells the step that dropped them that they are gone for good. */
void pass_drops_tell(const struct pass_drops *drops, const struct pass_step *step,
                     const struct batch *batch);

/* What a step returns for a record that it cannot process, where that is not to be passed over
 * (lib/base/refusal.h has why): ABORT, or of an answered batch, DROP. */
enum edit_verdict pass_refuse(const struct pass_step *step, struct request_edit *at);

/* The consume of a processor that is one step: hands the result on. OK where nothing is left,
 * REJECT where the step aborted, RETRY without memory. */
enum verdict batch_pass(struct batch *batch, struct pass_step *step, struct outlet *next);

/* Gives a processor a batch, to its step or its consume. */
struct component;
enum verdict component_consume(const struct component *processor, void *self, struct batch *batch,
                               struct outlet *next);

#endif
