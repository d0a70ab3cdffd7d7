#include "processors/correlation/judge.h"

#include "base/clock.h"
#include "settings/key.h"

#define WINDOW_UNTIL_TWO (15 * NS_PER_S)
#define WINDOW_OF_GO     (30 * NS_PER_S)
#define HOLD_UNTIL_TWO   (45 * NS_PER_S)
#define HOLD_OF_NODE     (75 * NS_PER_S)
#define HOLD_AT_LEAST    (20 * NS_PER_S)
#define MARGIN_AT_LEAST  (2 * NS_PER_S)

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Sums of times that a client may have made up: they stop at the end of time. */
static uint64_t plus(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

uint64_t judge_window(uint64_t longest, unsigned windows, bool from_go)
{
    uint64_t window = windows < 2 ? larger(longest, WINDOW_UNTIL_TWO) : longest;
    return from_go ? larger(window, WINDOW_OF_GO) : window;
}

uint64_t judge_hold(uint64_t configured, uint64_t window, unsigned windows, bool from_node)
{
    if (configured != DURATION_AUTO)
        return configured;
    if (windows == 0 && from_node)
        return larger(plus(window, window / 2), HOLD_OF_NODE);
    return larger(plus(window, window / 2), windows < 2 ? HOLD_UNTIL_TWO : HOLD_AT_LEAST);
}

static struct judgement leave(enum judge_reason reason)
{
    return (struct judgement){.answer = JUDGE_LEAVE, .reason = reason};
}

/* A span that rule 2 or 3 finds without samples. */
static struct judgement unlink_span(const struct judge_service *service,
                                    const struct judge_span *span, enum judge_reason reason)
{
    if (span->before_start)
        return leave(REASON_BEFORE_START);
    if (service->unread)
        return leave(REASON_FORMAT);
    return (struct judgement){.answer = JUDGE_UNLINK, .reason = reason};
}

struct judgement judge(const struct judge_service *service, const struct judge_span *span,
                       struct judge_now now)
{
    uint64_t doubt_ends = plus(service->first_seen, service->hold);
    uint64_t hold_ends = plus(span->arrived, service->hold);
    uint64_t due = hold_ends;

    if (!service->profiled) {
        if (service->unread)
            return leave(REASON_FORMAT);
        if (now.mono >= doubt_ends)
            return leave(REASON_NOT_PROFILED);
        due = smaller(due, doubt_ends);
    }
    if (service->watermark > span->end) {
        uint64_t margin = larger(service->window / 4, MARGIN_AT_LEAST);
        uint64_t decided = plus(plus(span->end, service->window), margin);
        if (now.wall > decided)
            return unlink_span(service, span, REASON_NO_SAMPLE);
        due = smaller(due, plus(now.mono, decided - now.wall + 1));
    }
    if (now.mono >= hold_ends)
        return unlink_span(service, span, REASON_HOLD_RAN_OUT);
    return (struct judgement){.answer = JUDGE_WAIT, .due = due};
}
