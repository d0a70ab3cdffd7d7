/* The flame graph of a span as text (exporters/debug/debug.h). */
#include "exporters/debug/debug.h"

#include "lib/base/shown.h"

#include <stdio.h>
#include <stdlib.h>

/* Also the output of tools/show_sample.py: keep the two alike. */
enum {
    LINES = 16,
    LEAST_PERCENT = 2,
    FOLDED = 3, /* so many calls behind one another, of which each makes the next, are one line */
    WIDTH = 100,
    BAR = WIDTH / 3,
    MAX_INDENT = 8
};

enum { CALLS_MIN = 16 };

static const char block[] = "\xe2\x96\x88";    /* U+2588 */
static const char ellipsis[] = "\xe2\x80\xa6"; /* U+2026 */

void function_name_copy(struct view name, char text[FUNCTION_NAME_SIZE])
{
    size_t most = FUNCTION_NAME_SIZE - sizeof ellipsis;
    if (name.size < FUNCTION_NAME_SIZE) {
        shown_copy(name, text, FUNCTION_NAME_SIZE);
        return;
    }
    name.data += name.size - most;
    for (name.size = most; name.size && (*name.data & 0xc0) == 0x80; name.size--)
        name.data++;
    memcpy(text, ellipsis, sizeof ellipsis);
    shown_copy(name, text + sizeof ellipsis - 1, FUNCTION_NAME_SIZE - sizeof ellipsis + 1);
}

/* FNV-1a of a name, beginning with the hash of its caller's path. */
static uint64_t path_of(uint64_t path, struct view name)
{
    path = (path ^ 0xff) * UINT64_C(0x100000001b3);
    for (size_t i = 0; i < name.size; i++)
        path = (path ^ name.data[i]) * UINT64_C(0x100000001b3);
    return path;
}

static uint64_t capped_sum(uint64_t a, uint64_t b)
{
    return b > UINT64_MAX - a ? UINT64_MAX : a + b;
}

static bool call_tree_grow(struct call_tree *tree, struct call_room *room)
{
    size_t more = tree->capacity ? tree->capacity : CALLS_MIN;
    size_t size = more * sizeof *tree->calls;
    if (size > room->left || !budget_take_spare(room->budget, size))
        return false;
    struct call *calls = realloc(tree->calls, (tree->capacity + more) * sizeof *calls);
    if (!calls) {
        budget_give(room->budget, size);
        return false;
    }
    room->left -= size;
    tree->calls = calls;
    tree->capacity += (uint16_t)more;
    return true;
}

void call_tree_release(struct call_tree *tree, struct call_room *room)
{
    size_t size = tree->capacity * sizeof *tree->calls;
    free(tree->calls);
    budget_give(room->budget, size);
    room->left += size;
    *tree = (struct call_tree){0};
}

/* False: no memory. Calls that the tree has no place for become their caller. */
static bool find_call(struct call_tree *tree, struct call_room *room, uint16_t *at,
                      struct view name)
{
    uint64_t path = path_of(tree->count ? tree->calls[*at].path : 0, name);
    for (uint16_t i = 0; i < tree->count; i++)
        if (tree->calls[i].path == path) {
            *at = i;
            return true;
        }
    if (tree->count == CALLS_MAX)
        return true;
    if (tree->count == tree->capacity && !call_tree_grow(tree, room))
        return false;
    struct call *call = &tree->calls[tree->count];
    *call = (struct call){.path = path, .parent = *at};
    function_name_copy(name.size ? name : VIEW("(unknown)"), call->name);
    *at = tree->count++;
    return true;
}

void call_tree_add(struct call_tree *tree, struct call_room *room, const struct span_stack *stack)
{
    uint16_t at = 0;
    size_t left = stack->count;
    if (tree->count == 0 && !find_call(tree, room, &at, VIEW("total")))
        return;
    while (left-- > 0 && find_call(tree, room, &at, stack->names[left]))
        continue;
    tree->calls[at].samples = capped_sum(tree->calls[at].samples, stack->samples);
    tree->calls[at].cpu_ns = capped_sum(tree->calls[at].cpu_ns, stack->cpu_ns);
    tree->calls[at].wall_ns = capped_sum(tree->calls[at].wall_ns, stack->wall_ns);
}

/* ---- drawing ---- */

struct drawing {
    const struct call_tree *tree;
    uint64_t totals[CALLS_MAX];
    struct {
        uint16_t call, depth;
    } next[CALLS_MAX]; /* calls to be written, the last first */
    size_t waiting;
};

