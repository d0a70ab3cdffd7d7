#include "lib/wire/profiles/profiles_to_pprof.h"

#include "lib/wire/pprof/pprof_fields.h"
#include "lib/wire/profiles/otlp_label.h"
#include "lib/wire/profiles/profiles_original.h"
#include "lib/wire/proto/proto_numbers.h"

enum { OTLP_PROFILE_SAMPLES = 2, OTLP_PROFILE_ATTRIBUTES = 11 };
enum { OTLP_STACK = 1, OTLP_ATTRIBUTES, OTLP_LINK, OTLP_VALUES, OTLP_TIMESTAMPS };

/* Limit on bytes read and written, as a multiple of the request's size. Real requests need a few
 * times their size. */
enum { MAX_GROWTH = 256, FREE_WORK = 1 << 20 };

/* The server's default for a profile without a duration. */
static const int64_t default_duration = INT64_C(10000000000);

/* Allocates room for the samples of the largest profile and their services. */
static bool open_samples(struct profiles_to_pprof *conversion, struct view request)
{
    struct otlp_walk walk;
    struct arena *arena = conversion->arena;
    size_t services = (size_t)conversion->attributes.service_count + 1;
    size_t most = 0;
    otlp_walk_begin(&walk, SIGNAL_PROFILES, request);
    for (enum otlp_step step; (step = otlp_walk_next(&walk)) != OTLP_END;) {
        struct proto_scan scan = proto_scan_begin(walk.item.bytes);
        struct proto_field field;
        size_t count = 0;
        while (step == OTLP_ITEM && proto_scan_next(&scan, &field))
            count += field.number == OTLP_PROFILE_SAMPLES;
        most = count > most ? count : most;
    }
    conversion->samples = arena_array(arena, most, sizeof *conversion->samples);
    conversion->first = arena_array(arena, services, sizeof *conversion->first);
    conversion->last = arena_array(arena, services, sizeof *conversion->last);
    conversion->services = arena_array(arena, services, sizeof *conversion->services);
    return conversion->samples && conversion->first && conversion->last && conversion->services;
}

bool profiles_to_pprof_begin(struct profiles_to_pprof *conversion, struct view request,
                             const struct profiles_policy *policy, struct arena *arena,
                             const char **reason)
{
    *conversion = (struct profiles_to_pprof){
        .policy = *policy,
        .arena = arena,
        .limit = request.size > (SIZE_MAX - FREE_WORK) / MAX_GROWTH
                     ? SIZE_MAX
                     : request.size * MAX_GROWTH + FREE_WORK,
    };
    if (!otlp_dictionary_open(&conversion->dictionary, request, arena, reason))
        return false;
    *reason = "too large";
    conversion->labels = arena_alloc(arena, sizeof *conversion->labels);
    /* Indices have 32 bits; an entry takes at least two bytes. */
    if (!conversion->labels || request.size >= UINT32_MAX ||
        !profiles_attributes_open(&conversion->attributes, &conversion->dictionary, arena) ||
        !pprof_make_open(&conversion->make, &conversion->attributes, arena) ||
        !open_samples(conversion, request))
        return false;
    otlp_walk_begin(&conversion->walk, SIGNAL_PROFILES, request);
    *reason = NULL;
    return true;
}

/* What is read from a sample before it is written. */
struct reading {
    uint64_t stack, link, sum;
    size_t values, stamps;
    uint32_t service;
};

/* The first service.name among the attributes wins. */
static uint32_t service_in(const struct profiles_to_pprof *conversion,
                           const struct proto_field *field, bool *named)
{
    struct proto_numbers numbers = proto_numbers_begin(field);
    uint64_t index;
    while (!*named && proto_numbers_next(&numbers, &index)) {
        const struct profiles_attribute *attribute =
            profiles_attribute(&conversion->attributes, index);
        *named = attribute->kind == ATTRIBUTE_SERVICE_NAME;
        if (*named)
            return attribute->service;
    }
    return 0;
}

