#include "lib/net/loop.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

static char value[33];

static void make_value(void)
{
    uint64_t random[2];
    if (getrandom(random, sizeof random, 0) == sizeof random)
        snprintf(value, sizeof value, "%016llx%016llx", (unsigned long long)random[0],
                 (unsigned long long)random[1]);
}

const char *loop_value(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_value);
    return value;
}

bool loop_is_ours(const char *text)
{
    return text && *text && strcmp(text, loop_value()) == 0;
}

struct outcome loop_outcome(void)
{
    return outcome_of(VERDICT_REJECT, CAUSE_LOOP,
                      "an exporter of this process sends to one of its own receivers");
}
