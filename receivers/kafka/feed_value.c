#include "receivers/kafka/feed_value.h"

#include "lib/base/log.h"
#include "receivers/kafka/record.h"

#include <stdio.h>

/* How long the parts of a value may take to arrive, in the log's time. */
#define PARTS_WAIT_NS (600 * NS_PER_S)

static struct view feed_part_text(const struct feed *feed)
{
    return feed->native ? record_header(feed->heads[feed->head], NATIVE_PART) : (struct view){0};
}

static struct outcome feed_add_part(struct feed *feed, const struct native_part *part,
                                    struct feed_value *found)
{
    struct partial_record *replaced = record_parts_replaced(&feed->parts, part);
    if (replaced)
        feed_drop_partial(feed, replaced);
    switch (record_parts_add(&feed->parts, part, found->value, feed->reached, &found->partial)) {
    case PARTS_NO_MEMORY:
        return outcome_no_memory();
    case PARTS_STRAY:
        return outcome_of(VERDICT_REJECT, CAUSE_INVALID,
                          "part %u of %u of a record whose earlier parts are missing", part->number,
                          part->count);
    case PARTS_REPEATED:
        found->whole = false;
        return OUTCOME_OK;
    case PARTS_MORE:
        found->whole = false;
        if (part->number == 1)
            found->partial->offset = feed->heads[feed->head]->offset;
        break;
    case PARTS_WHOLE:
        break;
    }
    found->value = bytes_view(&found->partial->value);
    return OUTCOME_OK;
}

struct outcome feed_value(struct feed *feed, struct feed_value *found)
{
    const rd_kafka_message_t *message = feed->heads[feed->head];
    struct view text = feed_part_text(feed);
    struct native_part part;
    *found = (struct feed_value){.value = {message->payload, message->len}, .whole = true};
    if (!text.data)
        return OUTCOME_OK;
    if (!native_part_parse(text, &part))
        return outcome_of(VERDICT_REJECT, CAUSE_INVALID, "malformed header " NATIVE_PART);
    return feed_add_part(feed, &part, found);
}

void feed_drop_partial(struct feed *feed, struct partial_record *partial)
{
    for (uint32_t i = 0; i < partial->number_count; i++)
        feed_settle(feed, partial->numbers[i]);
    record_parts_close(&feed->parts, partial);
}

/* Sends what came of a value to the dead-letter topic. The entry of its first part settles with the
 * copy. */
static void feed_refuse_partial(struct feed *feed, struct partial_record *partial)
{
    char why[80];
    struct reader *reader = feed->reader;
    const rd_kafka_message_t message = {.partition = reader->number,
                                        .offset = partial->offset,
                                        .payload = partial->value.data,
                                        .len = partial->value.size};
    snprintf(why, sizeof why, "%u of %u parts of a record never arrived",
             partial->count - partial->got, partial->count);
    if (atomic_fetch_add(&reader->self->poisoned, 1) < UNREADABLE_TOLD || log_enabled(LOG_DEBUG))
        env_warn(reader->self->env, "%s/%d: %s; %s", feed->topic, reader->number, why,
                 reader->letters ? "what came of it goes to the dead-letter topic"
                                 : "it is skipped, dead_letter.topic is not set");
    bool sent = reader->letters &&
                dead_letters_send(reader->letters, &message, why, feed, partial->numbers[0]);
    if (!reader->letters)
        dead_letters_lack(reader->self);
    for (uint32_t i = sent ? 1 : 0; i < partial->number_count; i++)
        feed_settle(feed, partial->numbers[i]);
    record_parts_close(&feed->parts, partial);
}

void feed_expire_parts(struct feed *feed)
{
    uint64_t before = feed->reached > PARTS_WAIT_NS ? feed->reached - PARTS_WAIT_NS : 0;
    for (struct partial_record *stale; (stale = record_parts_stale(&feed->parts, before));) {
        if (stale->number_count)
            feed_refuse_partial(feed, stale);
        else /* it was delivered before */
            feed_drop_partial(feed, stale);
    }
}
