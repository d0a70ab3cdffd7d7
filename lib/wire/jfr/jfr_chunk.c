#include "lib/wire/jfr/jfr_chunk.h"

#include <endian.h>

static const char part[] = "chunk";

enum { NANOS = 1000000000 };

static uint64_t number_at(struct view bytes, size_t offset)
{
    uint64_t number;
    memcpy(&number, bytes.data + offset, sizeof number);
    return be64toh(number);
}

static bool inside(const struct jfr_chunk *chunk, uint64_t offset)
{
    return offset >= JFR_HEADER_SIZE && offset < chunk->bytes.size;
}

/* What is wrong with a header; NULL: nothing. */
static const char *header_problem(const struct jfr_chunk *chunk)
{
    if (chunk->bytes.data[5] != 2 || chunk->bytes.data[4] != 0)
        return "not of version 2";
    if (!(chunk->bytes.data[67] & 1))
        return "integers are not compressed";
    if (!inside(chunk, chunk->metadata_offset) || !inside(chunk, chunk->pool_offset))
        return "an offset points outside it";
    if (chunk->start_nanos < 0 || chunk->end_nanos < chunk->start_nanos)
        return "its times are out of range";
    /* So that a fraction of a second times 10^9 fits; no clock is this fast. */
    if (chunk->ticks_per_second <= 0 || chunk->ticks_per_second > INT64_MAX / NANOS)
        return "no usable count of ticks per second";
    return NULL;
}

bool jfr_chunk_header(struct jfr_chunk *chunk, struct jfr_reading *reading, struct view rest)
{
    if (!view_starts(rest, VIEW("FLR\0")))
        return jfr_refuse(reading, part, "does not begin with FLR", rest.data);
    uint64_t size = rest.size >= JFR_HEADER_SIZE ? number_at(rest, 8) : 0;
    if (rest.size < JFR_HEADER_SIZE || size > rest.size)
        return jfr_refuse(reading, part, "truncated", rest.data);
    if (size < JFR_HEADER_SIZE)
        return jfr_refuse(reading, part, "not finished", rest.data);
    chunk->bytes = (struct view){rest.data, (size_t)size};
    chunk->pool_offset = number_at(rest, 16);
    chunk->metadata_offset = number_at(rest, 24);
    chunk->start_nanos = (int64_t)number_at(rest, 32);
    int64_t duration = (int64_t)number_at(rest, 40);
    if (__builtin_add_overflow(chunk->start_nanos, duration, &chunk->end_nanos))
        chunk->end_nanos = -1;
    chunk->start_ticks = number_at(rest, 48);
    chunk->ticks_per_second = (int64_t)number_at(rest, 56);
    const char *problem = header_problem(chunk);
    return !problem || jfr_refuse(reading, part, problem, rest.data);
}

#define NUMBER(name_, type_, slot_)                                                                \
    {                                                                                              \
        .name = name_, .type = type_, .slot = JFR_SLOT_##slot_                                     \
    }
#define CONSTANT(name_, type_, slot_)                                                              \
    {                                                                                              \
        .name = name_, .type = type_, .slot = JFR_SLOT_##slot_, .constant = true                   \
    }

static const struct jfr_wanted of_samples[] = {
    NUMBER("startTime", "long", START_TIME),
    CONSTANT("stackTrace", "jdk.types.StackTrace", STACK_TRACE),
    CONSTANT("state", "jdk.types.ThreadState", STATE),
    NUMBER("spanId", "long", SPAN_ID),
    NUMBER("spanName", "long", SPAN_NAME),
    NUMBER("contextId", "long", CONTEXT),
    NUMBER("traceIdHi", "long", TRACE_HI),
    NUMBER("traceIdLo", "long", TRACE_LO),
    NUMBER("samples", "int", SAMPLES),
    NUMBER("allocationSize", "long", SIZE),
    NUMBER("tlabSize", "long", TLAB),
    NUMBER("duration", "long", DURATION),
    {.name = NULL},
};

static const struct jfr_wanted of_settings[] = {
    NUMBER("name", "java.lang.String", NAME),
    NUMBER("value", "java.lang.String", VALUE),
    {.name = NULL},
};

static const char *const class_names[JFR_CLASSES] = {
    [JFR_CLASS_EXECUTION] = "jdk.ExecutionSample",
    [JFR_CLASS_WALL] = "profiler.WallClockSample",
    [JFR_CLASS_NEW_TLAB] = "jdk.ObjectAllocationInNewTLAB",
    [JFR_CLASS_OUTSIDE_TLAB] = "jdk.ObjectAllocationOutsideTLAB",
    [JFR_CLASS_MONITOR] = "jdk.JavaMonitorEnter",
    [JFR_CLASS_SETTING] = "jdk.ActiveSetting",
};

static bool make_plans(struct jfr_chunk *chunk, struct jfr_reading *reading,
                       struct jfr_metadata *metadata)
{
    for (int i = 0; i < JFR_CLASSES; i++) {
        struct jfr_plan_request request = {
            .type = jfr_metadata_by_name(metadata, view_of(class_names[i])),
            .wanted = i == JFR_CLASS_SETTING ? of_settings : of_samples,
            .arena = reading->arena,
            .brief = true,
        };
        if (!request.type)
            continue;
        chunk->types[i] = request.type->id;
        if (!jfr_metadata_plan(metadata, reading, &request, &chunk->plans[i]))
            return false;
    }
    return true;
}

bool jfr_chunk_prepare(struct jfr_chunk *chunk, struct jfr_reading *reading)
{
    struct jfr_metadata metadata;
    arena_init_scratch(&reading->scratch, reading->arena);
    bool good = jfr_metadata_open(&metadata, reading, chunk->bytes, chunk->metadata_offset) &&
                make_plans(chunk, reading, &metadata) && jfr_pool_read(chunk, reading, &metadata);
    arena_release(&reading->scratch);
    return good;
}

int64_t jfr_chunk_time(const struct jfr_chunk *chunk, uint64_t ticks)
{
    int64_t since = (int64_t)(ticks - chunk->start_ticks), rate = chunk->ticks_per_second, nanos;
    if (rate != NANOS) {
        int64_t rest = since % rate * NANOS / rate;
        if (__builtin_mul_overflow(since / rate, NANOS, &since) ||
            __builtin_add_overflow(since, rest, &since))
            return chunk->start_nanos;
    }
    if (__builtin_add_overflow(chunk->start_nanos, since, &nanos) || nanos < 0)
        return chunk->start_nanos;
    return nanos;
}
