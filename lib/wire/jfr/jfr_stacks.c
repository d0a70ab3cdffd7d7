#include "lib/wire/jfr/jfr_stacks.h"

#include "lib/base/sort.h"
#include "lib/wire/jfr/jfr_chunk.h"

#include <stdlib.h>

enum { DEEPEST = JFR_MAX_DEPTH };

/* Constants of one class by key. a and b: of a method its class and name, of a class its name. */
struct constant {
    uint64_t key;
    union {
        struct {
            uint64_t a, b;
        };
        struct view text;  /* of a symbol */
        const uint8_t *at; /* of a stack: its frames, an array */
    };
};

enum table { TABLE_SYMBOL, TABLE_CLASS, TABLE_METHOD, TABLE_STACK, TABLES };

struct jfr_stack_tables {
    struct {
        struct constant *rows;
        size_t count, room;
    } of[TABLES];
    const struct jfr_field *frame_fields; /* of a StackFrame */
    size_t frame_field_count;
    struct jfr_metadata metadata;
};

struct pools {
    struct jfr_stack_tables *tables;
    struct jfr_metadata *metadata;
    struct arena *arena;
    const uint8_t *end;
    bool failed;
};

/* What of a constant is of use: values of fields by name. */
struct kept {
    uint64_t class, name; /* keys */
    struct view string;
    const uint8_t *frames;
};

static const uint8_t *pass_value(const struct jfr_metadata *metadata, const struct jfr_field *field,
                                 const uint8_t *at, const uint8_t *end, int depth);

static const uint8_t *pass_field(const struct jfr_metadata *metadata, const struct jfr_field *field,
                                 const uint8_t *at, const uint8_t *end, int depth)
{
    uint64_t count = 1;
    if (field->array)
        at = jfr_varint(at, end, &count);
    if (at && count > (uint64_t)(end - at) + !field->array)
        return NULL;
    for (; at && count; count--) {
        if (at == end)
            return NULL;
        at = pass_value(metadata, field, at, end, depth);
    }
    return at;
}

/* One value, as jfr_compile.c knows the basic classes. */
static const uint8_t *pass_value(const struct jfr_metadata *metadata, const struct jfr_field *field,
                                 const uint8_t *at, const uint8_t *end, int depth)
{
    static const struct {
        const char *name;
        unsigned bytes; /* 0: a compressed number */
    } basics[] = {{"long", 0},    {"int", 0},  {"short", 0}, {"char", 0},
                  {"boolean", 1}, {"byte", 1}, {"float", 4}, {"double", 8}};
    const struct jfr_type *type = jfr_metadata_by_id(metadata, field->type);
    struct view text;
    uint64_t number;
    if (!type || depth > DEEPEST)
        return NULL;
    if (field->constant)
        return jfr_varint(at, end, &number);
    for (size_t i = 0; i < sizeof basics / sizeof *basics; i++)
        if (view_eq(type->name, view_of(basics[i].name)))
            return basics[i].bytes ? jfr_skip_bytes(at, end, basics[i].bytes)
                                   : jfr_varint(at, end, &number);
    if (view_eq(type->name, VIEW("java.lang.String")))
        return jfr_string(at, end, &text);
    for (size_t i = 0; at && i < type->count; i++)
        at = pass_field(metadata, &metadata->fields[type->first + i], at, end, depth + 1);
    return at;
}

/* Reads a constant of a class, and keeps what stacks are made of. */
static const uint8_t *read_constant(const struct pools *pools, const struct jfr_type *type,
                                    const uint8_t *at, struct kept *kept)
{
    *kept = (struct kept){0};
    if (view_eq(type->name, VIEW("java.lang.String")))
        return jfr_string(at, pools->end, &kept->string);
    for (size_t i = 0; at && i < type->count; i++) {
        const struct jfr_field *field = &pools->metadata->fields[type->first + i];
        if (view_eq(field->name, VIEW("frames")))
            kept->frames = at;
        if (view_eq(field->name, VIEW("type")) && field->constant)
            jfr_varint(at, pools->end, &kept->class);
        else if (view_eq(field->name, VIEW("name")) && field->constant)
            jfr_varint(at, pools->end, &kept->name);
        else if (view_eq(field->name, VIEW("string")) && !field->constant && !field->array)
            jfr_string(at, pools->end, &kept->string);
        at = pass_field(pools->metadata, field, at, pools->end, 0);
    }
    return at;
}

