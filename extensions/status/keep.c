#include "extensions/status/keep.h"

#include "lib/wire/codec/compress.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* Traces requests share a block of so many bytes, or have one of their own. */
enum { BLOCK_SIZE = 64 << 10, RING_MIN = 64 };

/* Unlinked traces give way first while they have more than this part of the room. */
enum { UNLINKED_SHARE = 4 };

/* A profile from LARGE bytes on is compressed before it is added, and may then have one part in
 * LARGEST_SHARE of the room. */
enum { LARGE = 2 << 20, LARGEST_SHARE = 4 };

void kept_unref(struct kept *kept)
{
    if (!kept || atomic_fetch_sub_explicit(&kept->refs, 1, memory_order_acq_rel) != 1)
        return;
    budget_give(kept->budget, kept->charged);
    series_unref(kept->series);
    free(kept->query);
    free(kept->content);
    bytes_release(&kept->bytes);
    free(kept);
}

bool kept_open(const struct kept *kept, struct bytes *out)
{
    if (!kept->packed)
        return bytes_append_view(out, bytes_view(&kept->bytes)) == BYTES_OK;
    return inflate_append(ENCODING_ZSTD, bytes_view(&kept->bytes), out) == INFLATE_OK;
}

void keep_init(struct keep *keep, size_t max, struct budget *budget)
{
    *keep = (struct keep){.budget = budget, .max = max};
    pthread_mutex_init(&keep->lock, NULL);
}

/* ---- under the lock ---- */

/* Why something is evicted. */
enum evicting { FOR_ROOM, FOR_MEMORY };

static void keep_drop_oldest(struct keep *keep, struct keep_ring *ring, enum evicting why)
{
    struct kept *oldest = ring->ring[ring->oldest];
    ring->oldest = (ring->oldest + 1) % ring->capacity;
    ring->count--;
    ring->looked -= ring->looked > 0;
    ring->size -= oldest->charged;
    keep->size -= oldest->charged;
    keep->freed += why == FOR_MEMORY ? oldest->charged : 0;
    keep->reach.requests += oldest->requests;
    keep->reach.spans += oldest->spans;
    keep->reach.for_memory += why == FOR_MEMORY ? oldest->requests : 0;
    uint64_t *until =
        oldest->kind == KEPT_FIGURES ? &keep->reach.figures : &keep->reach.whole_since;
    if (oldest->arrived > *until)
        *until = oldest->arrived;
    uint64_t *newest = kept_is_profile(oldest->kind) ? &keep->reach.profiles
                       : oldest->kind == KEPT_TRACES && oldest->class == KEPT_LINKED
                           ? &keep->reach.linked_traces
                           : NULL;
    if (newest && oldest->arrived > *newest)
        *newest = oldest->arrived;
    kept_unref(oldest);
}

/* False: there is nothing but blocks. */
static bool keep_drop(struct keep *keep, enum evicting why)
{
    struct keep_ring *first = &keep->rings[KEPT_UNLINKED], *last = &keep->rings[KEPT_LINKED];
    if (first->count && (!last->count || first->size > keep->max / UNLINKED_SHARE))
        keep_drop_oldest(keep, first, why);
    else if (last->count)
        keep_drop_oldest(keep, last, why);
    else
        return false;
    return true;
}

static bool keep_grow(struct keep_ring *ring)
{
    size_t capacity = ring->capacity ? ring->capacity * 2 : RING_MIN;
    struct kept **grown = malloc(capacity * sizeof *grown);
    if (!grown)
        return false;
    for (size_t i = 0; i < ring->count; i++)
        grown[i] = ring->ring[(ring->oldest + i) % ring->capacity];
    free(ring->ring);
    ring->ring = grown;
    ring->capacity = capacity;
    ring->oldest = 0;
    return true;
}

/* Takes over one that is charged. */
static void keep_push(struct keep *keep, struct kept *kept)
{
    struct keep_ring *ring = &keep->rings[kept->class];
    if (ring->count == ring->capacity && !keep_grow(ring)) {
        ring->size -= kept->charged;
        keep->size -= kept->charged;
        keep->refused++;
        keep->refused_spans += kept->spans;
        kept_unref(kept);
        return;
    }
    ring->ring[(ring->oldest + ring->count++) % ring->capacity] = kept;
}

static void keep_close_block(struct keep *keep, struct kept **at)
{
    struct kept *block = *at;
    *at = NULL;
    if (block)
        keep_push(keep, block);
}

