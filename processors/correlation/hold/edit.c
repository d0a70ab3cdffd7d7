#include "processors/correlation/hold/edit.h"

#include "lib/wire/otlp/otlp_attribute.h"

#define ID_KEY      VIEW("pyroscope.profile.id")
#define SAMPLES_KEY VIEW("pyroscope.profile.samples")
#define CPU_KEY     VIEW("pyroscope.profile.cpu_time_ns")

enum { SPAN_ATTRIBUTES = 9, ID_DIGITS = 16 };

/* Writes the attribute; without memory data is NULL and the splice has failed. */
static struct view id_attribute(struct splice *splice, uint64_t id)
{
    char digits[ID_DIGITS];
    span_id_format(id, digits);
    struct view value = {(const uint8_t *)digits, sizeof digits};
    uint8_t *out = arena_alloc(splice->arena, otlp_string_attribute_size(ID_KEY, value));
    if (!out) {
        splice->failed = true;
        return (struct view){0};
    }
    return view_between(out, otlp_string_attribute_put(out, SPAN_ATTRIBUTES, ID_KEY, value));
}

static bool edit_says(struct view text, uint64_t id)
{
    char digits[ID_DIGITS];
    span_id_format(id, digits);
    return view_eq(text, (struct view){(const uint8_t *)digits, sizeof digits});
}

/* Replaces the first copy of the attribute by text (data NULL: leaves it) and deletes the
 * others. */
static void keep_one(struct splice *splice, const struct otlp_span *span, struct view text)
{
    struct proto_scan scan = proto_scan_begin(span->body);
    struct proto_field field;
    while (proto_scan_next(&scan, &field)) {
        if (field.number != SPAN_ATTRIBUTES || !view_eq(otlp_key(field.bytes), ID_KEY))
            continue;
        if (field.start != span->profile_attribute.start)
            splice_delete(splice, field.start, field.end);
        else if (text.data)
            splice_replace(splice, field.start, field.end, text);
    }
}

static void annotate(struct splice *splice, const uint8_t *at, const struct span_figures *figures)
{
    int64_t samples = figures->samples, cpu = (int64_t)figures->cpu_ns;
    if (samples == 0 && cpu == 0)
        return;
    bool timed = figures->timed || cpu;
    size_t size = otlp_int_attribute_size(SAMPLES_KEY, samples) +
                  (timed ? otlp_int_attribute_size(CPU_KEY, cpu) : 0);
    uint8_t *text = arena_alloc(splice->arena, size);
    if (!text) {
        splice->failed = true;
        return;
    }
    uint8_t *out = otlp_int_attribute_put(text, SPAN_ATTRIBUTES, SAMPLES_KEY, samples);
    if (timed)
        out = otlp_int_attribute_put(out, SPAN_ATTRIBUTES, CPU_KEY, cpu);
    splice_insert(splice, at, view_between(text, out));
}

static void link_span(struct splice *splice, const struct otlp_span *span, uint64_t id)
{
    if (span->profile_attributes == 0) {
        struct view text = id_attribute(splice, id);
        splice_insert(splice, span->body.data + span->body.size, text);
    } else if (!edit_says(span->profile_id, id)) {
        keep_one(splice, span, id_attribute(splice, id));
    } else if (span->profile_attributes > 1) {
        keep_one(splice, span, (struct view){0});
    }
}

static void unlink_span(struct splice *splice, const struct otlp_span *span, bool keep)
{
    static const uint8_t nothing[1];
    if (span->profile_attributes > (keep ? 1u : 0u))
        keep_one(splice, span, (struct view){keep ? NULL : nothing, 0});
}

void edit_span(struct splice *splice, const struct otlp_span *span, const struct edit *edit,
               const struct edit_policy *policy)
{
    switch (edit->action) {
    case ACTION_LINK:
        link_span(splice, span, edit->figures.id);
        if (policy->annotate && !edit->inherited)
            annotate(splice, span->body.data + span->body.size, &edit->figures);
        break;
    case ACTION_UNLINK:
        unlink_span(splice, span, policy->keep_unconfirmed);
        break;
    case ACTION_WAIT:
    case ACTION_AS_CAME:
        break;
    }
}
