#include "lib/wire/profiles/profiles_original.h"

#include "lib/wire/codec/compress.h"
#include "lib/wire/pprof/pprof.h"
#include "lib/wire/proto/proto_write.h"

enum { PROFILE_PAYLOAD_FORMAT = 9, PROFILE_PAYLOAD = 10 };

struct view profiles_original(struct view profile)
{
    struct proto_field format, payload;
    if (!proto_find(profile, PROFILE_PAYLOAD_FORMAT, WIRE_LEN, &format) ||
        !proto_find(profile, PROFILE_PAYLOAD, WIRE_LEN, &payload) ||
        !view_eq(format.bytes, VIEW("pprof")) || payload.bytes.size == 0)
        return (struct view){0};
    return payload.bytes;
}

/* Applies the edits to the profile in out. */
static bool apply(const struct splice *splice, struct bytes *out)
{
    struct bytes edited;
    if (splice->failed)
        return false;
    if (!splice_any(splice))
        return true;
    bytes_init(&edited, out->max, out->budget);
    if (bytes_reserve(&edited, splice_size(splice)) != BYTES_OK)
        return false;
    splice_write(splice, edited.data);
    edited.size = splice_size(splice);
    bytes_release(out);
    *out = edited;
    return true;
}

static bool usable(const struct pprof *pprof, const struct profiles_original_use *use)
{
    const unsigned spans = 1u << PPROF_KEY_SPAN_ID | 1u << PPROF_KEY_PROFILE_ID;
    return pprof->sample_count && pprof->sample_count < UINT32_MAX &&
           (!use->needs_spans || (pprof->keys_seen & spans));
}

/* Copies the name to the arena: it must outlive the bytes that contain the strings. */
static bool keep_name(const struct pprof *pprof, struct arena *arena, struct view *name)
{
    struct view found = pprof_series_name(pprof, (struct view){0}, arena);
    char *text = found.data ? arena_text(arena, found) : NULL;
    *name = (struct view){(const uint8_t *)text, found.size};
    return text;
}

/* Normalises the labels of the profile in out, and sets its time if it has none. */
static bool edit(const struct pprof *pprof, const struct profiles_original_use *use,
                 struct arena *arena, struct bytes *out)
{
    const struct pprof_rewrite rewrite = {.strip_trace_id = use->strip_trace_id};
    struct splice splice;
    splice_begin(&splice, bytes_view(out), arena);
    pprof_rewrite_labels(pprof, &rewrite, &splice);
    if (pprof->time_nanos == 0 && use->time_ns)
        pprof_set_time(pprof, (int64_t)use->time_ns, &splice);
    return apply(&splice, out);
}

bool profiles_original_write(struct view payload, const struct profiles_original_use *use,
                             struct arena *arena, struct bytes *out,
                             struct profiles_original_pprof *made)
{
    enum encoding_name encoding = looks_gzip(payload) ? ENCODING_GZIP : ENCODING_IDENTITY;
    struct pprof pprof;
    struct proto_fault fault;
    struct arena scratch;
    /* A request may have many payloads: release what each needs. */
    arena_init_scratch(&scratch, arena);
    enum inflate_result inflated = inflate_append(encoding, payload, out);
    made->inflated = inflated == INFLATE_TOO_LARGE ? out->max : out->size;
    bool good = inflated == INFLATE_OK && pprof_open(&pprof, bytes_view(out), &scratch, &fault) &&
                usable(&pprof, use) && keep_name(&pprof, arena, &made->name);
    if (good) {
        made->samples = (uint32_t)pprof.sample_count;
        good = edit(&pprof, use, &scratch, out);
    }
    arena_release(&scratch);
    if (!good)
        bytes_clear(out);
    return good;
}