static int table_of(const struct jfr_type *type)
{
    static const char *const names[TABLES] = {
        [TABLE_SYMBOL] = "jdk.types.Symbol",
        [TABLE_CLASS] = "java.lang.Class",
        [TABLE_METHOD] = "jdk.types.Method",
        [TABLE_STACK] = "jdk.types.StackTrace",
    };
    int table = 0;
    while (table < TABLES && !view_eq(type->name, view_of(names[table])))
        table++;
    return table;
}

static void add_constant(struct pools *pools, int table, uint64_t key, const struct kept *kept)
{
    struct constant row = {.key = key};
    if (table == TABLE_SYMBOL)
        row.text = kept->string;
    else if (table == TABLE_STACK)
        row.at = kept->frames;
    else {
        row.a = table == TABLE_CLASS ? kept->name : kept->class;
        row.b = kept->name;
    }
    pools->tables->of[table].rows[pools->tables->of[table].count++] = row;
}

/* Room for so many rows more. */
static bool make_room(struct pools *pools, int table, uint64_t more)
{
    size_t count = pools->tables->of[table].count, room = pools->tables->of[table].room;
    if (more <= room - count)
        return true;
    room = 2 * room + more;
    struct constant *rows = arena_array_raw(pools->arena, room, sizeof *rows);
    if (!rows)
        return false;
    if (count)
        memcpy(rows, pools->tables->of[table].rows, count * sizeof *rows);
    pools->tables->of[table].rows = rows;
    pools->tables->of[table].room = room;
    return true;
}

/* One pool: the class, how many, then key and value each. */
static const uint8_t *read_pool(struct pools *pools, const uint8_t *at)
{
    uint64_t id, count, key;
    struct kept kept;
    if (!(at = jfr_varint(at, pools->end, &id)) || !(at = jfr_varint(at, pools->end, &count)))
        return NULL;
    const struct jfr_type *type = jfr_metadata_by_id(pools->metadata, id);
    int table = type ? table_of(type) : TABLES;
    if (!type || count > (uint64_t)(pools->end - at) ||
        (table < TABLES && !make_room(pools, table, count)))
        return NULL;
    for (; at && count; count--) {
        if (!(at = jfr_varint(at, pools->end, &key)) ||
            !(at = read_constant(pools, type, at, &kept)))
            return NULL;
        if (table < TABLES)
            add_constant(pools, table, key, &kept);
    }
    return at;
}

static bool read_checkpoints(struct pools *pools, const struct jfr_chunk *chunk)
{
    struct jfr_checkpoint checkpoint;
    const uint8_t *at = chunk->bytes.data + chunk->pool_offset;
    const uint8_t *end = chunk->bytes.data + chunk->bytes.size;
    for (;;) {
        if (!jfr_checkpoint_read(&checkpoint, at, end))
            return false;
        pools->end = checkpoint.end;
        const uint8_t *pool = checkpoint.at;
        for (uint64_t i = checkpoint.pool_count; i && pool; i--)
            pool = read_pool(pools, pool);
        if (!pool)
            return false;
        if (checkpoint.delta == 0)
            return true;
        end = checkpoint.start; /* jfr_open has seen that they lead backward */
        at = checkpoint.start + checkpoint.delta;
        if (at < chunk->bytes.data + JFR_HEADER_SIZE || at >= end)
            return false;
    }
}

static int by_key(const void *a, const void *b)
{
    uint64_t x = ((const struct constant *)a)->key, y = ((const struct constant *)b)->key;
    return (x > y) - (x < y);
}

