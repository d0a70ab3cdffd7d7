/* Settings of the C library's allocator for a process that holds request bodies. */
#ifndef LIB_BASE_HEAP_H
#define LIB_BASE_HEAP_H

#include <stddef.h>

/* An allocation of this size or more has a mapping of its own: only the pages written to take
 * memory, and free returns them to the system. */
enum { HEAP_MAPPED = 1 << 20 };

/* Tunes the allocator. Call once, before any thread starts. */
void heap_tune(void);

/* Returns free pages to the system, also from the middle of the heap. Any thread. */
void heap_trim(void);

/* Resident bytes of the process, including its code, which grows as code is first executed. 0: the
 * system does not report it. */
size_t heap_resident(void);

#endif
