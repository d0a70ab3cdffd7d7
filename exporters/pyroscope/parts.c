/* A batch that goes in several requests, and a server that meters bytes. */
#include "exporters/pyroscope/pyroscope.h"

/* The server's limiter takes a profile at once or not at all: one above its burst never. So what
 * is put off this often is cut in two, down to the least size. */
enum { PATIENCE = 2, LEAST_PART = 64 << 10 };

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
    } else if (post->status == 429 && ++progress->put_off >= PATIENCE) {
        if (post->profile_bytes / 2 >= LEAST_PART)
            progress->part_bytes = post->profile_bytes / 2;
        progress->put_off = 0;
    }
}
