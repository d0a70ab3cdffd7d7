#include "processors/correlation/known/timeline.h"

#include "lib/base/clock.h"

#include <stdlib.h>
#include <string.h>

/* Times in whole seconds, and the pause in which a profiler stops and restarts. */
#define SEAM_AT_MOST (1100 * NS_PER_MS)
/* Uploads of several processes at the same moment are all read before spans are given up. */
#define SETTLE_AT_MOST   NS_PER_S
#define LATENESS_MAX     (45 * NS_PER_S)
#define LATE_BY_RETRY    (6 * NS_PER_S)
#define RETRY_SPREAD     (2 * NS_PER_S)
#define RETRIED_WITHIN   (31 * NS_PER_S)
#define LATENESS_KEPT    (600 * NS_PER_S)
#define TRUST_AFTER      (60 * NS_PER_S)
#define ACTIVE_WITHIN    (30 * NS_PER_S)
#define GONE_AFTER       (600 * NS_PER_S)
#define BELIEVED_AT_ONCE (120 * NS_PER_S)
#define UNSURE_FOR       (62 * NS_PER_S) /* a window of a minute, and its upload */

enum {
    TRUST_WINDOWS = 2,
    STEADY_WINDOWS = 2,
    ACTIVE_WINDOWS = 4,
    DRIFT = 200,
    NEARNESS = 8,
    FAR_LONGER = 2
};

