#include "lib/journal/rescue.h"

#include "lib/base/clock.h"
#include "lib/base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    LEAST_SEGMENT = 128 << 10,
    LARGEST_SEGMENT = 16 << 20,
    SEGMENTS_AT_MOST = 16,
    STATES_AT_MOST = 256 << 20
};

static void list_add(struct journal_list *list, struct journal_write *write)
{
    write->next = NULL;
    if (list->last)
        list->last->next = write;
    else
        list->first = write;
    list->last = write;
}

void journal_append(struct journal *journal, struct journal_write *write)
{
    write->entry = calloc(1, sizeof *write->entry);
    write->error = NULL;
    write->fault = JOURNAL_OK;
    if (write->entry && !budget_take(journal->settings.budget, sizeof *write->entry)) {
        free(write->entry);
        write->entry = NULL;
    }
    pthread_mutex_lock(&journal->lock);
    journal->unanswered++;
    if (write->entry) {
        list_add(&journal->waiting, write);
        pthread_cond_signal(&journal->to_write);
    } else {
        write->fault = JOURNAL_NO_MEMORY;
        list_add(&journal->written, write);
        pthread_cond_signal(&journal->to_answer);
    }
    pthread_mutex_unlock(&journal->lock);
}

void journal_flush(struct journal *journal)
{
    pthread_mutex_lock(&journal->lock);
    while (journal->unanswered > 0)
        pthread_cond_wait(&journal->answered, &journal->lock);
    pthread_mutex_unlock(&journal->lock);
}

static void free_entry(struct journal *journal, struct journal_entry *entry)
{
    budget_give(journal->settings.budget, sizeof *entry);
    free(entry);
}

/* Lock held. */
static void settle_now(struct journal *journal, struct journal_entry *entry)
{
    if (!segment_settle(&entry->segment->file, entry->slot, entry->segment->found_end))
        journal->figures.unmarked++;
    journal_marks_drop(journal, entry);
    journal_entry_unlink(entry);
    journal->figures.live--;
    if (!entry->segment->oldest)
        journal_retire_dead(journal);
    free_entry(journal, entry);
}

/* An entry is removed only after the notes that may have come from it are written. */
void journal_settle(struct journal *journal, struct journal_entry *entry)
{
    pthread_mutex_lock(&journal->lock);
    uint64_t unmarked = journal->figures.unmarked;
    errno = 0;
    if (journal->notes_unwritten > 0) {
        entry->later = journal->to_settle;
        journal->to_settle = entry;
    } else {
        settle_now(journal, entry);
    }
    int error = errno;
    bool tells = journal->figures.unmarked != unmarked;
    pthread_mutex_unlock(&journal->lock);
    if (tells && journal_tells_unsaved(journal))
        log_error("journal: cannot note in \"%s\" that requests were delivered: %s; the next start "
                  "would send them again",
                  journal->settings.directory,
                  error ? strerrordesc_np(error) : "its files were cut");
}

/* Lock held. */
static void notes_written(struct journal *journal, size_t count)
{
    journal->notes_unwritten -= count;
    journal->notes_done += count;
    pthread_cond_broadcast(&journal->answered);
    while (journal->notes_unwritten == 0 && journal->to_settle) {
        struct journal_entry *entry = journal->to_settle;
        journal->to_settle = entry->later;
        settle_now(journal, entry);
    }
}

/* It stays in its segment's list, so that the segment is kept; the process ends soon. */
void journal_keep(struct journal *journal, struct journal_entry *entry)
{
    (void)journal;
    (void)entry;
}

void journal_note(struct journal *journal, struct view owner, struct view content, uint64_t keep_ns)
{
    struct journal_pending_note *note = calloc(1, sizeof *note);
    uint64_t now = clock_wall(journal->settings.clock);
    uint8_t head[9];
    if (!note)
        return;
    note->expires = now + keep_ns;
    for (int i = 0; i < 8; i++)
        head[i] = (uint8_t)(note->expires >> (8 * i));
    head[8] = (uint8_t)owner.size;
    bytes_init(&note->body, SIZE_MAX / 2, journal->settings.budget);
    if (owner.size > UINT8_MAX || bytes_append(&note->body, head, sizeof head) != BYTES_OK ||
        bytes_append_view(&note->body, owner) != BYTES_OK ||
        bytes_append_view(&note->body, content) != BYTES_OK) {
        if (journal_tells_unsaved(journal))
            log_warn("journal: no memory to save a processor's state; a crash would lose it");
        bytes_release(&note->body);
        free(note);
        return;
    }
    pthread_mutex_lock(&journal->lock);
    *journal->notes_end = note;
    journal->notes_end = &note->next;
    journal->notes_unwritten++;
    journal->notes_given++;
    pthread_cond_signal(&journal->to_write);
    pthread_mutex_unlock(&journal->lock);
}

