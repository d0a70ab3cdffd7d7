#include "lib/journal/segment.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libdeflate.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
    AT_HEADER_CRC = 8,
    AT_BODY_CRC = 12,
    AT_SEQUENCE = 16,
    AT_SIZE = 24,
    AT_SLOT = 28,
    SLOT_SIZE = 8,
    CRC_COVERS = 20,
    KEY_BITS_OFF = 8, /* a key with at most this many wrong bits is taken for this key, damaged */
    MAX_PARTS = 8,
    WINDOW = 64 << 10
};

/* Differs in many bits from 0 and from the key alone, so that no flipped bit settles a live entry
 * and no mark looks like a header. */
static const uint64_t SETTLED = 0xa5c3965ae1d2b478;

/* The mark of a settled entry; different for every slot. */
static uint64_t settled_mark(const struct segment_file *file, uint32_t slot)
{
    return file->key ^ SETTLED ^ slot;
}

static void put32(uint8_t *at, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        at[i] = (uint8_t)(value >> (8 * i));
}

static void put64(uint8_t *at, uint64_t value)
{
    put32(at, (uint32_t)value);
    put32(at + 4, (uint32_t)(value >> 32));
}

static uint32_t get32(const uint8_t *at)
{
    return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static uint64_t get64(const uint8_t *at)
{
    return get32(at) | (uint64_t)get32(at + 4) << 32;
}

uint64_t segment_extent(uint64_t body_size)
{
    return (SEGMENT_HEADER_SIZE + body_size + 7) & ~UINT64_C(7);
}

/* At least a header's size: if less is left at the file's end, the file was truncated. */
uint64_t segment_tail(uint64_t slots)
{
    uint64_t size = slots * SLOT_SIZE;
    return size < SEGMENT_HEADER_SIZE ? SEGMENT_HEADER_SIZE : size;
}

static bool set_identity(struct segment_file *file, const char *prefix, uint64_t number)
{
    if (getrandom(&file->key, sizeof file->key, 0) != sizeof file->key)
        return false;
    file->number = number;
    snprintf(file->name, sizeof file->name, "%s-%016" PRIx64 "-%016" PRIx64, prefix, number,
             file->key);
    return true;
}

/* Writes zeros rather than only allocating: syncing data written over them is several times
 * cheaper, because no metadata changes. */
static bool fill_with_zeros(int fd, uint64_t size)
{
    uint8_t *zeros = calloc(1, WINDOW);
    uint64_t at = 0;
    while (zeros && at < size) {
        size_t n = size - at < WINDOW ? size - at : WINDOW;
        ssize_t written = pwrite(fd, zeros, n, (off_t)at);
        if (written <= 0 && errno != EINTR)
            break;
        at += written > 0 ? (uint64_t)written : 0;
    }
    int error = zeros ? errno : ENOMEM;
    free(zeros);
    errno = error;
    return at >= size;
}

bool segment_create(struct segment_file *file, int dir, const char *prefix, uint64_t number,
                    uint64_t size)
{
    *file = (struct segment_file){.fd = -1, .dir = dir, .size = size};
    if (!set_identity(file, prefix, number))
        return false;
    file->fd = openat(dir, file->name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file->fd < 0)
        return false;
    if (fill_with_zeros(file->fd, size) && fsync(file->fd) == 0 && fsync(dir) == 0)
        return true;
    int error = errno;
    segment_remove(file);
    errno = error;
    return false;
}

bool segment_reuse(struct segment_file *file, const char *prefix, uint64_t number)
{
    char before[SEGMENT_NAME_SIZE];
    memcpy(before, file->name, sizeof before);
    if (set_identity(file, prefix, number) &&
        renameat(file->dir, before, file->dir, file->name) == 0 && fsync(file->dir) == 0)
        return true;
    int error = errno;
    unlinkat(file->dir, before, 0);
    segment_remove(file);
    errno = error;
    return false;
}

static bool parse_name(struct segment_file *file, const char *prefix, const char *name)
{
    size_t length = strlen(prefix);
    char again[SEGMENT_NAME_SIZE];
    if (strncmp(name, prefix, length) != 0 || strlen(name) >= sizeof file->name ||
        sscanf(name + length, "-%" SCNx64 "-%" SCNx64, &file->number, &file->key) != 2)
        return false;
    snprintf(again, sizeof again, "%s-%016" PRIx64 "-%016" PRIx64, prefix, file->number, file->key);
    memcpy(file->name, again, sizeof again);
    return strcmp(name, again) == 0;
}

bool segment_open(struct segment_file *file, int dir, const char *prefix, const char *name)
{
    struct stat status;
    *file = (struct segment_file){.fd = -1, .dir = dir};
    errno = 0;
    if (!parse_name(file, prefix, name)) {
        errno = 0;
        return false;
    }
    file->fd = openat(dir, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (file->fd < 0 && (errno == EROFS || errno == EACCES)) {
        file->read_only = true;
        file->fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    }
    if (file->fd < 0)
        return false;
    if (fstat(file->fd, &status) != 0) {
        segment_close(file);
        return false;
    }
    file->size = (uint64_t)status.st_size;
    return true;
}

static bool segment_write_all(int fd, struct iovec *parts, int count, uint64_t at)
{
    while (count > 0) {
        ssize_t written = pwritev(fd, parts, count, (off_t)at);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return false;
        at += (uint64_t)written;
        while (count > 0 && (size_t)written >= parts->iov_len) {
            written -= (ssize_t)parts->iov_len;
            parts++;
            count--;
        }
        if (count > 0) {
            parts->iov_base = (char *)parts->iov_base + written;
            parts->iov_len -= (size_t)written;
        }
    }
    return true;
}

static uint32_t header_crc(uint64_t key, const uint8_t *header)
{
    uint8_t seed[8];
    put64(seed, key);
    return libdeflate_crc32(libdeflate_crc32(0, seed, sizeof seed), header + AT_BODY_CRC,
                            CRC_COVERS);
}

bool segment_write(const struct segment_file *file, const struct segment_place *place,
                   const struct view *parts, size_t part_count)
{
    static const uint8_t padding[8];
    uint8_t header[SEGMENT_HEADER_SIZE] = {0};
    struct iovec out[MAX_PARTS + 2];
    int count = 1;
    uint32_t crc = 0;
    size_t size = 0;
    for (size_t i = 0; i < part_count && i < MAX_PARTS; i++) {
        if (parts[i].size == 0)
            continue;
        crc = libdeflate_crc32(crc, parts[i].data, parts[i].size);
        size += parts[i].size;
        out[count++] = (struct iovec){(void *)(uintptr_t)parts[i].data, parts[i].size};
    }
    put64(header, file->key);
    put32(header + AT_BODY_CRC, crc);
    put64(header + AT_SEQUENCE, place->sequence);
    put32(header + AT_SIZE, (uint32_t)size);
    put32(header + AT_SLOT, place->slot);
    put32(header + AT_HEADER_CRC, header_crc(file->key, header));
    out[0] = (struct iovec){header, sizeof header};
    size_t pad = segment_extent(size) - SEGMENT_HEADER_SIZE - size;
    if (pad)
        out[count++] = (struct iovec){(void *)(uintptr_t)padding, pad};
    return segment_write_all(file->fd, out, count, place->at);
}

static uint64_t slot_from_end(uint32_t slot)
{
    return ((uint64_t)slot + 1) * SLOT_SIZE;
}

bool segment_settle(const struct segment_file *file, uint32_t slot, uint64_t used)
{
    uint8_t mark[SLOT_SIZE];
    uint64_t from_end = slot_from_end(slot);
    if (used + from_end > file->size)
        return false;
    put64(mark, settled_mark(file, slot));
    return pwrite(file->fd, mark, sizeof mark, (off_t)(file->size - from_end)) == sizeof mark;
}

/* Reads up to n bytes; fewer only at the file's end. -1: errno. */
static ssize_t read_at(int fd, void *buffer, size_t n, uint64_t at)
{
    size_t have = 0;
    while (have < n) {
        ssize_t got = pread(fd, (char *)buffer + have, n - have, (off_t)(at + have));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -1;
        if (got == 0)
            break;
        have += (size_t)got;
    }
    return (ssize_t)have;
}

static bool is_header(const struct segment_file *file, const uint8_t *header)
{
    return get64(header) == file->key &&
           get32(header + AT_HEADER_CRC) == header_crc(file->key, header);
}

static bool all_zero(const uint8_t *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (bytes[i])
            return false;
    return true;
}

/* Whether invalid bytes are a damaged header of this segment. */
static bool was_header(const struct segment_file *file, const uint8_t *bytes, size_t n)
{
    if (n < SEGMENT_HEADER_SIZE)
        return !all_zero(bytes, n);
    return __builtin_popcountll(get64(bytes) ^ file->key) <= KEY_BITS_OFF ||
           get32(bytes + AT_HEADER_CRC) == header_crc(file->key, bytes);
}

static bool is_settled(const struct segment_file *file, uint32_t slot)
{
    uint8_t mark[SLOT_SIZE];
    uint64_t from_end = slot_from_end(slot);
    return from_end <= file->size &&
           read_at(file->fd, mark, sizeof mark, file->size - from_end) == sizeof mark &&
           get64(mark) == settled_mark(file, slot);
}

static struct segment_entry entry_at(const struct segment_file *file, const uint8_t *header,
                                     uint64_t at)
{
    uint32_t size = get32(header + AT_SIZE);
    return (struct segment_entry){
        .at = at,
        .extent = segment_extent(size),
        .sequence = get64(header + AT_SEQUENCE),
        .body = at + SEGMENT_HEADER_SIZE,
        .size = size,
        .crc = get32(header + AT_BODY_CRC),
        .slot = get32(header + AT_SLOT),
        .settled = is_settled(file, get32(header + AT_SLOT)),
    };
}

/* The offset of the next header from `at`; the file's size if there is none. -1: errno. */
static int64_t next_header(const struct segment_file *file, uint64_t at, uint8_t *window)
{
    for (;;) {
        ssize_t got = read_at(file->fd, window, WINDOW, at);
        if (got < 0)
            return -1;
        if (got < SEGMENT_HEADER_SIZE)
            return (int64_t)file->size;
        ssize_t last = got - SEGMENT_HEADER_SIZE;
        for (ssize_t i = 0; i <= last; i += 8)
            if (is_header(file, window + i))
                return (int64_t)at + i;
        at += (uint64_t)(last & ~(ssize_t)7) + 8;
    }
}

/* No header at `at`: the end, or damage up to the next one. */
static enum segment_found find_behind(const struct segment_file *file, uint64_t at,
                                      const uint8_t *bytes, size_t n, struct segment_entry *found)
{
    uint8_t *window = malloc(WINDOW);
    int64_t next = window ? next_header(file, at, window) : -1;
    free(window);
    if (next < 0)
        return SEGMENT_UNREADABLE;
    *found = (struct segment_entry){.at = at, .extent = (uint64_t)next - at};
    if ((uint64_t)next < file->size)
        return SEGMENT_DAMAGED;
    if (!was_header(file, bytes, n))
        return SEGMENT_END;
    uint64_t claimed = n == SEGMENT_HEADER_SIZE ? segment_extent(get32(bytes + AT_SIZE)) : n;
    if (claimed < found->extent)
        found->extent = claimed;
    return SEGMENT_DAMAGED;
}

enum segment_found segment_find(const struct segment_file *file, uint64_t at,
                                struct segment_entry *found)
{
    uint8_t header[SEGMENT_HEADER_SIZE];
    if (at >= file->size)
        return SEGMENT_END;
    ssize_t got = read_at(file->fd, header, sizeof header, at);
    if (got < 0)
        return SEGMENT_UNREADABLE;
    if (got < SEGMENT_HEADER_SIZE || !is_header(file, header))
        return find_behind(file, at, header, (size_t)got, found);
    *found = entry_at(file, header, at);
    if (found->body + found->size <= file->size)
        return SEGMENT_ENTRY;
    found->extent = file->size - at; /* truncated */
    return SEGMENT_DAMAGED;
}

bool segment_read(const struct segment_file *file, const struct segment_entry *entry,
                  struct bytes *out, bool *no_room)
{
    *no_room = bytes_reserve(out, entry->size) != BYTES_OK;
    if (*no_room)
        return false;
    if (entry->size == 0)
        return entry->crc == 0;
    uint8_t *to = out->data + out->size;
    if (read_at(file->fd, to, entry->size, entry->body) != (ssize_t)entry->size ||
        libdeflate_crc32(0, to, entry->size) != entry->crc)
        return false;
    out->size += entry->size;
    return true;
}

bool segment_copy(const struct segment_file *file, uint64_t at, uint64_t size, int to)
{
    uint8_t *window = malloc(WINDOW);
    bool good = window != NULL;
    while (good && size > 0) {
        ssize_t got = read_at(file->fd, window, size < WINDOW ? size : WINDOW, at);
        struct iovec part = {window, got > 0 ? (size_t)got : 0};
        if (got <= 0)
            break;
        off_t end = lseek(to, 0, SEEK_END);
        good = end >= 0 && segment_write_all(to, &part, 1, (uint64_t)end);
        at += (uint64_t)got;
        size -= (uint64_t)got;
    }
    free(window);
    return good;
}

bool segment_open_again(const struct segment_file *file, struct segment_file *again)
{
    int flags = (file->read_only ? O_RDONLY : O_RDWR) | O_CLOEXEC | O_NOFOLLOW;
    *again = *file;
    again->fd =
        file->fd >= 0 ? fcntl(file->fd, F_DUPFD_CLOEXEC, 0) : openat(file->dir, file->name, flags);
    return again->fd >= 0;
}

void segment_close(struct segment_file *file)
{
    if (file->fd >= 0)
        close(file->fd);
    file->fd = -1;
}

void segment_remove(struct segment_file *file)
{
    unlinkat(file->dir, file->name, 0);
    segment_close(file);
}
