/* Profiles to the server's OTLP endpoint. */
#include "exporters/pyroscope/pyroscope.h"

#include "pipeline/otlp_form.h"
#include "wire/otlp.h"
#include "wire/pprof_split.h"

#include <stdlib.h>

enum { PROFILE_TIME_UNIX_NANO = 3, INDEX_CAP = 1 << 30 };

/* The newest one of a request's profiles; 0: one has no time, which the server takes for now. */
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

struct outcome send_otlp(struct pyroscope_exporter *self, const struct batch *batch)
{
    struct view request = buffer_view(batch->payload);
    struct post post = {.url = self->otlp_url,
                        .content_type = "application/x-protobuf",
                        .body = request,
                        .gzip = true,
                        .time_ns = otlp_time(request)};
    return send_post(self, batch, &post, push_outcome);
}

static struct outcome send_converted(struct pyroscope_exporter *self, struct batch *pprof)
{
    struct outcome outcome;
    struct batch *form = otlp_form(pprof, &outcome);
    if (form)
        outcome = send_otlp(self, form);
    batch_unref(form);
    return outcome;
}

/* How a pprof stands to the server's limits. */
enum size { SIZE_EMPTY, SIZE_FITS, SIZE_TOO_LARGE };

static enum size size_of(const struct pyroscope_exporter *self, const struct batch *batch)
{
    struct arena arena;
    struct pprof pprof;
    struct proto_fault fault;
    enum size size = SIZE_FITS;
    arena_init(&arena, INDEX_CAP);
    if (!pprof_open(&pprof, buffer_view(batch->payload), &arena, &fault))
        size = SIZE_FITS; /* the conversion says what is wrong */
    else if (pprof.sample_count == 0)
        size = SIZE_EMPTY; /* the server stores nothing of it */
    else if (!pprof_split_fits(&pprof, (size_t)self->max_profile_samples,
                               (size_t)self->max_profile_bytes))
        size = SIZE_TOO_LARGE;
    arena_release(&arena);
    return size;
}

struct outcome send_pprof_as_otlp(struct pyroscope_exporter *self, struct batch *batch)
{
    enum size size = size_of(self, batch);
    struct batch_part *parts = NULL;
    struct outcome worst = OUTCOME_OK;
    if (size == SIZE_EMPTY)
        return worst;
    if (size == SIZE_TOO_LARGE)
        parts =
            pprof_parts(batch, (size_t)self->max_profile_samples, (size_t)self->max_profile_bytes);
    if (!parts)
        return send_converted(self, batch);
    while (parts) {
        struct batch_part *part = parts;
        parts = part->next;
        if (worst.verdict != VERDICT_RETRY) {
            struct outcome outcome = send_converted(self, part->batch);
            if (outcome.verdict != VERDICT_OK)
                worst = outcome;
        }
        batch_unref(part->batch);
        free(part);
    }
    return worst;
}
