#include "lib/ottl/target.h"

bool target_open_value(struct target *target, struct ottl_run *run, const struct ottl_node *call)
{
    struct ottl_value value = ottl_path_get(target->path, run);
    if (!run->failed && value.type != TYPE_MAP)
        ottl_fail(run, "%s takes a map, not %s", call->function->name, ottl_type_name(value.type));
    if (run->failed)
        return false;
    attributes_read(&target->own, value.bytes, 1, ottl_arena(run));
    target->list = &target->own;
    return true;
}

struct ottl_value target_close_value(struct target *target, struct ottl_run *run)
{
    if (target->list->failed)
        return ottl_fail(run, "out of memory");
    target->list->partial = false;
    if (!target->list->changed)
        return ottl_nil();
    struct value map = attributes_map(target->list);
    struct ottl_value value = ottl_bytes(TYPE_MAP, map.bytes);
    if (!map.bytes.data)
        return ottl_fail(run, "out of memory");
    ottl_path_set(target->path, run, &value);
    return ottl_nil();
}
