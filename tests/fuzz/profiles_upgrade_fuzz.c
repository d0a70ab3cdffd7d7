/* Any bytes as a request of any version: the result is consistent, and 1.9 keeps its size. */
#include "lib/wire/profiles/profiles_layout.h"
#include "lib/wire/profiles/profiles_upgrade.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct view request = {data, size};
    struct arena arena;
    struct bytes out;
    const char *reason = NULL;
    arena_init(&arena, 1 << 22);
    bytes_init(&out, 1 << 22, NULL);
    enum profiles_upgrade result = profiles_upgrade(request, &arena, &out, &reason);
    if ((result == PROFILES_REFUSED) != (reason != NULL))
        abort();
    if (result != PROFILES_UPGRADED && out.size)
        abort();
    enum profiles_layout layout = profiles_layout(request, &arena, &reason);
    if ((result == PROFILES_CURRENT) != (layout == PROFILES_LAYOUT_1_10))
        abort();
    if (layout == PROFILES_LAYOUT_1_9 && result == PROFILES_UPGRADED && out.size != size)
        abort();
    arena_release(&arena);
    bytes_release(&out);
    return 0;
}
