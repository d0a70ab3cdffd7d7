#include "extensions/status/copies.h"

#include <string.h>

/* The lowest bit of an entry says that the span is linked; the rest is its hash. 0: none. */
enum { LINKED = 1 };

enum copy_is copies_put(uint64_t *table, uint64_t hash, bool linked, bool anew)
{
    uint64_t *set = &table[(hash >> 48 & (COPIES / COPIES_WAYS - 1)) * COPIES_WAYS];
    unsigned at = 0;
    while (at < COPIES_WAYS - 1 && (set[at] ^ hash) > LINKED)
        at++;
    bool known = !anew && (set[at] ^ hash) <= LINKED, was = known && set[at] & LINKED;
    memmove(set + 1, set, at * sizeof *set);
    set[0] = (hash & ~(uint64_t)LINKED) | (linked || was);
    return was ? COPY_LINKED : known ? COPY_UNLINKED : COPY_NEW;
}
