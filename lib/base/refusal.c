#include "lib/base/refusal.h"

#include <stdio.h>

static _Thread_local char reason[REFUSAL_MAX];

void refusal_set(const char *text)
{
    snprintf(reason, sizeof reason, "%s", text);
}

bool refusal_take(char text[REFUSAL_MAX])
{
    snprintf(text, REFUSAL_MAX, "%s", reason);
    reason[0] = '\0';
    return *text;
}
