/* Arguments of functions, and functions by name. */
#include "lib/ottl/function.h"

#include <stdio.h>

const struct ottl_function *ottl_function_find(struct view name)
{
    static const struct ottl_function *const tables[] = {
        ottl_editors,        ottl_type_functions, ottl_text_functions,
        ottl_time_functions, ottl_map_functions,
    };
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        for (const struct ottl_function *each = tables[i]; each->name; each++)
            if (view_eq(name, view_of(each->name)))
                return each;
    return NULL;
}

struct ottl_value ottl_arg(struct ottl_run *run, const struct ottl_node *call, size_t i)
{
    return ottl_has(call, i) ? ottl_node_eval(call->items[i], run) : ottl_nil();
}

static struct ottl_value typed(struct ottl_run *run, const struct ottl_node *call, size_t i,
                               enum ottl_type type)
{
    struct ottl_value value = ottl_arg(run, call, i);
    if (!run->failed && value.type != type)
        ottl_fail(run, "%s takes %s, not %s", call->function->name, ottl_type_name(type),
                  ottl_type_name(value.type));
    return value;
}

struct view ottl_arg_string(struct ottl_run *run, const struct ottl_node *call, size_t i)
{
    struct ottl_value value = typed(run, call, i, TYPE_STRING);
    return run->failed ? (struct view){0} : value.bytes;
}

int64_t ottl_arg_int(struct ottl_run *run, const struct ottl_node *call, size_t i)
{
    struct ottl_value value = typed(run, call, i, TYPE_INT);
    return run->failed ? 0 : value.integer;
}

static struct view hex_text(struct ottl_run *run, struct view bytes)
{
    static const char digits[] = "0123456789abcdef";
    uint8_t *out = arena_array_raw(ottl_arena(run), 2 * bytes.size + 1, 1);
    if (!out) {
        ottl_fail(run, "out of memory");
        return (struct view){0};
    }
    for (size_t i = 0; i < bytes.size; i++) {
        out[2 * i] = (uint8_t)digits[bytes.data[i] >> 4];
        out[2 * i + 1] = (uint8_t)digits[bytes.data[i] & 15];
    }
    return (struct view){out, 2 * bytes.size};
}

struct view ottl_text_of(struct ottl_run *run, const struct ottl_value *value)
{
    struct value plain;
    char text[40];
    switch (value->type) {
    case TYPE_NIL:
        return (struct view){0};
    case TYPE_BYTES:
        return hex_text(run, value->bytes);
    case TYPE_TRACE_ID: /* JSON, as for every type that has no text of its own */
    case TYPE_SPAN_ID: {
        struct view hex = hex_text(run, value->bytes);
        snprintf(text, sizeof text, "\"%.*s\"", VIEW_ARG(hex));
        return ottl_keep_text(run, text);
    }
    case TYPE_TIME:
    case TYPE_DURATION:
        snprintf(text, sizeof text, "%lld", (long long)value->integer);
        return ottl_keep_text(run, text);
    case TYPE_BOOL:
    case TYPE_INT:
    case TYPE_DOUBLE:
    case TYPE_STRING:
    case TYPE_LIST:
    case TYPE_MAP:
        break;
    }
    ottl_to_value(value, &plain);
    struct view made = value_text(&plain, ottl_arena(run));
    if (!made.data)
        ottl_fail(run, "out of memory");
    return made;
}

struct view ottl_arg_text(struct ottl_run *run, const struct ottl_node *call, size_t i)
{
    struct ottl_value value = ottl_arg(run, call, i);
    return run->failed ? (struct view){0} : ottl_text_of(run, &value);
}