static void add_up(struct drawing *drawing)
{
    const struct call *calls = drawing->tree->calls;
    bool cpu = false, wall = false;
    for (size_t i = 0; i < drawing->tree->count; i++) {
        cpu |= calls[i].cpu_ns > 0;
        wall |= calls[i].wall_ns > 0;
    }
    for (size_t i = 0; i < drawing->tree->count; i++)
        drawing->totals[i] = cpu ? calls[i].cpu_ns : wall ? calls[i].wall_ns : calls[i].samples;
    for (size_t i = drawing->tree->count; i-- > 1;)
        drawing->totals[calls[i].parent] =
            capped_sum(drawing->totals[calls[i].parent], drawing->totals[i]);
}

/* The costliest callee comes last, so that it is written first. */
static void add_callees(struct drawing *drawing, uint16_t caller, uint16_t depth)
{
    size_t first = drawing->waiting;
    for (uint16_t i = 1; i < drawing->tree->count; i++) {
        if (drawing->tree->calls[i].parent != caller)
            continue;
        size_t at = drawing->waiting++;
        for (; at > first && drawing->totals[drawing->next[at - 1].call] >= drawing->totals[i];
             at--)
            drawing->next[at] = drawing->next[at - 1];
        drawing->next[at].call = i;
        drawing->next[at].depth = depth;
    }
}

static bool is_drawn(const struct drawing *drawing, uint16_t call)
{
    return (double)drawing->totals[call] >= (double)drawing->totals[0] * LEAST_PERCENT / 100;
}

/* The only callee that is drawn of a call that took next to nothing itself; 0: there are more, or
 * none. */
static uint16_t only_callee(const struct drawing *drawing, uint16_t caller)
{
    uint16_t only = 0;
    for (uint16_t i = 1; i < drawing->tree->count; i++) {
        if (drawing->tree->calls[i].parent != caller || !is_drawn(drawing, i))
            continue;
        if (only)
            return 0;
        only = i;
    }
    double rest = only ? (double)(drawing->totals[caller] - drawing->totals[only]) : 0;
    return rest < (double)drawing->totals[0] * LEAST_PERCENT / 100 ? only : 0;
}

/* The end of a text, in which names differ, that occupies so many columns. */
static const char *end_of(const char *text, int columns)
{
    const char *at = text + strlen(text);
    while (at > text && columns > 0)
        columns -= ((unsigned char)*--at & 0xc0) != 0x80;
    return at;
}

static void write_line(double share, uint16_t depth, const char *name, struct bytes *out)
{
    int filled = (int)(share * BAR + 0.5), indent = (depth < MAX_INDENT ? depth : MAX_INDENT) * 2;
    int columns = WIDTH - BAR - 12 - indent;
    const char *end = end_of(name, columns);
    bytes_printf(out, "  %5.1f%%  ", share * 100);
    for (int i = 0; i < (filled ? filled : 1); i++)
        bytes_append(out, block, sizeof block - 1);
    bytes_printf(out, "%*s%s%s\n", BAR - (filled ? filled : 1) + 2 + indent, "",
                 end > name ? ellipsis : "", end > name ? end_of(name, columns - 1) : name);
}

static void write_call(const struct drawing *drawing, uint16_t at, uint16_t depth,
                       struct bytes *out)
{
    double share = (double)drawing->totals[at] / (double)drawing->totals[0];
    write_line(share, depth, drawing->tree->calls[at].name, out);
}

/* Skips calls that only make the next one, if they are many, behind a call that was written; the
 * last of the run is to be written. Returns the number of those skipped, and where it goes on. */
static unsigned skip_run(const struct drawing *drawing, uint16_t *at)
{
    unsigned length = 0;
    uint16_t end = *at;
    for (uint16_t next; (next = only_callee(drawing, end)); end = next)
        length++;
    if (length <= FOLDED)
        return 0;
    *at = end;
    return length - 1;
}

static void write_run(const struct drawing *drawing, unsigned skipped, uint16_t end, uint16_t depth,
                      struct bytes *out)
{
    char text[32];
    snprintf(text, sizeof text, "... %u frames ...", skipped);
    write_line((double)drawing->totals[end] / (double)drawing->totals[0], depth, text, out);
    write_call(drawing, end, depth + 1, out);
}

void call_tree_write(const struct call_tree *tree, struct bytes *out)
{
    struct drawing drawing = {.tree = tree, .waiting = 1};
    if (tree->count == 0)
        return;
    add_up(&drawing);
    for (int lines = 0; drawing.waiting && lines < LINES;) {
        uint16_t at = drawing.next[--drawing.waiting].call;
        uint16_t depth = drawing.next[drawing.waiting].depth;
        if (!is_drawn(&drawing, at))
            continue;
        write_call(&drawing, at, depth, out);
        unsigned skipped = skip_run(&drawing, &at);
        if (skipped)
            write_run(&drawing, skipped, at, depth + 1, out);
        add_callees(&drawing, at, skipped ? depth + 3 : depth + 1);
        lines += skipped ? 3 : 1;
    }
}
