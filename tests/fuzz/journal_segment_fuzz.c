/*
 * A journal segment with arbitrary bytes: the iteration ends, advances, and stays inside. The first
 * 8 bytes are the segment's key, so that entries can be found.
 */
#include "lib/journal/segment.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct segment_file file = {.size = size};
    struct segment_entry found;
    struct bytes body;
    bool no_room;
    if (size < sizeof file.key)
        return 0;
    memcpy(&file.key, data, sizeof file.key);
    file.fd = memfd_create("segment", MFD_CLOEXEC);
    if (file.fd < 0 || write(file.fd, data, size) != (ssize_t)size)
        abort();
    bytes_init(&body, 1 << 20, NULL);
    for (uint64_t at = 0;; at += found.extent) {
        enum segment_found what = segment_find(&file, at, &found);
        if (what == SEGMENT_END)
            break;
        if (what == SEGMENT_UNREADABLE || found.extent == 0 || found.at != at)
            abort();
        bytes_clear(&body);
        if (what == SEGMENT_ENTRY && found.body + found.size > size)
            abort();
        if (what == SEGMENT_ENTRY)
            segment_read(&file, &found, &body, &no_room);
    }
    bytes_release(&body);
    segment_close(&file);
    return 0;
}
