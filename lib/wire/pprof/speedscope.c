#include "lib/wire/pprof/speedscope.h"

#include "lib/wire/json/json_scan.h"

#include <math.h>
#include <stdlib.h>
#include <strings.h>

static const struct view schema = {
    (const uint8_t *)"https://www.speedscope.app/file-format-schema.json", 50};

struct reading {
    struct speedscope *file;
    struct bytes *stack;
    const struct speedscope_visit *visit; /* NULL: it is only checked */
    bool no_memory;
    uint64_t frames;
};

static bool speedscope_refuse(struct reading *reading, const char *fault)
{
    if (!reading->file->fault)
        reading->file->fault = fault;
    return false;
}

/* The server ignores the case of names. */
static bool is_named(struct json_text key, const char *name)
{
    return key.raw.size == strlen(name) &&
           strncasecmp((const char *)key.raw.data, name, key.raw.size) == 0;
}

/* Skips a value that must be of a kind; null means its zero value. */
static bool expect(struct reading *reading, struct json_scan *scan, enum json_kind kind,
                   struct json_text *text)
{
    enum json_kind is = json_scan_kind(scan);
    *text = (struct json_text){0};
    if (is == JSON_KIND_NULL)
        return json_scan_skip(scan);
    if (is != kind)
        return scan->fault ? false : speedscope_refuse(reading, "a value of an unexpected type");
    return kind == JSON_KIND_STRING ? json_scan_string(scan, text) : json_scan_number(scan, text);
}

static bool speedscope_read_number(struct reading *reading, struct json_scan *scan, double *number)
{
    struct json_text text;
    char copy[64];
    *number = 0;
    if (!expect(reading, scan, JSON_KIND_NUMBER, &text))
        return false;
    if (text.raw.size >= sizeof copy)
        return speedscope_refuse(reading, "a number that is too long");
    if (text.raw.size) {
        memcpy(copy, text.raw.data, text.raw.size);
        copy[text.raw.size] = '\0';
        *number = strtod(copy, NULL);
    }
    return isfinite(*number) || speedscope_refuse(reading, "a number that is too large");
}

static bool speedscope_read_string(struct reading *reading, struct json_scan *scan,
                                   struct view *text)
{
    struct json_text read;
    bool good = expect(reading, scan, JSON_KIND_STRING, &read);
    *text = read.raw;
    return good;
}

/* Steps into an object or array; false: null, which was skipped, or another value. */
static bool enter(struct reading *reading, struct json_scan *scan, enum json_kind kind)
{
    enum json_kind is = json_scan_kind(scan);
    if (is == kind)
        json_scan_enter(scan);
    else if (is == JSON_KIND_NULL)
        json_scan_skip(scan);
    else if (!scan->fault)
        speedscope_refuse(reading, "a value of an unexpected type");
    return is == kind;
}

static bool is_good(const struct reading *reading, const struct json_scan *scan)
{
    return !reading->file->fault && !reading->no_memory && !scan->fault;
}

static bool is_good_so_far(const struct reading *reading)
{
    return !reading->file->fault && !reading->no_memory;
}

/* The stack's bytes are free until the profiles are read: the name is unescaped there. */
static bool visit_frame(struct reading *reading, struct json_text name)
{
    struct view text = name.raw;
    bytes_clear(reading->stack);
    if (name.escaped) {
        if (bytes_reserve(reading->stack, text.size) != BYTES_OK)
            return false;
        text = (struct view){reading->stack->data, json_scan_unescape(name, reading->stack->data)};
    }
    return reading->visit->frame(reading->visit->ctx, text);
}

static void visit_stack(struct reading *reading, struct view unit, double weight)
{
    const struct speedscope_visit *visit = reading->visit;
    size_t count = reading->stack->size / sizeof(uint32_t);
    if (visit && count && weight > 0 && is_good_so_far(reading))
        reading->no_memory |= !visit->stack(
            visit->ctx, unit, (const uint32_t *)(void *)reading->stack->data, count, weight);
}

/* One of shared.frames. */
static bool read_frame(struct reading *reading, struct json_scan *scan)
{
    struct json_text key, name = {0};
    bool first = true;
    if (!reading->visit || json_scan_kind(scan) != JSON_KIND_OBJECT) {
        struct view none = {0};
        bool skipped = json_scan_skip(scan);
        if (skipped && reading->visit)
            reading->no_memory |= !reading->visit->frame(reading->visit->ctx, none);
        return skipped;
    }
    json_scan_enter(scan);
    while (json_scan_member(scan, &first, &key)) {
        bool named = is_named(key, "name") && json_scan_kind(scan) == JSON_KIND_STRING;
        if (!(named ? json_scan_string(scan, &name) : json_scan_skip(scan)))
            return false;
    }
    reading->no_memory |= scan->fault ? false : !visit_frame(reading, name);
    return !scan->fault && !reading->no_memory;
}

