#include "receivers/kafka/start_offsets.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { ASK_MS = 5000 };

/* How long a partition must end before what is committed until its topic counts as made again. */
#define SURE_NS (10 * NS_PER_S)

static bool start_failed(rd_kafka_resp_err_t code, const char *what, char *error, size_t error_size)
{
    snprintf(error, error_size, "%s: %s", what, rdkafka.err2str(code));
    return false;
}

/* Asks for the offsets at the times in the list's offset fields; -1 and -2 are the ends. */
static bool ask_times(const struct start_request *request, rd_kafka_topic_partition_list_t *list,
                      char *error, size_t error_size)
{
    rd_kafka_resp_err_t code =
        list->cnt ? rdkafka.offsets_for_times(request->client, list, ASK_MS) : 0;
    for (int i = 0; !code && i < list->cnt; i++)
        code = list->elems[i].err;
    if (code)
        kafka_topic_refresh(request->client); /* others may lead the partitions now */
    return !code || start_failed(code, "the partitions' offsets are not known", error, error_size);
}

/* A copy of the list with the first offsets (RD_KAFKA_OFFSET_BEGINNING) or the ends of its
 * partitions. NULL: not answered. */
static rd_kafka_topic_partition_list_t *ask_all(const struct start_request *request,
                                                const rd_kafka_topic_partition_list_t *list,
                                                int64_t which, char *error, size_t error_size)
{
    rd_kafka_topic_partition_list_t *all = rdkafka.topic_partition_list_copy(list);
    for (int i = 0; i < all->cnt; i++)
        all->elems[i].offset = which;
    if (ask_times(request, all, error, error_size))
        return all;
    rdkafka.topic_partition_list_destroy(all);
    return NULL;
}

bool start_is_cut(const struct start_request *request, bool ends_before)
{
    if (!ends_before || !*request->short_since)
        *request->short_since = ends_before ? request->mono : 0;
    return ends_before && request->mono >= *request->short_since + SURE_NS;
}

/* Whether all partitions have what is committed, or have ended before it for long enough. */
static bool ends_are_sure(const struct start_request *request,
                          const rd_kafka_topic_partition_list_t *list,
                          const rd_kafka_topic_partition_list_t *ends, char *error, size_t size)
{
    int at = -1;
    for (int i = 0; i < list->cnt; i++)
        if (list->elems[i].offset > ends->elems[i].offset)
            at = i;
    if (start_is_cut(request, at >= 0) || at < 0)
        return true;
    kafka_topic_refresh(request->client); /* another may lead it by now */
    snprintf(error, size,
             "%s/%d ends at offset %" PRId64 ", before the committed %" PRId64
             ": a broker may be behind",
             list->elems[at].topic, list->elems[at].partition, ends->elems[at].offset,
             list->elems[at].offset);
    return false;
}

static bool ask_ends(const struct start_request *request, rd_kafka_topic_partition_list_t *list,
                     struct feed_start *starts, char *error, size_t error_size)
{
    rd_kafka_topic_partition_list_t *ends =
        ask_all(request, list, RD_KAFKA_OFFSET_END, error, error_size);
    bool sure = ends && ends_are_sure(request, list, ends, error, error_size);
    if (ends && !sure)
        rdkafka.topic_partition_list_destroy(ends);
    if (!sure)
        return false;
    for (int i = 0; i < ends->cnt; i++) {
        starts[i].end = ends->elems[i].offset;
        starts[i].end_asked = request->now;
        if (list->elems[i].offset > starts[i].end) { /* the topic was made again */
            commit_metadata_release(&starts[i].commit_metadata);
            starts[i].committed = false;
            list->elems[i].offset = RD_KAFKA_OFFSET_INVALID;
        }
    }
    rdkafka.topic_partition_list_destroy(ends);
    return true;
}

/* Of partitions without a committed offset. */
static bool ask_initial(const struct start_request *request, rd_kafka_topic_partition_list_t *list,
                        char *error, size_t error_size)
{
    rd_kafka_topic_partition_list_t *initial = rdkafka.topic_partition_list_new(list->cnt);
    for (int i = 0; i < list->cnt; i++)
        if (list->elems[i].offset < 0)
            rdkafka
                .topic_partition_list_add(initial, list->elems[i].topic, list->elems[i].partition)
                ->offset = request->earliest ? RD_KAFKA_OFFSET_BEGINNING : RD_KAFKA_OFFSET_END;
    bool asked = ask_times(request, initial, error, error_size);
    for (int i = 0; asked && i < initial->cnt; i++)
        rdkafka
            .topic_partition_list_find(list, initial->elems[i].topic, initial->elems[i].partition)
            ->offset = initial->elems[i].offset;
    rdkafka.topic_partition_list_destroy(initial);
    return asked;
}

int64_t start_time(const rd_kafka_topic_partition_list_t *list, const struct feed_start *starts,
                   int32_t number)
{
    int64_t earliest = -1;
    for (int i = 0; i < list->cnt; i++) {
        int64_t time = starts[i].commit_metadata.time_ms;
        if (list->elems[i].partition == number && starts[i].signal == SIGNAL_TRACES && time >= 0 &&
            (earliest < 0 || time < earliest))
            earliest = time;
    }
    return earliest;
}

