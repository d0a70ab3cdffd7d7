#include "lib/base/arrival.h"

enum { LEAST_ROOM = 256 };

void arrival_begin(struct arrival *arrival, struct budget *budget, size_t max, size_t declared)
{
    *arrival = (struct arrival){.budget = budget, .declared = declared};
    pthread_mutex_init(&arrival->lock, NULL);
    bytes_init(&arrival->body, declared < max ? declared : max, NULL);
}

static void list(struct arrival *arrival)
{
    struct budget *budget = arrival->budget;
    arrival->begun = arrival->progressed = clock_mono(&clock_system);
    pthread_mutex_lock(&budget->arriving_lock);
    arrival->next = budget->arriving;
    arrival->prev = NULL;
    if (arrival->next)
        arrival->next->prev = arrival;
    budget->arriving = arrival;
    pthread_mutex_unlock(&budget->arriving_lock);
    arrival->listed = true;
}

static void unlist(struct arrival *arrival)
{
    struct budget *budget = arrival->budget;
    if (!arrival->listed)
        return;
    arrival->listed = false;
    pthread_mutex_lock(&budget->arriving_lock);
    if (arrival->next)
        arrival->next->prev = arrival->prev;
    if (arrival->prev)
        arrival->prev->next = arrival->next;
    else
        budget->arriving = arrival->next;
    pthread_mutex_unlock(&budget->arriving_lock);
}

/* ---- memory; under the lock ---- */

static void give_back(struct arrival *arrival)
{
    bytes_release(&arrival->body);
    budget_give(arrival->budget, arrival->charged);
    arrival->charged = 0;
    arrival->gone = true;
}

/* Beyond its share it only takes what nobody else needs. */
static bool charge(struct arrival *arrival, size_t target)
{
    size_t more = target > arrival->charged ? target - arrival->charged : 0;
    bool taken = more == 0 ||
                 (target > budget_share(arrival->budget) ? budget_take_spare(arrival->budget, more)
                                                         : budget_take(arrival->budget, more));
    if (taken)
        arrival->charged = target;
    return taken;
}

/* Once bytes have arrived, the declared size, if not excessive, is allocated at once, so that the
 * body is not moved as it grows; untouched memory costs nothing. */
static size_t room_for(const struct arrival *arrival, size_t need)
{
    const struct bytes *body = &arrival->body;
    bool known = arrival->declared != SIZE_MAX;
    size_t room = 2 * body->capacity;
    size_t least = need < ARRIVAL_STEP ? LEAST_ROOM : known ? ARRIVAL_AHEAD : ARRIVAL_STEP;
    if (room < least)
        room = least;
    if (room < need)
        room = need;
    return room < body->max ? room : body->max;
}

static size_t charge_for(const struct arrival *arrival, size_t need, size_t room)
{
    size_t steps = (need + ARRIVAL_STEP - 1) / ARRIVAL_STEP * ARRIVAL_STEP;
    return arrival->declared == SIZE_MAX || steps > room ? room : steps;
}

static bool arrival_make_room(struct arrival *arrival, size_t n)
{
    struct bytes *body = &arrival->body;
    size_t need = body->size + n, room = body->capacity;
    if (need > room)
        room = room_for(arrival, need);
    if (!charge(arrival, charge_for(arrival, need, room))) {
        if (room == body->capacity || !charge(arrival, need))
            return false;
        room = need;
    }
    return room == body->capacity || bytes_reserve(body, room - body->size) == BYTES_OK;
}

/* ---- the owning thread ---- */

static void note_progress(struct arrival *arrival, size_t n)
{
    arrival->since_progress += n;
    if (arrival->since_progress < ARRIVAL_PROGRESS)
        return;
    arrival->since_progress = 0;
    arrival->progressed = clock_mono(&clock_system);
}

static enum bytes_result base_arrival_append(struct arrival *arrival, const void *data, size_t n)
{
    struct bytes *body = &arrival->body;
    if (arrival->gone)
        return BYTES_NO_MEMORY;
    if (n > body->max - body->size)
        return BYTES_FULL;
    if (!arrival_make_room(arrival, n))
        return BYTES_NO_MEMORY;
    if (arrival->listed)
        note_progress(arrival, n);
    return bytes_append(body, data, n);
}

enum bytes_result arrival_append(struct arrival *arrival, const void *data, size_t n)
{
    pthread_mutex_lock(&arrival->lock);
    enum bytes_result result = base_arrival_append(arrival, data, n);
    if (result != BYTES_OK)
        give_back(arrival);
    arrival->received += n;
    bool more = result == BYTES_OK && arrival->received < arrival->declared;
    pthread_mutex_unlock(&arrival->lock);
    if (more && !arrival->listed && arrival->budget)
        list(arrival);
    return result;
}

