/* The constant pools of a chunk (lib/wire/jfr/jfr_chunk.h). */
#include "lib/wire/jfr/jfr_chunk.h"

static const char part[] = "constant pool";

static const struct jfr_wanted of_constants[] = {
    {.name = "name", .type = "java.lang.String", .slot = JFR_SLOT_NAME},
    {.name = NULL},
};

static enum jfr_state state_of(struct view name)
{
    if (view_eq(name, VIEW("STATE_RUNNABLE")))
        return JFR_STATE_RUNNABLE;
    return view_eq(name, VIEW("STATE_SLEEPING")) ? JFR_STATE_SLEEPING : JFR_STATE_OTHER;
}

/* Plans by class, made when a class first occurs. */
struct plans {
    struct jfr_metadata *metadata;
    struct jfr_plan *of;           /* by index of the class; steps NULL: not made yet */
    const struct jfr_type *states; /* jdk.types.ThreadState */
};

static const struct jfr_plan *plan_of(struct plans *plans, struct jfr_reading *reading,
                                      const struct jfr_type *type)
{
    struct jfr_plan *plan = &plans->of[type - plans->metadata->types];
    struct jfr_plan_request request = {
        .type = type, .wanted = of_constants, .arena = &reading->scratch};
    if (!plan->steps && !jfr_metadata_plan(plans->metadata, reading, &request, plan))
        return NULL;
    return plan;
}

/* Reads the constants of one class; stores thread states. NULL: truncated. */
static const uint8_t *read_constants(struct jfr_chunk *chunk, const struct jfr_plan *plan,
                                     struct jfr_checkpoint *checkpoint, bool noted)
{
    struct jfr_values values;
    uint64_t count, key;
    const uint8_t *at = jfr_varint(checkpoint->at, checkpoint->end, &count);
    for (; count && at; count--) {
        values.strings[0] = (struct view){0};
        if ((at = jfr_varint(at, checkpoint->end, &key)))
            at = jfr_plan_run(plan, at, checkpoint->end, &values);
        if (at && noted && key < JFR_STATES)
            chunk->states[key] = (uint8_t)state_of(values.strings[0]);
    }
    return at;
}

/* Reads the pools up to that of thread states, which is one of the first. */
static bool read_pools(struct jfr_chunk *chunk, struct jfr_reading *reading, struct plans *plans,
                       struct jfr_checkpoint *checkpoint)
{
    bool found = false;
    for (; checkpoint->pool_count && !found; checkpoint->pool_count--) {
        uint64_t id;
        const uint8_t *at = jfr_varint(checkpoint->at, checkpoint->end, &id);
        if (!at)
            return jfr_refuse(reading, part, "truncated", checkpoint->at);
        const struct jfr_type *type = jfr_metadata_by_id(plans->metadata, id);
        if (!type)
            return jfr_refuse(reading, part, "of no known class", checkpoint->at);
        const struct jfr_plan *plan = plan_of(plans, reading, type);
        if (!plan)
            return false;
        found = type == plans->states;
        checkpoint->at = at;
        if (!(checkpoint->at = read_constants(chunk, plan, checkpoint, found)))
            return jfr_refuse(reading, part, "malformed", at);
    }
    return true;
}

/* Size, class, start, duration, distance to the previous checkpoint, type, number of pools. */
bool jfr_checkpoint_read(struct jfr_checkpoint *checkpoint, const uint8_t *at, const uint8_t *end)
{
    struct jfr_frame frame;
    uint64_t ignored, delta;
    if (!jfr_frame(at, end, &frame) || frame.type != 1)
        return false;
    checkpoint->start = at;
    checkpoint->end = frame.end;
    if (!(at = jfr_varint(frame.content, frame.end, &ignored)) ||
        !(at = jfr_varint(at, frame.end, &ignored)) || !(at = jfr_varint(at, frame.end, &delta)) ||
        !(at = jfr_skip_bytes(at, frame.end, 1)) ||
        !(at = jfr_varint(at, frame.end, &checkpoint->pool_count)))
        return false;
    checkpoint->at = at;
    checkpoint->delta = (int64_t)delta;
    return true;
}

/* Checkpoints are linked backwards, each before the one that refers to it, so there are no
 * cycles. */
bool jfr_pool_read(struct jfr_chunk *chunk, struct jfr_reading *reading,
                   struct jfr_metadata *metadata)
{
    struct plans plans = {.metadata = metadata};
    struct jfr_checkpoint checkpoint;
    const uint8_t *at = chunk->bytes.data + chunk->pool_offset;
    const uint8_t *end = chunk->bytes.data + chunk->bytes.size;
    plans.states = jfr_metadata_by_name(metadata, VIEW("jdk.types.ThreadState"));
    if (!plans.states)
        return true;
    plans.of = arena_array(&reading->scratch, metadata->type_count, sizeof *plans.of);
    if (!plans.of)
        return jfr_refuse(reading, part, "too large", at);
    for (;;) {
        if (!jfr_checkpoint_read(&checkpoint, at, end))
            return jfr_refuse(reading, part, "not where it should be", at);
        if (!read_pools(chunk, reading, &plans, &checkpoint))
            return false;
        if (checkpoint.delta == 0)
            return true;
        int64_t least = JFR_HEADER_SIZE - (checkpoint.start - chunk->bytes.data);
        if (checkpoint.delta > 0 || checkpoint.delta < least)
            return jfr_refuse(reading, part, "refers to another one out of place", at);
        end = checkpoint.start;
        at = checkpoint.start + checkpoint.delta;
    }
}