static uint64_t timeline_least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t most(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t timeline_minus(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

static uint64_t timeline_distance(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

static uint64_t seam(uint64_t length)
{
    return timeline_least(length / 4, SEAM_AT_MOST);
}

void timeline_release(struct timeline *timeline)
{
    while (timeline->sequences) {
        struct sequence *next = timeline->sequences->next;
        budget_give(timeline->budget, sizeof *next);
        free(timeline->sequences);
        timeline->sequences = next;
    }
    timeline->sequence_count = 0;
}

static bool overlaps(const struct reach *a, const struct reach *b, uint64_t tolerance)
{
    return a->start + tolerance < b->end && b->start + tolerance < a->end;
}

/* How far a window is from following the sequence without a gap; UINT64_MAX: it cannot belong to
 * it. */
static uint64_t fit(const struct sequence *sequence, const struct reach *window, uint64_t tolerance)
{
    uint64_t best = UINT64_MAX;
    if (window->end <= sequence->begun + tolerance)
        best = timeline_distance(window->end, sequence->begun);
    for (unsigned i = 0; i < SEQUENCE_GAPS; i++) {
        const struct reach *gap = &sequence->gaps[i];
        if (gap->end && window->start + tolerance >= gap->start &&
            window->end <= gap->end + tolerance)
            best = timeline_least(best, timeline_least(timeline_distance(window->start, gap->start),
                                                       timeline_distance(window->end, gap->end)));
    }
    if (window->start + tolerance < sequence->frontier)
        return best;
    for (unsigned i = 0; i < sequence->ahead_count; i++) {
        if (overlaps(&sequence->ahead[i], window, tolerance))
            return UINT64_MAX;
        best = timeline_least(best, timeline_distance(window->start, sequence->ahead[i].end));
        best = timeline_least(best, timeline_distance(window->end, sequence->ahead[i].start));
    }
    return timeline_least(best, timeline_distance(window->start, sequence->frontier));
}

/* Whether an idle process, which skips windows, would begin one there. */
static bool is_in_step(const struct sequence *sequence, const struct reach *window,
                       uint64_t tolerance)
{
    uint64_t gap = timeline_minus(window->start, sequence->frontier), length = sequence->length;
    if (length == 0 || window->start < sequence->frontier)
        return false;
    uint64_t rest = gap % length, drift = tolerance + gap / DRIFT;
    return rest <= drift || length - rest <= drift;
}

/* If a window could follow two sequences, the nearer one is chosen, and at equal distance the one
 * with windows of similar length: one of a minute may end where one of ten seconds does. */
static uint64_t unlikeness(const struct sequence *sequence, uint64_t length)
{
    return timeline_distance(sequence->length, length) / 4;
}

static struct sequence *timeline_choose(const struct timeline *timeline,
                                        const struct timeline_window *window,
                                        const struct reach *reach)
{
    struct sequence *adjacent = NULL, *in_step = NULL;
    uint64_t best = UINT64_MAX, nearest = UINT64_MAX, tolerance = seam(window->length);
    for (struct sequence *each = timeline->sequences; each; each = each->next) {
        uint64_t far = each->labels == window->labels ? fit(each, reach, tolerance) : UINT64_MAX;
        uint64_t cost =
            far <= tolerance ? NEARNESS * far + unlikeness(each, window->length) : UINT64_MAX;
        if (cost < best) {
            best = cost;
            adjacent = each;
        } else if (far < nearest && far > tolerance && is_in_step(each, reach, tolerance)) {
            nearest = far;
            in_step = each;
        }
    }
    return adjacent ? adjacent : in_step;
}

/* For windows without a length, or of length 0: any sequence of these labels that is not past
 * it. */
static struct sequence *choose_unmeasured(const struct timeline *timeline,
                                          const struct timeline_window *window)
{
    for (struct sequence *each = timeline->sequences; each; each = each->next)
        if (each->labels == window->labels && window->end > each->frontier)
            return each;
    return NULL;
}

static void drop_last(struct timeline *timeline)
{
    struct sequence **at = &timeline->sequences;
    while ((*at)->next)
        at = &(*at)->next;
    budget_give(timeline->budget, sizeof **at);
    free(*at);
    *at = NULL;
    timeline->sequence_count--;
}

static struct sequence *timeline_begin(struct timeline *timeline,
                                       const struct timeline_window *window, uint64_t now)
{
    if (timeline->sequence_count == TIMELINE_SEQUENCES)
        drop_last(timeline);
    struct sequence *sequence = calloc(1, sizeof *sequence);
    if (!sequence)
        return NULL;
    budget_force(timeline->budget, sizeof *sequence);
    uint64_t start = window->start ? window->start : window->end;
    *sequence = (struct sequence){
        .next = timeline->sequences,
        .serial = ++timeline->last_serial,
        .labels = window->labels,
        .begun = start,
        .frontier = start,
        .settled = start,
        .length = window->length,
    };
    if (timeline->sequences)
        timeline->born = now;
    timeline->sequences = sequence;
    timeline->sequence_count++;
    return sequence;
}

static bool was_seen(struct timeline *timeline, const struct timeline_window *window)
{
    for (unsigned i = 0; i < TIMELINE_SEEN; i++)
        if (timeline->seen[i].content == window->content && timeline->seen[i].content &&
            timeline_distance(timeline->seen[i].end, window->end) <= NS_PER_S)
            return true;
    unsigned at = timeline->seen_at++ % TIMELINE_SEEN;
    timeline->seen[at].end = window->end;
    timeline->seen[at].content = window->content;
    return false;
}

static void note_concurrency(struct timeline *timeline, const struct sequence *own,
                             const struct reach *window, uint64_t now)
{
    for (const struct sequence *each = timeline->sequences; each; each = each->next) {
        struct reach known = {each->begun, each->frontier};
        if (each->ahead_count)
            known.end = each->ahead[each->ahead_count - 1].end;
        if (each != own && overlaps(&known, window, seam(window->end - window->start)))
            timeline->concurrent = now;
    }
}

/* Drops sequences without uploads for that long. */
static void drop_old(struct timeline *timeline, uint64_t now, uint64_t remember)
{
    struct sequence **at = &timeline->sequences;
    while (*at) {
        struct sequence *each = *at;
        if (timeline_minus(now, each->uploaded) <= remember || !each->uploaded) {
            at = &each->next;
            continue;
        }
        *at = each->next;
        budget_give(timeline->budget, sizeof *each);
        free(each);
        timeline->sequence_count--;
    }
}

static void put_first(struct timeline *timeline, struct sequence *sequence)
{
    struct sequence **at = &timeline->sequences;
    while (*at != sequence)
        at = &(*at)->next;
    *at = sequence->next;
    sequence->next = timeline->sequences;
    timeline->sequences = sequence;
}

/* Whether it follows the first far longer window of about its length. */
static bool is_proof(const struct timeline *timeline, const struct timeline_window *window)
{
    const struct reach *first = &timeline->unproven;
    uint64_t length = first->end - first->start;
    return first->end && window->start + seam(window->length) >= first->end &&
           window->length <= FAR_LONGER * length && length <= FAR_LONGER * window->length;
}

bool timeline_believes(struct timeline *timeline, const struct timeline_window *window,
                       uint64_t now, uint64_t remember)
{
    uint64_t known = timeline_longest(timeline);
    if (window->length <= BELIEVED_AT_ONCE)
        return true;
    if (is_proof(timeline, window)) {
        timeline->unproven = (struct reach){0};
        timeline->provisional = false;
        return true;
    }
    if (known && window->length <= FAR_LONGER * known)
        return true;
    if (!timeline->unproven.end ||
        timeline_minus(now, timeline->unproven.end) > remember + window->length)
        timeline->unproven = (struct reach){window->start, window->end};
    timeline->provisional |= !timeline->count;
    return timeline->provisional;
}

struct sequence *timeline_place(struct timeline *timeline, const struct timeline_window *window,
                                uint64_t now, uint64_t remember, bool *again)
{
    struct reach reach = {window->start ? window->start : window->end, window->end};
    *again = was_seen(timeline, window);
    if (*again || window->aside)
        return NULL;
    drop_old(timeline, now, remember);
    struct sequence *sequence = window->length ? timeline_choose(timeline, window, &reach)
                                               : choose_unmeasured(timeline, window);
    if (!sequence)
        sequence = timeline_begin(timeline, window, now);
    if (!sequence)
        return NULL;
    put_first(timeline, sequence);
    note_concurrency(timeline, sequence, &reach, now);
    return sequence;
}

static void add_ahead(struct sequence *sequence, const struct reach *window)
{
    unsigned at = sequence->ahead_count++;
    for (; at > 0 && sequence->ahead[at - 1].start > window->start; at--)
        sequence->ahead[at] = sequence->ahead[at - 1];
    sequence->ahead[at] = *window;
}

static void drop_ahead(struct sequence *sequence)
{
    memmove(sequence->ahead, sequence->ahead + 1,
            --sequence->ahead_count * sizeof *sequence->ahead);
}

static void move_frontier(struct sequence *sequence, uint64_t frontier, uint64_t now)
{
    if (frontier <= sequence->frontier)
        return;
    if (timeline_minus(now, sequence->moved) >=
        timeline_least(sequence->length / 32, SETTLE_AT_MOST))
        sequence->settled = sequence->frontier;
    sequence->frontier = frontier;
    sequence->moved = now;
}

/* Advances the frontier over windows that follow it. */
static void follow(struct sequence *sequence, uint64_t now)
{
    while (sequence->ahead_count &&
           sequence->ahead[0].start <= sequence->frontier + seam(sequence->length)) {
        move_frontier(sequence, sequence->ahead[0].end, now);
        drop_ahead(sequence);
    }
}

static void give_up_gap(struct sequence *sequence, uint64_t now)
{
    struct reach gap = {sequence->frontier, sequence->ahead[0].start};
    sequence->gaps[sequence->gap_at++ % SEQUENCE_GAPS] = gap;
    move_frontier(sequence, gap.end, now);
    follow(sequence, now);
}

static void note_length(struct timeline *timeline, uint64_t length, uint64_t now, uint64_t remember)
{
    if (timeline->provisional && length && length < timeline_longest(timeline) / FAR_LONGER) {
        timeline->longest = timeline->before = 0;
        timeline->provisional = false;
    }
    if (timeline_minus(now, timeline->turned) > remember) {
        timeline->before = timeline->longest;
        timeline->longest = 0;
        timeline->turned = now;
    }
    /* A window longer than samples are remembered is a mistake of its sender. */
    timeline->longest = most(timeline->longest, timeline_least(length, remember));
}

static void note_lateness(struct timeline *timeline, uint64_t late, uint64_t now)
{
    if (timeline_minus(now, timeline->lateness_turned) > LATENESS_KEPT) {
        timeline->lateness[1] = timeline->lateness[0];
        timeline->lateness[0] = (struct lateness){0};
        timeline->lateness_turned = now;
    }
    struct lateness *lately = &timeline->lateness[0];
    lately->most = most(lately->most, late);
    late = timeline_least(late, LATENESS_MAX);
    if (late > LATE_BY_RETRY && (!lately->least_bad || late < lately->least_bad))
        lately->least_bad = late;
}

static void take_in_sequence(struct sequence *sequence, const struct timeline_window *window,
                             uint64_t now)
{
    struct reach reach = {window->start ? window->start : sequence->frontier, window->end};
    sequence->count++;
    sequence->uploaded = now;
    sequence->begun = timeline_least(sequence->begun, reach.start);
    if (window->length)
        sequence->length = window->length;
    sequence->longest = most(sequence->longest, window->length);
    if (reach.end <= sequence->frontier)
        return;
    if (sequence->ahead_count == SEQUENCE_AHEAD)
        give_up_gap(sequence, now);
    if (sequence->ahead_count == SEQUENCE_AHEAD)
        drop_ahead(sequence);
    add_ahead(sequence, &reach);
    follow(sequence, now);
}

void timeline_take(struct timeline *timeline, struct sequence *sequence,
                   const struct timeline_window *window, uint64_t now, uint64_t remember)
{
    uint64_t length = window->length;
    timeline->uploaded = now;
    timeline->count++;
    timeline->aside += window->aside;
    if (window->aside)
        return;
    if (length)
        note_lateness(timeline, timeline_minus(now, window->end), now);
    else
        timeline->unmeasured = true;
    /* Without a length, uploads arrive once a window. */
    if (!length && sequence && sequence->count)
        length = timeline_minus(window->end, sequence->frontier);
    note_length(timeline, length, now, remember);
    if (sequence)
        take_in_sequence(sequence, window, now);
    timeline->watermark = most(timeline->watermark, window->end);
}

struct sequence *timeline_find(const struct timeline *timeline, uint32_t serial)
{
    struct sequence *each = timeline->sequences;
    while (each && each->serial != serial)
        each = each->next;
    return each;
}

void timeline_doubt(struct timeline *timeline, uint64_t now)
{
    timeline->born = now;
}

uint64_t timeline_longest(const struct timeline *timeline)
{
    return most(timeline->longest, timeline->before);
}

uint64_t timeline_lateness(const struct timeline *timeline)
{
    const struct lateness *lately = &timeline->lateness[0], *before = &timeline->lateness[1];
    uint64_t late = timeline_least(most(lately->most, before->most), LATENESS_MAX);
    uint64_t least_bad = lately->least_bad ? lately->least_bad : before->least_bad;
    if (lately->least_bad && before->least_bad)
        least_bad = timeline_least(lately->least_bad, before->least_bad);
    bool varies = least_bad && late > least_bad + RETRY_SPREAD;
    return varies ? most(late, RETRIED_WITHIN) : late;
}

void sequence_note_owner(struct sequence *sequence, uint64_t process, uint64_t now)
{
    if (sequence->owner && sequence->owner != process)
        sequence->contested = now;
    sequence->owner = process;
}

uint64_t sequence_reach(const struct sequence *sequence)
{
    unsigned ahead = sequence->ahead_count;
    return ahead ? sequence->ahead[ahead - 1].end : sequence->frontier;
}

bool sequence_is_alone(const struct timeline *timeline, const struct sequence *sequence,
                       uint64_t process, uint64_t now)
{
    for (const struct sequence *each = timeline->sequences; each; each = each->next) {
        bool before = each->frontier <= sequence->begun && !each->ahead_count;
        bool gone = timeline_minus(now, each->uploaded) > GONE_AFTER;
        if (each != sequence && !before && !gone && (!each->owner || each->owner == process))
            return false;
    }
    return true;
}

/* Returns the longest window of the sequences that had more than one. */
static uint64_t longest_known(const struct timeline *timeline)
{
    uint64_t longest = 0;
    for (const struct sequence *each = timeline->sequences; each; each = each->next)
        if (each->count > 1)
            longest = most(longest, each->longest);
    return longest;
}

uint64_t timeline_unsure_until(const struct timeline *timeline, uint64_t early)
{
    uint64_t until = 0, known = longest_known(timeline);
    for (const struct sequence *each = timeline->sequences; each; each = each->next)
        if (each->count == 1 && each->longest &&
            (each->begun < early || (known && each->longest > known + known / 8)))
            until = most(until, each->frontier + UNSURE_FOR);
    return until;
}

bool sequence_is_steady(const struct timeline *timeline, const struct sequence *sequence,
                        unsigned windows, uint64_t now)
{
    uint64_t within =
        most(ACTIVE_WINDOWS * sequence->length + timeline_lateness(timeline), ACTIVE_WITHIN);
    return sequence->count >= windows && !timeline->unmeasured &&
           timeline_minus(now, sequence->uploaded) <= within;
}

uint64_t sequence_passed(struct sequence *sequence, uint64_t now, uint64_t margin, uint64_t *next)
{
    while (sequence->ahead_count && now >= sequence->ahead[0].start + margin)
        give_up_gap(sequence, now);
    *next = sequence->ahead_count ? sequence->ahead[0].start + margin : UINT64_MAX;
    uint64_t settles = sequence->moved + timeline_least(sequence->length / 32, SETTLE_AT_MOST);
    if (now >= settles)
        sequence->settled = sequence->frontier;
    else
        *next = timeline_least(*next, settles);
    return sequence->settled;
}

bool timeline_is_settled(const struct timeline *timeline, uint64_t now)
{
    uint64_t longest = 0;
    for (const struct sequence *each = timeline->sequences; each; each = each->next)
        longest = most(longest, each->length);
    uint64_t trusted = most(TRUST_WINDOWS * longest, TRUST_AFTER);
    return !timeline->born || timeline_minus(now, timeline->born) > trusted;
}

uint64_t timeline_passed(struct timeline *timeline, uint64_t now, uint64_t margin,
                         uint64_t remember, uint64_t *next)
{
    bool several = timeline->concurrent && timeline_minus(now, timeline->concurrent) <= remember;
    uint64_t passed = UINT64_MAX, asked;
    *next = UINT64_MAX;
    if (!timeline->sequences || !timeline_is_settled(timeline, now))
        return 0;
    for (struct sequence *each = timeline->sequences; each; each = each->next) {
        if (each != timeline->sequences &&
            (!several || timeline_minus(now, each->uploaded) > GONE_AFTER))
            continue; /* the process before, or one that has ended */
        if (!sequence_is_steady(timeline, each, STEADY_WINDOWS, now))
            return 0;
        passed = timeline_least(passed, sequence_passed(each, now, margin, &asked));
        *next = timeline_least(*next, asked);
    }
    return passed;
}
