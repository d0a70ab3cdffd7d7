#include "extensions/status/known_owed.h"

#include "extensions/status/known_find.h"
#include "extensions/status/reason.h"

/* Samples of a span that has not passed after METERED_AFTER count as no span's in the metrics,
 * for good. Those that came under another name than its own are not its own if, within FOREIGN_FOR,
 * a span of that service comes with the id. */
enum { METERED_AFTER_S = 600, FOREIGN_FOR_S = 30 };

/* A span passes when it is decided, and is looked at a second later if it is at all. */
#define MISSED_AFTER (5 * NS_PER_S)

/* After so long, correlation holds most spans of a service that samples name. Of the rest, as where
 * the names differ, samples come when the span has passed. They are looked for more rarely, since
 * that reads what was kept lately, mostly in vain: a sampler may have dropped the span. */
#define YOUNG_FOR   (90 * NS_PER_S)
#define JOIN_EVERY  (60 * NS_PER_S)
#define JOIN_LOOKED (5 * NS_PER_S)

static struct known_sum known_owed(const struct known_span *span)
{
    return (struct known_sum){span->owed, span->owed_wall, span->owed_samples,
                              span->owed_wall_samples};
}

struct known_stretch known_owed_over(const struct known_span *span)
{
    return (struct known_stretch){span->owed_from * NS_PER_S, span->owed_to * NS_PER_S};
}

/* Where that is meanwhile: with the route of a span that passed, else with what none claims. */
static size_t known_owed_at(const struct known *known, const struct known_span *span)
{
    return span->dealt    ? known_route_for(known, span)
           : span->missed ? known_missed(span->under)
                          : known_unclaimed(span->under);
}

void known_take_back(struct known *known, const struct known_span *span)
{
    struct known_sum owed = known_owed(span);
    struct known_stretch over = known_owed_over(span);
    if (known_owes(span))
        known_route_take(known, known_owed_at(known, span), &owed, &over);
}

void known_lend(struct known *known, const struct known_span *span)
{
    struct known_sum owed = known_owed(span);
    struct known_stretch over = known_owed_over(span);
    if (known_owes(span))
        known_route_add(known, known_owed_at(known, span), &owed, &over);
}

void known_widen(struct known_span *span, const struct known_stretch *over)
{
    uint32_t from = (uint32_t)(over->from / NS_PER_S);
    uint32_t to = (uint32_t)((over->to + NS_PER_S - 1) / NS_PER_S);
    bool more = known_owes(span) || (span->recalled && !span->dealt);
    span->owed_from = more && span->owed_from < from ? span->owed_from : from;
    span->owed_to = more && span->owed_to > to ? span->owed_to : to;
}

void known_owe(struct known *known, struct known_span *span, const struct known_sum *sum,
               const struct known_stretch *over, uint64_t now)
{
    known_take_back(known, span);
    span->owed_at = known_owes(span) ? span->owed_at : (uint32_t)(now / NS_PER_S);
    known_widen(span, over);
    span->owed += sum->cpu_ns;
    span->owed_wall += sum->wall_ns;
    span->owed_samples += (uint32_t)sum->samples;
    span->owed_wall_samples += (uint32_t)sum->wall_samples;
    known_lend(known, span);
    if (span->metered)
        known_meter(known, known_owed_at(known, span), sum->cpu_ns);
}

/* What it owes stays where it is. */
void known_pay(struct known *known, struct known_span *span)
{
    if (known_owes(span) && !span->metered)
        known_meter(known, known_owed_at(known, span), span->owed);
    span->owed = span->owed_wall = span->owed_samples = span->owed_wall_samples = 0;
    span->metered = false;
}

void known_miss(struct known *known, struct known_span *span)
{
    if (!known_owes(span) || !span->decided || span->dealt || span->trace)
        return;
    known_take_back(known, span);
    known->missed += !span->missed;
    span->missed = true;
    known_lend(known, span);
}

bool known_sampled_elsewhere(const struct known *known, const struct known_span *span)
{
    const struct known_span *each = known->has_tenants ? known_find(known, span->id) : NULL;
    for (; each; each = known_next(known, each))
        if (!each->decided && !each->dealt && known_has_samples(each) &&
            !known_shares_tenant(known, span, each->under))
            return true;
    return false;
}

/* Samples came whose span did not pass. If one of another tenant did, and has none, it may be that.
 */
static void known_note_tenant(struct known *known, const struct known_span *span)
{
    struct known_span *each = known_find(known, span->id);
    for (; each; each = known_next(known, each))
        if (each->decided && each->action != WATCH_LINKED && !known_has_samples(each) &&
            !known_shares_tenant(known, each, span->under))
            reason_note_tenant(known, each, span->under);
}

void known_settle(struct known *known, uint64_t now)
{
    uint64_t second = now / NS_PER_S;
    known_fold(known);
    for (uint32_t i = 0; i < known->span_count; i++) {
        struct known_span *span = &known->spans[i];
        if (!known_owes(span))
            continue;
        if (known->has_tenants && !span->decided && !span->dealt)
            known_note_tenant(known, span);
        if (!span->missed && span->decided + MISSED_AFTER < now)
            known_miss(known, span);
        if (span->dealt && second > span->owed_at + FOREIGN_FOR_S) {
            known_pay(known, span);
        } else if (!span->metered && second > span->owed_at + METERED_AFTER_S) {
            known_meter(known, known_owed_at(known, span), span->owed);
            span->metered = true;
        }
    }
}

/* A span that was decided passes after that, and is known by then; but a child counts only if
 * samples name it. */
static bool known_waits(const struct known_span *span)
{
    bool may = !span->decided || span->trace;
    return may && !span->tried && !span->dealt && known_owes(span);
}

bool known_may_have_passed(struct known *known, uint64_t now, bool looks)
{
    bool any = false, due = now - known->joined_at > (looks ? JOIN_LOOKED : JOIN_EVERY);
    for (uint32_t i = 0; i < known->span_count && !any; i++) {
        const struct known_span *span = &known->spans[i];
        bool young = known->services[span->under]->first_came + YOUNG_FOR > now;
        any = (due || young) && known_waits(span);
    }
    for (uint32_t i = 0; any && i < known->span_count; i++)
        known->spans[i].tried |= known_waits(&known->spans[i]);
    known->joined_at = any ? now : known->joined_at;
    return any;
}