static struct reading profiles_to_pprof_read_sample(const struct profiles_to_pprof *conversion,
                                                    struct view body)
{
    struct proto_scan scan = proto_scan_begin(body);
    struct proto_field field;
    struct reading reading = {0};
    bool named = conversion->attributes.service_count == 0;
    uint64_t value;
    while (proto_scan_next(&scan, &field)) {
        struct proto_numbers numbers = proto_numbers_begin(&field);
        if (field.number == OTLP_STACK)
            reading.stack = field.value;
        else if (field.number == OTLP_LINK)
            reading.link = field.value;
        else if (field.number == OTLP_ATTRIBUTES && !named)
            reading.service = service_in(conversion, &field, &named);
        else if (field.number == OTLP_TIMESTAMPS)
            reading.stamps += field.type == WIRE_LEN ? field.bytes.size / 8 : 1;
        else if (field.number == OTLP_VALUES)
            for (; proto_numbers_next(&numbers, &value); reading.values++)
                reading.sum += value;
    }
    return reading;
}

/* Appends a sample to the list of its service. */
static void add_sample(struct profiles_to_pprof *conversion, uint32_t place, uint32_t service)
{
    if (conversion->first[service])
        conversion->samples[conversion->last[service] - 1].next = place;
    else
        conversion->services[conversion->service_count++] = service;
    if (!conversion->first[service])
        conversion->first[service] = place;
    conversion->last[service] = place;
}

/* Groups the profile's samples by service; returns whether any has a link with a span id. */
static bool take_samples(struct profiles_to_pprof *conversion, struct view body)
{
    struct proto_scan scan = proto_scan_begin(body);
    struct proto_field field;
    uint32_t count = 0;
    bool linked = false;
    conversion->service_count = conversion->service_at = 0;
    while (proto_scan_next(&scan, &field)) {
        if (field.number != OTLP_PROFILE_SAMPLES)
            continue;
        struct reading reading = profiles_to_pprof_read_sample(conversion, field.bytes);
        conversion->samples[count++] = (struct profiles_sample){field.bytes, 0};
        add_sample(conversion, count, reading.service);
        linked |= reading.link < conversion->make.links.count &&
                  conversion->make.links.spans[reading.link].size;
    }
    return linked;
}

/* Clears the remaining services for the next profile. */
static void leave_profile(struct profiles_to_pprof *conversion)
{
    for (; conversion->service_at < conversion->service_count; conversion->service_at++)
        conversion->first[conversion->services[conversion->service_at]] = 0;
}

static const char too_much[] = "the profiles would multiply in size";

static int64_t times(uint64_t value, int64_t factor)
{
    int64_t product;
    if (!__builtin_mul_overflow((int64_t)value, factor, &product))
        return product;
    return ((int64_t)value < 0) == (factor < 0) ? INT64_MAX : INT64_MIN;
}

static bool within(const struct profiles_to_pprof *conversion, const struct bytes *out)
{
    return conversion->work + conversion->make.work + out->size <= conversion->limit;
}

/* Writes the samples of a service; *count is the number with a value. False: too much work. */
static bool write_samples(struct profiles_to_pprof *conversion, uint32_t service, int64_t factor,
                          uint32_t *count)
{
    struct pprof_make *make = &conversion->make;
    uint32_t place = conversion->first[service];
    for (*count = 0; place; place = conversion->samples[place - 1].next) {
        struct view body = conversion->samples[place - 1].body;
        struct reading reading = profiles_to_pprof_read_sample(conversion, body);
        struct pprof_make_sample sample = {
            .body = body,
            .stack = reading.stack,
            .link = reading.link,
            .value = times(reading.values ? reading.sum : reading.stamps, factor),
            .trace_ids = conversion->policy.trace_ids,
        };
        if (reading.values + reading.stamps == 0)
            continue;
        pprof_make_sample(make, &sample);
        ++*count;
        if (!within(conversion, make->write.out))
            return false;
    }
    return true;
}

static void write_type(struct pprof_make *make, uint32_t number, struct view type, struct view unit)
{
    uint32_t type_index = pprof_make_text(make, NULL, type);
    uint32_t unit_index = pprof_make_text(make, NULL, unit);
    size_t opened = proto_write_open(&make->write, number);
    proto_write_number(&make->write, 1, type_index);
    proto_write_number(&make->write, 2, unit_index);
    proto_write_close(&make->write, opened);
}

