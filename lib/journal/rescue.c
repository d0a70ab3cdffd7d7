#include "lib/journal/rescue.h"

#include "lib/base/clock.h"
#include "lib/base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define PROBE_FIRST NS_PER_S
#define PROBE_LAST  (30 * NS_PER_S)

enum { TRIES = 3 }; /* files may be deleted while others are being rescued */

bool journal_is_in_place(const struct journal *journal)
{
    struct stat ours, there;
    if (fstat(journal->dir, &ours) != 0 || ours.st_nlink == 0)
        return false;
    if (stat(journal->settings.directory, &there) != 0)
        return errno != ENOENT && errno != ENOTDIR;
    return ours.st_dev == there.st_dev && ours.st_ino == there.st_ino;
}

bool journal_was_moved(const struct journal *journal)
{
    struct stat ours;
    return fstat(journal->dir, &ours) == 0 && ours.st_nlink > 0 && !journal_is_in_place(journal);
}

/* Lock held. */
static void rescue_lose(struct journal *journal, struct journal_row *row,
                        struct journal_segment *segment)
{
    segment->lost = true;
    journal->figures.bytes -= segment->file.size;
    if (segment == row->last)
        row->open = false;
}

/* Lock held. Treats all files of the directory in use as lost. Those that were lost before are
 * from an earlier one: only if that is the next one, again, can they be removed later. */
static void rescue_leave(struct journal *journal, struct journal_row *row, int again)
{
    for (struct journal_segment *at = row->first; at; at = at->next)
        if (at->lost)
            at->file.dir = at->file.dir == journal->old_dir ? again : -1;
        else
            rescue_lose(journal, row, at);
}

/* again: dir is the directory that was used before this one. */
static void go_over(struct journal *journal, int dir, bool again)
{
    journal_drop_spares(journal);
    pthread_mutex_lock(&journal->lock);
    rescue_leave(journal, &journal->entries, again ? dir : -1);
    rescue_leave(journal, &journal->notes, again ? dir : -1);
    rescue_leave(journal, &journal->states, again ? dir : -1);
    int before = journal->old_dir;
    journal->old_dir = journal->dir;
    journal->dir = dir;
    journal->pause.until = 0;
    uint64_t live = journal->figures.live;
    pthread_mutex_unlock(&journal->lock);
    if (before >= 0)
        close(before);
    log_warn("journal: \"%s\" was removed or replaced: %" PRIu64 " requests are being rewritten",
             journal->settings.directory, live);
}

static bool is_before(const struct journal *journal)
{
    struct stat before, there;
    return journal->old_dir >= 0 && fstat(journal->old_dir, &before) == 0 &&
           stat(journal->settings.directory, &there) == 0 && before.st_dev == there.st_dev &&
           before.st_ino == there.st_ino;
}

/* Opens the directory at the path, unless nothing can be written there: then the one in use is
 * kept, which may come back. -1: journal->astray. */
static int open_there(struct journal *journal, bool again)
{
    /* The one used before is still locked, so another lock would fail. */
    int dir = again ? fcntl(journal->old_dir, F_DUPFD_CLOEXEC, 0)
                    : journal_open_directory(journal->settings.directory, &journal->astray);
    if (dir < 0 && again)
        journal->astray = strerrordesc_np(errno);
    if (dir < 0 || faccessat(dir, ".", W_OK | X_OK, AT_EACCESS) == 0)
        return dir;
    journal->astray = strerrordesc_np(errno);
    close(dir);
    return -1;
}

bool journal_follow_path(struct journal *journal)
{
    journal->astray = NULL;
    if (journal_is_in_place(journal))
        return false;
    bool again = is_before(journal);
    int dir = open_there(journal, again);
    if (dir < 0)
        return false;
    go_over(journal, dir, again);
    return true;
}

/* Whether it is no longer under its name: removed or moved. */
static bool is_nameless(const struct segment_file *file)
{
    struct stat status;
    if (fstat(file->fd, &status) == 0 && status.st_nlink == 0)
        return true;
    return fstatat(file->dir, file->name, &status, AT_SYMLINK_NOFOLLOW) != 0 && errno == ENOENT;
}

static void lose_nameless(struct journal *journal, struct journal_row *row)
{
    for (struct journal_segment *at = row->first; at; at = at->next)
        if (!at->lost && is_nameless(&at->file))
            rescue_lose(journal, row, at);
}

/* The first lost segment with live content. Lock held. */
static struct journal_segment *first_lost(struct journal_row *row, uint64_t now)
{
    for (struct journal_segment *at = row->first; at; at = at->next)
        if (at->lost && (at->oldest || at->expires > now))
            return at;
    return NULL;
}

