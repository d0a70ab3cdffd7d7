/* The segments, and the entries in them. */
#include "lib/journal/state.h"

#include <stdlib.h>

void journal_row_add(struct journal_row *row, struct journal_segment *segment)
{
    segment->next = NULL;
    if (row->last)
        row->last->next = segment;
    else
        row->first = segment;
    row->last = segment;
}

static void journal_row_drop(struct journal_row *row, struct journal_segment *segment)
{
    struct journal_segment *before = NULL;
    for (struct journal_segment *at = row->first; at != segment; at = at->next)
        before = at;
    if (before)
        before->next = segment->next;
    else
        row->first = segment->next;
    if (row->last == segment)
        row->last = before;
}

void journal_entry_link(struct journal_entry *entry, struct journal_segment *segment)
{
    entry->segment = segment;
    entry->newer = NULL;
    entry->older = segment->newest;
    if (segment->newest)
        segment->newest->newer = entry;
    else
        segment->oldest = entry;
    segment->newest = entry;
    segment->live_bytes += segment_extent(entry->size);
}

void journal_entry_unlink(struct journal_entry *entry)
{
    struct journal_segment *segment = entry->segment;
    if (entry->older)
        entry->older->newer = entry->newer;
    else
        segment->oldest = entry->newer;
    if (entry->newer)
        entry->newer->older = entry->older;
    else
        segment->newest = entry->older;
    segment->live_bytes -= segment_extent(entry->size);
}

/* Keeps a segment's file for reuse, or removes it. The segment is no longer in a row. Lock held. */
static void journal_segment_retire(struct journal *journal, struct journal_segment *segment)
{
    if (!segment->file.read_only && !segment->lost && segment->file.fd >= 0 &&
        journal->spare_count < SPARE_SEGMENTS &&
        segment->file.size == journal->entries.segment_bytes) {
        segment->next = journal->spares;
        journal->spares = segment;
        journal->spare_count++;
        return;
    }
    journal->figures.bytes -= segment->lost ? 0 : segment->file.size;
    segment_remove(&segment->file);
    free(segment);
}

/* The last segment is kept while it is being written. */
static void retire_dead_in(struct journal *journal, struct journal_row *row, uint64_t now)
{
    struct journal_segment *next;
    for (struct journal_segment *segment = row->first; segment; segment = next) {
        next = segment->next;
        bool busy = row->open && segment == row->last;
        if (busy || segment->oldest || segment->unreadable || segment->moving ||
            segment->expires > now)
            continue;
        journal_row_drop(row, segment);
        journal_segment_retire(journal, segment);
    }
}

void journal_row_trim(struct journal *journal, struct journal_row *row, uint64_t more)
{
    uint64_t bytes = more;
    struct journal_segment *next;
    for (const struct journal_segment *at = row->first; at; at = at->next)
        bytes += at->lost ? 0 : at->file.size;
    for (struct journal_segment *at = row->first; at && bytes > row->most; at = next) {
        next = at->next;
        if (at->lost) /* it is being rewritten */
            continue;
        bytes -= at->file.size;
        journal_row_drop(row, at);
        journal_segment_retire(journal, at);
    }
}

void journal_retire_dead(struct journal *journal)
{
    retire_dead_in(journal, &journal->entries, UINT64_MAX);
    retire_dead_in(journal, &journal->notes, clock_wall(journal->settings.clock));
    retire_dead_in(journal, &journal->states, clock_wall(journal->settings.clock));
}