/* Writes a Profile's attribute that applies to the whole pprof. */
static void write_attribute(struct profiles_to_pprof *conversion, uint64_t index)
{
    const struct profiles_attribute *attribute = profiles_attribute(&conversion->attributes, index);
    const struct otlp_dictionary *dictionary = &conversion->dictionary;
    struct pprof_make *make = &conversion->make;
    uint32_t number = attribute->kind == ATTRIBUTE_DROP_FRAMES   ? PROFILE_DROP_FRAMES
                      : attribute->kind == ATTRIBUTE_KEEP_FRAMES ? PROFILE_KEEP_FRAMES
                      : attribute->kind == ATTRIBUTE_DOC_URL     ? PROFILE_DOC_URL
                      : attribute->kind == ATTRIBUTE_COMMENT     ? PROFILE_COMMENT
                                                                 : 0;
    if (number && number != PROFILE_COMMENT)
        proto_write_number(&make->write, number, pprof_make_text(make, NULL, attribute->text));
    if (number != PROFILE_COMMENT)
        return;
    struct otlp_label_list list = {0};
    struct view text, body = dictionary->of[OTLP_TABLE_ATTRIBUTE].entries[index];
    while (within(conversion, make->write.out) && otlp_label_next(dictionary, body, &list, &text))
        proto_write_number(&make->write, PROFILE_COMMENT, pprof_make_text(make, NULL, text));
}

static void write_head(struct profiles_to_pprof *conversion, const struct profiles_naming *naming)
{
    const struct otlp_profile *profile = &conversion->at;
    struct pprof_make *make = &conversion->make;
    struct proto_scan scan = proto_scan_begin(profile->body);
    struct proto_field field;
    uint64_t time = profile->time_ns ? profile->time_ns : conversion->policy.now_ns;
    uint64_t duration = profile->duration_ns ? profile->duration_ns : (uint64_t)default_duration;
    uint64_t index;
    write_type(make, PROFILE_SAMPLE_TYPE, naming->type, naming->unit);
    proto_write_number(&make->write, PROFILE_TIME_NANOS, time);
    proto_write_number(&make->write, PROFILE_DURATION_NANOS, duration);
    if (profile->period_type.size || profile->period_unit.size)
        write_type(make, PROFILE_PERIOD_TYPE, profile->period_type, profile->period_unit);
    proto_write_number(&make->write, PROFILE_PERIOD, (uint64_t)profile->period);
    proto_write_number(&make->write, PROFILE_DEFAULT_SAMPLE_TYPE,
                       pprof_make_text(make, NULL, naming->type));
    while (proto_scan_next(&scan, &field)) {
        struct proto_numbers numbers = proto_numbers_begin(&field);
        while (field.number == OTLP_PROFILE_ATTRIBUTES && proto_numbers_next(&numbers, &index))
            write_attribute(conversion, index);
    }
}

/* Ends the conversion. */
static const char *break_off(struct profiles_to_pprof *conversion, const char *why)
{
    leave_profile(conversion);
    conversion->walk = (struct otlp_walk){.signal = SIGNAL_PROFILES};
    otlp_walk_begin(&conversion->walk, SIGNAL_PROFILES, VIEW(""));
    return why;
}

/* Makes the pprof of one service. False: *reason says why there is none; NULL: no samples. */
static bool write_part(struct profiles_to_pprof *conversion, uint32_t service,
                       struct profiles_part *part, struct bytes *out, const char **reason)
{
    struct profiles_naming naming = profiles_naming(&conversion->at);
    pprof_make_begin(&conversion->make, out);
    write_head(conversion, &naming);
    if (!write_samples(conversion, service, naming.factor, &part->samples) ||
        !within(conversion, out)) {
        *reason = break_off(conversion, too_much);
        return false;
    }
    *reason = part->samples ? pprof_make_end(&conversion->make) : NULL;
    conversion->work += out->size;
    if (conversion->make.failed)
        break_off(conversion, *reason);
    if (*reason || !part->samples)
        return false;
    part->series =
        profiles_series(conversion->labels, naming.name, conversion->attributes.services[service]);
    *reason = part->series ? NULL : "no memory for the labels";
    return part->series;
}

