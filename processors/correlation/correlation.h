/*
 * The processor's instance, shared by its files: correlation.c (lifecycle), traces.c and profiles.c
 * (the two signals), explain.c and tell.c (what people and watchers are told), and its folders.
 */
#ifndef CORRELATION_CORRELATION_H
#define CORRELATION_CORRELATION_H

#include "pipeline/component.h"
#include "processors/correlation/advice_sum.h"
#include "processors/correlation/config.h"
#include "processors/correlation/hold/hold.h"
#include "processors/correlation/known/ancestry.h"
#include "processors/correlation/known/evidence.h"
#include "processors/correlation/known/recent.h"
#include "processors/correlation/known/remap.h"
#include "processors/correlation/lanes/lanes.h"

/* A batch that the next stage could not take yet. */
struct outgoing {
    struct outgoing *next;
    struct batch *batch;
    struct outlet *outlet;
    bool linked; /* spans in it have links; known while somebody watches */
};

/* Read by metrics pages without the lock. Sums over the instance and its lanes, but `oldest`. */
struct correlation_published {
    _Atomic uint64_t hold_bytes, hold_limit, hold_spans;
    _Atomic uint64_t oldest; /* mono; arrival of the oldest span; 0: nothing waits */
    _Atomic uint64_t ids, evicted, services;
    struct histogram delays;
};

/* What of those sums is its own. */
struct correlation_part {
    uint64_t hold_bytes, hold_spans, ids, evicted, services;
};

/* The instance, or what it keeps for one lane (lanes/lanes.h). */
struct correlation {
    struct correlation_config config; /* first: filled by the key table */
    struct correlation *top;          /* of a lane: the instance; NULL: it is that itself */
    uint32_t lane;                    /* of a lane: its partition + 1; else 0 */
    struct lanes lanes;               /* of the instance */
    const struct env *env;
    struct evidence_rules rules;
    struct edit_policy policy;
    struct remap remap, profile_remap; /* the latter without what a server derives itself */
    uint64_t started, started_mono;    /* wall, mono */
    uint64_t since; /* wall; no profile was missed since the start of this or a recalled process */
    bool open, reloaded;    /* reloaded: of the instance: a reload opened it */
    uint64_t *first_since;  /* then, that of the first, lowered by recalled notes; NULL: unknown */
    uint64_t oldest_note;   /* of those recalled, when it was written; wall, 0: none */
    uint64_t recalled_from; /* local time; notes are known from here on; UINT64_MAX: none */
    struct interner interner;
    struct correlation_published published;
    struct tallies tallies; /* used where the meter has no room for them */
    struct watch_holder holder;

    pthread_mutex_t lock; /* guards all members below */
    struct span_index index;
    struct id_table ancestry; /* children: inherit */
    struct id_table uploads;  /* by content, for as long as they may be retried */
    struct services services;
    struct hold hold;
    struct heap due; /* processes with waiting spans, by when they are decided next */
    struct recent recent;
    struct bytes advice;                  /* lines for the log */
    uint64_t hold_full, hold_full_logged; /* spans that left a full one since then; mono */
    struct advice_sum crowded, wrong;     /* spans without a place, profiles with wrong times */
    struct release unwritten;             /* left the hold, but there was no memory to write them */
    bool starved;                         /* unwritten waits for room in the budget */
    struct ahead *ahead;                  /* of the instance: release/ahead.h; NULL: none yet */
    struct outgoing *outgoing, **batches_end;
    uint64_t outgoing_due; /* mono; when to offer them and unwritten again */
    struct correlation_part part;
    uint64_t tick_at; /* mono; the earliest tick asked for */
};

static inline struct judge_now correlation_now(const struct correlation *self)
{
    return (struct judge_now){clock_wall(self->env->clock), clock_mono(self->env->clock)};
}

/* Seconds since the start, for the span index. */
static inline uint32_t correlation_second(const struct correlation *self, uint64_t mono)
{
    return mono > self->started_mono ? (uint32_t)((mono - self->started_mono) / NS_PER_S) : 0;
}

/* Asks for a tick when the first process is due. Under the lock. */
static inline void correlation_ask_tick(struct correlation *self)
{
    uint64_t due = self->due.first ? self->due.first->key : TIME_NEVER;
    if (due < self->tick_at) {
        self->tick_at = due;
        env_tick_at(self->env, due);
    }
}

/* Returns the tenant that separates services; empty: tenants are not separated. */
static inline struct view correlation_tenant(const struct correlation *self,
                                             const struct batch *batch)
{
    unsigned both = SIGNAL_BIT(SIGNAL_TRACES) | SIGNAL_BIT(SIGNAL_PROFILES);
    bool apart = (self->env->metadata_signals & both) == both;
    return apart && batch->metadata ? view_of(batch->metadata->tenant) : (struct view){0};
}

/* Counts spans for metrics pages; those of lanes are added by lanes/share.c. Under the lock. */
static inline void correlation_tally(struct correlation *self, struct service *service,
                                     unsigned what, uint64_t n, uint64_t mono)
{
    if (!self->top)
        tally_add(self->services.tallies, service, what, n, mono);
}

static inline struct correlation_published *correlation_published(struct correlation *self)
{
    return self->top ? &self->top->published : &self->published;
}

/* correlation.c: the parts of open, tick and close that a lane's state shares. begin: env, config
 * and both remaps are set. hand_on: everything that waits leaves, linked or not. release: frees all
 * but what was set before begin; nothing waits any more. */
void correlation_begin(struct correlation *self);
uint64_t correlation_tick(struct correlation *self, uint64_t mono);
void correlation_hand_on(struct correlation *self);
void correlation_release(struct correlation *self);

/* traces.c, profiles.c: consume for each signal; contract as struct component's. */
enum verdict traces_consume(struct correlation *self, struct batch *batch, struct outlet *next);
enum verdict profiles_consume(struct correlation *self, struct batch *batch, struct outlet *next);

/* profiles.c: notes across a restart, if there is a journal. */
void profiles_note_start(struct correlation *self);
void profiles_recall(void *self, struct view content);

/* measure.c: call after the hold, or what is known, has changed. Under the lock. */
extern const struct metric correlation_metrics[];
void correlation_publish_hold(struct correlation *self);
void correlation_publish_known(struct correlation *self);
void correlation_publish_none(struct correlation *self); /* at the end, without the lock */
void correlation_measure(void *self, struct metrics *metrics);

/* explain.c; known: of one lane, what decisions are based on. */
void correlation_explain(void *self, struct bytes *out);
void correlation_explain_known(struct correlation *self, struct bytes *out);

#endif
