#include "pipeline/otlp_form.h"

#include "lib/wire/otlp/otlp.h"
#include "lib/wire/pprof/pprof_split.h"
#include "lib/wire/profiles/pprof_to_profiles.h"
#include "lib/wire/profiles/profiles_prune.h"

#include <stdlib.h>

enum { INDEX_CAP = 1 << 30, PAYLOAD_CAP = 1 << 30 };

static struct outcome otlp_form_no_memory(void)
{
    return outcome_of(VERDICT_RETRY, CAUSE_MEMORY, "out of memory");
}

/* Makes the payload of a batch that was already accepted. NULL: no memory; made is released. */
static struct buffer *payload_of(struct bytes *made, struct budget *budget)
{
    struct buffer *buffer = buffer_from_bytes(made);
    if (!buffer) {
        bytes_release(made);
        return NULL;
    }
    buffer->budget = budget;
    buffer->charged = budget ? buffer->size : 0;
    if (budget)
        budget_force(budget, buffer->charged);
    return buffer;
}

static struct outcome convert(const struct batch *batch, struct arena *arena, struct bytes *made)
{
    const struct profile_origin *origin = batch->profile;
    struct pprof pprof;
    struct proto_fault fault;
    const char *reason;
    if (!pprof_open(&pprof, buffer_view(batch->payload), arena, &fault))
        return arena->starved ? otlp_form_no_memory()
                              : outcome_of(VERDICT_REJECT, CAUSE_INVALID, "not a valid pprof: %s",
                                           fault.reason);
    if (origin && origin->from_ns && !pprof_has_time(&pprof))
        pprof.time_nanos = (int64_t)origin->from_ns;
    struct pprof_source source = {&pprof, batch->series, origin && origin->by_ingest};
    if (!pprof_to_profiles(&source, arena, made, &reason))
        return arena->starved ? otlp_form_no_memory()
                              : outcome_of(VERDICT_REJECT, CAUSE_TOO_LARGE,
                                           "cannot be converted to OTLP: %s", reason);
    return OUTCOME_OK;
}

struct batch *otlp_form(struct batch *batch, struct outcome *why)
{
    struct arena arena;
    struct bytes made;
    struct batch *form = NULL;
    *why = OUTCOME_OK;
    if (batch->encoding == BATCH_OTLP)
        return batch_ref(batch);
    if (batch->encoding != BATCH_PPROF || !batch->series) {
        *why = outcome_of(VERDICT_REJECT, CAUSE_UNSUPPORTED, "cannot be converted to OTLP");
        return NULL;
    }
    arena_init(&arena, INDEX_CAP);
    arena_charge(&arena, batch->payload->budget, budget_use, ARENA_SMALL);
    bytes_init(&made, PAYLOAD_CAP, NULL);
    *why = convert(batch, &arena, &made);
    arena_release(&arena);
    struct buffer *payload =
        why->verdict == VERDICT_OK ? payload_of(&made, batch->payload->budget) : NULL;
    if (payload)
        form =
            batch_with_payload(batch, payload, otlp_count(SIGNAL_PROFILES, buffer_view(payload)));
    if (!form) {
        bytes_release(&made);
        if (why->verdict == VERDICT_OK)
            *why = otlp_form_no_memory();
        return NULL;
    }
    form->encoding = BATCH_OTLP;
    form->samples = batch->samples; /* each sample type repeats them */
    batch_set_series(form, NULL);
    batch_set_profile(form, NULL);
    return form;
}

/* Makes a part from these bytes. NULL: no memory. */
static struct batch_part *otlp_form_part_of(const struct batch *batch, struct bytes *bytes)
{
    struct batch_part *part = calloc(1, sizeof *part);
    struct buffer *payload = part ? payload_of(bytes, batch->payload->budget) : NULL;
    if (payload)
        part->batch = batch_with_payload(batch, payload, batch->items);
    if (part && part->batch)
        return part;
    free(part);
    return NULL;
}

static void free_parts(struct batch_part *part)
{
    while (part) {
        struct batch_part *next = part->next;
        batch_unref(part->batch);
        free(part);
        part = next;
    }
}

struct batch_part *pprof_parts(const struct batch *batch, size_t max_samples, size_t max_bytes)
{
    struct arena arena;
    struct pprof pprof;
    struct proto_fault fault;
    struct pprof_split split;
    struct bytes bytes;
    const char *why = NULL;
    struct batch_part *parts = NULL, **end = &parts;
    arena_init(&arena, INDEX_CAP);
    arena_charge(&arena, batch->payload->budget, budget_use, ARENA_SMALL);
    bytes_init(&bytes, PAYLOAD_CAP, NULL);
    bool good = pprof_open(&pprof, buffer_view(batch->payload), &arena, &fault) &&
                pprof_split_begin(&split, &pprof, max_samples, max_bytes, &arena);
    while (good && pprof_split_next(&split, &bytes, &why)) {
        *end = otlp_form_part_of(batch, &bytes);
        good = *end;
        end = good ? &(*end)->next : end;
    }
    bytes_release(&bytes);
    arena_release(&arena);
    if (good && !why && parts && parts->next)
        return parts;
    free_parts(parts);
    return NULL;
}

struct batch *otlp_pruned(const struct batch *batch)
{
    struct view request = buffer_view(batch->payload);
    struct arena arena;
    struct splice splice;
    struct buffer *buffer = NULL;
    arena_init(&arena, INDEX_CAP);
    arena_charge(&arena, batch->payload->budget, budget_use, ARENA_SMALL);
    splice_begin(&splice, request, &arena);
    if (profiles_prune(request, &splice) && splice_any(&splice))
        buffer = buffer_new(splice_size(&splice), batch->payload->budget, true);
    if (buffer)
        splice_write(&splice, buffer->data);
    arena_release(&arena);
    return buffer ? batch_with_payload(batch, buffer, batch->items) : NULL;
}
