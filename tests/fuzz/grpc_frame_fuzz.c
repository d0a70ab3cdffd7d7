#include "lib/wire/http/grpc_frame.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A decoded message survives encoding and decoding, if there is room. */
static void round_trip(struct view encoded)
{
    char text[64], again[256], back[64];
    grpc_message_decode(encoded, text, sizeof text);
    grpc_message_encode(text, again, sizeof again);
    grpc_message_decode((struct view){(uint8_t *)again, strlen(again)}, back, sizeof back);
    if (strcmp(text, back) != 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct view body = {data, size}, message = {0};
    bool compressed;
    if (grpc_frame_read(body, &compressed, &message) == GRPC_FRAME_OK &&
        message.size + GRPC_PREFIX_SIZE != size)
        abort();
    round_trip(body);
    return 0;
}