void journal_figures(struct journal *journal, struct journal_figures *figures)
{
    *figures = (struct journal_figures){
        .live = journal->figures.live,
        .bytes = journal->figures.bytes,
        .appended = journal->figures.appended,
        .syncs = journal->figures.syncs,
        .damaged = journal->figures.damaged,
        .refused = journal->figures.refused,
        .to_replay = journal->found_count - journal->found_at,
        .max_bytes = journal->settings.max_bytes,
    };
}

bool journal_trouble(struct journal *journal, struct bytes *out)
{
    pthread_mutex_lock(&journal->lock);
    if (!journal->trouble[0] && !journal_is_in_place(journal)) {
        snprintf(journal->trouble, sizeof journal->trouble, "\"%.200s\" was %s",
                 journal->settings.directory,
                 journal_was_moved(journal) ? "moved away" : "removed");
        journal_begin_trouble(journal);
        journal->probe_at = 0;
        pthread_cond_signal(&journal->to_write);
    }
    bool trouble = journal->trouble[0];
    char since[CLOCK_TEXT];
    if (trouble)
        bytes_printf(out, "%s, since %s (%" PRIu64 " request%s refused)", journal->trouble,
                     clock_text(journal->trouble_since, since), journal->trouble_refused,
                     journal->trouble_refused == 1 ? "" : "s");
    pthread_mutex_unlock(&journal->lock);
    return trouble;
}

bool journal_at_path(struct journal *journal)
{
    pthread_mutex_lock(&journal->lock);
    bool there = journal_is_in_place(journal);
    pthread_mutex_unlock(&journal->lock);
    return there;
}

/* A time of the journal's clock, which is another one in tests, on the system's. 0: none. */
static uint64_t on_system(const struct journal *journal, uint64_t at)
{
    uint64_t now = clock_mono(journal->settings.clock);
    return at ? clock_mono(&clock_system) + (at > now ? at - now : 0) : TIME_NEVER;
}

/* The latest time at which the writer has something to do. Lock held. */
static uint64_t writer_due(const struct journal *journal)
{
    uint64_t due = journal->trouble[0] ? journal->probe_at : TIME_NEVER;
    uint64_t sync = journal->unsynced_since + journal->settings.sync_interval;
    uint64_t over = on_system(journal, journal->refusing.over);
    uint64_t marks = on_system(journal, journal->marks.due);
    due = journal->unsynced_since && sync < due ? sync : due;
    due = over < due ? over : due;
    return marks < due ? marks : due;
}

/* Appends all of `from` to `to`. */
static void list_join(struct journal_list *to, struct journal_list *from)
{
    if (!from->first)
        return;
    if (to->last)
        to->last->next = from->first;
    else
        to->first = from->first;
    to->last = from->last;
    *from = (struct journal_list){0};
}

static void write_what_waits(struct journal *journal)
{
    struct journal_list group = journal->waiting;
    struct journal_pending_note *notes = journal->new_notes;
    journal->waiting = (struct journal_list){0};
    journal->new_notes = NULL;
    journal->notes_end = &journal->new_notes;
    size_t note_count = journal->notes_unwritten;
    bool probe = journal->trouble[0] && journal->probe_at <= clock_mono(&clock_system);
    pthread_mutex_unlock(&journal->lock);
    if (group.first || notes)
        journal_write_group(journal, group.first, notes);
    else if (journal->unsynced_since)
        journal_sync_late(journal);
    if (probe && !group.first)
        journal_probe(journal);
    journal_tell_over(journal);
    pthread_mutex_lock(&journal->lock);
    notes_written(journal, note_count);
    list_join(&journal->written, &group);
    pthread_cond_signal(&journal->to_answer);
}

/* Lock held; released meanwhile. */
static void store_marks(struct journal *journal)
{
    struct journal_mark *marks = journal_marks_take(journal, journal->stopping);
    if (!marks)
        return;
    pthread_mutex_unlock(&journal->lock);
    journal_marks_store(journal, marks);
    pthread_mutex_lock(&journal->lock);
}

