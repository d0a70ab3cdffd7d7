/* The writer: appends groups of entries and notes to the last segments, with one sync per group. */
#include "lib/journal/state.h"

#include "lib/journal/rescue.h"

#include "lib/base/log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

/* After a failure of the disk, until the next attempt: each takes several system calls. */
#define PAUSE (100 * NS_PER_MS)
/* Without a refusal, until the log says that requests are accepted again. */
#define CALM (5 * NS_PER_S)
/* Between lines about notes that could not be saved. */
#define UNSAVED (60 * NS_PER_S)

static void sync_segment(struct journal *journal, struct journal_segment *segment)
{
    if (!segment->unsynced)
        return;
    segment->unsynced = false;
    if (fdatasync(segment->file.fd) != 0)
        journal->sync_failed = true;
    pthread_mutex_lock(&journal->lock);
    journal->figures.syncs++;
    pthread_mutex_unlock(&journal->lock);
}

bool journal_sync(struct journal *journal)
{
    const struct journal_row *const rows[] = {&journal->notes, &journal->states, &journal->entries};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i]->open)
            sync_segment(journal, rows[i]->last);
    bool good = !journal->sync_failed;
    journal->sync_failed = false;
    journal->unsynced_since = 0;
    return good;
}

void journal_sync_late(struct journal *journal)
{
    if (!journal_sync(journal))
        log_error("journal: the sync failed: the data written last may be lost");
}

/* Closes a row's last segment for writing. One that was removed is not `open` any more: its content
 * is there only as long as its descriptor is. */
static void seal(struct journal *journal, struct journal_row *row)
{
    if (row->open)
        sync_segment(journal, row->last);
    pthread_mutex_lock(&journal->lock);
    if (row->open && row->closes)
        segment_close(&row->last->file);
    row->open = false;
    journal_retire_dead(journal);
    pthread_mutex_unlock(&journal->lock);
}

static struct journal_segment *take_spare(struct journal *journal)
{
    pthread_mutex_lock(&journal->lock);
    struct journal_segment *spare = journal->spares;
    if (spare) {
        journal->spares = spare->next;
        journal->spare_count--;
    }
    pthread_mutex_unlock(&journal->lock);
    return spare;
}

static void add_bytes(struct journal *journal, uint64_t more)
{
    pthread_mutex_lock(&journal->lock);
    journal->figures.bytes += more;
    pthread_mutex_unlock(&journal->lock);
}

/* Spares are of no use for an entry that is larger than a segment. */
void journal_drop_spares(struct journal *journal)
{
    struct journal_segment *spare;
    while ((spare = take_spare(journal))) {
        add_bytes(journal, -spare->file.size);
        segment_remove(&spare->file);
        free(spare);
    }
}

/* Whether a file of this size may be opened. New entries leave room for one segment, for
 * compaction. */
static bool may_open(struct journal *journal, uint64_t size, bool compacting)
{
    uint64_t others = compacting ? 0 : journal->entries.segment_bytes;
    pthread_mutex_lock(&journal->lock);
    uint64_t used = journal->figures.bytes - journal->spare_count * journal->entries.segment_bytes;
    pthread_mutex_unlock(&journal->lock);
    return used + size + others <= journal->settings.max_bytes;
}

/* False: the spare was removed. */
static bool reuse(struct journal *journal, const struct journal_row *row,
                  struct journal_segment *spare)
{
    if (segment_reuse(&spare->file, row->prefix, journal->next_number))
        return true;
    add_bytes(journal, -spare->file.size);
    free(spare);
    return false;
}

/* After a failure of the disk (errno). Memory may be there at the next attempt. */
static enum journal_fault begin_pause(struct journal *journal)
{
    journal->pause.error = errno;
    if (errno != ENOMEM)
        journal->pause.until = clock_mono(journal->settings.clock) + PAUSE;
    return JOURNAL_DISK;
}

static bool pauses(const struct journal *journal)
{
    if (clock_mono(journal->settings.clock) >= journal->pause.until)
        return false;
    errno = journal->pause.error;
    return true;
}

static enum journal_fault create(struct journal *journal, const struct journal_row *row,
                                 uint64_t size, struct journal_segment **made)
{
    if (size != journal->entries.segment_bytes)
        journal_drop_spares(journal);
    struct journal_segment *segment = calloc(1, sizeof *segment);
    if (!segment)
        return JOURNAL_NO_MEMORY;
    if (!segment_create(&segment->file, journal->dir, row->prefix, journal->next_number, size)) {
        int error = errno;
        free(segment);
        errno = error;
        return begin_pause(journal);
    }
    add_bytes(journal, size);
    *made = segment;
    return JOURNAL_OK;
}

/* Bytes that entries take in total, with their slots. */
struct space {
    uint64_t extent, entries;
};