/* Charges for one that is to come; others give way. False: there is no room for it at all. */
static bool keep_charge(struct keep *keep, enum kept_class class, size_t size)
{
    size_t blocks = keep->figures ? keep->figures->charged : 0;
    for (int i = 0; i < KEPT_CLASSES; i++)
        blocks += keep->rings[i].block ? keep->rings[i].block->charged : 0;
    if (size + blocks > keep->max)
        return false;
    while (keep->size + size > keep->max && keep_drop(keep, FOR_ROOM))
        continue;
    while (!budget_take_spare(keep->budget, size))
        if (!keep_drop(keep, FOR_MEMORY))
            return false;
    keep->rings[class].size += size;
    keep->size += size;
    return true;
}

/* An empty one with room for so many bytes, charged for these and for `more`. NULL: no room;
 * counted. */
static struct kept *keep_new(struct keep *keep, enum kept_kind kind, enum kept_class class,
                             size_t room, size_t more)
{
    struct kept *kept = calloc(1, sizeof *kept);
    if (!kept)
        return NULL;
    *kept = (struct kept){.refs = 1, .kind = kind, .class = class, .budget = keep->budget};
    bytes_init(&kept->bytes, room, NULL);
    if (bytes_reserve(&kept->bytes, room) == BYTES_OK &&
        keep_charge(keep, class, sizeof *kept + room + more)) {
        kept->charged = sizeof *kept + room + more;
        kept->serial = ++keep->serial;
        return kept;
    }
    keep->refused++;
    kept_unref(kept);
    return NULL;
}

/* ---- in ---- */

/* Appends to a block that has room. */
static void keep_append(struct kept *block, struct view bytes, uint64_t arrived)
{
    bytes_append_view(&block->bytes, bytes);
    block->plain = block->bytes.size;
    block->arrived = arrived;
    block->first = block->first ? block->first : arrived;
}

void keep_traces(struct keep *keep, enum kept_class class, struct view request, size_t spans,
                 uint64_t arrived)
{
    struct keep_ring *ring = &keep->rings[class];
    pthread_mutex_lock(&keep->lock);
    if (ring->block && ring->block->bytes.size + request.size > ring->block->bytes.max)
        keep_close_block(keep, &ring->block);
    if (!ring->block)
        ring->block = keep_new(keep, KEPT_TRACES, class,
                               request.size > BLOCK_SIZE ? request.size : BLOCK_SIZE, 0);
    if (ring->block) {
        keep_append(ring->block, request, arrived);
        ring->block->requests++;
        ring->block->spans += spans;
    } else {
        keep->refused_spans += spans;
    }
    pthread_mutex_unlock(&keep->lock);
}

void keep_figures(struct keep *keep, struct view figures, uint64_t arrived)
{
    const size_t most = KEEP_FIGURES;
    pthread_mutex_lock(&keep->lock);
    uint64_t refused = keep->refused;
    while (figures.size) {
        struct kept *block = keep->figures;
        if (block && block->bytes.size == most)
            keep_close_block(keep, &keep->figures);
        if (!keep->figures)
            keep->figures = keep_new(keep, KEPT_FIGURES, KEPT_LINKED, most, 0);
        if (!keep->figures) {
            keep->refused = refused;
            keep->reach.figures = arrived;
            break;
        }
        size_t room = most - keep->figures->bytes.size;
        size_t size = figures.size < room ? figures.size : room;
        keep_append(keep->figures, (struct view){figures.data, size}, arrived);
        figures.data += size;
        figures.size -= size;
    }
    pthread_mutex_unlock(&keep->lock);
}

static void keep_refuse(struct keep *keep)
{
    pthread_mutex_lock(&keep->lock);
    keep->refused++;
    pthread_mutex_unlock(&keep->lock);
}

/* The content compressed, in memory of its size. False: it has more than max bytes, or no memory.
 */
static bool keep_deflate(struct view content, size_t max, struct bytes *out)
{
    struct bytes packed;
    bytes_init(&packed, max < content.size ? max : content.size, NULL);
    bytes_init(out, SIZE_MAX / 2, NULL);
    bool good = deflate_append(ENCODING_ZSTD, content, &packed);
    uint8_t *tight = good ? malloc(packed.size + 1) : NULL;
    if (tight) {
        memcpy(tight, packed.data, packed.size);
        *out = (struct bytes){.data = tight,
                              .size = packed.size,
                              .capacity = packed.size + 1,
                              .max = packed.size + 1};
    }
    bytes_release(&packed);
    return tight;
}

/* Takes over the bytes. NULL: no room. */
static struct kept *keep_add(struct keep *keep, const struct kept *head, struct bytes *bytes,
                             size_t plain)
{
    pthread_mutex_lock(&keep->lock);
    struct kept *kept = keep_new(keep, head->kind, KEPT_LINKED, 0, bytes->capacity);
    if (kept) {
        kept->bytes = *bytes;
        bytes_init(bytes, 0, NULL);
        kept->packed = plain >= LARGE;
        kept->plain = plain;
        kept->arrived = kept->first = head->arrived;
        kept->requests = 1;
        kept->by_ingest = head->by_ingest;
        kept->starts = head->starts;
        kept->series = head->series;
        kept->query = head->query;
        kept->content = head->content;
        keep_push(keep, kept);
    }
    pthread_mutex_unlock(&keep->lock);
    return kept;
}

