/*
 * One file of the journal: consecutive entries, each with its own checksums, so that damage loses
 * only the entries that it touches.
 *
 * An entry begins at a multiple of 8 with a header of 32 bytes, little-endian: the segment's key
 * (64 random bits, also in the file's name); CRC-32 of the 20 bytes after it; CRC-32 of the body,
 * sequence number, size of the body, the entry's slot. Slot n is the nth group of 8 bytes from the
 * file's end, where a mark is written once the entry is settled: away from the entries, so that
 * many marks dirty one page, which goes to disk with every sync. A file that is no longer needed is
 * overwritten under another key, so that its old content cannot be taken for entries or marks.
 */
#ifndef LIB_JOURNAL_SEGMENT_H
#define LIB_JOURNAL_SEGMENT_H

#include "lib/base/bytes.h"

enum { SEGMENT_HEADER_SIZE = 32, SEGMENT_NAME_SIZE = 64 };

struct segment_file {
    int fd;
    int dir;         /* borrowed: the directory's */
    uint64_t number; /* order among the segments */
    uint64_t key;
    uint64_t size; /* of the file */
    bool read_only;
    char name[SEGMENT_NAME_SIZE];
};

/* What is at an offset of a segment. */
enum segment_found {
    SEGMENT_ENTRY,
    SEGMENT_DAMAGED, /* bytes that were an entry or part of one */
    SEGMENT_END,
    SEGMENT_UNREADABLE /* read error (errno) */
};

struct segment_entry {
    uint64_t at;       /* where it begins */
    uint64_t extent;   /* offset at which the next one may begin */
    uint64_t sequence; /* ENTRY */
    uint32_t slot;     /* ENTRY */
    uint64_t body;     /* ENTRY: where its body begins */
    uint32_t size;     /* ENTRY: of its body */
    uint32_t crc;      /* ENTRY: of its body */
    bool settled;      /* ENTRY */
};

/* Bytes that an entry with a body of this size takes, besides its slot. */
uint64_t segment_extent(uint64_t body_size);

/* Bytes reserved for slots at a file's end. */
uint64_t segment_tail(uint64_t slots);

/* Creates a file of size bytes, allocated and zeroed. False: errno. */
bool segment_create(struct segment_file *file, int dir, const char *prefix, uint64_t number,
                    uint64_t size);

/* Reuses a file that is no longer needed under a new number and key. False: errno; the file is
 * closed and removed. */
bool segment_reuse(struct segment_file *file, const char *prefix, uint64_t number);

/* Opens an existing file by its name, read-only if it cannot be written. False: not the name of a
 * segment (errno 0), or errno. */
bool segment_open(struct segment_file *file, int dir, const char *prefix, const char *name);

/* Where an entry is written, and its sequence number. */
struct segment_place {
    uint64_t at;
    uint64_t sequence;
    uint32_t slot;
};

/* Writes an entry without syncing; parts are its body, in order. False: errno. */
bool segment_write(const struct segment_file *file, const struct segment_place *place,
                   const struct view *parts, size_t part_count);

/* Marks the entry of a slot as settled; entries take the first `used` bytes of the file. False:
 * errno, or the file was truncated so that the slot would overlap entries; the entry will be found
 * as live. */
bool segment_settle(const struct segment_file *file, uint32_t slot, uint64_t used);

/* Finds what is at or after an offset. Does not read bodies. */
enum segment_found segment_find(const struct segment_file *file, uint64_t at,
                                struct segment_entry *found);

/* Appends an entry's body to out. False: it is damaged or unreadable, or there is no room
 * (*no_room). */
bool segment_read(const struct segment_file *file, const struct segment_entry *entry,
                  struct bytes *out, bool *no_room);

/* Copies a range to the end of another open file. False: errno. */
bool segment_copy(const struct segment_file *file, uint64_t at, uint64_t size, int to);

/* Gives *again a descriptor of its own for the same file, even if it was closed. False: errno. */
bool segment_open_again(const struct segment_file *file, struct segment_file *again);

void segment_close(struct segment_file *file);
/* Closes and removes the file. */
void segment_remove(struct segment_file *file);

#endif
