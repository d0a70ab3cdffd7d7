/* The independent decoder: protobuf-c on the messages of proto/. */
#ifndef TESTS_SUPPORT_OTLP_REFERENCE_H
#define TESTS_SUPPORT_OTLP_REFERENCE_H

#include "lib/base/bytes.h"
#include "lib/wire/otlp/signal.h"

#include <protobuf-c/protobuf-c.h>

/* NULL: malformed. Freed with protobuf_c_message_free_unpacked(message, NULL). */
ProtobufCMessage *otlp_reference_read(enum signal signal, struct view request);

/* Decodes and encodes again with known fields only, appending to out: equal for all encodings of
 * the same content. False: malformed. */
bool otlp_reference_normal(enum signal signal, struct view request, struct bytes *out);

/* Whether both can be decoded and are equivalent. */
bool otlp_reference_same(enum signal signal, struct view a, struct view b);

#endif