static bool copy_notes_of(struct journal *journal, const struct journal_segment *from,
                          const struct segment_file *file)
{
    struct segment_entry found;
    struct bytes body;
    bool no_room, good = true;
    uint64_t now = clock_wall(journal->settings.clock);
    enum segment_found what = SEGMENT_ENTRY;
    bytes_init(&body, UINT32_MAX, NULL);
    for (uint64_t at = 0; good && at < from->end; at += found.extent) {
        what = segment_find(file, at, &found);
        if (what != SEGMENT_ENTRY && what != SEGMENT_DAMAGED)
            break;
        bytes_clear(&body);
        if (what == SEGMENT_DAMAGED || !segment_read(file, &found, &body, &no_room))
            continue;
        uint64_t expires = journal_note_expiry(bytes_view(&body));
        good = expires <= now || journal_copy_note(journal, bytes_view(&body), expires);
    }
    bytes_release(&body);
    return good;
}

/* Those in a file that was closed, as all but the last ones are, went with it. */
static bool copy_notes(struct journal *journal, struct journal_segment *from)
{
    struct segment_file file;
    bool good = true;
    if (segment_open_again(&from->file, &file)) {
        good = copy_notes_of(journal, from, &file);
        segment_close(&file);
    } else {
        log_warn("journal: %s was removed: the notes in it are lost", from->file.name);
    }
    pthread_mutex_lock(&journal->lock);
    from->expires = good ? 0 : from->expires;
    pthread_mutex_unlock(&journal->lock);
    return good;
}

/* Rescues one lost segment; *more: there may be others. */
static bool rescue_one(struct journal *journal, bool *more)
{
    uint64_t now = clock_wall(journal->settings.clock);
    pthread_mutex_lock(&journal->lock);
    struct journal_segment *entries = first_lost(&journal->entries, UINT64_MAX);
    struct journal_segment *notes = first_lost(&journal->notes, now);
    notes = notes ? notes : first_lost(&journal->states, now);
    pthread_mutex_unlock(&journal->lock);
    *more = entries || notes;
    if (notes && !copy_notes(journal, notes))
        return false;
    return !entries || journal_vacate(journal, entries);
}

/* Drops rescued segments, and then the old directory. */
static void rescue_forget(struct journal *journal)
{
    pthread_mutex_lock(&journal->lock);
    journal_retire_dead(journal);
    int old = journal->old_dir;
    journal->old_dir = -1;
    pthread_mutex_unlock(&journal->lock);
    if (old >= 0)
        close(old);
}

static void find_lost(struct journal *journal)
{
    pthread_mutex_lock(&journal->lock);
    lose_nameless(journal, &journal->entries);
    lose_nameless(journal, &journal->notes);
    lose_nameless(journal, &journal->states);
    pthread_mutex_unlock(&journal->lock);
}

bool journal_rescue(struct journal *journal)
{
    bool more = false;
    for (int tries = 0; tries < TRIES; tries++) {
        bool copied = false;
        find_lost(journal);
        while (rescue_one(journal, &more) && more)
            copied = true;
        if (copied && !journal_sync(journal))
            return false;
        if (!more && copied)
            rescue_forget(journal);
        if (more || !copied)
            break;
    }
    bool had = journal->left_behind;
    journal->left_behind = more;
    if (more && !had)
        log_error(
            "journal: the data in removed files cannot be rewritten and will be lost with the "
            "process: %s",
            journal_why_lost(journal, "its files were removed again"));
    return true;
}

void journal_begin_trouble(struct journal *journal)
{
    journal->trouble_since = clock_wall(&clock_system);
    journal->trouble_refused = 0;
}

/* Lock held. */
static void put_trouble(struct journal *journal, const char *what)
{
    const char *state = journal_is_in_place(journal) ? "cannot be written"
                        : journal_was_moved(journal) ? "was moved away"
                                                     : "was removed";
    snprintf(journal->trouble, sizeof journal->trouble, "\"%.150s\" %s: %s",
             journal->settings.directory, state, what);
}

void journal_set_trouble(struct journal *journal, const char *what, uint64_t refused)
{
    pthread_mutex_lock(&journal->lock);
    bool had = journal->trouble[0], over = had && !what;
    if (!what || !had) {
        journal->probe_wait = PROBE_FIRST;
        journal->probe_at = clock_mono(&clock_system) + PROBE_FIRST;
    }
    if (what && !had)
        journal_begin_trouble(journal);
    journal->trouble_refused += refused;
    if (what)
        put_trouble(journal, what);
    else
        journal->trouble[0] = '\0';
    pthread_mutex_unlock(&journal->lock);
    if (over && journal->refusing.logged)
        journal_accepts(journal);
    else if (over)
        log_info("journal: can be written again");
}

void journal_probe(struct journal *journal)
{
    journal_follow_path(journal);
    bool whole = journal_is_in_place(journal) && journal_rescue(journal) && !journal->left_behind;
    if (whole && journal_can_write(journal)) {
        journal_set_trouble(journal, NULL, 0);
        return;
    }
    pthread_mutex_lock(&journal->lock);
    if (journal->astray)
        put_trouble(journal, journal->astray);
    journal->probe_wait =
        journal->probe_wait < PROBE_LAST / 2 ? 2 * journal->probe_wait : PROBE_LAST;
    journal->probe_at = clock_mono(&clock_system) + journal->probe_wait;
    pthread_mutex_unlock(&journal->lock);
}
