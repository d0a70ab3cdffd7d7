/* Sends profiles to the server's OTLP endpoint. */
#include "exporters/pyroscope/pyroscope.h"

#include "lib/wire/otlp/otlp.h"
#include "lib/wire/pprof/pprof_split.h"
#include "pipeline/otlp_form.h"

#include <stdlib.h>

enum { PROFILE_TIME_UNIX_NANO = 3, INDEX_CAP = 1 << 30, PART_CAP = 1 << 30 };

/* The newest time of a request's profiles; 0: one has no time, which the server takes as now. */
static uint64_t otlp_time(struct view request)
{
    struct otlp_walk walk;
    struct proto_field time;
    uint64_t newest = 0;
    otlp_walk_begin(&walk, SIGNAL_PROFILES, request);
    for (enum otlp_step step; (step = otlp_walk_next(&walk)) != OTLP_END;) {
        if (step != OTLP_ITEM)
            continue;
        if (!proto_find(walk.item.bytes, PROFILE_TIME_UNIX_NANO, WIRE_I64, &time))
            return 0;
        newest = time.value > newest ? time.value : newest;
    }
    return newest;
}

static struct outcome post_otlp(struct pyroscope_exporter *self, const struct batch *batch,
                                struct progress *progress)
{
    struct view request = buffer_view(batch->payload);
    struct post post = {.url = self->otlp_url,
                        .content_type = "application/x-protobuf",
                        .body = request,
                        .gzip = true,
                        .time_ns = otlp_time(request),
                        .profile_bytes = request.size};
    struct outcome outcome = send_post(self, batch, &post, push_outcome);
    if (progress)
        parts_answered(progress, &post, &outcome);
    return outcome;
}

struct outcome send_otlp(struct pyroscope_exporter *self, const struct batch *batch)
{
    return post_otlp(self, batch, NULL);
}

/* Sends a pprof batch, or a part of one, as OTLP. */
static struct outcome send_converted(struct pyroscope_exporter *self, struct batch *pprof,
                                     struct progress *progress)
{
    struct outcome outcome;
    struct batch *form = otlp_form(pprof, &outcome);
    if (form)
        outcome = post_otlp(self, form, progress);
    batch_unref(form);
    return outcome;
}

/* The same for the bytes of a part, which are moved out of `part`. */
static struct outcome send_part(struct pyroscope_exporter *self, const struct batch *whole,
                                struct bytes *part, struct progress *progress)
{
    struct buffer *payload = buffer_from_bytes(part);
    struct batch *batch = payload ? batch_with_payload(whole, payload, whole->items) : NULL;
    struct outcome outcome = batch ? send_converted(self, batch, progress)
                                   : outcome_of(VERDICT_RETRY, CAUSE_MEMORY, "out of memory");
    batch_unref(batch);
    return outcome;
}

static struct outcome send_parts(struct pyroscope_exporter *self, const struct batch *batch,
                                 struct pprof_split *split, struct progress *progress)
{
    struct bytes part;
    const char *fault = NULL;
    bytes_init(&part, PART_CAP, NULL);
    progress->in_parts = true;
    pprof_split_pass(split, progress->mark.samples);
    while (!progress->yielded && pprof_split_next(split, &part, &fault)) {
        struct outcome outcome = send_part(self, batch, &part, progress);
        bytes_init(&part, PART_CAP, NULL);
        if (outcome.verdict == VERDICT_RETRY)
            return outcome;
        progress->mark.samples = split->samples;
        progress_keep(progress);
        progress->yielded =
            split->samples < split->pprof->sample_count && progress_is_crowded(progress);
    }
    bytes_release(&part);
    if (fault && parts_enlarge(progress))
        return outcome_of(VERDICT_RETRY, CAUSE_UNAVAILABLE,
                          "cannot be split into such small parts: %s", fault);
    if (fault)
        return outcome_of(VERDICT_REJECT, CAUSE_TOO_LARGE, "cannot be split: %s", fault);
    return progress->lost ? progress->refusal : OUTCOME_OK;
}

static struct outcome send_open(struct pyroscope_exporter *self, struct batch *batch,
                                struct pprof *pprof, struct bytes *named, struct arena *arena,
                                struct progress *progress)
{
    struct pprof_split split;
    size_t most = parts_bytes(self, progress);
    if (pprof->sample_count == 0)
        return OUTCOME_OK; /* the server would not store it */
    if (!name_as_ingest(batch, pprof, named, arena))
        return outcome_of(VERDICT_RETRY, CAUSE_MEMORY, "out of memory");
    progress_recall(progress);
    if (progress->mark.samples == 0 &&
        pprof_split_fits(pprof, (size_t)self->max_profile_samples, most))
        return named->size ? send_part(self, batch, named, progress)
                           : send_converted(self, batch, progress);
    if (!pprof_split_begin(&split, pprof, (size_t)self->max_profile_samples, most, arena))
        return outcome_of(VERDICT_RETRY, CAUSE_MEMORY, "out of memory");
    return send_parts(self, batch, &split, progress);
}

struct outcome send_pprof_as_otlp(struct pyroscope_exporter *self, struct batch *batch,
                                  struct progress *progress)
{
    struct arena arena;
    struct pprof pprof;
    struct proto_fault fault;
    struct outcome outcome;
    struct bytes named;
    arena_init(&arena, INDEX_CAP);
    arena_charge(&arena, batch->payload->budget, budget_use, ARENA_SMALL);
    bytes_init(&named, PART_CAP, NULL);
    if (pprof_open(&pprof, buffer_view(batch->payload), &arena, &fault))
        outcome = send_open(self, batch, &pprof, &named, &arena, progress);
    else
        outcome = send_converted(self, batch, progress); /* reports what is wrong */
    bytes_release(&named);
    arena_release(&arena);
    return outcome;
}
