/* Spans whose profiles are in other partitions of Kafka, where no lane has both. Guarded by the
 * watch's lock. */
#ifndef EXTENSIONS_STATUS_REASON_LANES_H
#define EXTENSIONS_STATUS_REASON_LANES_H

#include "extensions/status/known.h"

/* The reason if all samples of a span that was not linked came in other lanes; NULL: they did not,
 * or it is not known. */
const struct watch_reason *reason_lane_of_samples(const struct known *known,
                                                  const struct known_span *span);

/* The reason if its service has profiles, but none that confirms in the span's lane; or NULL. */
const struct watch_reason *reason_lane_of_profiles(const struct known *known,
                                                   const struct known_span *span);

/* Notes what a span was told, and when it was decided (wall), for reason_lane_is_trouble. */
void reason_lane_note(struct known_service *service, const struct watch_reason *told,
                      uint64_t decided);

/* Whether that is the reason of spans of the service, until others have been linked for a while;
 * then sets text and fix. */
bool reason_lane_is_trouble(const struct known_service *service, const char **text,
                            const char **fix);

#endif
