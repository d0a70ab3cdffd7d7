#include "lib/journal/delivered.h"

#include "lib/journal/state.h"

#include <stdlib.h>

/* A note is the key, then runs of sequence numbers: the first and how many. */
enum { KEY = 8, RUN = 12, RUNS_MAX = 4096 };

/* The part of the journal from which on the notes grow no more. */
enum { SHARE = 16 };

static const uint64_t KEEP_NS = 24 * 3600 * NS_PER_S;
static const uint64_t WAIT_NS = NS_PER_S;

/* Not a legal id of an exporter or processor. */
#define OWNER VIEW("*delivered")

static void put(uint8_t *at, size_t size, uint64_t number)
{
    for (size_t i = 0; i < size; i++)
        at[i] = (uint8_t)(number >> (8 * i));
}

static uint64_t get(const uint8_t *at, size_t size)
{
    uint64_t number = 0;
    for (size_t i = 0; i < size; i++)
        number |= (uint64_t)at[i] << (8 * i);
    return number;
}

/* ---- storing ---- */

/* The writer is woken once for many: it comes back by itself while there are more. */
void journal_delivered(struct journal *journal, struct journal_entry *entry, uint64_t key)
{
    struct journal_marks *marks = &journal->marks;
    uint64_t now = clock_mono(journal->settings.clock);
    if (!budget_take(journal->settings.budget, sizeof(struct journal_mark)))
        return;
    struct journal_mark *mark = malloc(sizeof *mark);
    if (!mark) {
        budget_give(journal->settings.budget, sizeof *mark);
        return;
    }
    pthread_mutex_lock(&journal->lock);
    *mark = (struct journal_mark){.older = marks->last,
                                  .also = entry->marks,
                                  .entry = entry,
                                  .sequence = entry->sequence,
                                  .key = key,
                                  .since = now};
    *(marks->last ? &marks->last->newer : &marks->first) = mark;
    marks->last = mark;
    entry->marks = mark;
    if (!marks->due) {
        marks->due = now + WAIT_NS;
        pthread_cond_signal(&journal->to_write);
    }
    pthread_mutex_unlock(&journal->lock);
}

static void free_mark(struct journal *journal, struct journal_mark *mark)
{
    budget_give(journal->settings.budget, sizeof *mark);
    free(mark);
}

void journal_marks_drop(struct journal *journal, struct journal_entry *entry)
{
    struct journal_marks *marks = &journal->marks;
    struct journal_mark *mark;
    while ((mark = entry->marks)) {
        entry->marks = mark->also;
        *(mark->older ? &mark->older->newer : &marks->first) = mark->newer;
        *(mark->newer ? &mark->newer->older : &marks->last) = mark->older;
        free_mark(journal, mark);
    }
}

static void forget_in_entry(struct journal_mark *mark)
{
    struct journal_mark **at = &mark->entry->marks;
    while (*at != mark)
        at = &(*at)->also;
    *at = mark->also;
}

struct journal_mark *journal_marks_take(struct journal *journal, bool all)
{
    struct journal_marks *marks = &journal->marks;
    uint64_t now = clock_mono(journal->settings.clock);
    struct journal_mark *first = marks->first, *at = first, *last = NULL;
    if (!all && (!marks->due || marks->due > now))
        return NULL;
    for (; at && (all || at->since + WAIT_NS <= now); at = at->newer) {
        forget_in_entry(at);
        last = at;
    }
    marks->first = at;
    *(at ? &at->older : &marks->last) = NULL;
    marks->due = at ? at->since + WAIT_NS : 0;
    if (last)
        last->newer = NULL;
    return last ? first : NULL;
}