static enum journal_fault open_segment(struct journal *journal, struct journal_row *row,
                                       struct space need, bool compacting)
{
    uint64_t least = need.extent + segment_tail(need.entries);
    uint64_t size = least > row->segment_bytes ? least : row->segment_bytes;
    if (row->most) {
        pthread_mutex_lock(&journal->lock);
        journal_row_trim(journal, row, size);
        pthread_mutex_unlock(&journal->lock);
    }
    if (!may_open(journal, size, compacting))
        return JOURNAL_FULL;
    if (!compacting && pauses(journal))
        return JOURNAL_DISK;
    bool spare_fits = size == journal->entries.segment_bytes;
    struct journal_segment *segment = spare_fits ? take_spare(journal) : NULL;
    if (!segment || !reuse(journal, row, segment)) {
        enum journal_fault fault = create(journal, row, size, &segment);
        if (fault != JOURNAL_OK)
            return fault;
    }
    journal->next_number++;
    segment->end = segment->found_end = segment->expires = 0;
    segment->slots = 0;
    segment->unreadable = segment->unsynced = segment->moving = segment->lost = false;
    pthread_mutex_lock(&journal->lock);
    journal_row_add(row, segment);
    row->open = true;
    pthread_mutex_unlock(&journal->lock);
    return JOURNAL_OK;
}

bool journal_can_write(struct journal *journal)
{
    struct space one = {0, 1};
    journal->pause.until = 0;
    return journal->entries.open ||
           open_segment(journal, &journal->entries, one, false) != JOURNAL_DISK;
}

static bool has_room(const struct journal_row *row, struct space need)
{
    const struct journal_segment *last = row->last;
    return row->open &&
           last->end + need.extent + segment_tail(last->slots + need.entries) <= last->file.size;
}

/* Accounts for an entry written at the end of the last segment. */
static void write_advance(struct journal_segment *segment, uint64_t body_size)
{
    segment->end += segment_extent(body_size);
    segment->slots++;
    segment->unsynced = true;
}

static const char *disk_error(int error)
{
    return error ? strerrordesc_np(error) : "the disk wrote less than it was given";
}

/* Writes one body at the end of a row. */
static enum journal_fault write_put(struct journal *journal, struct journal_row *row,
                                    uint64_t sequence, const struct view *parts, size_t part_count)
{
    uint64_t size = 0;
    for (size_t i = 0; i < part_count; i++)
        size += parts[i].size;
    uint64_t most = journal->settings.max_bytes - journal->entries.segment_bytes;
    struct space need = {segment_extent(size), 1};
    if (size > UINT32_MAX || need.extent + segment_tail(1) > most)
        return JOURNAL_TOO_LARGE;
    if (!has_room(row, need)) {
        seal(journal, row);
        enum journal_fault fault = open_segment(journal, row, need, false);
        if (fault != JOURNAL_OK)
            return fault;
    }
    struct journal_segment *segment = row->last;
    const struct segment_place place = {segment->end, sequence, segment->slots};
    errno = 0;
    if (!segment_write(&segment->file, &place, parts, part_count)) {
        int error = errno;
        seal(journal, row); /* the content after `end` is now unknown */
        errno = error;
        return begin_pause(journal);
    }
    write_advance(segment, size);
    if (!journal->unsynced_since)
        journal->unsynced_since = clock_mono(&clock_system);
    return JOURNAL_OK;
}

static void write_entry(struct journal *journal, struct journal_write *write)
{
    struct journal_entry *entry = write->entry;
    entry->sequence = journal->next_sequence;
    if (journal->astray) {
        write->fault = JOURNAL_DISK;
        write->error = journal->astray;
        return;
    }
    write->fault =
        write_put(journal, &journal->entries, entry->sequence, write->parts, write->part_count);
    if ((write->fault == JOURNAL_FULL && journal_compact(journal)) ||
        (write->fault == JOURNAL_DISK && journal_follow_path(journal)))
        write->fault =
            write_put(journal, &journal->entries, entry->sequence, write->parts, write->part_count);
    if (write->fault != JOURNAL_OK) {
        write->error = disk_error(errno);
        return;
    }
    struct journal_segment *segment = journal->entries.last;
    entry->size = 0;
    for (size_t i = 0; i < write->part_count; i++)
        entry->size += (uint32_t)write->parts[i].size;
    entry->at = segment->end - segment_extent(entry->size);
    entry->slot = segment->slots - 1;
    journal->next_sequence++;
    pthread_mutex_lock(&journal->lock);
    journal_entry_link(entry, segment);
    journal->figures.live++;
    journal->figures.appended++;
    pthread_mutex_unlock(&journal->lock);
}

/* The journal's own owners begin with "*". */
static bool is_own(struct view note)
{
    return note.size > NOTE_HEAD && note.data[NOTE_HEAD] == '*';
}

