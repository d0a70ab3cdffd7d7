/* Receivers that refuse requests for want of memory or of room in a queue. Any thread. */
#ifndef EXTENSIONS_STATUS_REFUSING_H
#define EXTENSIONS_STATUS_REFUSING_H

#include "extensions/status/json.h"
#include "lib/base/budget.h"
#include "pipeline/admission.h"
#include "pipeline/life/runtime.h"

/* What takes, or took, memory besides what the clients send. */
struct refusing_reason {
    struct bytes text;   /* a clause about exporters; "": none has requests that wait */
    uint64_t longest_ns; /* how long the oldest request waits if no backend is known to be slow */
    bool past;           /* the clause is about backends that work again */
    uint64_t since;      /* wall, ns: since when requests are refused */
};

/* Finds exporters whose backends fail or are slow; if there are none, those whose backends failed
 * while requests were refused; else the one whose oldest request waits longest, if that is seconds.
 * Release the text. */
void refusing_find_reason(struct runtime *runtime, struct refusing_reason *reason);

/* Appends a sentence for each of the receivers, "; " between and before them if there is text
 * already. */
void refusing_tell(struct runtime *runtime, const struct budget *budget,
                   const struct refusing_reason *reason, struct bytes *out);

/* Appends why a receiver refuses, without its name. */
void refusing_put_cause(const struct admission_pressure *pressure, const struct budget *budget,
                        const struct refusing_reason *reason, struct bytes *out);

/* Writes the member "refusing" of a row; null if it is not such a receiver. */
void refusing_put(const struct runtime_row *row, const struct budget *budget,
                  const struct refusing_reason *reason, struct json *json);

#endif
