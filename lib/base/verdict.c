#include "lib/base/verdict.h"

#include <stdarg.h>
#include <stdio.h>

struct outcome outcome_of(enum verdict verdict, enum cause cause, const char *format, ...)
{
    struct outcome outcome = {.verdict = verdict, .cause = cause};
    va_list args;
    va_start(args, format);
    vsnprintf(outcome.text, sizeof outcome.text, format, args);
    va_end(args);
    return outcome;
}
