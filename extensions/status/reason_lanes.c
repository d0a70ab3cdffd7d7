#include "extensions/status/reason_lanes.h"

#include "extensions/status/known_find.h"

/* Spans; one alone may be from a rebalance. And for how long after the last of them. */
enum { AT_LEAST = 3 };
#define FOR_NS (60 * NS_PER_S)

#define FIX                                                                                        \
    "Write spans and profiles of a process with the same key, to topics with equally many "        \
    "partitions: spanlink's kafka exporter does, with partition_by: [service, source] and the "    \
    "same "                                                                                        \
    "source."

static const struct watch_reason of_samples = {
    "partitions_differ",
    "Samples with its id came in another partition than the span, so they did not meet.", FIX};

/* Which of the two is not known. */
static const struct watch_reason of_profiles = {
    "not_profiled",
    "Profiles of its service came only in other partitions than the span: its process sends none, "
    "or they were written with another key.",
    "Start the profiler in each process of the service. If it runs in that of the span: " FIX};

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

void reason_lane_note(struct known_service *service, const struct watch_reason *told,
                      uint64_t decided)
{
    if (told != &of_samples)
        return;
    service->lane_spans++;
    service->lane_at = decided;
}

bool reason_lane_is_trouble(const struct known_service *service, const char **text,
                            const char **fix)
{
    if (service->lane_spans < AT_LEAST || service->lane_at + FOR_NS < service->linked_at)
        return false;
    *text = "Its profiles come in other partitions than its spans, so they do not meet.";
    *fix = FIX;
    return true;
}
