#include "tests/support/jfr_build.h"

#include <endian.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_CLASSES = 64, MAX_FIELDS = 256, MAX_STRINGS = 512, HEADER_SIZE = 68 };

struct field {
    const char *name;
    uint64_t type;
    unsigned flags;
};

struct class
{
    const char *name;
    uint64_t id;
    size_t first, count;
};

struct jfr_build {
    int64_t start_nanos, duration_nanos;
    uint8_t encoding;
    struct class classes[MAX_CLASSES];
    size_t class_count;
    struct field fields[MAX_FIELDS];
    size_t field_count;
    struct bytes events, event, pools;
    uint64_t pool_count;
    struct view metadata; /* data NULL: made from the classes */
};

static const uint64_t start_ticks = 5000000000;

static void append(struct bytes *bytes, const void *data, size_t size)
{
    if (bytes_append(bytes, data, size) != BYTES_OK)
        abort();
}

uint8_t *jfr_build_varint(uint8_t *out, uint64_t number)
{
    for (int i = 0; i < 8 && number > 0x7f; i++, number >>= 7)
        *out++ = (uint8_t)(number | 0x80);
    *out++ = (uint8_t)number;
    return out;
}

static void put_number(struct bytes *bytes, uint64_t number)
{
    uint8_t room[9];
    append(bytes, room, (size_t)(jfr_build_varint(room, number) - room));
}

static void put_text(struct bytes *bytes, uint8_t encoding, const char *text)
{
    append(bytes, &encoding, 1);
    put_number(bytes, strlen(text));
    append(bytes, text, strlen(text));
}

/* An event's size counts itself; async-profiler, too, pads it to five bytes. */
static void put_event(struct bytes *out, struct view content)
{
    uint32_t size = (uint32_t)content.size + 5;
    uint8_t head[5];
    for (int i = 0; i < 5; i++)
        head[i] = (uint8_t)((size >> 7 * i & 0x7f) | (i < 4 ? 0x80 : 0));
    append(out, head, sizeof head);
    append(out, content.data, content.size);
}

void jfr_build_class(struct jfr_build *build, const char *name, uint64_t id)
{
    if (build->class_count == MAX_CLASSES)
        abort();
    build->classes[build->class_count++] = (struct class){name, id, build->field_count, 0};
}

void jfr_build_field(struct jfr_build *build, const char *name, uint64_t type, unsigned flags)
{
    if (build->field_count == MAX_FIELDS || build->class_count == 0)
        abort();
    build->fields[build->field_count++] = (struct field){name, type, flags};
    build->classes[build->class_count - 1].count++;
}

struct jfr_build *jfr_build_new(int64_t start_nanos, int64_t duration_nanos)
{
    static const char *const basic[] = {"boolean", "char",  "float", "double",
                                        "byte",    "short", "int",   "long"};
    struct jfr_build *build = calloc(1, sizeof *build);
    if (!build)
        abort();
    build->start_nanos = start_nanos;
    build->duration_nanos = duration_nanos;
    build->encoding = 3;
    bytes_init(&build->events, SIZE_MAX, NULL);
    bytes_init(&build->event, SIZE_MAX, NULL);
    bytes_init(&build->pools, SIZE_MAX, NULL);
    for (uint64_t i = 0; i < sizeof basic / sizeof *basic; i++)
        jfr_build_class(build, basic[i], 4 + i);
    jfr_build_class(build, "java.lang.String", JFR_BUILD_STRING);
    jfr_build_class(build, "jdk.types.ThreadState", JFR_BUILD_STATE);
    jfr_build_field(build, "name", JFR_BUILD_STRING, 0);
    jfr_build_class(build, "jdk.types.StackTrace", JFR_BUILD_STACK);
    jfr_build_field(build, "truncated", 4, 0);
    jfr_build_field(build, "frames", 27, JFR_BUILD_ARRAY);
    jfr_build_class(build, "jdk.types.StackFrame", 27);
    jfr_build_field(build, "lineNumber", 10, 0);
    return build;
}

void jfr_build_free(struct jfr_build *build)
{
    bytes_release(&build->events);
    bytes_release(&build->event);
    bytes_release(&build->pools);
    free(build);
}