/* Moves the start of profiles back to the time of the spans, and further by the replay. */
static bool ask_replay(const struct start_request *request, rd_kafka_topic_partition_list_t *list,
                       const struct feed_start *starts, char *error, size_t error_size)
{
    int64_t back = (int64_t)(request->replay_ns / NS_PER_MS);
    rd_kafka_topic_partition_list_t *earlier = rdkafka.topic_partition_list_new(list->cnt);
    for (int i = 0; i < list->cnt; i++) {
        int64_t time = start_time(list, starts, list->elems[i].partition);
        if (starts[i].signal == SIGNAL_PROFILES && time >= 0)
            rdkafka
                .topic_partition_list_add(earlier, list->elems[i].topic, list->elems[i].partition)
                ->offset = time > back ? time - back : 0;
    }
    bool asked = ask_times(request, earlier, error, error_size);
    for (int i = 0; asked && i < earlier->cnt; i++) {
        rd_kafka_topic_partition_t *start = rdkafka.topic_partition_list_find(
            list, earlier->elems[i].topic, earlier->elems[i].partition);
        int64_t offset = earlier->elems[i].offset;
        start->offset = offset >= 0 && offset < start->offset ? offset : start->offset;
    }
    rdkafka.topic_partition_list_destroy(earlier);
    return asked;
}

uint64_t start_since(const struct start_request *request, const struct feed_start *start,
                     int64_t time_ms, int64_t low)
{
    uint64_t time = time_ms > 0 ? (uint64_t)time_ms * NS_PER_MS : 0;
    if (start->from == 0 && low == 0)
        return SINCE_EVER;
    if (time > request->replay_ns && low < start->from)
        return time - request->replay_ns;
    return start->from >= start->end ? start->end_asked : 0;
}

void start_skip_expired(struct feed_start *start, int64_t low)
{
    const struct commit_metadata *delivered = &start->commit_metadata;
    int64_t first = start->deliver_from, told = delivered->base + 8 * (int64_t)delivered->size;
    start->deliver_from = low > first ? low : first;
    start->expired = start->deliver_from - first;
    for (int64_t at = first; at < low && at < told; at++)
        start->expired -= commit_metadata_has(delivered, at);
    if (start->from < low)
        start->from = low;
}

/* Skips what was deleted, and notes from when on the feeds have every profile. */
static bool ask_lows(const struct start_request *request, rd_kafka_topic_partition_list_t *list,
                     struct feed_start *starts, char *error, size_t error_size)
{
    rd_kafka_topic_partition_list_t *lows =
        ask_all(request, list, RD_KAFKA_OFFSET_BEGINNING, error, error_size);
    if (!lows)
        return false;
    for (int i = 0; i < list->cnt; i++) {
        int64_t low = lows->elems[i].offset;
        if (starts[i].signal == SIGNAL_PROFILES)
            starts[i].since = start_since(request, &starts[i],
                                          start_time(list, starts, list->elems[i].partition), low);
        start_skip_expired(&starts[i], low);
        list->elems[i].offset = starts[i].from;
    }
    rdkafka.topic_partition_list_destroy(lows);
    return true;
}

bool start_again(const struct start_request *request, rd_kafka_topic_partition_list_t *list,
                 struct feed_start *starts, char *error, size_t error_size)
{
    bool read = true;
    for (int i = 0; i < list->cnt; i++) {
        const rd_kafka_topic_partition_t *at = &list->elems[i];
        read &= commit_metadata_read(&starts[i].commit_metadata, at->offset, at->metadata,
                                     at->metadata_size);
    }
    if (!read)
        snprintf(error, error_size, "out of memory");
    read = read && ask_ends(request, list, starts, error, error_size) &&
           ask_initial(request, list, error, error_size);
    for (int i = 0; read && i < list->cnt; i++)
        starts[i].deliver_from = list->elems[i].offset;
    read = read && ask_replay(request, list, starts, error, error_size);
    for (int i = 0; i < list->cnt; i++)
        starts[i].from = list->elems[i].offset;
    read = read && ask_lows(request, list, starts, error, error_size);
    for (int i = 0; !read && i < list->cnt; i++)
        commit_metadata_release(&starts[i].commit_metadata);
    return read;
}

bool start_find(const struct start_request *request, rd_kafka_topic_partition_list_t *list,
                struct feed_start *starts, char *error, size_t error_size)
{
    rd_kafka_resp_err_t code = rdkafka.committed(request->client, list, ASK_MS);
    for (int i = 0; !code && i < list->cnt; i++)
        code = list->elems[i].err;
    if (code)
        return start_failed(code, "the committed offsets are not known", error, error_size);
    for (int i = 0; i < list->cnt; i++)
        starts[i].committed = list->elems[i].offset >= 0;
    return start_again(request, list, starts, error, error_size);
}
