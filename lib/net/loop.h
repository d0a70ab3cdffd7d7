/*
 * Detection of export loops. Data that an exporter sends to a receiver of the same process would
 * circulate for ever, and multiply if a pipeline has several exporters. So every request carries a
 * header with a random number of the process, and servers refuse requests with their own number.
 */
#ifndef LIB_NET_LOOP_H
#define LIB_NET_LOOP_H

#include "lib/base/verdict.h"

#include <stdbool.h>

#define LOOP_HEADER "spanlink-process"

/* The header's value in requests of this process; "": no random number is available. Any thread. */
const char *loop_value(void);

/* Whether a header's value (NULL: absent) is this process's. */
bool loop_is_ours(const char *value);

/* The outcome for such a request. */
struct outcome loop_outcome(void);

#endif
