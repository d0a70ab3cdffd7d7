/*
 * The check of every OTLP request, over any transport: bytes in protobuf or JSON become a checked
 * batch, or an outcome that says what is wrong. Any thread.
 */
#ifndef PIPELINE_OTLP_REQUEST_H
#define PIPELINE_OTLP_REQUEST_H

#include "pipeline/batch.h"

struct otlp_request {
    struct batch *batch; /* the caller's; NULL: nothing to pass on */
    uint32_t received;   /* items in the request */
    uint32_t rejected;   /* of these, dropped because no backend accepts them */
    const char *reason;  /* why the first one was; static text */
    uint32_t samples;    /* in the batch's profiles */
};

/* Takes over body's content (left empty). OK: request is filled; batch is NULL if the request has
 * no (valid) items. Else the outcome for the client: REJECT invalid, or RETRY without memory. */
struct outcome otlp_request_read(enum signal signal, bool json, struct bytes *body,
                                 struct otlp_request *request);

#endif
