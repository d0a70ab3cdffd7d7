/* Any text as a speedscope file: it is judged the same way twice, and a fault lies in a profile
 * that was met. */
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
