#include "lib/wire/jfr/jfr.h"

#include "lib/wire/jfr/jfr_chunk.h"

/* Result of one step of the iteration. */
enum found { FOUND_EVENT, FOUND_OTHER, FOUND_END, FOUND_BAD };

static const enum jfr_kind kinds[JFR_CLASS_SETTING] = {
    [JFR_CLASS_EXECUTION] = JFR_EXECUTION, [JFR_CLASS_WALL] = JFR_WALL,
    [JFR_CLASS_NEW_TLAB] = JFR_ALLOCATION, [JFR_CLASS_OUTSIDE_TLAB] = JFR_ALLOCATION_OUTSIDE,
    [JFR_CLASS_MONITOR] = JFR_LOCK,
};

/* JFR_CLASSES: a class that is not read. */
static int class_of(const struct jfr_chunk *chunk, uint64_t type)
{
    int index = 0;
    while (index < JFR_CLASSES && chunk->types[index] != type)
        index++;
    return type == 0 ? JFR_CLASSES : index;
}

/* Counts like Pyroscope since 1.19: an execution sample is CPU time unless the thread sleeps; if
 * async-profiler samples by wall clock, all samples are wall time, and those of running threads are
 * also CPU time. */
static void jfr_count(struct jfr_event *event, enum jfr_state state, bool wall)
{
    if (event->kind == JFR_EXECUTION) {
        event->counts_cpu = state != JFR_STATE_UNKNOWN && state != JFR_STATE_SLEEPING;
        event->counts_wall = wall;
    } else if (event->kind == JFR_WALL) {
        event->counts_cpu = wall && state == JFR_STATE_RUNNABLE;
        event->counts_wall = true;
    }
}

/* Ticks as ns, at most INT64_MAX. */
static uint64_t duration_of(const struct jfr_chunk *chunk, uint64_t ticks)
{
    double nanos = (double)ticks * 1e9 / (double)chunk->ticks_per_second;
    return nanos < (double)INT64_MAX ? (uint64_t)nanos : INT64_MAX;
}

static uint64_t amount_of(enum jfr_kind kind, const uint64_t numbers[JFR_NUMBERS],
                          const struct jfr_chunk *chunk)
{
    switch (kind) {
    case JFR_ALLOCATION:
        return numbers[JFR_SLOT_TLAB];
    case JFR_ALLOCATION_OUTSIDE:
        return numbers[JFR_SLOT_SIZE];
    case JFR_LOCK:
        return duration_of(chunk, numbers[JFR_SLOT_DURATION]);
    case JFR_EXECUTION:
    case JFR_WALL:
        break;
    }
    return 0;
}

static void jfr_fill(struct jfr_event *event, const struct jfr_values *values,
                     const struct jfr_chunk *chunk)
{
    event->stack = values->numbers[JFR_SLOT_STACK_TRACE];
    event->has_stack = values->numbers[JFR_SLOT_STACK_TRACE] != 0;
    event->span_id = values->numbers[JFR_SLOT_SPAN_ID];
    event->trace_hi = values->numbers[JFR_SLOT_TRACE_HI];
    event->trace_lo = values->numbers[JFR_SLOT_TRACE_LO];
    event->span_name = values->numbers[JFR_SLOT_SPAN_NAME];
    event->context = values->numbers[JFR_SLOT_CONTEXT];
    event->samples = values->numbers[JFR_SLOT_SAMPLES];
    event->amount = amount_of(event->kind, values->numbers, chunk);
    event->time_nanos = jfr_chunk_time(chunk, values->numbers[JFR_SLOT_START_TIME]);
}

static enum found jfr_read_sample(const struct jfr_chunk *chunk, int class,
                                  const struct jfr_frame *frame, bool wall, struct jfr_event *event)
{
    struct jfr_values values;
    memset(values.numbers, 0, sizeof values.numbers);
    values.numbers[JFR_SLOT_START_TIME] = chunk->start_ticks;
    values.numbers[JFR_SLOT_SAMPLES] = 1;
    if (!jfr_plan_run(&chunk->plans[class], frame->content, frame->end, &values))
        return FOUND_BAD;
    uint64_t key = values.numbers[JFR_SLOT_STATE];
    *event = (struct jfr_event){.kind = kinds[class]};
    jfr_fill(event, &values, chunk);
    jfr_count(event, key < JFR_STATES ? chunk->states[key] : JFR_STATE_UNKNOWN, wall);
    return FOUND_EVENT;
}

static enum found read_setting(const struct jfr_chunk *chunk, const struct jfr_frame *frame,
                               struct view *mode)
{
    struct jfr_values values = {0};
    const struct jfr_plan *plan = &chunk->plans[JFR_CLASS_SETTING];
    if (!jfr_plan_run(plan, frame->content, frame->end, &values))
        return FOUND_BAD;
    if (view_eq(values.strings[JFR_SLOT_NAME - JFR_NUMBERS], VIEW("event")))
        *mode = values.strings[JFR_SLOT_VALUE - JFR_NUMBERS];
    return FOUND_OTHER;
}

