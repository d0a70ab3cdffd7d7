/* Receivers that refuse requests for want of memory or of room in a queue. Any thread. */
#ifndef EXTENSIONS_STATUS_REFUSING_H
#define EXTENSIONS_STATUS_REFUSING_H

#include "extensions/status/json.h"
#include "lib/base/budget.h"
#include "pipeline/life/runtime.h"

/* Appends the ids of exporters whose backends fail or are slow, " and " between them. */
void refusing_find_failing(struct runtime *runtime, struct bytes *out);

/* Appends a sentence for each of the receivers, "; " between and before them if there is text
 * already. failing: of refusing_find_failing. */
void refusing_tell(struct runtime *runtime, const struct budget *budget, struct view failing,
                   struct bytes *out);

/* Writes the member "refusing" of a row; null if it is not such a receiver. */
void refusing_put(const struct runtime_row *row, const struct budget *budget, struct view failing,
                  struct json *json);

#endif