static void *writer_loop(void *ctx)
{
    struct journal *journal = ctx;
    pthread_mutex_lock(&journal->lock);
    for (;;) {
        store_marks(journal);
        bool idle = !journal->waiting.first && !journal->new_notes;
        uint64_t due = writer_due(journal);
        if (idle && journal->stopping)
            break;
        if (idle && clock_mono(&clock_system) < due)
            thread_cond_wait_until(&journal->to_write, &journal->lock, due);
        else
            write_what_waits(journal);
    }
    journal->writer_ended = true;
    pthread_cond_signal(&journal->to_answer);
    pthread_cond_broadcast(&journal->answered);
    pthread_mutex_unlock(&journal->lock);
    return NULL;
}

static void journal_answer(struct journal *journal, struct journal_write *write)
{
    struct journal_entry *entry = write->entry;
    if (write->fault != JOURNAL_OK && entry) {
        free_entry(journal, entry);
        entry = NULL;
    }
    write->done(write, entry, write->fault);
}

static void *answer_loop(void *ctx)
{
    struct journal *journal = ctx;
    pthread_mutex_lock(&journal->lock);
    while (journal->written.first || !journal->writer_ended) {
        struct journal_write *write = journal->written.first;
        if (!write) {
            pthread_cond_wait(&journal->to_answer, &journal->lock);
            continue;
        }
        journal->written = (struct journal_list){0};
        pthread_mutex_unlock(&journal->lock);
        size_t count = 0;
        for (struct journal_write *next; write; write = next, count++) {
            next = write->next;
            journal_answer(journal, write);
        }
        pthread_mutex_lock(&journal->lock);
        journal->unanswered -= count;
        pthread_cond_broadcast(&journal->answered);
    }
    pthread_mutex_unlock(&journal->lock);
    return NULL;
}

static bool start_threads(struct journal *journal)
{
    if (!thread_start(&journal->writer, "journal", writer_loop, journal))
        return false;
    journal->threads = thread_start(&journal->answerer, "journal-answer", answer_loop, journal);
    if (!journal->threads) {
        pthread_mutex_lock(&journal->lock);
        journal->stopping = true;
        pthread_cond_signal(&journal->to_write);
        pthread_mutex_unlock(&journal->lock);
        pthread_join(journal->writer, NULL);
    }
    return journal->threads;
}

/* Returns why the last one could not be made (errno); 0: it could, or exists. */
static int make_directories(const char *path)
{
    char *copy = strdup(path);
    int error = copy ? 0 : ENOMEM;
    for (char *at = copy ? copy + 1 : NULL; at; at++) {
        at = strchr(at, '/');
        if (at)
            *at = '\0';
        error = mkdir(copy, 0700) == 0 || errno == EEXIST ? 0 : errno;
        if (!at || (error && error != EROFS && error != EACCES))
            break;
        *at = '/';
    }
    free(copy);
    return error;
}

/* Why a directory that does not exist could not be made (errno); 0: it could. */
static int why_unmade(const char *path)
{
    char *copy = strdup(path);
    const char *above = copy;
    do
        above = above ? dirname((char *)(uintptr_t)above) : "/";
    while (faccessat(AT_FDCWD, above, F_OK, AT_EACCESS) != 0 && errno == ENOENT);
    int error = faccessat(AT_FDCWD, above, W_OK | X_OK, AT_EACCESS) == 0 ? 0 : errno;
    free(copy);
    return error;
}

bool journal_could_open(const char *path, const char **error)
{
    int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int why = dir >= 0 ? 0 : errno;
    if (dir >= 0)
        close(dir);
    if (why == ENOENT)
        why = why_unmade(path);
    *error = strerrordesc_np(why);
    return why == 0;
}

int journal_open_directory(const char *path, const char **error)
{
    int unmade = make_directories(path);
    int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir >= 0 && flock(dir, LOCK_EX | LOCK_NB) == 0)
        return dir;
    if (dir < 0 && errno == ENOENT && unmade)
        errno = unmade;
    bool taken = dir >= 0 && errno == EWOULDBLOCK;
    *error = taken ? "it is in use by another process" : strerrordesc_np(errno);
    if (dir >= 0)
        close(dir);
    return -1;
}

