/* JSON responses: whatever the input, the message is truncated to its size. */
#include "lib/wire/json/reply_json.h"

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct view in = {data, size};
    char message[24];
    uint64_t rejected;
    if (export_response_decode_json(in, &rejected, message, sizeof message))
        assert(strlen(message) < sizeof message && rejected <= INT64_MAX);
    if (rpc_status_message_json(in, message, sizeof message))
        assert(strlen(message) < sizeof message);
    return 0;
}
