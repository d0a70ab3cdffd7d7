/* How the C library's allocator is set for a process that holds request bodies. */
#ifndef LIB_BASE_HEAP_H
#define LIB_BASE_HEAP_H

#include <stddef.h>

/* Call once, before threads start. */
void heap_tune(void);

/* Gives free pages back to the system, also from the middle of the heap. Any thread. */
void heap_trim(void);

/* Bytes that the process holds resident, code included, of which more comes in as it is first used;
 * 0: the system does not tell. */
size_t heap_resident(void);

#endif
