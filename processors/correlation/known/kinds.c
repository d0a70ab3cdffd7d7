#include "processors/correlation/known/kinds.h"

static const struct {
    const char *name;
    enum kind kind;
} words[] = {
    {"process_cpu", KIND_PROCESS_CPU},
    {"wall", KIND_WALL},
    {"memory", KIND_MEMORY},
    {"mutex", KIND_MUTEX},
    {"block", KIND_BLOCK},
    {"goroutine", KIND_GOROUTINE},
    {"off_cpu", KIND_OFF_CPU},
    {"exceptions", KIND_EXCEPTIONS},
    /* Other names of the same kinds, by sender. */
    {"cpu", KIND_PROCESS_CPU},
    {"alloc", KIND_MEMORY},
    {"goroutines", KIND_GOROUTINE},
    {"exception", KIND_EXCEPTIONS},
    {"lock", KIND_MUTEX},
};

enum { WORD_COUNT = sizeof words / sizeof words[0] };

enum kind kind_parse(struct view name)
{
    const struct view delta = VIEW("godeltaprof_");
    if (view_starts(name, delta))
        name = (struct view){name.data + delta.size, name.size - delta.size};
    for (size_t i = 0; i < WORD_COUNT; i++)
        if (view_eq(name, view_of(words[i].name)))
            return words[i].kind;
    return KIND_OTHER;
}

const char *kind_name(enum kind kind)
{
    for (size_t i = 0; i < WORD_COUNT; i++)
        if (words[i].kind == kind)
            return words[i].name;
    return "other";
}
