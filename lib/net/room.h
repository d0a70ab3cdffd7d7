/* How many connections a listener may hold, given its maximum, the process's limit of open files,
 * and the memory budget that the connections of all listeners are charged to. */
#ifndef LIB_NET_ROOM_H
#define LIB_NET_ROOM_H

#include "lib/base/budget.h"
#include "lib/base/log.h"

/* Connections that a listener accepts even if the budget is used up, so that their clients can be
 * told to retry. */
enum { ROOM_LEAST = 16 };

/* Returns how many connections of at most cost bytes each are possible; at least 1. Raises the soft
 * limit of open files to the hard limit. Logs a warning if open files limit it to less than max. */
unsigned room_for_connections(unsigned max, const struct budget *budget, size_t cost);

/* If errno `code` of an accept is about descriptors or memory, logs a warning that connections
 * cannot be accepted, at most once a minute; *told_ns (0 at first) is when the next may follow. */
void room_tell_lack(uint64_t *told_ns, const struct log_source *source, int code);

/* Charges a connection, beyond the limit if need be. Returns whether the budget had room. */
bool room_charge(struct budget *budget, size_t cost);
void room_return(struct budget *budget, size_t cost);

/* Whether a listener must close an idle connection for a new one, with which it has `open`: the
 * budget had no room for that, or all listeners together have more than the part of the budget
 * that is for connections, a quarter, and this one more than an eighth of it. */
bool room_is_short(const struct budget *budget, size_t cost, size_t open, bool had_room);

#endif
