#include "lib/base/refusal.h"

#include <stdio.h>

static _Thread_local char reason[REFUSAL_MAX];
static _Thread_local bool reason_is_permanent;

void refusal_set(const char *text, bool permanent)
{
    snprintf(reason, sizeof reason, "%s", text);
    reason_is_permanent = permanent;
}

bool refusal_take(char text[REFUSAL_MAX], bool *permanent)
{
    *permanent = reason_is_permanent;
    snprintf(text, REFUSAL_MAX, "%s", reason);
    reason[0] = '\0';
    return *text;
}
