/* connect's error body (lib/wire/http/status.h). */
#include "lib/wire/http/status.h"
#include "lib/wire/proto/text.h"

bool connect_error_encode(enum grpc_code code, const char *message, struct bytes *out)
{
    return bytes_printf(out, "{\"code\":\"%s\",\"message\":", connect_code_name(code)) ==
               BYTES_OK &&
           text_json(view_of(message), out) && bytes_append(out, "}", 1) == BYTES_OK;
}
