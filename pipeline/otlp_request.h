/*
 * The check of every OTLP request, whatever carried it: bytes in protobuf or JSON become a checked
 * batch, or a reason why not. Any thread.
 */
#ifndef PIPELINE_OTLP_REQUEST_H
#define PIPELINE_OTLP_REQUEST_H

#include "pipeline/batch.h"

struct otlp_request {
    struct batch *batch; /* the caller's; NULL where nothing is to be passed on */
    uint32_t received;   /* items in the request */
    uint32_t rejected;   /* of them, dropped because no backend takes them */
    const char *reason;  /* why, of the first one; static text */
    uint32_t samples;    /* in the batch's profiles */
};

/* Takes over body's content (left empty). OK: request is filled; batch is NULL for a request
 * without (valid) items. Else the outcome for the client: REJECT invalid, or RETRY without
 * memory. */
struct outcome otlp_request_read(enum signal signal, bool json, struct bytes *body,
                                 struct otlp_request *request);

#endif
