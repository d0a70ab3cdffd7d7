/* A backend's responses: google.rpc.Status and export responses. */
#include "lib/wire/http/status.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct view in = {data, size};
    int code;
    bool has;
    uint64_t wait, rejected;
    char message[24];
    struct bytes out;
    bytes_init(&out, 1 << 16, NULL);
    if (rpc_status_decode(in, &code, message, sizeof message, &has, &wait)) {
        if ((!has && wait) || strlen(message) >= sizeof message)
            abort();
        status_from_grpc(code, has, message);
        if (!rpc_status_encode((enum grpc_code)code, message, wait, &out) ||
            !rpc_status_decode(bytes_view(&out), &code, message, sizeof message, &has, &wait) ||
            !rpc_status_encode_json((enum grpc_code)code, message, wait, &out))
            abort();
    }
    export_response_decode(in, &rejected, message, sizeof message);
    bytes_release(&out);
    return 0;
}
