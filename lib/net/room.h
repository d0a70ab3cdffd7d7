/* How many connections a listener may hold: by its own maximum, by the process's limit of open
 * files, and by the memory budget that connections are charged to. */
#ifndef LIB_NET_ROOM_H
#define LIB_NET_ROOM_H

#include "lib/base/budget.h"

/* So many connections a listener holds even where the budget is used up, so that their clients hear
 * that they are to try again. */
enum { ROOM_LEAST = 16 };

/* Connections of at most cost bytes each; at least 1. Raises the soft limit of open files to the
 * hard one. Less than max because of open files is logged as a warning. */
unsigned room_for_connections(unsigned max, const struct budget *budget, size_t cost);

#endif
