#include "pipeline/batch_pass.h"

#include "lib/base/clock.h"
#include "lib/base/refusal.h"
#include "lib/wire/otlp/otlp_span.h"
#include "pipeline/client_info.h"

#include <stdio.h>

/* Samples of a profiles request. */
static uint32_t samples_of(struct view request)
{
    struct otlp_walk walk;
    uint32_t samples = 0;
    otlp_walk_begin(&walk, SIGNAL_PROFILES, request);
    for (enum otlp_step step; (step = otlp_walk_next(&walk)) != OTLP_END;) {
        if (step != OTLP_ITEM)
            continue;
        struct proto_scan scan = proto_scan_begin(walk.item.bytes);
        struct proto_field field;
        while (proto_scan_next(&scan, &field))
            samples += field.number == 2;
    }
    return samples;
}

struct batch *batch_in_order(struct batch *batch)
{
    struct view request = buffer_view(batch->payload);
    if (batch->notes || request_in_order(request))
        return batch_ref(batch);
    struct arena arena;
    arena_init(&arena, 3 * request.size + 4096);
    arena_charge(&arena, batch->payload->budget, budget_use, ARENA_SMALL + request.size);
    struct view ordered = request_put_in_order(request, &arena);
    struct buffer *payload =
        ordered.data ? buffer_new(ordered.size, batch->payload->budget, true) : NULL;
    if (payload)
        memcpy(payload->data, ordered.data, ordered.size);
    arena_release(&arena);
    return payload ? batch_with_payload(batch, payload, batch->items) : NULL;
}

/* Notes on the spans that are left, which moved. Without memory there are none. */
static void carry_notes(const struct batch *from, const struct splice *splice, struct batch *to)
{
    struct view rows = buffer_view(from->notes);
    const struct otlp_span_note *old = (const struct otlp_span_note *)(const void *)rows.data;
    struct buffer *notes = buffer_new(rows.size, from->notes->budget, true);
    if (!notes)
        return;
    struct otlp_span_note *made = (struct otlp_span_note *)(void *)notes->data, *next = made;
    const struct splice_edit *edit = splice->edits, *last = edit + splice->count;
    int64_t shift = 0;
    for (size_t i = 0; i < rows.size / sizeof *old; i++) {
        const size_t at = old[i].at;
        for (; edit < last && edit->at + edit->remove <= at; edit++)
            shift += (int64_t)splice_insert_size(edit) - (int64_t)edit->remove;
        bool gone = edit < last && edit->at < at;
        *next = old[i];
        next->at = (uint32_t)(old[i].at + shift);
        next->attributes = next->attributes_end = next->name = 0;
        next += !gone;
    }
    size_t size = (size_t)(next - made) * sizeof *made;
    to->notes = size == rows.size ? buffer_ref(notes)
                                  : buffer_slice(notes, (struct view){notes->data, size});
    buffer_unref(notes);
}

static enum pass_result run_ordered(struct batch *batch, struct request_edit *edit,
                                    struct batch **result)
{
    struct batch_edit pass;
    batch_edit_begin(&pass, batch);
    edit->signal = batch->signal;
    if (batch->notes)
        edit->notes = buffer_view(batch->notes);
    bool done = request_edit(edit, pass.request, &pass.splice);
    bool aborted = !done && !pass.splice.failed;
    if (aborted)
        pass.splice.failed = true;
    pass.items += edit->items_added;
    pass.items -= edit->items_dropped < pass.items ? edit->items_dropped : pass.items;
    bool emptied = pass.items == 0 && batch->items > 0;
    *result = batch_edit_make(&pass);
    if (*result && *result != batch && batch->notes && !edit->notes_spoilt)
        carry_notes(batch, &pass.splice, *result);
    size_t most;
    bool too_large = !*result && !aborted && batch_edit_never_fits(&pass, &most);
    batch_edit_release(&pass);
    if (too_large) {
        char text[120];
        snprintf(text, sizeof text,
                 "the processors need more than the %zu MiB of memory that a request may take",
                 most >> 20);
        refusal_set(text, CAUSE_TOO_LARGE);
        return PASS_ABORTED;
    }
    if (!*result && !aborted)
        refusal_set("the memory limit is reached", CAUSE_MEMORY);
    if (!*result)
        return aborted ? PASS_ABORTED : PASS_NO_ROOM;
    if (edit->items_dropped && batch->signal == SIGNAL_PROFILES && *result != batch)
        (*result)->samples = samples_of(buffer_view((*result)->payload));
    if (!emptied)
        return PASS_DONE;
    batch_unref(*result);
    *result = NULL;
    return PASS_EMPTY;
}

/* ---- steps ---- */

enum { SAMPLE_EACH = 16 }; /* records; a clock takes longer than many a step */

struct pass {
    struct pass_step
        *of[EDIT_LEVELS][PASS_STEPS_MAX + 1]; /* that are called at it; NULL: the end */
    size_t records;                           /* while timed: those that were seen */
};

static inline enum edit_verdict run_each(struct pass *pass, struct request_edit *at,
                                         enum edit_level level, bool sampled)
{
    struct pass_step *const *each = pass->of[level], *step;
    for (; (step = *each); each++) {
        if (level > step->skips)
            continue;
        uint64_t before = sampled ? clock_mono(&clock_system) : 0;
        enum edit_verdict verdict = step->run(step, at, level);
        step->sampled_ns += sampled ? clock_mono(&clock_system) - before : 0;
        step->skips = verdict == EDIT_SKIP ? level : EDIT_LEVELS;
        if (verdict >= EDIT_DROP)
            return verdict;
    }
    return EDIT_KEEP;
}