static int by_number(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* Moves the sequence numbers of the marks with the first one's key to numbers. Returns the other
 * marks. */
static struct journal_mark *take_key(struct journal *journal, struct journal_mark *first,
                                     uint64_t *numbers, size_t *count)
{
    struct journal_mark *others = NULL, **end = &others, *next;
    uint64_t key = first->key;
    *count = 0;
    for (struct journal_mark *mark = first; mark; mark = next) {
        next = mark->newer;
        if (mark->key == key) {
            numbers[(*count)++] = mark->sequence;
            free_mark(journal, mark);
        } else {
            *end = mark;
            end = &mark->newer;
        }
    }
    *end = NULL;
    return others;
}

/* Writes a note of as many numbers, in order, as fit into one; returns how many. */
static size_t store_some(struct journal *journal, uint64_t key, const uint64_t *numbers,
                         size_t count, uint8_t *note)
{
    size_t size = KEY, i = 0, n;
    put(note, KEY, key);
    for (size_t runs = 0; i < count && runs < RUNS_MAX; runs++, i += n, size += RUN) {
        for (n = 1; i + n < count && numbers[i + n] == numbers[i] + n;)
            n++;
        put(note + size, 8, numbers[i]);
        put(note + size + 8, 4, n);
    }
    journal_note(journal, OWNER, (struct view){note, size}, KEEP_NS);
    return i;
}

/* Whether the notes may grow: what never ends, such as a slow backend, must not fill the journal.
 */
static bool may_store(struct journal *journal)
{
    uint64_t bytes = 0;
    pthread_mutex_lock(&journal->lock);
    for (const struct journal_segment *at = journal->notes.first; at; at = at->next)
        bytes += at == journal->notes.last ? 0 : at->file.size;
    pthread_mutex_unlock(&journal->lock);
    return bytes <= journal->settings.max_bytes / SHARE;
}

void journal_marks_store(struct journal *journal, struct journal_mark *first)
{
    size_t most = 0, count;
    for (const struct journal_mark *mark = first; mark; mark = mark->newer)
        most++;
    size_t size = most * sizeof(uint64_t) + KEY + RUNS_MAX * RUN;
    bool room = may_store(journal) && budget_take(journal->settings.budget, size);
    uint64_t *numbers = room ? malloc(size) : NULL;
    while (numbers && first) {
        uint64_t key = first->key;
        first = take_key(journal, first, numbers, &count);
        qsort(numbers, count, sizeof *numbers, by_number);
        for (size_t i = 0; i < count;)
            i += store_some(journal, key, numbers + i, count - i, (uint8_t *)(numbers + most));
    }
    while (first) { /* no room: they will be sent again */
        struct journal_mark *mark = first;
        first = mark->newer;
        free_mark(journal, mark);
    }
    free(numbers);
    if (room)
        budget_give(journal->settings.budget, size);
}

/* ---- reading ---- */

static struct journal_stored *stored_at(const struct journal *journal)
{
    return (struct journal_stored *)(void *)journal->stored.data;
}

static size_t stored_count(const struct journal *journal)
{
    return journal->stored.size / sizeof(struct journal_stored);
}

static bool collect(void *ctx, struct view content)
{
    struct journal *journal = ctx;
    if (content.size < KEY)
        return true;
    struct journal_stored stored = {.key = get(content.data, KEY)};
    for (size_t at = KEY; at + RUN <= content.size; at += RUN) {
        uint64_t n = get(content.data + at + 8, 4);
        stored.from = get(content.data + at, 8);
        stored.to = stored.from + n - 1;
        if (n > 0 && stored.to >= journal->found_from && stored.from <= journal->found_to)
            bytes_append(&journal->stored, &stored, sizeof stored);
    }
    return true;
}

static int by_key(const void *a, const void *b)
{
    const struct journal_stored *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return x->from < y->from ? -1 : x->from > y->from;
}

/* Orders what was read, and joins what is adjacent. Lock held. */
static void read_stored(struct journal *journal)
{
    bytes_init(&journal->stored, SIZE_MAX / 2, journal->settings.budget);
    journal->stored_read = true;
    journal_recall_locked(journal, OWNER, collect, journal);
    struct journal_stored *all = stored_at(journal);
    size_t count = stored_count(journal), last = 0;
    if (count == 0)
        return;
    qsort(all, count, sizeof *all, by_key);
    for (size_t i = 1; i < count; i++)
        if (all[i].key == all[last].key && all[i].from <= all[last].to + 1)
            all[last].to = all[i].to > all[last].to ? all[i].to : all[last].to;
        else
            all[++last] = all[i];
    journal->stored.size = (last + 1) * sizeof *all;
}

/* The place behind the last element with this key that begins at this number or before. */
static size_t stored_behind(const struct journal *journal, uint64_t key, uint64_t number)
{
    const struct journal_stored *all = stored_at(journal);
    size_t low = 0, high = stored_count(journal);
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (all[middle].key < key || (all[middle].key == key && all[middle].from <= number))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

size_t journal_delivered_find(struct journal *journal, const struct journal_entry *entry,
                              uint64_t *keys, size_t most)
{
    size_t count = 0;
    pthread_mutex_lock(&journal->lock);
    if (!journal->stored_read)
        read_stored(journal);
    const struct journal_stored *all = stored_at(journal);
    for (size_t i = 0; i < stored_count(journal) && count < most;) {
        uint64_t key = all[i].key;
        size_t behind = stored_behind(journal, key, entry->sequence);
        if (behind > i && all[behind - 1].to >= entry->sequence)
            keys[count++] = key;
        i = stored_behind(journal, key, UINT64_MAX);
    }
    pthread_mutex_unlock(&journal->lock);
    return count;
}

void journal_stored_drop(struct journal *journal)
{
    if (journal->stored_read)
        bytes_release(&journal->stored);
}
