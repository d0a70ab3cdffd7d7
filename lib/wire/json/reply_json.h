/* JSON responses of OTLP backends. Pure. */
#ifndef LIB_WIRE_JSON_REPLY_JSON_H
#define LIB_WIRE_JSON_REPLY_JSON_H

#include "lib/base/view.h"

#include <stdbool.h>

/* Reads an Export*ServiceResponse of any signal: rejected items (0 if absent or negative) and the
 * message, truncated to size. False: not such an object. */
bool export_response_decode_json(struct view in, uint64_t *rejected, char *message,
                                 size_t message_size);

/* Reads the message of a google.rpc.Status, truncated to size. False: not such an object. */
bool rpc_status_message_json(struct view in, char *message, size_t message_size);

#endif