bool keep_profile(struct keep *keep, const struct kept *head, struct view content)
{
    struct bytes bytes;
    bytes_init(&bytes, content.size, NULL);
    bool good = content.size < LARGE ? bytes_append_view(&bytes, content) == BYTES_OK
                                     : keep_deflate(content, keep->max / LARGEST_SHARE, &bytes);
    if (!good)
        keep_refuse(keep);
    good = good && keep_add(keep, head, &bytes, content.size);
    bytes_release(&bytes);
    if (!good) {
        series_unref(head->series);
        free(head->query);
        free(head->content);
    }
    return good;
}

/* ---- compression ---- */

bool keep_is_tight(struct keep *keep)
{
    pthread_mutex_lock(&keep->lock);
    bool tight = keep->size > keep->max - keep->max / 8;
    pthread_mutex_unlock(&keep->lock);
    return tight;
}

/* Puts the compressed bytes into the place of the others, unless somebody reads those or it has
 * left. Under the lock. */
static void keep_replace(struct keep *keep, struct kept *kept, struct bytes *packed)
{
    if (atomic_load_explicit(&kept->refs, memory_order_acquire) != 2)
        return;
    size_t charged = sizeof *kept + packed->capacity;
    struct bytes plain = kept->bytes;
    kept->bytes = *packed;
    *packed = plain;
    kept->packed = true;
    keep->rings[kept->class].size -= kept->charged - charged;
    keep->size -= kept->charged - charged;
    keep->freed += kept->charged - charged;
    budget_give(kept->budget, kept->charged - charged);
    kept->charged = charged;
}

/* The next to be compressed, by serial. Under the lock. NULL: none. */
static struct kept *keep_next_plain(struct keep *keep)
{
    struct keep_ring *from = NULL;
    struct kept *kept = NULL;
    for (int class = 0; class < KEPT_CLASSES; class ++) {
        struct keep_ring *ring = &keep->rings[class];
        if (ring->looked == ring->count)
            continue;
        struct kept *next = ring->ring[(ring->oldest + ring->looked) % ring->capacity];
        if (kept && kept->serial < next->serial)
            continue;
        from = ring;
        kept = next;
    }
    if (from)
        from->looked++;
    return kept;
}

bool keep_pack(struct keep *keep)
{
    struct bytes packed;
    pthread_mutex_lock(&keep->lock);
    struct kept *kept = keep_next_plain(keep);
    if (kept)
        atomic_fetch_add_explicit(&kept->refs, 1, memory_order_relaxed);
    pthread_mutex_unlock(&keep->lock);
    if (!kept)
        return false;
    if (!kept->packed &&
        keep_deflate(bytes_view(&kept->bytes), kept->bytes.size / 10 * 9, &packed)) {
        pthread_mutex_lock(&keep->lock);
        keep_replace(keep, kept, &packed);
        pthread_mutex_unlock(&keep->lock);
        bytes_release(&packed);
    }
    kept_unref(kept);
    return true;
}

/* ---- out ---- */

void keep_shrink(struct keep *keep, size_t size)
{
    pthread_mutex_lock(&keep->lock);
    for (int class = 0; class < KEPT_CLASSES && keep->size > size; class ++)
        keep_close_block(keep, &keep->rings[class].block);
    if (keep->size > size)
        keep_close_block(keep, &keep->figures);
    while (keep->size > size && keep_drop(keep, FOR_MEMORY))
        continue;
    pthread_mutex_unlock(&keep->lock);
}

void keep_release(struct keep *keep)
{
    keep_shrink(keep, 0);
    for (int class = 0; class < KEPT_CLASSES; class ++)
        free(keep->rings[class].ring);
    memset(keep->rings, 0, sizeof keep->rings);
    pthread_mutex_destroy(&keep->lock);
}

/* A copy of a block; under the lock. NULL: there is none, or no memory. */
static struct kept *keep_copy_block(const struct keep *keep, const struct kept *block)
{
    struct kept *kept = block ? calloc(1, sizeof *kept) : NULL;
    if (!kept)
        return NULL;
    *kept = (struct kept){.refs = 1,
                          .kind = block->kind,
                          .class = block->class,
                          .serial = block->serial,
                          .arrived = block->arrived,
                          .first = block->first,
                          .plain = block->plain,
                          .budget = keep->budget};
    bytes_init(&kept->bytes, block->bytes.size + 1, keep->budget);
    if (bytes_append_view(&kept->bytes, bytes_view(&block->bytes)) == BYTES_OK)
        return kept;
    kept_unref(kept);
    return NULL;
}

