#include "lib/net/room.h"

#include <sys/resource.h>

#include "lib/base/log.h"

/* Several listeners share the open files and the budget. */
enum { OWN_DESCRIPTORS = 256, LISTENERS = 4 };

static rlim_t open_files(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return RLIM_INFINITY;
    rlim_t before = limit.rlim_cur;
    limit.rlim_cur = limit.rlim_max;
    return before == limit.rlim_max || setrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_max
                                                                             : before;
}

static unsigned room_least(unsigned most, size_t room)
{
    room = room > ROOM_LEAST ? room : ROOM_LEAST;
    return room < most ? (unsigned)room : most;
}

unsigned room_for_connections(unsigned max, const struct budget *budget, size_t cost)
{
    unsigned most = max ? max : 1;
    if (budget)
        most = room_least(most, budget->limit / LISTENERS / cost);
    rlim_t files = open_files();
    unsigned room =
        room_least(most, files > OWN_DESCRIPTORS ? (files - OWN_DESCRIPTORS) / LISTENERS : 0);
    if (room < most)
        log_warn("at most %u connections at once, because of the open file limit", room);
    return room;
}
