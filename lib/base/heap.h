/* Settings of the C library's allocator for a process that holds request bodies. */
#ifndef LIB_BASE_HEAP_H
#define LIB_BASE_HEAP_H

#include <stddef.h>

/* Tunes the allocator. Call once, before any thread starts. */
void heap_tune(void);

/* Returns free pages to the system, also from the middle of the heap. Any thread. */
void heap_trim(void);

/* Resident bytes of the process, including its code, which grows as code is first executed. 0: the
 * system does not report it. */
size_t heap_resident(void);

#endif
