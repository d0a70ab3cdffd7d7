#include "lib/base/refusal.h"

#include <stdio.h>

static _Thread_local char reason[REFUSAL_MAX];
static _Thread_local enum cause reason_cause;

void refusal_set(const char *text, enum cause cause)
{
    snprintf(reason, sizeof reason, "%s", text);
    reason_cause = cause;
}

bool refusal_take(char text[REFUSAL_MAX], enum cause *cause)
{
    *cause = reason_cause;
    snprintf(text, REFUSAL_MAX, "%s", reason);
    reason[0] = '\0';
    return *text;
}

struct outcome refusal_outcome(enum verdict verdict)
{
    char text[REFUSAL_MAX];
    enum cause cause;
    return refusal_take(text, &cause)
               ? outcome_of(verdict, cause, "%s", text)
               : outcome_of(verdict, CAUSE_INVALID, "refused by a processor");
}
