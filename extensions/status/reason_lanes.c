#include "extensions/status/reason_lanes.h"

#include "extensions/status/known_find.h"

#define WORD "partitions_differ"

/* Spans in a row; one alone may be from a rebalance or after partitions were added. */
enum { AT_LEAST = 3 };

#define FIX                                                                                        \
    "Write spans and profiles of a process with the same key, to topics with equally many "        \
    "partitions: spanlink's kafka exporter does, with partition_by: [service, source]."

static const struct watch_reason of_samples = {
    WORD, "Samples with its id came in another partition than the span, so they did not meet.",
    FIX};
static const struct watch_reason of_profiles = {
    WORD, "Profiles of its service came in other partitions than the span, so they did not meet.",
    FIX};

/* Whether a window that is remembered came in another lane than the span. */
static bool is_elsewhere(const struct known_window *window, const struct known_span *span)
{
    return window && window->lane && window->lane != span->lane;
}

const struct watch_reason *reason_lane_of_samples(const struct known *known,
                                                  const struct known_span *span)
{
    const struct known_window *first = known_window(known, span->first_window);
    const struct known_window *last = known_window(known, span->last_window);
    bool elsewhere = (!first || is_elsewhere(first, span)) && (!last || is_elsewhere(last, span));
    return span->lane && (first || last) && elsewhere ? &of_samples : NULL;
}

const struct watch_reason *reason_lane_of_profiles(const struct known *known,
                                                   const struct known_span *span)
{
    const struct known_service *service = known->services[span->service];
    bool here = service->lanes >> span->lane % 64 & 1;
    return span->lane && service->lanes && !here ? &of_profiles : NULL;
}

void reason_lane_note(struct known_service *service, const struct watch_reason *told)
{
    if (told != &of_samples && told != &of_profiles)
        return;
    service->lane_run++;
}

bool reason_lane_is_trouble(const struct known_service *service, const char **text,
                            const char **fix)
{
    if (service->lane_run < AT_LEAST)
        return false;
    *text = "Its profiles come in other partitions than its spans, so they do not meet.";
    *fix = FIX;
    return true;
}