static void count_frames(struct reading *reading, struct json_scan *scan)
{
    struct json_text key;
    bool first = true, first_frame = true;
    if (!enter(reading, scan, JSON_KIND_OBJECT))
        return;
    while (is_good(reading, scan) && json_scan_member(scan, &first, &key)) {
        if (!is_named(key, "frames")) {
            json_scan_skip(scan);
            continue;
        }
        reading->frames = 0;
        if (enter(reading, scan, JSON_KIND_ARRAY))
            while (json_scan_element(scan, &first_frame) && read_frame(reading, scan))
                reading->frames++;
    }
}

struct event {
    struct view type;
    double at, frame;
};

static bool read_event(struct reading *reading, struct json_scan *scan, struct event *event)
{
    struct json_text key;
    bool first = true, good = true;
    *event = (struct event){0};
    if (!enter(reading, scan, JSON_KIND_OBJECT))
        return is_good(reading, scan);
    while (good && json_scan_member(scan, &first, &key))
        good = is_named(key, "type")    ? speedscope_read_string(reading, scan, &event->type)
               : is_named(key, "at")    ? speedscope_read_number(reading, scan, &event->at)
               : is_named(key, "frame") ? speedscope_read_number(reading, scan, &event->frame)
                                        : json_scan_skip(scan);
    return good && is_good(reading, scan);
}

static bool is_frame(const struct reading *reading, double frame)
{
    return frame > -1 && frame < (double)reading->frames;
}

static bool open_frame(struct reading *reading, uint32_t frame)
{
    reading->no_memory = bytes_append(reading->stack, &frame, sizeof frame) != BYTES_OK;
    return !reading->no_memory;
}

static bool close_frame(struct reading *reading, uint32_t frame)
{
    struct bytes *stack = reading->stack;
    uint32_t top;
    if (stack->size == 0)
        return speedscope_refuse(reading, "an event closes a frame and none is open");
    memcpy(&top, stack->data + stack->size - sizeof top, sizeof top);
    stack->size -= sizeof top;
    return top == frame ||
           speedscope_refuse(reading, "an event closes a frame that is not the open one");
}

static bool take_event(struct reading *reading, const struct event *event, struct view unit,
                       double *last)
{
    if (event->at < *last)
        return speedscope_refuse(reading, "events out of order");
    visit_stack(reading, unit, event->at - *last);
    *last = event->at;
    if (!is_frame(reading, event->frame))
        return speedscope_refuse(reading, "a frame that is not in shared.frames");
    if (view_eq(event->type, VIEW("O")))
        return open_frame(reading, (uint32_t)event->frame);
    if (view_eq(event->type, VIEW("C")))
        return close_frame(reading, (uint32_t)event->frame);
    return speedscope_refuse(reading, "an event that is neither O nor C");
}

/* The positions of a profile's parts; at NULL: absent. */
struct profile {
    struct view type, unit;
    double start;
    struct json_scan events, samples, weights;
};

static void check_events(struct reading *reading, const struct profile *profile)
{
    struct json_scan scan = profile->events;
    struct event event;
    bool first = true;
    double last = profile->start;
    bytes_clear(reading->stack);
    if (!scan.at || !enter(reading, &scan, JSON_KIND_ARRAY))
        return;
    while (json_scan_element(&scan, &first) && read_event(reading, &scan, &event))
        if (!take_event(reading, &event, profile->unit, &last))
            return;
}

/* Puts the frames of a sample on the stack. */
static void read_stack(struct reading *reading, struct json_scan *scan)
{
    bool first = true;
    double frame;
    bytes_clear(reading->stack);
    if (!enter(reading, scan, JSON_KIND_ARRAY))
        return;
    while (json_scan_element(scan, &first) && speedscope_read_number(reading, scan, &frame)) {
        if (!is_frame(reading, frame))
            speedscope_refuse(reading, "a frame that is not in shared.frames");
        else if (reading->visit && !open_frame(reading, (uint32_t)frame))
            return;
    }
}

/* Checks the frames of each sample; returns the number of samples. */
static size_t check_stacks(struct reading *reading, struct json_scan scan)
{
    size_t count = 0;
    bool first = true;
    if (!scan.at || !enter(reading, &scan, JSON_KIND_ARRAY))
        return 0;
    for (; is_good(reading, &scan) && json_scan_element(&scan, &first); count++)
        read_stack(reading, &scan);
    return count;
}

