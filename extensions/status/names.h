/* Interns strings: names of services, spans and functions. Bounded; not thread-safe. */
#ifndef EXTENSIONS_STATUS_NAMES_H
#define EXTENSIONS_STATUS_NAMES_H

#include "lib/base/bytes.h"

enum { NAME_CUT = 256 };

/* Number 0 stands for names beyond the limits. */
#define NAME_OTHERS "(others)"

/* What stands for the name of a span where samples name none. */
#define NAME_UNCLAIMED "(no span)"

/* The same where the span passed, but its request was not looked at, or its decision. */
#define NAME_NOT_LOOKED "(not looked at)"

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

/* Returns the number of a text, cut to NAME_CUT bytes, and adds it if it is new; 0: no room. */
uint32_t names_put(struct names *names, struct view text);

/* A text cut to NAME_CUT bytes, where a character of UTF-8 ends. */
struct view names_cut(struct view text);

struct view names_get(const struct names *names, uint32_t number);

/* Whether a number is that of a text. */
bool names_eq(const struct names *names, uint32_t number, struct view text);

#endif