static void keep_list_block(const struct keep *keep, const struct kept *block, uint64_t from,
                            struct kept **list, size_t *count)
{
    bool wanted = block && block->serial >= from;
    struct kept *copy = wanted ? keep_copy_block(keep, block) : NULL;
    if (copy)
        list[(*count)++] = copy;
}

static int by_serial(const void *a, const void *b)
{
    uint64_t x = (*(struct kept *const *)a)->serial, y = (*(struct kept *const *)b)->serial;
    return (x > y) - (x < y);
}

struct kept **keep_list(struct keep *keep, uint64_t from, size_t *count)
{
    *count = 0;
    pthread_mutex_lock(&keep->lock);
    size_t most = KEPT_CLASSES + 1;
    for (int class = 0; class < KEPT_CLASSES; class ++)
        most += keep->rings[class].count;
    struct kept **list = malloc(most * sizeof *list);
    for (int class = 0; list && class < KEPT_CLASSES; class ++) {
        const struct keep_ring *ring = &keep->rings[class];
        for (size_t i = 0; i < ring->count; i++) {
            struct kept *each = ring->ring[(ring->oldest + i) % ring->capacity];
            if (each->serial < from)
                continue;
            atomic_fetch_add_explicit(&each->refs, 1, memory_order_relaxed);
            list[(*count)++] = each;
        }
        keep_list_block(keep, ring->block, from, list, count);
    }
    if (list)
        keep_list_block(keep, keep->figures, from, list, count);
    pthread_mutex_unlock(&keep->lock);
    if (list)
        qsort(list, *count, sizeof *list, by_serial);
    return list;
}

void keep_list_free(struct kept **list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        kept_unref(list[i]);
    free(list);
}

uint64_t keep_oldest_block(struct keep *keep, enum kept_class class)
{
    pthread_mutex_lock(&keep->lock);
    const struct keep_ring *ring = &keep->rings[class];
    uint64_t serial = ring->block ? ring->block->serial : keep->serial + 1;
    for (size_t i = 0; i < ring->count; i++) {
        const struct kept *each = ring->ring[(ring->oldest + i) % ring->capacity];
        if (each->kind != KEPT_TRACES)
            continue;
        serial = each->serial < serial ? each->serial : serial;
        break;
    }
    pthread_mutex_unlock(&keep->lock);
    return serial;
}

static void note_oldest(struct keep_reach *reach, const struct kept *kept)
{
    if (!kept || kept->kind == KEPT_FIGURES)
        return;
    uint64_t *oldest = kept->kind == KEPT_TRACES ? &reach->oldest : &reach->oldest_profile;
    if (!*oldest || kept->first < *oldest)
        *oldest = kept->first;
}

struct keep_reach keep_reach(struct keep *keep)
{
    pthread_mutex_lock(&keep->lock);
    struct keep_reach reach = keep->reach;
    reach.refused = keep->refused;
    reach.refused_spans = keep->refused_spans;
    for (int class = 0; class < KEPT_CLASSES; class ++) {
        const struct keep_ring *ring = &keep->rings[class];
        note_oldest(&reach, ring->block);
        for (size_t i = 0; i < ring->count; i++)
            note_oldest(&reach, ring->ring[(ring->oldest + i) % ring->capacity]);
    }
    pthread_mutex_unlock(&keep->lock);
    return reach;
}

static int put_missing(char *out, size_t size, uint64_t spans, uint64_t requests)
{
    const char *plural = requests == 1 ? "" : "s";
    if (!spans)
        return snprintf(out, size, "%" PRIu64 " request%s %s", requests, plural,
                        requests == 1 ? "was" : "were");
    return snprintf(out, size, "%" PRIu64 " span%s of %" PRIu64 " request%s %s", spans,
                    spans == 1 ? "" : "s", requests, plural, spans == 1 ? "was" : "were");
}

void keep_text(const struct keep_reach *reach, uint64_t skipped, uint64_t skipped_spans,
               char out[KEEP_TEXT])
{
    int at = 0;
    *out = '\0';
    if (reach->refused) {
        at = put_missing(out, KEEP_TEXT, reach->refused_spans, reach->refused);
        at += snprintf(out + at, KEEP_TEXT - (size_t)at,
                       " not kept for lack of room: raise keep_mib of the status extension or, if "
                       "that is large enough, the memory limit%s",
                       skipped ? "; " : "");
    }
    if (skipped) {
        at += put_missing(out + at, KEEP_TEXT - (size_t)at, skipped_spans, skipped);
        snprintf(out + at, KEEP_TEXT - (size_t)at,
                 " skipped, since more came than the extension's share of CPU time allows");
    }
}
