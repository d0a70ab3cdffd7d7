#include "lib/journal/progress.h"

#include "lib/journal/state.h"

#include <stdlib.h>

enum { HEAD = 16 };

static const uint64_t KEEP_NS = 24 * 3600 * NS_PER_S;

/* Not a legal id of an exporter or processor. */
#define OWNER VIEW("*progress")

static void progress_put_number(uint8_t *at, uint64_t number)
{
    for (int i = 0; i < 8; i++)
        at[i] = (uint8_t)(number >> (8 * i));
}

static uint64_t get_number(const uint8_t *at)
{
    uint64_t number = 0;
    for (int i = 0; i < 8; i++)
        number |= (uint64_t)at[i] << (8 * i);
    return number;
}

void journal_progress_keep(struct journal *journal, const struct journal_entry *entry, uint64_t key,
                           struct view content)
{
    uint8_t note[HEAD + JOURNAL_PROGRESS_MAX];
    if (content.size > JOURNAL_PROGRESS_MAX)
        return;
    progress_put_number(note, entry->sequence);
    progress_put_number(note + 8, key);
    memcpy(note + HEAD, content.data, content.size);
    journal_note(journal, OWNER, (struct view){note, HEAD + content.size}, KEEP_NS);
    pthread_mutex_lock(&journal->lock);
    uint64_t mine = journal->notes_given;
    while (journal->notes_done < mine && !journal->writer_ended)
        pthread_cond_wait(&journal->answered, &journal->lock);
    pthread_mutex_unlock(&journal->lock);
}

static bool collect(void *ctx, struct view content)
{
    struct journal *journal = ctx;
    if (content.size < HEAD || content.size > HEAD + JOURNAL_PROGRESS_MAX)
        return true;
    size_t count = journal->progress_count;
    if ((count & (count - 1)) == 0) { /* capacity doubles at each power of two */
        size_t room = count ? 2 * count : 1;
        struct journal_progress *more = realloc(journal->progress, room * sizeof *more);
        if (!more)
            return false;
        journal->progress = more;
    }
    struct journal_progress *kept = &journal->progress[journal->progress_count++];
    kept->sequence = get_number(content.data);
    kept->key = get_number(content.data + 8);
    kept->size = content.size - HEAD;
    memcpy(kept->content, content.data + HEAD, kept->size);
    return true;
}

/* Lock held. The last match wins. */
static const struct journal_progress *progress_find(const struct journal *journal,
                                                    uint64_t sequence, uint64_t key)
{
    for (size_t i = journal->progress_count; i > 0; i--)
        if (journal->progress[i - 1].sequence == sequence && journal->progress[i - 1].key == key)
            return &journal->progress[i - 1];
    return NULL;
}

bool journal_progress_find(struct journal *journal, const struct journal_entry *entry, uint64_t key,
                           struct bytes *out)
{
    pthread_mutex_lock(&journal->lock);
    if (!journal->progress_read) {
        journal->progress_read = true;
        journal_recall_locked(journal, OWNER, collect, journal);
    }
    const struct journal_progress *kept = progress_find(journal, entry->sequence, key);
    struct view content = kept ? (struct view){kept->content, kept->size} : (struct view){0};
    pthread_mutex_unlock(&journal->lock);
    return kept && bytes_append_view(out, content) == BYTES_OK;
}
