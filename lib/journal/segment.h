/*
 * One file of the journal: entries one behind the other, each with checksums of its own, so that
 * damage costs the entries it lies in and no others.
 *
 * An entry begins at a multiple of 8 with a header of 32 bytes, little-endian: the segment's key
 * (64 bits of chance, also in the file's name); CRC-32 of the 20 bytes behind it; CRC-32 of the
 * body, sequence number, size of the body, the entry's slot. Slot n is the nth of 8 bytes from the
 * file's end, where a mark is written once the entry is settled: far from the entries, so that the
 * marks of many dirty one page, which goes to the disk with every sync. A file that is not needed
 * any more is written over under another key: what is left of its former life is no entry and no
 * mark.
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

/* What stands at a place of a segment. */
enum segment_found {
    SEGMENT_ENTRY,
    SEGMENT_DAMAGED, /* bytes that were an entry or a part of one */
    SEGMENT_END,
    SEGMENT_UNREADABLE /* the disk gave an error (errno) */
};

struct segment_entry {
    uint64_t at;       /* where it begins */
    uint64_t extent;   /* to where the next one may begin */
    uint64_t sequence; /* ENTRY */
    uint32_t slot;     /* ENTRY */
    uint64_t body;     /* ENTRY: where its body begins */
    uint32_t size;     /* ENTRY: of its body */
    uint32_t crc;      /* ENTRY: of its body */
    bool settled;      /* ENTRY */
};

/* Bytes that an entry with such a body takes, beside its slot. */
uint64_t segment_extent(uint64_t body_size);

/* Bytes at a file's end that are kept for so many slots. */
uint64_t segment_tail(uint64_t slots);

/* A new file of size bytes, all of them allocated and zero. False: errno. */
bool segment_create(struct segment_file *file, int dir, const char *prefix, uint64_t number,
                    uint64_t size);

/* Gives a file that is not needed any more a new number and key. False: errno, and it is closed and
 * gone. */
bool segment_reuse(struct segment_file *file, const char *prefix, uint64_t number);

/* Opens an existing one by its name, for reading alone where the disk allows no more. False: not
 * such a name (errno 0), or errno. */
bool segment_open(struct segment_file *file, int dir, const char *prefix, const char *name);

/* Where an entry is written, and what it is known by. */
struct segment_place {
    uint64_t at;
    uint64_t sequence;
    uint32_t slot;
};

/* Writes an entry; parts are its body, in order. Nothing is synced. False: errno. */
bool segment_write(const struct segment_file *file, const struct segment_place *place,
                   const struct view *parts, size_t part_count);

/* Marks the entry of a slot as settled; entries take the first `used` bytes. False: errno, or the
 * file was cut off and the slot lies among them; it will be found as live. */
bool segment_settle(const struct segment_file *file, uint32_t slot, uint64_t used);

/* What stands at or behind a place. Bodies are not read. */
enum segment_found segment_find(const struct segment_file *file, uint64_t at,
                                struct segment_entry *found);

/* Appends an entry's body to out. False: it is damaged, or cannot be read, or there is no room
 * (*no_room). */
bool segment_read(const struct segment_file *file, const struct segment_entry *entry,
                  struct bytes *out, bool *no_room);

/* Copies a range to another file. False: errno. */
bool segment_copy(const struct segment_file *file, uint64_t at, uint64_t size, int to);

void segment_close(struct segment_file *file);
/* Closes it and removes the file. */
void segment_remove(struct segment_file *file);

#endif
