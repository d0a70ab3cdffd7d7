/*
 * Requests of this process that come back to it. What an exporter sends to one of the process's own
 * receivers goes round for ever, and multiplies where a pipeline has several exporters. So requests
 * bear a header with a random number of the process, and servers refuse what bears their own.
 */
#ifndef LIB_NET_LOOP_H
#define LIB_NET_LOOP_H

#include "lib/base/verdict.h"

#include <stdbool.h>

#define LOOP_HEADER "spanlink-process"

/* The header's value in requests of this process; "": there is no random number to be had. Any
 * thread. */
const char *loop_value(void);

/* Whether a header's value (NULL: absent) is this process's. */
bool loop_is_ours(const char *value);

/* What its sender is told. */
struct outcome loop_outcome(void);

#endif
