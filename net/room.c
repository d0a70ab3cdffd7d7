#include "net/room.h"

#include <sys/resource.h>

#include "base/log.h"

/* Several listeners share both; even a small budget leaves room for some clients. */
enum { OWN_DESCRIPTORS = 256, LISTENERS = 4, LEAST = 64 };

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

unsigned room_for_connections(unsigned max, const struct budget *budget, size_t cost)
{
    size_t charged = budget && budget->limit ? budget->limit / LISTENERS / cost : max;
    unsigned most = max ? max : 1;
    if (charged < most)
        most = charged > LEAST ? (unsigned)charged : most < LEAST ? most : LEAST;
    rlim_t files = open_files();
    rlim_t room = files > OWN_DESCRIPTORS ? (files - OWN_DESCRIPTORS) / LISTENERS : 0;
    if (room >= most)
        return most;
    room = room > LEAST / 4 ? room : LEAST / 4;
    room = room < most ? room : most;
    log_warn("only %u connections at once, because of the limit of open files", (unsigned)room);
    return (unsigned)room;
}