/* The fields after a class's own. */
static void add_span_fields(struct jfr_build *build)
{
    static const char *const names[] = {"spanId", "spanName", "contextId", "traceIdHi",
                                        "traceIdLo"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        jfr_build_field(build, names[i], JFR_BUILD_LONG, 0);
}

static void add_sample_class(struct jfr_build *build, const char *name, uint64_t id)
{
    jfr_build_class(build, name, id);
    jfr_build_field(build, "startTime", JFR_BUILD_LONG, 0);
    if (strcmp(name, "jdk.JavaMonitorEnter") == 0)
        jfr_build_field(build, "duration", JFR_BUILD_LONG, 0);
    jfr_build_field(build, "eventThread", JFR_BUILD_STATE, JFR_BUILD_CONSTANT);
    jfr_build_field(build, "stackTrace", JFR_BUILD_STACK, JFR_BUILD_CONSTANT);
}

void jfr_build_agent_classes(struct jfr_build *build)
{
    static const char *const names[] = {"jdk.ExecutionSample", "profiler.WallClockSample",
                                        "jdk.ObjectAllocationInNewTLAB",
                                        "jdk.ObjectAllocationOutsideTLAB", "jdk.JavaMonitorEnter"};
    for (uint64_t i = 0; i < sizeof names / sizeof *names; i++) {
        add_sample_class(build, names[i], 101 + i);
        if (i < 2)
            jfr_build_field(build, "state", JFR_BUILD_STATE, JFR_BUILD_CONSTANT);
        else
            jfr_build_field(build, "allocationSize", JFR_BUILD_LONG, 0);
        if (i == 2)
            jfr_build_field(build, "tlabSize", JFR_BUILD_LONG, 0);
        add_span_fields(build);
        if (i == 1)
            jfr_build_field(build, "samples", 10, 0);
    }
    jfr_build_class(build, "jdk.ActiveSetting", 108);
    jfr_build_field(build, "startTime", JFR_BUILD_LONG, 0);
    jfr_build_field(build, "id", JFR_BUILD_LONG, 0);
    jfr_build_field(build, "name", JFR_BUILD_STRING, 0);
    jfr_build_field(build, "value", JFR_BUILD_STRING, 0);
}

void jfr_build_encoding(struct jfr_build *build, uint8_t encoding)
{
    build->encoding = encoding;
}

static void end_event(struct bytes *events, const struct bytes *event)
{
    if (event->size)
        put_event(events, bytes_view(event));
}

void jfr_build_event(struct jfr_build *build, uint64_t type)
{
    end_event(&build->events, &build->event);
    bytes_clear(&build->event);
    put_number(&build->event, type);
}

void jfr_build_number(struct jfr_build *build, uint64_t number)
{
    put_number(&build->event, number);
}

void jfr_build_text(struct jfr_build *build, const char *text)
{
    put_text(&build->event, build->encoding, text);
}

void jfr_build_bytes(struct jfr_build *build, struct view bytes)
{
    append(&build->event, bytes.data, bytes.size);
}

static uint64_t value_of(const struct jfr_build_sample *sample, const char *field)
{
    const struct {
        const char *name;
        uint64_t value;
    } values[] = {
        {"startTime", start_ticks + (uint64_t)sample->after_nanos},
        {"stackTrace", sample->stack},
        {"state", sample->state},
        {"spanId", sample->span_id},
        {"spanName", sample->span_name},
        {"contextId", sample->context},
        {"traceIdHi", sample->trace_hi},
        {"traceIdLo", sample->trace_lo},
        {"samples", sample->samples},
        {"allocationSize", sample->size},
        {"tlabSize", sample->tlab_size},
        {"duration", sample->duration},
    };
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        if (strcmp(values[i].name, field) == 0)
            return values[i].value;
    return 0;
}

void jfr_build_sample(struct jfr_build *build, const char *name,
                      const struct jfr_build_sample *sample)
{
    const struct class *class = build->classes;
    while (strcmp(class->name, name) != 0)
        if (++class == build->classes + build->class_count)
            abort();
    jfr_build_event(build, class->id);
    for (size_t i = 0; i < class->count; i++)
        jfr_build_number(build, value_of(sample, build->fields[class->first + i].name));
}

void jfr_build_setting(struct jfr_build *build, const char *name, const char *value)
{
    jfr_build_event(build, 108);
    jfr_build_number(build, start_ticks);
    jfr_build_number(build, 0);
    jfr_build_text(build, name);
    jfr_build_text(build, value);
}

void jfr_build_metadata(struct jfr_build *build, struct view content)
{
    build->metadata = content;
}

void jfr_build_pool(struct jfr_build *build, uint64_t type, uint64_t count, struct view constants)
{
    put_number(&build->pools, type);
    put_number(&build->pools, count);
    append(&build->pools, constants.data, constants.size);
    build->pool_count++;
}

/* Strings of the metadata, each once, and the tree that refers to them. */
struct tree {
    char *strings[MAX_STRINGS];
    size_t count;
    struct bytes bytes;
};

static void put_string(struct tree *tree, const char *text)
{
    size_t i = 0;
    while (i < tree->count && strcmp(tree->strings[i], text) != 0)
        i++;
    if (i == tree->count) {
        if (i == MAX_STRINGS || !(tree->strings[tree->count++] = strdup(text)))
            abort();
    }
    put_number(&tree->bytes, i);
}

static void put_element(struct tree *tree, const char *name, uint64_t attributes)
{
    put_string(tree, name);
    put_number(&tree->bytes, attributes);
}

static void put_id(struct tree *tree, const char *name, uint64_t id)
{
    char text[24];
    snprintf(text, sizeof text, "%llu", (unsigned long long)id);
    put_string(tree, name);
    put_string(tree, text);
}

/* A field has an annotation below it, as most real ones do. */
static void put_field(struct tree *tree, const struct field *field)
{
    bool constant = field->flags & JFR_BUILD_CONSTANT, array = field->flags & JFR_BUILD_ARRAY;
    put_element(tree, "field", 2u + constant + array);
    put_string(tree, "name");
    put_string(tree, field->name);
    put_id(tree, "class", field->type);
    if (constant) {
        put_string(tree, "constantPool");
        put_string(tree, "true");
    }
    if (array)
        put_id(tree, "dimension", 1);
    put_number(&tree->bytes, 1);
    put_element(tree, "annotation", 1);
    put_id(tree, "class", 201);
    put_number(&tree->bytes, 0);
}

static void put_tree(struct tree *tree, const struct jfr_build *build)
{
    put_element(tree, "root", 0);
    put_number(&tree->bytes, 2);
    put_element(tree, "metadata", 0);
    put_number(&tree->bytes, build->class_count);
    for (size_t i = 0; i < build->class_count; i++) {
        const struct class *class = &build->classes[i];
        put_element(tree, "class", 2);
        put_string(tree, "name");
        put_string(tree, class->name);
        put_id(tree, "id", class->id);
        put_number(&tree->bytes, class->count);
        for (size_t f = 0; f < class->count; f++)
            put_field(tree, &build->fields[class->first + f]);
    }
    put_element(tree, "region", 1);
    put_string(tree, "locale");
    put_string(tree, "en_US");
    put_number(&tree->bytes, 0);
}

static void put_tree_and_strings(struct bytes *out, const struct jfr_build *build)
{
    struct tree tree = {.count = 0};
    bytes_init(&tree.bytes, SIZE_MAX, NULL);
    put_tree(&tree, build);
    put_number(out, tree.count);
    for (size_t i = 0; i < tree.count; i++) {
        put_text(out, build->encoding, tree.strings[i]);
        free(tree.strings[i]);
    }
    append(out, tree.bytes.data, tree.bytes.size);
    bytes_release(&tree.bytes);
}

static void put_metadata(struct bytes *out, const struct jfr_build *build)
{
    const uint64_t head[] = {0, start_ticks, 0, 1};
    struct bytes content;
    bytes_init(&content, SIZE_MAX, NULL);
    for (size_t i = 0; i < sizeof head / sizeof *head; i++)
        put_number(&content, head[i]);
    if (build->metadata.data)
        append(&content, build->metadata.data, build->metadata.size);
    else
        put_tree_and_strings(&content, build);
    put_event(out, bytes_view(&content));
    bytes_release(&content);
}

static void put_checkpoint(struct bytes *out, const struct jfr_build *build)
{
    static const char *const states[] = {"STATE_DEFAULT", "STATE_RUNNABLE", "STATE_SLEEPING"};
    const uint64_t head[] = {1, start_ticks, 0, 0, 1, build->pool_count + 1};
    struct bytes content;
    bytes_init(&content, SIZE_MAX, NULL);
    for (size_t i = 0; i < sizeof head / sizeof *head; i++)
        put_number(&content, head[i]);
    append(&content, build->pools.data, build->pools.size);
    put_number(&content, JFR_BUILD_STATE);
    put_number(&content, 3);
    for (uint64_t i = 0; i < 3; i++) {
        put_number(&content, i);
        put_text(&content, build->encoding, states[i]);
    }
    put_event(out, bytes_view(&content));
    bytes_release(&content);
}

static void set(struct bytes *chunk, size_t offset, uint64_t number)
{
    number = htobe64(number);
    memcpy(chunk->data + offset, &number, sizeof number);
}

struct bytes jfr_build_chunk(const struct jfr_build *build)
{
    static const uint8_t header[HEADER_SIZE] = {'F', 'L', 'R', 0, 0, 2, [67] = 1};
    struct bytes chunk;
    bytes_init(&chunk, SIZE_MAX, NULL);
    append(&chunk, header, sizeof header);
    put_metadata(&chunk, build);
    append(&chunk, build->events.data, build->events.size);
    end_event(&chunk, &build->event);
    set(&chunk, 16, chunk.size);
    put_checkpoint(&chunk, build);
    set(&chunk, 8, chunk.size);
    set(&chunk, 24, HEADER_SIZE);
    set(&chunk, 32, (uint64_t)build->start_nanos);
    set(&chunk, 40, (uint64_t)build->duration_nanos);
    set(&chunk, 48, start_ticks);
    set(&chunk, 56, 1000000000);
    return chunk;
}

struct bytes jfr_build_cpu(int64_t start_nanos, int64_t duration_nanos, const uint64_t *span_ids,
                           size_t count)
{
    struct jfr_build *build = jfr_build_new(start_nanos, duration_nanos);
    jfr_build_agent_classes(build);
    jfr_build_setting(build, "event", "itimer");
    for (size_t i = 0; i < count; i++)
        jfr_build_sample(build, "jdk.ExecutionSample",
                         &(struct jfr_build_sample){.after_nanos = (int64_t)i,
                                                    .stack = 1,
                                                    .state = JFR_BUILD_RUNNABLE,
                                                    .span_id = span_ids[i]});
    struct bytes chunk = jfr_build_chunk(build);
    jfr_build_free(build);
    return chunk;
}