/* A note has the next entry's number: no later process gives a number of which a note may tell. */
bool journal_copy_note(struct journal *journal, struct view body, uint64_t expires)
{
    struct journal_row *row = is_own(body) ? &journal->notes : &journal->states;
    if (write_put(journal, row, journal->next_sequence, &body, 1) != JOURNAL_OK)
        return false;
    struct journal_segment *segment = row->last;
    if (expires > segment->expires)
        segment->expires = expires;
    return true;
}

bool journal_tells_unsaved(struct journal *journal)
{
    uint64_t now = clock_mono(journal->settings.clock);
    pthread_mutex_lock(&journal->lock);
    bool tells = !journal->unsaved_told || now - journal->unsaved_told >= UNSAVED;
    if (tells)
        journal->unsaved_told = now;
    pthread_mutex_unlock(&journal->lock);
    return tells;
}

static void tell_unsaved(struct journal *journal, struct view note, int error)
{
    const char *why = error ? strerrordesc_np(error) : "there is no room";
    if (!journal_tells_unsaved(journal))
        return;
    if (is_own(note))
        log_warn("journal: what exporters have had could not be noted in \"%s\": %s; after a crash "
                 "they would get it again",
                 journal->settings.directory, why);
    else
        log_warn("journal: a processor's state could not be saved in \"%s\": %s; a crash would "
                 "lose it",
                 journal->settings.directory, why);
}

static void write_note(struct journal *journal, struct journal_pending_note *note)
{
    errno = 0;
    if (!journal_copy_note(journal, bytes_view(&note->body), note->expires))
        tell_unsaved(journal, bytes_view(&note->body), errno);
    bytes_release(&note->body);
    free(note);
}

/* Withdraws what the group wrote; lost: only what is in lost files. */
static void take_back(struct journal *journal, struct journal_write *first, bool lost,
                      const char *error)
{
    if (!lost)
        seal(journal, &journal->entries);
    for (struct journal_write *write = first; write; write = write->next) {
        if (write->fault != JOURNAL_OK || (lost && !write->entry->segment->lost))
            continue;
        write->fault = JOURNAL_DISK;
        write->error = error;
        pthread_mutex_lock(&journal->lock);
        segment_settle(&write->entry->segment->file, write->entry->slot, 0);
        journal_entry_unlink(write->entry);
        journal->figures.live--;
        journal->figures.appended--;
        pthread_mutex_unlock(&journal->lock);
    }
}

/* Space that comes and goes is one event for the log. */
void journal_accepts(struct journal *journal)
{
    if (journal->refusing.logged && !journal->refusing.over)
        journal->refusing.over = clock_mono(journal->settings.clock) + CALM;
}

void journal_tell_over(struct journal *journal)
{
    char since[CLOCK_TEXT];
    uint64_t over = journal->refusing.over, count = journal->refusing.count;
    if (!over || clock_mono(journal->settings.clock) < over)
        return;
    journal->refusing.over = 0;
    journal->refusing.logged = false;
    log_info("journal: can be written again, after %" PRIu64 " request%s refused since %s", count,
             count == 1 ? "" : "s", clock_text(journal->refusing.since, since));
}

static void tell_refused(struct journal *journal, const struct journal_write *refused)
{
    uint64_t live = journal->figures.live;
    if (journal->astray && live > 0 && journal_was_moved(journal))
        log_error("journal: requests are refused: %s; the next start finds the %" PRIu64
                  " request%s in it not delivered yet only if it is moved back",
                  journal->trouble, live, live == 1 ? "" : "s");
    else if (journal->astray)
        log_error("journal: requests are refused: %s", journal->trouble);
    else
        log_error("journal: requests are refused: %s",
                  refused->fault == JOURNAL_DISK ? refused->error : "max_size_mib is reached");
}

/* refused: one of `count`; NULL: none. */
static void write_tell(struct journal *journal, const struct journal_write *refused, uint64_t count)
{
    if (!refused) {
        journal_accepts(journal);
        return;
    }
    if (!journal->refusing.logged) {
        tell_refused(journal, refused);
        journal->refusing.since = clock_wall(journal->settings.clock);
        journal->refusing.count = 0;
    }
    journal->refusing.logged = true;
    journal->refusing.over = 0;
    journal->refusing.count += count;
}

const char *journal_why_lost(const struct journal *journal, const char *otherwise)
{
    bool failed = journal->pause.error && journal->left_behind &&
                  clock_mono(journal->settings.clock) < journal->pause.until;
    return failed ? disk_error(journal->pause.error) : otherwise;
}

