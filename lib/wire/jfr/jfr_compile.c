/* Plans to read the events of declared classes (lib/wire/jfr/jfr_metadata.h). */
#include "lib/wire/jfr/jfr_metadata.h"

/* A plan being made. */
struct making {
    struct jfr_metadata *metadata;
    const struct jfr_wanted *wanted;
    const char *problem; /* NULL: none so far */
    size_t count;
    size_t last_kept; /* index + 1 of the last step that keeps a value */
    unsigned kept;
    bool joinable; /* the last step can be extended by more of its kind */
    struct jfr_step steps[JFR_MAX_STEPS];
};

static void jfr_compile_add(struct making *making, enum jfr_op op, uint32_t argument)
{
    bool counts = op == JFR_SKIP_NUMBERS || op == JFR_SKIP_BYTES;
    struct jfr_step *last = &making->steps[making->count ? making->count - 1 : 0];
    if (counts && making->joinable && last->op == op) {
        last->argument += argument;
        return;
    }
    if (making->count == JFR_MAX_STEPS) {
        making->problem = "a class is too large";
        return;
    }
    making->steps[making->count++] = (struct jfr_step){op, argument};
    making->joinable = true;
}

static void jfr_compile_keep(struct making *making, enum jfr_op op, enum jfr_slot slot)
{
    jfr_compile_add(making, op, slot);
    making->kept |= 1u << slot;
    making->last_kept = making->count;
}

/* The step for a basic class, which the metadata does not describe. False: the class has fields. */
static bool basic_op(struct view name, struct jfr_step *step)
{
    static const struct basic {
        const char *name;
        struct jfr_step step;
    } basics[] = {
        {"long", {JFR_SKIP_NUMBERS, 1}},
        {"int", {JFR_SKIP_NUMBERS, 1}},
        {"short", {JFR_SKIP_NUMBERS, 1}},
        {"char", {JFR_SKIP_NUMBERS, 1}},
        {"boolean", {JFR_SKIP_BYTES, 1}},
        {"byte", {JFR_SKIP_BYTES, 1}},
        {"float", {JFR_SKIP_BYTES, 4}},
        {"double", {JFR_SKIP_BYTES, 8}},
        {"java.lang.String", {JFR_SKIP_STRING, 0}},
    };
    for (size_t i = 0; i < sizeof basics / sizeof *basics; i++)
        if (view_eq(name, view_of(basics[i].name))) {
            *step = basics[i].step;
            return true;
        }
    return false;
}

static const struct jfr_wanted *wanted(const struct making *making, const struct jfr_field *field,
                                       const struct jfr_type *type)
{
    for (const struct jfr_wanted *w = making->wanted; w->name; w++)
        if (!field->array && field->constant == w->constant &&
            view_eq(field->name, view_of(w->name)) && view_eq(type->name, view_of(w->type)))
            return w;
    return NULL;
}

static void add_fields(struct making *making, const struct jfr_type *type, int depth);

/* Adds the steps for one field's value, or its array. */
static void add_value(struct making *making, const struct jfr_field *field,
                      const struct jfr_type *type, int depth)
{
    struct jfr_step basic;
    if (field->constant)
        jfr_compile_add(making, JFR_SKIP_NUMBERS, 1);
    else if (basic_op(type->name, &basic))
        jfr_compile_add(making, basic.op, basic.argument);
    else
        add_fields(making, type, depth + 1);
}

static void add_array(struct making *making, const struct jfr_field *field,
                      const struct jfr_type *type, int depth)
{
    size_t head = making->count;
    jfr_compile_add(making, JFR_SKIP_ARRAY, 0);
    making->joinable = false;
    add_value(making, field, type, depth + 1);
    if (!making->problem)
        making->steps[head].argument = (uint32_t)(making->count - head - 1);
    making->joinable = false;
}

static void add_field(struct making *making, const struct jfr_field *field, int depth)
{
    const struct jfr_type *type = jfr_metadata_by_id(making->metadata, field->type);
    if (!type) {
        making->problem = "a field is of an unknown class";
        return;
    }
    const struct jfr_wanted *w = depth == 0 ? wanted(making, field, type) : NULL;
    if (w)
        jfr_compile_keep(making, w->slot < JFR_NUMBERS ? JFR_KEEP_NUMBER : JFR_KEEP_STRING,
                         w->slot);
    else if (field->array)
        add_array(making, field, type, depth);
    else
        add_value(making, field, type, depth);
}

static void add_fields(struct making *making, const struct jfr_type *type, int depth)
{
    struct jfr_metadata *metadata = making->metadata;
    if (depth >= JFR_MAX_DEPTH)
        making->problem = "classes nest too deep";
    for (size_t i = 0; i < type->count && !making->problem; i++) {
        if (metadata->work == 0) {
            making->problem = "classes nest too widely";
            return;
        }
        metadata->work--;
        add_field(making, &metadata->fields[type->first + i], depth);
    }
}

bool jfr_metadata_plan(struct jfr_metadata *metadata, struct jfr_reading *reading,
                       const struct jfr_plan_request *request, struct jfr_plan *plan)
{
    struct making making;
    struct jfr_step basic;
    making.metadata = metadata;
    making.wanted = request->wanted;
    making.problem = NULL;
    making.count = making.last_kept = 0;
    making.kept = 0;
    making.joinable = false;
    if (basic_op(request->type->name, &basic))
        jfr_compile_add(&making, basic.op, basic.argument);
    else
        add_fields(&making, request->type, 0);
    if (making.problem)
        return jfr_refuse(reading, "metadata", making.problem, metadata->at);
    size_t count = request->brief ? making.last_kept : making.count;
    struct jfr_step *steps = arena_array(request->arena, count, sizeof *steps);
    if (!steps)
        return jfr_refuse(reading, "metadata", "too large", metadata->at);
    memcpy(steps, making.steps, count * sizeof *steps);
    *plan = (struct jfr_plan){steps, count, making.kept};
    return true;
}