static enum edit_verdict run_steps(void *ctx, struct request_edit *at, enum edit_level level)
{
    return run_each(ctx, at, level, false);
}

static enum edit_verdict run_timed_steps(void *ctx, struct request_edit *at, enum edit_level level)
{
    struct pass *pass = ctx;
    /* There are few Resources and scopes. */
    bool sampled = level < EDIT_ITEM || pass->records++ % SAMPLE_EACH == 0;
    return run_each(pass, at, level, sampled);
}

static enum edit_verdict run_step(void *ctx, struct request_edit *at, enum edit_level level)
{
    const struct pass_step *step = ctx;
    return step->run(step, at, level);
}

static void put_step(struct pass *pass, struct pass_step *step)
{
    for (int level = 0; level < EDIT_LEVELS; level++) {
        struct pass_step **at = pass->of[level];
        while (*at)
            at++;
        if (step->levels & EDIT_BIT(level))
            *at = step;
    }
}

static int innermost(unsigned levels)
{
    int level = EDIT_LEVELS - 1;
    while (level > 0 && !(levels & EDIT_BIT(level)))
        level--;
    return level;
}

/* A step sees what those before it did to the record and to all around it, so these must be done
 * with what is around. What follows on drops needs the number of items that are left. */
bool pass_joins(const struct pass_step *steps, size_t count, const struct pass_step *next)
{
    if (count == PASS_STEPS_MAX || next->schema_url.size || next->reaches_out)
        return false;
    for (size_t i = 0; i < count; i++)
        if (steps[i].drops || steps[i].reaches_out ||
            (next->levels & (EDIT_BIT(innermost(steps[i].levels)) - 1)))
            return false;
    return true;
}

/* Of all steps. NULL: one of them wants all attributes. */
static const struct key_sieve *join_sieves(const struct pass_step *steps, size_t count,
                                           struct key_sieve joined[EDIT_LEVELS])
{
    for (size_t i = 0; i < count; i++)
        if (!steps[i].sieves)
            return NULL;
    if (count == 1)
        return steps->sieves;
    memcpy(joined, steps->sieves, EDIT_LEVELS * sizeof *joined);
    for (size_t i = 1; i < count; i++)
        for (int level = 0; level < EDIT_LEVELS; level++)
            key_sieve_join(&joined[level], &steps[i].sieves[level]);
    return joined;
}

void pass_drops_tell(const struct pass_drops *drops, const struct pass_step *step,
                     const struct batch *batch)
{
    if (step->dropped)
        step->dropped(step->self, batch->signal, drops->items - drops->lost);
    if (step->lost && drops->lost)
        step->lost(step->self, batch, drops->lost, drops->why);
}

enum edit_verdict pass_refuse(const struct pass_step *step, struct request_edit *at)
{
    at->loses = step->batch->answered;
    return at->loses ? EDIT_DROP : EDIT_ABORT;
}

enum pass_result batch_pass_run(struct batch *batch, struct pass_step *steps, size_t count,
                                struct batch **result, struct pass_drops *drops)
{
    struct pass pass = {0};
    struct key_sieve sieves[EDIT_LEVELS];
    const struct request_context client = batch_context(batch);
    struct request_edit edit = {.client = &client};
    edit.ctx = count == 1 ? (void *)steps : &pass;
    edit.step = count == 1 ? run_step : steps->timed ? run_timed_steps : run_steps;
    edit.sieves = join_sieves(steps, count, sieves);
    for (size_t i = 0; i < count; i++) {
        put_step(&pass, &steps[i]);
        steps[i].skips = EDIT_LEVELS;
        steps[i].batch = batch;
        edit.levels |= steps[i].levels;
        edit.late_heads = edit.late_heads || steps[i].reaches_out;
        edit.prunes = edit.prunes || steps[i].drops;
        if (steps[i].schema_url.size)
            edit.schema_url = steps[i].schema_url;
    }
    drops->items = drops->lost = 0;
    if (!edit.levels) {
        *result = batch_ref(batch);
        return PASS_DONE;
    }
    struct batch *ordered = batch_in_order(batch);
    enum pass_result done = PASS_NO_ROOM;
    enum cause cause;
    *result = NULL;
    if (ordered)
        done = run_ordered(ordered, &edit, result);
    batch_unref(ordered);
    drops->items = edit.items_dropped;
    drops->lost = edit.items_lost;
    if (drops->lost && !refusal_take(drops->why, &cause))
        drops->why[0] = '\0';
    return done;
}

enum verdict batch_pass(struct batch *batch, struct pass_step *step, struct outlet *next)
{
    struct batch *result;
    struct pass_drops drops;
    enum pass_result done = batch_pass_run(batch, step, 1, &result, &drops);
    if (done == PASS_ABORTED || done == PASS_NO_ROOM)
        return done == PASS_ABORTED ? VERDICT_REJECT : VERDICT_RETRY;
    enum verdict verdict = done == PASS_EMPTY ? VERDICT_OK : outlet_push(next, result);
    batch_unref(result);
    if (verdict == VERDICT_OK)
        pass_drops_tell(&drops, step, batch);
    return verdict;
}