static bool open_chunk(struct jfr_stack_tables *tables, const struct jfr_chunk *chunk,
                       struct arena *arena)
{
    struct jfr_fault fault;
    struct jfr_reading reading = {.raw = chunk->bytes, .arena = arena, .fault = &fault};
    struct pools pools = {.tables = tables, .metadata = &tables->metadata, .arena = arena};
    arena_init_scratch(&reading.scratch, arena);
    bool good =
        jfr_metadata_open(&tables->metadata, &reading, chunk->bytes, chunk->metadata_offset);
    struct jfr_metadata copy = tables->metadata;
    copy.types = good ? arena_array_raw(arena, copy.type_count, sizeof *copy.types) : NULL;
    copy.fields = good ? arena_array_raw(arena, copy.field_count + 1, sizeof *copy.fields) : NULL;
    good = copy.types && copy.fields;
    if (good) {
        memcpy(copy.types, tables->metadata.types, copy.type_count * sizeof *copy.types);
        memcpy(copy.fields, tables->metadata.fields, copy.field_count * sizeof *copy.fields);
    }
    tables->metadata = copy;
    arena_release(&reading.scratch);
    if (!good || !read_checkpoints(&pools, chunk))
        return false;
    const struct jfr_type *frame =
        jfr_metadata_by_name(&tables->metadata, VIEW("jdk.types.StackFrame"));
    tables->frame_fields = frame ? &tables->metadata.fields[frame->first] : NULL;
    tables->frame_field_count = frame ? frame->count : 0;
    for (int i = 0; i < TABLES; i++)
        if (tables->of[i].count)
            sort_rows(tables->of[i].rows, tables->of[i].count, sizeof *tables->of[i].rows, by_key);
    return true;
}

bool jfr_stacks_open(struct jfr_stacks *stacks, const struct jfr *jfr, struct arena *arena)
{
    *stacks = (struct jfr_stacks){.jfr = jfr};
    stacks->chunks = arena_array(arena, jfr->chunk_count, sizeof *stacks->chunks);
    for (size_t i = 0; stacks->chunks && i < jfr->chunk_count; i++)
        if (!open_chunk(&stacks->chunks[i], &jfr->chunks[i], arena))
            return false;
    return stacks->chunks;
}

static const struct constant *find(const struct jfr_stack_tables *tables, enum table table,
                                   uint64_t key)
{
    const struct constant wanted = {.key = key};
    if (!tables->of[table].count)
        return NULL;
    return bsearch(&wanted, tables->of[table].rows, tables->of[table].count, sizeof wanted, by_key);
}

static struct view symbol(const struct jfr_stack_tables *tables, uint64_t key)
{
    const struct constant *found = find(tables, TABLE_SYMBOL, key);
    return found && found->text.data ? found->text : (struct view){0};
}

static struct jfr_stack_frame frame_of(const struct jfr_stack_tables *tables, uint64_t method)
{
    const struct constant *found = find(tables, TABLE_METHOD, method);
    const struct constant *class = found ? find(tables, TABLE_CLASS, found->a) : NULL;
    struct jfr_stack_frame frame = {{0}, {0}};
    if (class)
        frame.class = symbol(tables, class->a);
    if (found)
        frame.method = symbol(tables, found->b);
    return frame;
}

size_t jfr_stacks_read(const struct jfr_stacks *stacks, const struct jfr_event *event,
                       struct jfr_stack_frame *frames, size_t max)
{
    const struct jfr_stack_tables *tables = &stacks->chunks[event->chunk];
    const struct jfr_chunk *chunk = &stacks->jfr->chunks[event->chunk];
    const struct constant *stack = find(tables, TABLE_STACK, event->stack);
    const uint8_t *end = chunk->bytes.data + chunk->bytes.size;
    uint64_t count = 0, method = 0;
    size_t filled = 0;
    const uint8_t *at = stack && stack->at ? jfr_varint(stack->at, end, &count) : NULL;
    for (; at && count && filled < max && tables->frame_fields; count--) {
        for (size_t i = 0; at && i < tables->frame_field_count; i++) {
            const struct jfr_field *field = &tables->frame_fields[i];
            if (view_eq(field->name, VIEW("method")))
                jfr_varint(at, end, &method);
            at = pass_field(&tables->metadata, field, at, end, 0);
        }
        if (at)
            frames[filled++] = frame_of(tables, method);
    }
    return filled;
}
