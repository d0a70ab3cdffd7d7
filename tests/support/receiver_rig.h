/* A runtime with a receiver on the socket "http" of the folder (tests/support/keeper.h), one
 * connection to it, and the last answer on that. One a process. */
#ifndef TESTS_SUPPORT_RECEIVER_RIG_H
#define TESTS_SUPPORT_RECEIVER_RIG_H

#include "tests/support/keeper.h"

extern struct given_runtime given;
extern struct http_answer answer;
extern int fd; /* the connection */

/* A configuration of one receiver, with its section, whose profiles wait for the keeper's answer.
 */
#define RIG_PROFILES(receiver, section)                                                            \
    "receivers: {" receiver ": " section "}\n"                                                     \
    "exporters: {keeper: {sending_queue: {enabled: false}, retry_on_failure: {enabled: false}}}\n" \
    "service: {pipelines: {profiles: {receivers: [" receiver "], exporters: [keeper]}}}\n"

/* receiver_start, and a connection. */
void rig_begin(const char *yaml);

/* Closes, stops, and checks that nothing was lost. */
void rig_end(void);

#endif