/* Reads one event of the current chunk; scan->at stays at a bad one. */
static enum found step(struct jfr_scan *scan, struct view *mode, struct jfr_event *event)
{
    const struct jfr_chunk *chunk = scan->chunk;
    const uint8_t *end = chunk->bytes.data + chunk->bytes.size;
    enum found found = FOUND_OTHER;
    struct jfr_frame frame;
    if (scan->at == end)
        return FOUND_END;
    if (!jfr_frame(scan->at, end, &frame))
        return FOUND_BAD;
    int class = class_of(chunk, frame.type);
    if (class < JFR_CLASS_SETTING)
        found = jfr_read_sample(chunk, class, &frame, scan->wall, event);
    else if (class == JFR_CLASS_SETTING)
        found = read_setting(chunk, &frame, mode);
    if (found != FOUND_BAD)
        scan->at = frame.end;
    if (class == JFR_CLASS_SETTING)
        scan->wall = view_eq(*mode, VIEW("wall"));
    return found;
}

struct jfr_scan jfr_scan_begin(const struct jfr *jfr)
{
    const struct jfr_chunk *first = jfr->chunks;
    return (struct jfr_scan){first, first->bytes.data + JFR_HEADER_SIZE, false};
}

/* Reads the next event of any chunk; a setting event may change *mode. */
static enum found jfr_next(const struct jfr *jfr, struct jfr_scan *scan, struct view *mode,
                           struct jfr_event *event)
{
    for (;;) {
        enum found found = step(scan, mode, event);
        if (found == FOUND_EVENT || found == FOUND_BAD)
            return found;
        if (found == FOUND_OTHER)
            continue;
        if (scan->chunk + 1 == jfr->chunks + jfr->chunk_count)
            return FOUND_END;
        scan->chunk++;
        scan->at = scan->chunk->bytes.data + JFR_HEADER_SIZE;
    }
}

bool jfr_next_event(const struct jfr *jfr, struct jfr_scan *scan, struct jfr_event *event)
{
    struct view mode = scan->wall ? VIEW("wall") : VIEW("");
    if (jfr_next(jfr, scan, &mode, event) != FOUND_EVENT)
        return false;
    event->chunk = (uint32_t)(scan->chunk - jfr->chunks);
    return true;
}

/* Reads every event once, so that iterating cannot fail later. */
static bool check_events(struct jfr *jfr, struct jfr_reading *reading)
{
    struct jfr_scan scan = jfr_scan_begin(jfr);
    struct jfr_event event;
    enum found found;
    while ((found = jfr_next(jfr, &scan, &jfr->mode, &event)) == FOUND_EVENT)
        jfr->event_count++;
    return found == FOUND_END || jfr_refuse(reading, "event", "malformed", scan.at);
}

static bool count_chunks(struct jfr *jfr, struct jfr_reading *reading)
{
    struct jfr_chunk chunk;
    struct view rest = jfr->raw;
    do {
        if (!jfr_chunk_header(&chunk, reading, rest))
            return false;
        rest = (struct view){rest.data + chunk.bytes.size, rest.size - chunk.bytes.size};
        jfr->chunk_count++;
    } while (rest.size);
    jfr->chunks = arena_array(reading->arena, jfr->chunk_count, sizeof *jfr->chunks);
    return jfr->chunks || jfr_refuse(reading, "chunk", "too large", jfr->raw.data);
}

static bool has_span_ids(const struct jfr_chunk *chunk)
{
    unsigned kept = 0;
    for (int i = 0; i < JFR_CLASS_SETTING; i++)
        kept |= chunk->plans[i].kept;
    return kept & 1u << JFR_SLOT_SPAN_ID;
}

static bool read_chunks(struct jfr *jfr, struct jfr_reading *reading)
{
    struct view rest = jfr->raw;
    for (size_t i = 0; i < jfr->chunk_count; i++) {
        struct jfr_chunk *chunk = &jfr->chunks[i];
        if (!jfr_chunk_header(chunk, reading, rest) || !jfr_chunk_prepare(chunk, reading))
            return false;
        if (i == 0 || chunk->start_nanos < jfr->start_nanos)
            jfr->start_nanos = chunk->start_nanos;
        if (chunk->end_nanos > jfr->end_nanos)
            jfr->end_nanos = chunk->end_nanos;
        jfr->has_span_ids |= has_span_ids(chunk);
        rest = (struct view){rest.data + chunk->bytes.size, rest.size - chunk->bytes.size};
    }
    return true;
}

bool jfr_open(struct jfr *jfr, struct view raw, struct arena *arena, struct jfr_fault *fault)
{
    struct jfr_reading reading = {.raw = raw, .arena = arena, .fault = fault};
    *jfr = (struct jfr){.raw = raw};
    return count_chunks(jfr, &reading) && read_chunks(jfr, &reading) && check_events(jfr, &reading);
}
