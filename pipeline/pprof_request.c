#include "pipeline/pprof_request.h"

#include "lib/wire/codec/inflate_final.h"
#include "lib/wire/pprof/pprof.h"

/* How much the index of a profile's strings may take, beside the profile itself. */
enum { INDEX_CAP = 256 << 20 };

struct outcome pprof_request_inflate(struct view pprof, struct bytes *raw)
{
    enum inflate_result result = INFLATE_OK;
    if (looks_gzip(pprof))
        result = inflate_final(ENCODING_GZIP, pprof, raw->max, raw->budget,
                               inflate_append(ENCODING_GZIP, pprof, raw));
    else if (pprof.size > raw->max)
        result = INFLATE_TOO_LARGE;
    else if (bytes_append_view(raw, pprof) != BYTES_OK)
        result = INFLATE_NO_MEMORY;
    switch (result) {
    case INFLATE_OK:
        return OUTCOME_OK;
    case INFLATE_TOO_LARGE:
        return outcome_of(VERDICT_REJECT, CAUSE_TOO_LARGE,
                          "profile too large after decompression, the maximum is %zu bytes",
                          raw->max);
    case INFLATE_NO_MEMORY:
        return outcome_no_memory();
    case INFLATE_BAD:
        break;
    }
    return outcome_of(VERDICT_REJECT, CAUSE_INVALID, "the profile is not valid gzip");
}

static void note_facts(const struct pprof *pprof, struct pprof_facts *facts)
{
    *facts = (struct pprof_facts){.time_nanos = pprof->time_nanos > 0 ? pprof->time_nanos : 0};
    for (size_t i = 0; i < pprof->type_count; i++) {
        struct view type = pprof->types[i].type;
        facts->dashed |= type.size && memchr(type.data, '-', type.size);
    }
}

static struct outcome pprof_request_too_large(void)
{
    return outcome_of(VERDICT_REJECT, CAUSE_TOO_LARGE,
                      "the profile has too many entries for the memory limit");
}

struct outcome pprof_request_check(const struct bytes *raw, struct pprof_facts *facts)
{
    size_t most = budget_cap(raw->budget, INDEX_CAP);
    struct arena arena;
    struct pprof pprof;
    struct proto_fault fault;
    arena_init(&arena, most);
    arena_charge(&arena, raw->budget, budget_take, ARENA_SMALL);
    bool good = pprof_open(&pprof, bytes_view(raw), &arena, &fault);
    bool fits = !good || pprof_tables_most(&pprof) <= most;
    if (good && facts)
        note_facts(&pprof, facts);
    arena_release(&arena);
    if (good && fits)
        return OUTCOME_OK;
    if (arena.starved)
        return outcome_no_memory();
    if (!fits || fault.reason == pprof_too_large)
        return pprof_request_too_large();
    return outcome_of(VERDICT_REJECT, CAUSE_INVALID,
                      "the profile is not a valid pprof: %s in %s, field %u, at byte %zu",
                      fault.reason, fault.message, fault.field, fault.offset);
}

struct outcome pprof_request_read(struct view pprof, struct bytes *raw)
{
    struct outcome outcome = pprof_request_inflate(pprof, raw);
    if (outcome.verdict == VERDICT_OK && raw->size > 0)
        outcome = pprof_request_check(raw, NULL);
    return outcome;
}

/* A badly compressed body is compressed again when it is sent. */
static bool is_well_packed(struct view received, size_t raw)
{
    return looks_gzip(received) && received.size <= raw / 4 * 3;
}

struct batch *pprof_request_batch(struct bytes *raw, struct view received, struct series *series)
{
    struct buffer *buffer = buffer_from_bytes(raw);
    if (buffer && is_well_packed(received, buffer->size))
        buffer_keep_packed(buffer, received);
    struct batch *batch = buffer ? batch_new(SIGNAL_PROFILES, BATCH_PPROF, buffer, 1, NULL) : NULL;
    if (batch)
        batch_set_series(batch, series);
    else
        series_unref(series);
    return batch;
}
