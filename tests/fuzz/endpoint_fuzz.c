/* Any text is parsed or refused with a sentence; what is parsed is one of the two kinds. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "lib/net/endpoint.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try(const char *text, bool transport_unix)
{
    struct endpoint endpoint;
    char error[96] = "";
    if (!endpoint_parse(text, transport_unix, &endpoint, error, sizeof error)) {
        assert(error[0]);
        return;
    }
    assert(strlen(endpoint.host) < sizeof endpoint.host);
    assert(strlen(endpoint.unix_path) < sizeof endpoint.unix_path);
    assert((endpoint.unix_path[0] != '\0') != (endpoint.service[0] != '\0'));
    assert(!endpoint.unix_path[0] || !endpoint.host[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char text[600];
    size_t n = size < sizeof text - 1 ? size : sizeof text - 1;
    if (n)
        memcpy(text, data, n);
    text[n] = '\0';
    try(text, false);
    try(text, true);
    return 0;
}
