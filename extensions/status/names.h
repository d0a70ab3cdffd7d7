/* Texts kept once, by number: names of services and spans. Bounded; not thread-safe. */
#ifndef EXTENSIONS_STATUS_NAMES_H
#define EXTENSIONS_STATUS_NAMES_H

#include "lib/base/bytes.h"

enum { NAME_CUT = 256 };

/* What stands for all that there is no room for. */
#define NAME_OTHERS "(others)"

struct names {
    struct bytes text;
    struct bytes at;   /* uint32_t: where each ends */
    uint32_t *buckets; /* number + 1; 0: free */
    uint32_t count, max, capacity;
    struct budget *budget;
};

/* Up to max texts. */
void names_init(struct names *names, uint32_t max, struct budget *budget);
void names_release(struct names *names);

/* The number of a text, cut to NAME_CUT bytes: 0 is that of all that there is no room for. */
uint32_t names_put(struct names *names, struct view text);

struct view names_get(const struct names *names, uint32_t number);

#endif