bool arrival_end(struct arrival *arrival, struct bytes *out)
{
    unlist(arrival);
    bytes_init(out, arrival->body.max, arrival->budget);
    if (arrival->gone || !charge(arrival, arrival->body.capacity))
        return false;
    *out = arrival->body;
    out->budget = arrival->budget;
    arrival->charged = 0;
    bytes_init(&arrival->body, 0, NULL);
    return true;
}

void arrival_drop(struct arrival *arrival)
{
    unlist(arrival);
    give_back(arrival);
}

/* ---- giving way; any thread ---- */

enum { STAYS, SLOW, STALLED, HOG };

/* The reason to give way, and how strong it is. */
struct claim {
    int kind;
    uint64_t weight;
};

/* Under its lock. Estimated total time; if the size is unknown, half is assumed to have arrived. */
static uint64_t takes_in_all(const struct arrival *arrival, uint64_t age)
{
    double size = (double)arrival->body.size;
    double whole = arrival->declared == SIZE_MAX ? 2 * size : (double)arrival->declared;
    double takes = (double)age * whole / size;
    return takes < (double)TIME_NEVER ? (uint64_t)takes : TIME_NEVER;
}

/* Under its lock. */
static struct claim claim_on(const struct arrival *arrival, uint64_t now)
{
    uint64_t age = now - arrival->begun, silent = now - arrival->progressed;
    if (arrival->charged > budget_share(arrival->budget))
        return (struct claim){HOG, arrival->charged};
    if (silent >= ARRIVAL_STALLED)
        return (struct claim){STALLED, silent};
    uint64_t takes = takes_in_all(arrival, age);
    if (age >= ARRIVAL_YOUNG && takes >= ARRIVAL_LONG)
        return (struct claim){SLOW, takes};
    return (struct claim){STAYS, 0};
}

/* With the list locked. An arrival whose lock is taken is receiving, so it has just made
 * progress. */
static bool arrival_look_at(struct arrival *arrival, uint64_t now, struct claim *claim)
{
    if (pthread_mutex_trylock(&arrival->lock) != 0)
        return false;
    *claim = arrival->gone ? (struct claim){STAYS, 0} : claim_on(arrival, now);
    pthread_mutex_unlock(&arrival->lock);
    return claim->kind != STAYS;
}

static struct claim most_of(const struct budget *budget, uint64_t now)
{
    struct claim most = {STAYS, 0}, claim;
    for (struct arrival *it = budget->arriving; it; it = it->next)
        if (arrival_look_at(it, now, &claim) &&
            (claim.kind > most.kind || (claim.kind == most.kind && claim.weight > most.weight)))
            most = claim;
    return most;
}

/* With the list locked. Returns the bytes freed. */
static size_t make_go(struct arrival *arrival)
{
    if (pthread_mutex_trylock(&arrival->lock) != 0)
        return 0;
    size_t charged = arrival->gone ? 0 : arrival->charged;
    if (charged) {
        give_back(arrival);
        atomic_fetch_add_explicit(&arrival->budget->gave_way, 1, memory_order_relaxed);
    }
    pthread_mutex_unlock(&arrival->lock);
    return charged;
}

/* Makes arrivals with this claim or a stronger one give way until n bytes are free. */
static size_t make_such_go(const struct budget *budget, struct claim least, uint64_t now, size_t n)
{
    size_t freed = 0;
    struct claim claim;
    for (struct arrival *it = budget->arriving; it && freed < n; it = it->next)
        if (arrival_look_at(it, now, &claim) && claim.kind == least.kind &&
            claim.weight >= least.weight)
            freed += make_go(it);
    return freed;
}

/* If many hold little each, those with at least half the first one's claim give way with it:
 * scanning all of them for each would take too long. */
bool arrival_make_way(struct budget *budget, size_t n)
{
    pthread_mutex_lock(&budget->arriving_lock);
    uint64_t now = clock_mono(&clock_system);
    struct claim claim = most_of(budget, now);
    size_t freed = claim.kind == STAYS ? 0 : make_such_go(budget, claim, now, 1);
    claim.weight /= 2;
    if (freed && freed < n)
        make_such_go(budget, claim, now, n - freed);
    pthread_mutex_unlock(&budget->arriving_lock);
    return freed > 0;
}
