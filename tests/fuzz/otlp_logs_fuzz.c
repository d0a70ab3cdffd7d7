#include "tests/fuzz/otlp_request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return fuzz_otlp(SIGNAL_LOGS, data, size);
}
