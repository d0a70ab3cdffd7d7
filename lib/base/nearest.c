#include "lib/base/nearest.h"

#include <ctype.h>
#include <stdio.h>

enum {
    NAME_MOST = 64,
    WITHIN_MOST = 3,
    BEGINNING_LEAST = 4 /* bytes of a name that is the beginning of the one that was meant */
};

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

static bool is_same(struct view a, size_t i, struct view b, size_t j)
{
    return tolower(a.data[i]) == tolower(b.data[j]);
}

/* Insertions, deletions, changes and swaps of neighbours that lead from one to the other. */
static unsigned distance(struct view a, struct view b)
{
    unsigned rows[3][NAME_MOST + 1];
    for (unsigned j = 0; j <= b.size; j++)
        rows[0][j] = j;
    for (unsigned i = 1; i <= a.size; i++) {
        unsigned *row = rows[i % 3], *above = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];
        row[0] = i;
        for (unsigned j = 1; j <= b.size; j++) {
            row[j] = above[j - 1] + !is_same(a, i - 1, b, j - 1);
            row[j] = least(row[j], least(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && is_same(a, i - 1, b, j - 2) && is_same(a, i - 2, b, j - 1))
                row[j] = least(row[j], before[j - 2] + 1);
        }
    }
    return rows[a.size % 3][b.size];
}

struct nearest nearest_begin(struct view name)
{
    return (struct nearest){.name = name,
                            .within = least((unsigned)(name.size + 2) / 4, WITHIN_MOST)};
}

void nearest_offer(struct nearest *nearest, const char *candidate)
{
    struct view other = view_of(candidate);
    if (nearest->name.size > NAME_MOST || other.size > NAME_MOST)
        return;
    unsigned away = distance(nearest->name, other);
    bool begins = nearest->name.size >= BEGINNING_LEAST && view_starts(other, nearest->name);
    if (away > nearest->within && (nearest->best || !begins))
        return;
    nearest->best = candidate;
    nearest->within = least(nearest->within, away - (away > 0));
}

void nearest_hint(const struct nearest *nearest, char hint[120])
{
    *hint = '\0';
    if (nearest->best)
        snprintf(hint, 120, ", did you mean %s?", nearest->best);
}

const char *nearest_word(const char *word, const char *const *list)
{
    struct nearest nearest = nearest_begin(view_of(word));
    for (; list && *list; list++)
        nearest_offer(&nearest, *list);
    return nearest.best;
}
