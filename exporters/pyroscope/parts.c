/* Batches sent in several requests, and servers with a rate limit in bytes. */
#include "exporters/pyroscope/pyroscope.h"

/* The server's rate limiter accepts a profile as a whole or not at all, and never one above its
 * burst. Therefore a part that gets 429 MAX_429 times in a row is halved, down to MIN_PART bytes.
 */
enum { MAX_429 = 2, MIN_PART = 64 << 10 };

size_t parts_bytes(const struct pyroscope_exporter *self, const struct progress *progress)
{
    size_t most = (size_t)self->max_profile_bytes;
    return progress->part_bytes && progress->part_bytes < most ? progress->part_bytes : most;
}

bool parts_enlarge(struct progress *progress)
{
    bool smaller = progress->part_bytes > 0;
    progress->part_bytes = 0;
    return smaller;
}

void parts_answered(struct progress *progress, const struct post *post,
                    const struct outcome *outcome)
{
    if (outcome->verdict == VERDICT_OK) {
        progress->delivered = true;
    } else if (outcome->verdict == VERDICT_REJECT) {
        progress->lost++;
        progress->refusal = *outcome;
    }
    if (outcome->verdict != VERDICT_RETRY) {
        progress->put_off = 0;
    } else if (post->status == 429 && ++progress->put_off >= MAX_429) {
        if (post->profile_bytes / 2 >= MIN_PART)
            progress->part_bytes = post->profile_bytes / 2;
        progress->put_off = 0;
    }
}
