/* How the C library's allocator is set for a process that holds request bodies. */
#ifndef BASE_HEAP_H
#define BASE_HEAP_H

/* Call once, before threads start. */
void heap_tune(void);

#endif