/* Samples with their weights; both were checked. */
static void visit_samples(struct reading *reading, const struct profile *profile)
{
    struct json_scan samples = profile->samples, weights = profile->weights;
    bool first = true, first_weight = true;
    double weight;
    if (!samples.at || !weights.at || !enter(reading, &samples, JSON_KIND_ARRAY) ||
        !enter(reading, &weights, JSON_KIND_ARRAY))
        return;
    while (is_good(reading, &samples) && json_scan_element(&samples, &first) &&
           json_scan_element(&weights, &first_weight) &&
           speedscope_read_number(reading, &weights, &weight)) {
        read_stack(reading, &samples);
        visit_stack(reading, profile->unit, weight);
    }
}

static size_t check_weights(struct reading *reading, struct json_scan scan)
{
    size_t count = 0;
    bool first = true;
    double weight;
    if (!scan.at || !enter(reading, &scan, JSON_KIND_ARRAY))
        return 0;
    for (; json_scan_element(&scan, &first) && speedscope_read_number(reading, &scan, &weight);
         count++)
        if (weight < 0)
            speedscope_refuse(reading, "a weight below 0");
    return count;
}

static bool is_unit(struct view unit)
{
    static const char *const units[] = {"none",         "nanoseconds", "microseconds",
                                        "milliseconds", "seconds",     "bytes"};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (view_eq(unit, view_of(units[i])))
            return true;
    return false;
}

static void check_profile(struct reading *reading, const struct profile *profile)
{
    if (!is_unit(profile->unit))
        speedscope_refuse(reading, "an unknown unit");
    else if (view_eq(profile->type, VIEW("evented")))
        check_events(reading, profile);
    else if (!view_eq(profile->type, VIEW("sampled")))
        speedscope_refuse(reading, "a profile that is neither evented nor sampled");
    else if (check_stacks(reading, profile->samples) != check_weights(reading, profile->weights))
        speedscope_refuse(reading, "not as many weights as samples");
    else if (reading->visit)
        visit_samples(reading, profile);
}

static bool speedscope_read_profile(struct reading *reading, struct json_scan *scan,
                                    struct profile *profile)
{
    struct json_text key;
    struct view name;
    bool first = true, good = true;
    double end;
    *profile = (struct profile){0};
    if (!enter(reading, scan, JSON_KIND_OBJECT))
        return is_good(reading, scan);
    while (good && json_scan_member(scan, &first, &key)) {
        struct json_scan *list = is_named(key, "events")    ? &profile->events
                                 : is_named(key, "samples") ? &profile->samples
                                 : is_named(key, "weights") ? &profile->weights
                                                            : NULL;
        if (list)
            *list = *scan;
        good = is_named(key, "type")   ? speedscope_read_string(reading, scan, &profile->type)
               : is_named(key, "unit") ? speedscope_read_string(reading, scan, &profile->unit)
               : is_named(key, "name") ? speedscope_read_string(reading, scan, &name)
               : is_named(key, "startvalue")
                   ? speedscope_read_number(reading, scan, &profile->start)
               : is_named(key, "endvalue") ? speedscope_read_number(reading, scan, &end)
                                           : json_scan_skip(scan);
    }
    return good && is_good(reading, scan);
}

static void speedscope_check_profiles(struct reading *reading, struct json_scan scan)
{
    struct profile profile;
    bool first = true;
    if (!scan.at || !enter(reading, &scan, JSON_KIND_ARRAY))
        return;
    while (is_good(reading, &scan) && json_scan_element(&scan, &first)) {
        reading->file->profile = ++reading->file->profiles;
        if (speedscope_read_profile(reading, &scan, &profile))
            check_profile(reading, &profile);
    }
}

bool speedscope_read(struct speedscope *file, struct view text, struct bytes *stack)
{
    return speedscope_visit(file, text, stack, NULL);
}

bool speedscope_visit(struct speedscope *file, struct view text, struct bytes *stack,
                      const struct speedscope_visit *visit)
{
    struct reading reading = {.file = file, .stack = stack, .visit = visit};
    struct json_scan scan = json_scan_begin(text), profiles = {0};
    struct json_text key;
    struct view named = {0};
    bool first = true;
    *file = (struct speedscope){0};
    if (enter(&reading, &scan, JSON_KIND_OBJECT))
        while (is_good(&reading, &scan) && json_scan_member(&scan, &first, &key)) {
            if (is_named(key, "profiles"))
                profiles = scan;
            if (is_named(key, "$schema"))
                speedscope_read_string(&reading, &scan, &named);
            else if (is_named(key, "shared"))
                count_frames(&reading, &scan);
            else
                json_scan_skip(&scan);
        }
    if (scan.fault || (!file->fault && !json_scan_end(&scan)))
        file->fault = "it is not JSON";
    else if (!file->fault && !view_eq(named, schema))
        file->fault = "its $schema is not speedscope's";
    if (!file->fault)
        speedscope_check_profiles(&reading, profiles);
    return !reading.no_memory;
}