/* Makes the pprof from the profile's original_payload. False: there is no usable one. */
static bool write_original(struct profiles_to_pprof *conversion, struct view payload, bool linked,
                           struct profiles_part *part, struct bytes *out)
{
    const struct profiles_original_use use = {
        .time_ns = conversion->at.time_ns ? conversion->at.time_ns : conversion->policy.now_ns,
        .strip_trace_id = !conversion->policy.trace_ids,
        .needs_spans = linked,
    };
    struct profiles_original_pprof pprof;
    bool good = profiles_original_write(payload, &use, conversion->arena, out, &pprof);
    conversion->work += pprof.inflated;
    if (good && within(conversion, out))
        part->series = profiles_series(conversion->labels, pprof.name, VIEW(""));
    part->original = part->series;
    part->samples = part->original ? pprof.samples : 0;
    if (!part->original)
        bytes_clear(out);
    return part->original;
}

/* Begins the walk's current profile. True: its payload is the part. */
static bool begin_profile(struct profiles_to_pprof *conversion, struct profiles_part *part,
                          struct bytes *out)
{
    struct view body = conversion->walk.item.bytes, payload = profiles_original(body);
    otlp_profile_read(&conversion->dictionary, body, &conversion->at);
    conversion->profile++;
    bool linked = take_samples(conversion, body);
    bool services = conversion->service_count > 1 ||
                    (conversion->service_count == 1 && conversion->services[0] != 0);
    if (!payload.data || services)
        return false;
    bool again = conversion->payload.data && view_eq(payload, conversion->payload);
    *part = (struct profiles_part){.profile = conversion->profile - 1};
    if (!again && !write_original(conversion, payload, linked, part, out))
        return false;
    conversion->payload = payload;
    leave_profile(conversion);
    return !again;
}

/* Begins the walk's current scope. NULL: success; else why not. */
static const char *begin_scope(struct profiles_to_pprof *conversion)
{
    const struct otlp_walk *walk = &conversion->walk;
    conversion->payload = (struct view){0};
    conversion->work += walk->resource_entry.bytes.size;
    if (conversion->work > conversion->limit)
        return break_off(conversion, too_much);
    if (profiles_labels_read(conversion->labels, &conversion->dictionary,
                             walk->resource_entry.bytes, walk->scope_entry.bytes,
                             conversion->arena))
        return NULL;
    return break_off(conversion, "too large");
}

/* Moves to the next profile with samples, or with a payload that is the part. False: *reason, or
 * NULL at the end. */
static bool profiles_to_pprof_advance(struct profiles_to_pprof *conversion,
                                      struct profiles_part *part, struct bytes *out,
                                      const char **reason)
{
    for (enum otlp_step step; (step = otlp_walk_next(&conversion->walk)) != OTLP_END;) {
        if (step == OTLP_SCOPE && (*reason = begin_scope(conversion)))
            return false;
        if (step == OTLP_ITEM && (begin_profile(conversion, part, out) ||
                                  conversion->service_at < conversion->service_count))
            return true;
    }
    return false;
}

bool profiles_to_pprof_next(struct profiles_to_pprof *conversion, struct profiles_part *part,
                            struct bytes *out, const char **reason)
{
    bool made = false;
    *reason = NULL;
    while (!made && !*reason) {
        *part = (struct profiles_part){0};
        bytes_clear(out);
        if (conversion->service_at == conversion->service_count &&
            !profiles_to_pprof_advance(conversion, part, out, reason))
            break;
        if (part->original)
            return true;
        uint32_t service = conversion->services[conversion->service_at];
        part->profile = conversion->profile - 1;
        made = write_part(conversion, service, part, out, reason);
        /* After break_off the profile has been left already. */
        if (conversion->service_at < conversion->service_count)
            conversion->first[conversion->services[conversion->service_at++]] = 0;
    }
    if (!made)
        bytes_clear(out);
    return made;
}
