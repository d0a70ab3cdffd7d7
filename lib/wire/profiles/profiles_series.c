#include "lib/wire/profiles/profiles_series.h"

#include "lib/wire/profiles/otlp_label.h"

enum { ENTRY_RESOURCE = 1, RESOURCE_ATTRIBUTES = 1, ENTRY_SCOPE = 1, SCOPE_ATTRIBUTES = 3 };

/* __delta__, __otel__, __name__ and service_name. */
enum { OWN_LABELS = 4 };

static bool is_own(struct view key)
{
    return key.size == 0 || view_eq(key, VIEW("__name__")) || view_eq(key, VIEW("__delta__")) ||
           view_eq(key, VIEW("__otel__")) || view_eq(key, VIEW("service_name"));
}

static bool profiles_series_has(const struct profiles_labels *labels, struct view key)
{
    for (size_t i = 0; i < labels->count; i++)
        if (view_eq(labels->labels[i].name, key))
            return true;
    return false;
}

/* The candidates for the service name, in order of precedence. */
struct naming {
    struct view label, name, executable;
};

static void note_service(struct naming *naming, struct view key, struct view text)
{
    struct view *place = view_eq(key, VIEW("service_name"))              ? &naming->label
                         : view_eq(key, VIEW("service.name"))            ? &naming->name
                         : view_eq(key, VIEW("process.executable.name")) ? &naming->executable
                                                                         : NULL;
    if (place && !place->size)
        *place = text;
}

static bool profiles_series_add(struct profiles_labels *labels,
                                const struct otlp_dictionary *dictionary, struct view key_value,
                                struct naming *naming, struct arena *arena)
{
    struct view key = otlp_label_key(dictionary, key_value), text;
    if (!otlp_label_text(dictionary, key_value, arena, &text))
        return false;
    if (text.size && naming)
        note_service(naming, key, text);
    if (text.size && !is_own(key) && labels->count < PROFILES_MAX_LABELS - OWN_LABELS &&
        !profiles_series_has(labels, key))
        labels->labels[labels->count++] = (struct series_label){key, text};
    return true;
}

/* Reads the attributes of field `list` in each message of field `number`. */
static bool profiles_series_read_list(struct profiles_labels *labels,
                                      const struct otlp_dictionary *dictionary, struct view entry,
                                      uint32_t list, struct naming *naming, struct arena *arena)
{
    struct proto_scan scan = proto_scan_begin(entry);
    struct proto_field message, field;
    bool good = true;
    while (good && proto_scan_next(&scan, &message)) {
        if (message.number != ENTRY_RESOURCE)
            continue;
        struct proto_scan inner = proto_scan_begin(message.bytes);
        while (good && proto_scan_next(&inner, &field))
            if (field.number == list)
                good = profiles_series_add(labels, dictionary, field.bytes, naming, arena);
    }
    return good;
}

static bool choose_service(struct profiles_labels *labels, const struct naming *naming,
                           struct arena *arena)
{
    static const struct view unknown = {(const uint8_t *)"unknown_service", 15};
    labels->service = naming->label.size ? naming->label : naming->name;
    if (labels->service.size)
        return true;
    labels->service = unknown;
    if (!naming->executable.size)
        return true;
    uint8_t *text = arena_alloc(arena, unknown.size + 1 + naming->executable.size);
    if (!text)
        return false;
    uint8_t *end = proto_bytes_put(text, unknown);
    *end++ = ':';
    labels->service = view_between(text, proto_bytes_put(end, naming->executable));
    return true;
}

bool profiles_labels_read(struct profiles_labels *labels, const struct otlp_dictionary *dictionary,
                          struct view resource, struct view scope, struct arena *arena)
{
    struct naming naming = {.label = VIEW("")};
    labels->count = 0;
    return profiles_series_read_list(labels, dictionary, resource, RESOURCE_ATTRIBUTES, &naming,
                                     arena) &&
           profiles_series_read_list(labels, dictionary, scope, SCOPE_ATTRIBUTES, NULL, arena) &&
           choose_service(labels, &naming, arena);
}

struct series *profiles_series(const struct profiles_labels *labels, struct view name,
                               struct view service)
{
    struct series_label all[PROFILES_MAX_LABELS] = {
        {VIEW("__delta__"), VIEW("false")},
        {VIEW("__otel__"), VIEW("true")},
        {VIEW("__name__"), name},
    };
    memcpy(all + 3, labels->labels, labels->count * sizeof *all);
    all[labels->count + 3] =
        (struct series_label){VIEW("service_name"), service.size ? service : labels->service};
    return series_new(all, labels->count + OWN_LABELS);
}

struct profiles_naming profiles_naming(const struct otlp_profile *profile)
{
    bool period = profile->period != 0 && (profile->period_type.size || profile->period_unit.size);
    struct profiles_naming naming = {VIEW("process_cpu"), profile->type, profile->unit, 1};
    if (period && view_eq(profile->type, VIEW("samples")) &&
        view_eq(profile->unit, VIEW("count")) && view_eq(profile->period_type, VIEW("cpu")) &&
        view_eq(profile->period_unit, VIEW("nanoseconds"))) {
        naming.type = VIEW("cpu");
        naming.unit = VIEW("nanoseconds");
        naming.factor = profile->period;
    } else if (!period && view_eq(profile->type, VIEW("off_cpu")) &&
               view_eq(profile->unit, VIEW("nanoseconds"))) {
        naming.name = VIEW("off_cpu");
    } else if (period && profile->period_type.size) {
        naming.name = profile->period_type;
    }
    return naming;
}
