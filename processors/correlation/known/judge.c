#include "processors/correlation/known/judge.h"

#include "lib/base/clock.h"
#include "lib/settings/key.h"

#define WINDOW_UNTIL_TWO   (15 * NS_PER_S)
#define WINDOW_OF_GO       (30 * NS_PER_S)
#define FIRST_HOLD         (45 * NS_PER_S)
#define FIRST_HOLD_OF_NODE (75 * NS_PER_S)
#define HOLD_AT_LEAST      (20 * NS_PER_S)
#define MARGIN_AT_LEAST    (2 * NS_PER_S)
#define LATER_AT_LEAST     (500 * NS_PER_MS)

static uint64_t judge_larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Sums of times that a client may have made up saturate. */
static uint64_t plus(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static uint64_t judge_minus(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

uint64_t judge_first_hold(uint64_t configured, bool from_node)
{
    if (configured != DURATION_AUTO)
        return configured;
    return from_node ? FIRST_HOLD_OF_NODE : FIRST_HOLD;
}

uint64_t judge_window(uint64_t longest, unsigned windows, bool from_go, uint64_t slower)
{
    uint64_t window = windows < 2 ? judge_larger(longest, WINDOW_UNTIL_TWO) : longest;
    if (from_go)
        window = judge_larger(window, WINDOW_OF_GO);
    return judge_larger(window, slower);
}

uint64_t judge_margin(uint64_t window, uint64_t lateness)
{
    uint64_t seen = plus(lateness, judge_larger(lateness / 8, LATER_AT_LEAST));
    return judge_larger(judge_larger(window / 4, MARGIN_AT_LEAST), seen);
}

enum judge_answer judge_all(const struct judge_known *known, uint64_t mono,
                            enum judge_reason *reason)
{
    if (known->no_ids) {
        *reason = known->unread ? REASON_FORMAT : REASON_NO_IDS;
        return known->unread ? JUDGE_LEAVE : JUDGE_UNLINK;
    }
    if (known->profiled || known->others)
        return JUDGE_EACH;
    *reason = known->unread ? REASON_FORMAT : REASON_NOT_PROFILED;
    return known->unread || mono >= plus(known->first_seen, known->first_hold) ? JUDGE_LEAVE
                                                                               : JUDGE_EACH;
}

uint64_t judge_wait_seen(const struct judge_known *known)
{
    return plus(plus(known->window, known->margin), known->skew);
}

uint64_t judge_wait_idle(const struct judge_known *known)
{
    uint64_t wait = judge_larger(plus(known->window, known->window / 2), HOLD_AT_LEAST);
    return judge_larger(judge_wait_seen(known), plus(wait, known->skew));
}

/* Rule 3 by arrival: as configured, or while no window is known. */
static uint64_t wait_arrived(const struct judge_known *known)
{
    if (known->hold != DURATION_AUTO)
        return known->hold;
    return known->profiled ? UINT64_MAX : known->first_hold;
}

struct judge_limits judge_limits(const struct judge_known *known, uint64_t mono)
{
    uint64_t wait = wait_arrived(known);
    struct judge_limits limits = {
        .arrived = wait == UINT64_MAX ? 0 : judge_minus(plus(mono, 1), wait),
    };
    if (!known->profiled)
        return limits;
    limits.sampled = smaller(known->watermark, judge_minus(mono, judge_wait_seen(known)));
    limits.sampled = judge_larger(limits.sampled, judge_minus(known->passed, known->skew));
    if (known->hold == DURATION_AUTO)
        limits.ended = judge_minus(mono, judge_wait_idle(known));
    return limits;
}

uint64_t judge_until(const struct judge_known *known, uint64_t ended, uint64_t arrived,
                     uint64_t mono)
{
    uint64_t due = plus(arrived, wait_arrived(known));
    if (!known->profiled) {
        if (!known->others)
            due = smaller(due, plus(known->first_seen, known->first_hold));
        return judge_larger(due, mono);
    }
    if (ended < known->watermark)
        due = smaller(due, plus(plus(ended, judge_wait_seen(known)), 1));
    if (known->hold == DURATION_AUTO)
        due = smaller(due, plus(plus(ended, judge_wait_idle(known)), 1));
    return judge_larger(due, mono);
}

uint64_t judge_due(const struct judge_known *known, uint64_t ended, uint64_t arrived, uint64_t mono)
{
    uint64_t until = judge_until(known, ended, arrived, mono);
    return known->profiled ? judge_larger(smaller(until, known->ask_at), mono) : until;
}

uint64_t judge_longest(const struct judge_known *known)
{
    uint64_t wait = wait_arrived(known);
    return wait == UINT64_MAX ? judge_wait_idle(known) : wait;
}
