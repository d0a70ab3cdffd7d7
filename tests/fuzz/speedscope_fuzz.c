/* Any text as a speedscope file: reading it twice gives the same result, and a fault is in an
 * existing profile. */
#include "lib/wire/pprof/speedscope.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct speedscope first, second;
    struct bytes stack;
    bytes_init(&stack, 1 << 20, NULL);
    bool read = speedscope_read(&first, (struct view){data, size}, &stack);
    if (read && (!speedscope_read(&second, (struct view){data, size}, &stack) ||
                 first.fault != second.fault || first.profiles != second.profiles))
        abort();
    if (read && first.profile > first.profiles)
        abort();
    bytes_release(&stack);
    return 0;
}
