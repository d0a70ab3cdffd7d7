#include "processors/correlation/known/match.h"

#include "lib/base/clock.h"

/* Fewer may be those of spans that have not ended, and of spans that were too short to be sampled.
 */
enum { IDS_AT_LEAST = 30, SPANS_AT_LEAST = 30 };
#define FOR_AT_LEAST (60 * NS_PER_S)

void match_note_ids(struct match *match, uint64_t count, uint64_t mono)
{
    if (count && !match->since)
        match->since = mono;
    match->ids += count;
}

void match_note_found(struct match *match, uint64_t mono)
{
    match->found = mono;
    if (match->since)
        *match = (struct match){.found = mono};
}

bool match_note_span(struct match *match, uint64_t mono, uint64_t remember)
{
    if (!match->since)
        return false;
    match->spans++;
    bool lately = match->found && mono - match->found <= remember;
    if (!lately && match->ids >= IDS_AT_LEAST && match->spans >= SPANS_AT_LEAST &&
        mono - match->since >= FOR_AT_LEAST)
        match->differ = true;
    return match->differ;
}
