/* Receivers that refuse requests for want of memory or of room in a queue. Any thread. */
#ifndef EXTENSIONS_STATUS_REFUSING_H
#define EXTENSIONS_STATUS_REFUSING_H

#include "extensions/status/json.h"
#include "lib/base/budget.h"
#include "pipeline/life/runtime.h"

/* Appends a sentence for each of them, "; " between and before them if there is text already. */
void refusing_tell(struct runtime *runtime, const struct budget *budget, struct bytes *out);

/* Writes the member "refusing" of a row; null if it is not such a receiver. */
void refusing_put(const struct runtime_row *row, const struct budget *budget, struct json *json);

#endif
