/* JSON to protobuf: the first byte selects the signal. The result is well-formed except for the
 * lengths of ids, and can be written as JSON. */
#include "lib/wire/json/otlp_json.h"
#include "lib/wire/otlp/otlp.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_back(enum signal signal, struct view request)
{
    struct proto_fault fault;
    struct bytes json;
    bytes_init(&json, 1 << 24, NULL);
    if (!proto_check(otlp_shape(signal), request, &fault)) {
        if (strcmp(fault.reason, "id of wrong length") != 0)
            abort();
    } else if (!otlp_json_write(signal, request, &json) && request.size < 1 << 20) {
        abort();
    }
    bytes_release(&json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes out;
    char reason[128];
    if (size == 0)
        return 0;
    enum signal signal = (enum signal)(data[0] % SIGNAL_COUNT);
    bytes_init(&out, 1 << 24, NULL);
    if (otlp_json_read(signal, (struct view){data + 1, size - 1}, &out, reason, sizeof reason))
        read_back(signal, bytes_view(&out));
    else if (out.size != 0 || !reason[0])
        abort();
    bytes_release(&out);
    return 0;
}
