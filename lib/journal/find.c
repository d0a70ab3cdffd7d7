/* Finds the entries of earlier processes on opening, and returns them afterwards. */
#include "lib/journal/state.h"

#include "lib/base/log.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Counts and logs the damage even if it cannot be copied. */
static void report_damage(struct journal *journal, const struct journal_segment *segment,
                          uint64_t at, uint64_t size, const char *copy)
{
    bool requests = strncmp(segment->file.name, ENTRY_PREFIX, strlen(ENTRY_PREFIX)) == 0;
    int error = errno;
    pthread_mutex_lock(&journal->lock);
    journal->figures.damaged++;
    journal->figures.damaged_requests += requests;
    pthread_mutex_unlock(&journal->lock);
    log_error("journal: %llu damaged bytes at %llu of %s are set aside in \"%s/%s\"%s%s",
              (unsigned long long)size, (unsigned long long)at, segment->file.name,
              journal->settings.directory, copy, error ? ", which cannot be written" : "",
              requests ? ": at least 1 request in them is lost, unless it was delivered before"
                       : "");
}

/* Copies a damaged range to DIRECTORY/damaged, counts it and logs it. */
static void journal_set_aside(struct journal *journal, const struct journal_segment *segment,
                              uint64_t at, uint64_t size)
{
    char name[SEGMENT_NAME_SIZE + 32];
    snprintf(name, sizeof name, "damaged/%s-%llu", segment->file.name, (unsigned long long)at);
    pthread_mutex_lock(&journal->lock);
    mkdirat(journal->dir, "damaged", 0700);
    errno = 0;
    int fd = openat(journal->dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    int why = errno;
    pthread_mutex_unlock(&journal->lock);
    errno = why;
    if (fd < 0 && errno == EEXIST)
        return; /* an earlier start already found it */
    if (fd >= 0 && segment_copy(&segment->file, at, size, fd))
        errno = 0;
    report_damage(journal, segment, at, size, name);
    if (fd >= 0)
        close(fd);
}

static bool add_entry(struct journal *journal, struct journal_segment *segment,
                      const struct segment_entry *found)
{
    struct journal_entry *entry = calloc(1, sizeof *entry);
    if (!entry)
        return false;
    entry->at = found->at;
    entry->sequence = found->sequence;
    entry->size = found->size;
    entry->slot = found->slot;
    budget_force(journal->settings.budget, sizeof *entry);
    journal_entry_link(entry, segment);
    journal->figures.live++;
    return true;
}

uint64_t journal_note_expiry(struct view note)
{
    uint64_t expires = 0;
    if (note.size < NOTE_HEAD)
        return 0;
    for (int i = 0; i < 8; i++)
        expires |= (uint64_t)note.data[i] << (8 * i);
    return expires;
}

static void read_expiry(struct journal_segment *segment, const struct segment_entry *found)
{
    struct bytes body;
    bool no_room;
    bytes_init(&body, UINT32_MAX, NULL);
    if (segment_read(&segment->file, found, &body, &no_room)) {
        uint64_t expires = journal_note_expiry(bytes_view(&body));
        if (expires > segment->expires)
            segment->expires = expires;
    }
    bytes_release(&body);
}

/* Reads a segment from its start. False: no memory. */
static bool find_walk(struct journal *journal, struct journal_segment *segment, bool notes)
{
    struct segment_entry found;
    enum segment_found what;
    while ((what = segment_find(&segment->file, segment->end, &found)) == SEGMENT_ENTRY ||
           what == SEGMENT_DAMAGED) {
        if (what == SEGMENT_DAMAGED)
            journal_set_aside(journal, segment, found.at, found.extent);
        else if (notes)
            read_expiry(segment, &found);
        else if (!found.settled && !add_entry(journal, segment, &found))
            return false;
        if (what == SEGMENT_ENTRY && found.sequence >= journal->next_sequence)
            journal->next_sequence = found.sequence + 1;
        if (what == SEGMENT_ENTRY && found.slot >= segment->slots)
            segment->slots = found.slot + 1;
        segment->end += found.extent;
    }
    segment->found_end = segment->end;
    segment->unreadable = what == SEGMENT_UNREADABLE;
    if (segment->unreadable)
        log_error("journal: %s cannot be read from byte %llu on: %s", segment->file.name,
                  (unsigned long long)segment->end, strerror(errno));
    return true;
}

/* Sequence numbers grow with file numbers, so that none is reused even if a file cannot be opened
 * and its entries are unknown. */
static void count_number(struct journal *journal, uint64_t number)
{
    if (number >= journal->next_number)
        journal->next_number = number + 1;
    if (journal->next_sequence < journal->next_number << 32)
        journal->next_sequence = journal->next_number << 32;
}

static bool take_file(struct journal *journal, struct journal_row *row, const char *name)
{
    struct segment_file file;
    if (!segment_open(&file, journal->dir, row->prefix, name)) {
        if (errno) {
            log_error("journal: %s cannot be opened: %s", name, strerror(errno));
            count_number(journal, file.number);
        }
        return true;
    }
    struct journal_segment *segment = calloc(1, sizeof *segment);
    if (!segment) {
        segment_close(&file);
        return false;
    }
    segment->file = file;
    journal->figures.bytes += file.size;
    count_number(journal, file.number);
    journal_row_add(row, segment);
    bool walked = find_walk(journal, segment, row != &journal->entries);
    if (row->closes)
        segment_close(&segment->file);
    return walked;
}

static uint64_t size_of_damaged(int dir)
{
    uint64_t size = 0;
    struct stat status;
    int fd = openat(dir, "damaged", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *list = fd >= 0 ? fdopendir(fd) : NULL;
    for (struct dirent *file; list && (file = readdir(list));)
        if (file->d_name[0] != '.' && fstatat(fd, file->d_name, &status, 0) == 0)
            size += (uint64_t)status.st_size;
    if (list)
        closedir(list);
    return size;
}

static int by_sequence(const void *a, const void *b)
{
    const struct journal_entry *x = *(struct journal_entry *const *)a;
    const struct journal_entry *y = *(struct journal_entry *const *)b;
    if (x->sequence != y->sequence)
        return x->sequence < y->sequence ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

static bool sort_entries(struct journal *journal)
{
    journal->found = calloc(journal->figures.live + 1, sizeof *journal->found);
    if (!journal->found)
        return false;
    for (struct journal_segment *at = journal->entries.first; at; at = at->next)
        for (struct journal_entry *entry = at->oldest; entry; entry = entry->newer)
            journal->found[journal->found_count++] = entry;
    qsort(journal->found, journal->found_count, sizeof *journal->found, by_sequence);
    if (journal->found_count > 0) {
        journal->found_from = journal->found[0]->sequence;
        journal->found_to = journal->found[journal->found_count - 1]->sequence;
    }
    return true;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

/* Goes on writing a row's last file. */
static void find_reopen(struct journal_row *row)
{
    struct journal_segment *last = row->last;
    row->open = last && !last->unreadable && !last->file.read_only &&
                segment_open_again(&last->file, &last->file);
}

bool journal_find(struct journal *journal, const char **error)
{
    struct dirent **names;
    int count = scandirat(journal->dir, ".", &names, NULL, by_name);
    bool good = count >= 0;
    *error = good ? "out of memory" : strerror(errno);
    for (int i = 0; i < count; i++) {
        good = good && take_file(journal, &journal->entries, names[i]->d_name) &&
               take_file(journal, &journal->notes, names[i]->d_name) &&
               take_file(journal, &journal->states, names[i]->d_name);
        free(names[i]);
    }
    if (count >= 0)
        free(names);
    if (!good || !sort_entries(journal))
        return false;
    journal->figures.bytes += size_of_damaged(journal->dir);
    journal_retire_dead(journal);
    find_reopen(&journal->notes);
    find_reopen(&journal->states);
    return true;
}

/* Gives up an entry: it cannot be read, or is a duplicate, because a process died between copying
 * entries and removing the originals. */
static void pass_over(struct journal *journal, struct journal_entry *entry, bool damaged)
{
    if (damaged)
        journal_set_aside(journal, entry->segment, entry->at, segment_extent(entry->size));
    journal->found_at++;
    journal_settle(journal, entry);
}

bool journal_damage(struct journal *journal, struct bytes *out)
{
    uint64_t requests = journal->figures.damaged_requests;
    bool one = requests == 1;
    if (requests)
        bytes_printf(
            out,
            "journal: files were damaged before the start: at least %" PRIu64
            " request%s in them %s lost, unless delivered before; what is left of %s is in "
            "\"%s/damaged\"",
            requests, one ? "" : "s", one ? "is" : "are", one ? "it" : "them",
            journal->settings.directory);
    return requests;
}

bool journal_next(struct journal *journal, struct bytes *body, struct journal_entry **entry,
                  bool *no_room)
{
    *no_room = false;
    while (journal->found_at < journal->found_count) {
        struct journal_entry *next = journal->found[journal->found_at];
        bool again = journal->found_at + 1 < journal->found_count &&
                     journal->found[journal->found_at + 1]->sequence == next->sequence;
        struct segment_entry found;
        pthread_mutex_lock(&journal->lock); /* it may be moved concurrently */
        bool good = !again &&
                    segment_find(&next->segment->file, next->at, &found) == SEGMENT_ENTRY &&
                    segment_read(&next->segment->file, &found, body, no_room);
        pthread_mutex_unlock(&journal->lock);
        if (*no_room)
            return false;
        if (good) {
            journal->found_at++;
            *entry = next;
            return true;
        }
        pass_over(journal, next, !again);
    }
    pthread_mutex_lock(&journal->lock);
    journal_stored_drop(journal);
    pthread_mutex_unlock(&journal->lock);
    return false;
}

/* False: recall wants no more. */
static bool recall_in(const struct journal *journal, const struct journal_segment *segment,
                      struct view owner, journal_recall_fn *recall, void *ctx)
{
    struct segment_file file;
    struct segment_entry found;
    struct bytes body;
    bool no_room, more = true;
    uint64_t now = clock_wall(journal->settings.clock);
    if (segment->found_end == 0 || !segment_open_again(&segment->file, &file))
        return true;
    bytes_init(&body, UINT32_MAX, NULL);
    for (uint64_t at = 0; more && at < segment->found_end; at += found.extent) {
        enum segment_found what = segment_find(&file, at, &found);
        if (what != SEGMENT_ENTRY && what != SEGMENT_DAMAGED)
            break;
        bytes_clear(&body);
        if (what == SEGMENT_DAMAGED || !segment_read(&file, &found, &body, &no_room))
            continue;
        struct view note = bytes_view(&body);
        if (note.size < NOTE_HEAD || note.size < NOTE_HEAD + (size_t)note.data[8] ||
            journal_note_expiry(note) <= now)
            continue;
        struct view name = {note.data + NOTE_HEAD, note.data[8]};
        if (view_eq(name, owner))
            more = recall(ctx, view_between(name.data + name.size, note.data + note.size));
    }
    bytes_release(&body);
    segment_close(&file);
    return more;
}

void journal_recall_locked(struct journal *journal, struct view owner, journal_recall_fn *recall,
                           void *ctx)
{
    const struct journal_row *const rows[] = {&journal->notes, &journal->states};
    bool more = true;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (const struct journal_segment *at = rows[i]->first; more && at; at = at->next)
            more = recall_in(journal, at, owner, recall, ctx);
}

void journal_recall(struct journal *journal, struct view owner, journal_recall_fn *recall,
                    void *ctx)
{
    pthread_mutex_lock(&journal->lock);
    journal_recall_locked(journal, owner, recall, ctx);
    pthread_mutex_unlock(&journal->lock);
}