static const char *trouble_of(const struct journal *journal, const struct journal_write *refused)
{
    if (journal->astray)
        return journal->astray;
    if (refused && refused->fault == JOURNAL_DISK)
        return refused->error;
    return journal->left_behind
               ? journal_why_lost(journal, "requests lie in files that were removed")
               : NULL;
}

/* Only what was written shows that the journal can be written again: a request larger than all of
 * it is refused whatever its state. */
static void write_count_refused(struct journal *journal, const struct journal_write *first)
{
    const struct journal_write *last = NULL;
    uint64_t refused = 0, written = 0;
    for (const struct journal_write *write = first; write; write = write->next) {
        if (write->fault == JOURNAL_OK) {
            written++;
            continue;
        }
        refused++;
        last = write->fault == JOURNAL_TOO_LARGE ? last : write;
    }
    const char *trouble = trouble_of(journal, last);
    if (first && (written || trouble))
        journal_set_trouble(journal, trouble, refused);
    if (written || last)
        write_tell(journal, last, refused);
    pthread_mutex_lock(&journal->lock);
    journal->figures.refused += refused;
    pthread_mutex_unlock(&journal->lock);
}

void journal_write_group(struct journal *journal, struct journal_write *first,
                         struct journal_pending_note *notes)
{
    if (journal->astray)
        journal_follow_path(journal);
    while (notes) {
        struct journal_pending_note *next = notes->next;
        write_note(journal, notes);
        notes = next;
    }
    for (struct journal_write *write = first; write; write = write->next)
        write_entry(journal, write);
    uint64_t interval = journal->settings.sync_interval;
    if (interval == 0 && !journal_sync(journal))
        take_back(journal, first, false, disk_error(EIO));
    else if (interval && journal->unsynced_since &&
             clock_mono(&clock_system) - journal->unsynced_since >= interval)
        journal_sync_late(journal);
    journal_follow_path(journal);
    bool synced = journal_rescue(journal);
    const char *error = synced ? journal->astray : disk_error(EIO);
    take_back(journal, first, !error,
              error ? error : journal_why_lost(journal, "its files were removed"));
    write_count_refused(journal, first);
}

static struct journal_segment *mostly_settled(const struct journal *journal)
{
    for (struct journal_segment *at = journal->entries.first; at; at = at->next)
        if (!(journal->entries.open && at == journal->entries.last) && !at->unreadable &&
            at->live_bytes <= at->file.size / 2)
            return at;
    return NULL;
}

/* Copies one entry to the end of the last segment. Lock held. */
static bool move(struct journal *journal, struct journal_entry *entry, struct bytes *body)
{
    struct journal_segment *to = journal->entries.last;
    struct segment_entry found;
    bool no_room;
    bytes_clear(body);
    if (segment_find(&entry->segment->file, entry->at, &found) != SEGMENT_ENTRY ||
        !segment_read(&entry->segment->file, &found, body, &no_room))
        return false;
    struct view content = bytes_view(body);
    const struct segment_place place = {to->end, entry->sequence, to->slots};
    if (!segment_write(&to->file, &place, &content, 1))
        return false;
    journal_entry_unlink(entry);
    entry->at = place.at;
    entry->slot = place.slot;
    journal_entry_link(entry, to);
    write_advance(to, entry->size);
    return true;
}

static bool move_all(struct journal *journal, struct journal_segment *from)
{
    struct bytes body;
    bool good = true;
    bytes_init(&body, UINT32_MAX, NULL);
    pthread_mutex_lock(&journal->lock);
    from->moving = true;
    for (struct journal_entry *entry = from->oldest, *next; entry; entry = next) {
        next = entry->newer;
        good = move(journal, entry, &body) && good;
    }
    pthread_mutex_unlock(&journal->lock);
    bytes_release(&body);
    return good;
}

bool journal_vacate(struct journal *journal, struct journal_segment *from)
{
    struct journal_row *row = &journal->entries;
    pthread_mutex_lock(&journal->lock);
    struct space need = {from->live_bytes, 0};
    for (const struct journal_entry *entry = from->oldest; entry; entry = entry->newer)
        need.entries++;
    pthread_mutex_unlock(&journal->lock);
    if (!has_room(row, need)) {
        seal(journal, row);
        if (open_segment(journal, row, need, true) != JOURNAL_OK)
            return false;
    }
    bool good = move_all(journal, from);
    sync_segment(journal, row->last); /* sync the copies before the originals are removed */
    pthread_mutex_lock(&journal->lock);
    from->moving = journal->sync_failed;
    journal_retire_dead(journal);
    pthread_mutex_unlock(&journal->lock);
    return good;
}

bool journal_compact(struct journal *journal)
{
    pthread_mutex_lock(&journal->lock);
    struct journal_segment *from = mostly_settled(journal);
    pthread_mutex_unlock(&journal->lock);
    return from && journal_vacate(journal, from);
}
