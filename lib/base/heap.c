#include "lib/base/heap.h"

#include <fcntl.h>
#include <malloc.h>
#include <stdlib.h>
#include <unistd.h>

/* glibc raises its mmap threshold to the largest body freed and then keeps the freed memory. From
 * the threshold on, a body grows by mremap, which copies nothing and leaves no hole; a lower
 * threshold would cost more bodies a page fault for every page. */
enum { TRIM_THRESHOLD = 8 << 20, ARENAS = 2 };

void heap_tune(void)
{
    mallopt(M_MMAP_THRESHOLD, HEAP_MAPPED);
    mallopt(M_TRIM_THRESHOLD, TRIM_THRESHOLD);
    mallopt(M_ARENA_MAX, ARENAS);
}

void heap_trim(void)
{
    malloc_trim(0);
}

/* From /proc/self/statm: "size resident ...", in pages. */
size_t heap_resident(void)
{
    char text[128];
    int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    ssize_t got = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
    if (fd >= 0)
        close(fd);
    if (got <= 0)
        return 0;
    text[got] = '\0';
    char *at = text;
    strtoull(at, &at, 10);
    return (size_t)strtoull(at, &at, 10) * (size_t)sysconf(_SC_PAGESIZE);
}
