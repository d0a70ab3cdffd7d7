/* Bodies of /ingest in a flame graph: folded text, and JFR. */
#include "extensions/status/flame.h"

void flame_add_ingest(struct flame *flame, const char *query, const char *content_type,
                      struct view body, uint64_t arrived)
{
    (void)query;
    (void)content_type;
    (void)body;
    (void)arrived;
    flame->truncated = true;
}