static bool open_directory(struct journal *journal, const char **error)
{
    journal->dir = journal_open_directory(journal->settings.directory, error);
    return journal->dir >= 0;
}

static uint64_t within(uint64_t bytes, uint64_t least, uint64_t most)
{
    return bytes < least ? least : bytes > most ? most : bytes;
}

static void init_rows(struct journal *journal)
{
    uint64_t share = journal->settings.max_bytes / SEGMENTS_AT_MOST;
    uint64_t states = share < STATES_AT_MOST ? share : STATES_AT_MOST;
    uint64_t note = within(states / SEGMENTS_AT_MOST, LEAST_SEGMENT, LARGEST_SEGMENT);
    journal->entries = (struct journal_row){
        .prefix = ENTRY_PREFIX, .segment_bytes = within(share, LEAST_SEGMENT, LARGEST_SEGMENT)};
    journal->notes =
        (struct journal_row){.prefix = NOTE_PREFIX, .segment_bytes = note, .closes = true};
    journal->states = (struct journal_row){.prefix = STATE_PREFIX,
                                           .segment_bytes = note,
                                           .most = states > 2 * note ? states : 2 * note,
                                           .closes = true};
}

static struct journal *journal_new(const struct journal_settings *settings)
{
    struct journal *journal = calloc(1, sizeof *journal);
    if (!journal)
        return NULL;
    journal->settings = *settings;
    journal->dir = journal->old_dir = -1;
    init_rows(journal);
    journal->notes_end = &journal->new_notes;
    pthread_mutex_init(&journal->lock, NULL);
    thread_cond_init(&journal->to_write);
    thread_cond_init(&journal->to_answer);
    thread_cond_init(&journal->answered);
    return journal;
}

/* A disk that is read-only from the start is told before the first request is refused. */
static void look_at_disk(struct journal *journal)
{
    if (faccessat(journal->dir, ".", W_OK, AT_EACCESS) == 0)
        return;
    const char *why = strerrordesc_np(errno);
    journal_set_trouble(journal, why, 0);
    log_error("journal: \"%s\" cannot be written: %s; requests are refused until it can",
              journal->settings.directory, why);
}

struct journal *journal_open(const struct journal_settings *settings, char *error,
                             size_t error_size)
{
    const char *why = "out of memory";
    struct journal *journal = journal_new(settings);
    if (journal && open_directory(journal, &why) && journal_find(journal, &why)) {
        why = "no thread could be started";
        look_at_disk(journal);
        if (start_threads(journal))
            return journal;
    }
    snprintf(error, error_size, "\"%s\": %s", settings->directory, why);
    if (journal)
        journal_close(journal);
    return NULL;
}

static void stop_threads(struct journal *journal)
{
    pthread_mutex_lock(&journal->lock);
    journal->stopping = true;
    pthread_cond_signal(&journal->to_write);
    pthread_mutex_unlock(&journal->lock);
    pthread_join(journal->writer, NULL);
    pthread_join(journal->answerer, NULL);
    journal_sync_late(journal);
}

static void free_row(struct journal *journal, struct journal_row *row)
{
    while (row->first) {
        struct journal_segment *segment = row->first;
        row->first = segment->next;
        while (segment->oldest) {
            struct journal_entry *entry = segment->oldest;
            segment->oldest = entry->newer;
            journal_marks_drop(journal, entry);
            free_entry(journal, entry);
        }
        segment_close(&segment->file);
        free(segment);
    }
}

void journal_close(struct journal *journal)
{
    if (journal->threads)
        stop_threads(journal);
    journal->entries.open = false;
    journal_retire_dead(journal);
    while (journal->spares) {
        struct journal_segment *spare = journal->spares;
        journal->spares = spare->next;
        segment_remove(&spare->file);
        free(spare);
    }
    free_row(journal, &journal->entries);
    free_row(journal, &journal->notes);
    free_row(journal, &journal->states);
    if (journal->dir >= 0)
        close(journal->dir);
    if (journal->old_dir >= 0)
        close(journal->old_dir);
    free(journal->found);
    free(journal->progress);
    journal_stored_drop(journal);
    pthread_mutex_destroy(&journal->lock);
    pthread_cond_destroy(&journal->to_write);
    pthread_cond_destroy(&journal->to_answer);
    pthread_cond_destroy(&journal->answered);
    free(journal);
}
