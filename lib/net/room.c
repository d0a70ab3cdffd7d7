#include "lib/net/room.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>

#include "lib/base/clock.h"

/* Several listeners share the open files and the budget. SHARE: of the budget, what connections may
 * take; FAIR: of that, what a listener keeps whatever others have. */
enum { OWN_DESCRIPTORS = 256, LISTENERS = 4, SHARE = 4, FAIR = 8 };

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
        most = room_least(most, budget->limit / SHARE / cost);
    rlim_t files = open_files();
    unsigned room =
        room_least(most, files > OWN_DESCRIPTORS ? (files - OWN_DESCRIPTORS) / LISTENERS : 0);
    if (room < most)
        log_warn("at most %u connections at once, because of the open file limit", room);
    return room;
}

void room_tell_lack(uint64_t *told_ns, const struct log_source *source, int code)
{
    uint64_t now = clock_mono(&clock_system);
    bool lack = code == EMFILE || code == ENFILE || code == ENOBUFS || code == ENOMEM;
    if (!lack || now < *told_ns)
        return;
    *told_ns = now + 60 * NS_PER_S;
    log_of(source, LOG_WARN, "connections cannot be accepted: %s", strerror(code));
}

bool room_charge(struct budget *budget, size_t cost)
{
    bool had_room = budget_use(budget, cost);
    if (!had_room)
        budget_force(budget, cost);
    if (budget)
        atomic_fetch_add_explicit(&budget->connections, cost, memory_order_relaxed);
    return had_room;
}

void room_return(struct budget *budget, size_t cost)
{
    if (budget)
        atomic_fetch_sub_explicit(&budget->connections, cost, memory_order_relaxed);
    budget_give(budget, cost);
}

bool room_is_short(const struct budget *budget, size_t cost, size_t open, bool had_room)
{
    if (!budget || open <= ROOM_LEAST)
        return false;
    size_t share = budget->limit / SHARE;
    size_t all = atomic_load_explicit(&budget->connections, memory_order_relaxed);
    return !had_room || (all > share && open * cost > share / FAIR);
}
