/* Events of an instance, also of its lanes, that are logged together, once a minute (advise.h). */
#ifndef CORRELATION_ADVICE_SUM_H
#define CORRELATION_ADVICE_SUM_H

#include <stdint.h>

struct advice_sum {
    uint64_t count;  /* since they were last logged */
    uint64_t due;    /* when they are next, mono; 0: there are none */
    uint64_t logged; /* mono; 0: never */
    /* Name and tenant of a service of them. */
    char name[64], tenant[64];
};

#endif
