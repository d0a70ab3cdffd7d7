#include "exporters/kafka/attempt.h"

#include "exporters/kafka/producer.h"
#include "exporters/kafka/topic_limits.h"

#include <string.h>

enum { ARENA_CAP = 256 << 20 };

static bool is_finished(const struct progress_mark *mark, size_t i)
{
    return i < mark->items || (i - mark->items < 64 && (mark->beyond >> (i - mark->items) & 1));
}

static void finish(struct progress *progress, size_t i)
{
    progress->mark.beyond |= UINT64_C(1) << (i - progress->mark.items);
}

static void refuse(struct attempt *attempt, const struct record *record, struct outcome why)
{
    const char *items = signal_items(attempt->batch->signal, record->items);
    if (record->result == RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE)
        why = outcome_of(VERDICT_REJECT, CAUSE_TOO_LARGE,
                         "topic %s: %u %s in %zu bytes exceed producer.max_message_bytes or the "
                         "broker's limit",
                         record->topic, record->items, items, record->value.size);
    atomic_fetch_add(&attempt->self->records_refused, 1);
    attempt->progress->lost += record->items;
    attempt->progress->refusal = why;
}

/* The topic's own limit is below ours: its records are smaller from now on. */
static void lower_limit(struct attempt *attempt, const struct record *record)
{
    struct kafka_exporter *self = attempt->self;
    attempt->remake = true;
    if (topic_limit(self, record->topic) < attempt->limit) /* another attempt has lowered it */
        return;
    size_t told = producer_ask_limit(self->producer, record->topic);
    size_t limit = topic_limit_next(attempt->limit, record->together, told);
    if (!topic_limit_lower(self, record->topic, limit)) {
        attempt->remake = topic_limit(self, record->topic) <= limit;
        attempt->again = attempt->remake ? attempt->again : outcome_no_memory();
        return;
    }
    producer_resize(self->producer);
    env_warn(
        self->env,
        "topic %s: a broker refuses %zu bytes of records at once, sending at most %zu from now "
        "on; set producer.max_message_bytes to the topic's max.message.bytes%s",
        record->topic,
        record->together > record->value.size ? record->together : record->value.size, limit,
        limit == told ? ", which is that" : "");
}

/* A broker refuses records that came in one batch together: a record that cannot be divided may not
 * have been the one that is too large. */
static bool was_in_company(const struct attempt *attempt, const struct record *record)
{
    return record->value.size <= (size_t)attempt->self->produce.max_message_bytes &&
           attempt->together > record->value.size && attempt->together > LEAST_RECORD;
}

static void lower_company(struct attempt *attempt, const struct record *record)
{
    struct kafka_exporter *self = attempt->self;
    attempt->remake = true;
    if (atomic_load(&self->batch_bytes) < attempt->together)
        return;
    size_t told = producer_ask_limit(self->producer, record->topic);
    size_t together = topic_limit_next(attempt->together, record->together, told);
    if (!batch_bytes_lower(self, together))
        return;
    producer_resize(self->producer);
    env_warn(self->env,
             "topic %s: a broker refuses a record of %zu bytes, perhaps for others in its batch; "
             "sending batches of at most %zu bytes from now on; set producer.max_message_bytes to "
             "the topic's max.message.bytes",
             record->topic, record->value.size, together);
}

/* A broker with message.timestamp.before.max.ms or after.max.ms: records get the time at which they
 * are sent. */
static void stop_dating(struct attempt *attempt, const struct record *record)
{
    attempt->remake = true;
    if (!atomic_exchange(&attempt->self->undated, true))
        env_warn(attempt->self->env,
                 "a broker refuses the time of a record of topic %s (message.timestamp."
                 "before.max.ms or after.max.ms); records are dated when they are sent from now on",
                 record->topic);
}

/* The topic came from data: it must not stop the data of others. */
static bool is_redirected(const struct attempt *attempt, const struct record *record)
{
    const char *topic = kafka_topic(attempt->self, attempt->batch->signal);
    return absent_is_why(record->result) && strcmp(record->topic, topic) != 0;
}

static void redirect(struct attempt *attempt, const struct record *record,
                     const struct outcome *why)
{
    struct kafka_exporter *self = attempt->self;
    bool say = absent_topics_note(self->absent, record->topic);
    if (!absent_topics_has(self->absent, record->topic)) { /* no memory */
        attempt->again = *why;
        return;
    }
    attempt->remake = true;
    if (!say)
        return;
    struct view service = service_of_otlp(record->batch, &attempt->arena);
    env_warn(self->env,
             "%s; the attribute %s of service %.*s names it: such data go to topic %s, and it is "
             "tried again in a minute",
             why->text, self->topic_from_attribute, VIEW_ARG(service),
             kafka_topic(self, attempt->batch->signal));
}

/* Whether smaller records can be made of it: a metric's points cannot be divided, for example. */
static bool is_divisible(const struct attempt *attempt, const struct record *record)
{
    struct batch *front, *rest;
    if (!record->divisible || attempt->limit < 2 * LEAST_RECORD)
        return false;
    if (record->batch->encoding != BATCH_OTLP)
        return true;
    if (!batch_split(record->batch, (record->items + 1) / 2, 0, &front, &rest))
        return false;
    batch_unref(front);
    batch_unref(rest);
    return true;
}

static void note_result(struct attempt *attempt, size_t i)
{
    struct record *record = &attempt->records.all[i];
    struct outcome outcome = kafka_outcome(record->result, record->topic);
    if (outcome.cause == CAUSE_TOO_LARGE && is_divisible(attempt, record)) {
        lower_limit(attempt, record);
        return;
    }
    if (outcome.cause == CAUSE_TOO_LARGE && was_in_company(attempt, record)) {
        lower_company(attempt, record);
        return;
    }
    if (record->result == RD_KAFKA_RESP_ERR_INVALID_TIMESTAMP && record->dated) {
        stop_dating(attempt, record);
        return;
    }
    if (is_redirected(attempt, record)) {
        redirect(attempt, record, &outcome);
        return;
    }
    if (outcome.verdict == VERDICT_RETRY) {
        attempt->again = outcome;
        attempt->timed_out |= record->result == RD_KAFKA_RESP_ERR__MSG_TIMED_OUT;
        return;
    }
    if (outcome.verdict == VERDICT_REJECT) {
        refuse(attempt, record, outcome);
    } else {
        attempt->progress->delivered = true;
        atomic_fetch_add(&attempt->self->records, 1);
        atomic_fetch_add(&attempt->self->bytes, record->value.size);
        atomic_fetch_add(&attempt->self->record_parts, *record->part != '\0');
        atomic_fetch_add(&attempt->self->records_redirected, record->redirected);
    }
    finish(attempt->progress, i);
}

struct outcome attempt_make(struct attempt *attempt)
{
    struct kafka_exporter *self = attempt->self;
    struct progress *progress = attempt->progress;
    arena_init(&attempt->arena, ARENA_CAP);
    arena_charge(&attempt->arena, attempt->batch->payload->budget, budget_use, ARENA_SMALL);
    attempt->again = OUTCOME_OK;
    attempt->remake = attempt->timed_out = false;
    attempt->limit = (size_t)self->produce.max_message_bytes;
    attempt->together = atomic_load(&self->batch_bytes);
    struct outcome outcome =
        records_of(self, attempt->batch, &attempt->limit, &attempt->records, &attempt->arena);
    if (outcome.verdict != VERDICT_OK)
        return outcome;
    /* What is finished counts only while the batch is divided in the same way. */
    if (progress->part_bytes != attempt->limit) {
        progress->mark = (struct progress_mark){0};
        progress->lost = 0;
    }
    progress->part_bytes = attempt->limit;
    progress->in_parts = attempt->records.count > WINDOW;
    return outcome;
}

void attempt_release(struct attempt *attempt)
{
    records_release(&attempt->records);
    arena_release(&attempt->arena);
}

size_t attempt_window(const struct attempt *attempt, struct record **window)
{
    const struct progress_mark *mark = &attempt->progress->mark;
    size_t first = mark->items, count = 0;
    for (size_t i = first; i < attempt->records.count && i < first + WINDOW; i++) {
        struct record *record = &attempt->records.all[i];
        if (!is_finished(mark, i) && record->result == RD_KAFKA_RESP_ERR_NO_ERROR)
            window[count++] = record;
    }
    return count;
}

void attempt_note_window(struct attempt *attempt)
{
    struct progress_mark *mark = &attempt->progress->mark;
    size_t first = mark->items;
    for (size_t i = first; i < attempt->records.count && i < first + WINDOW; i++)
        if (!is_finished(mark, i))
            note_result(attempt, i);
    progress_mark_settle(mark);
}

bool attempt_has_more(const struct attempt *attempt)
{
    return attempt->progress->mark.items < attempt->records.count && !attempt->remake &&
           attempt->again.verdict == VERDICT_OK;
}

/* A broker's complaint, or replicas that are missing, explain more than a timeout does. */
static struct outcome explained(const struct attempt *attempt, struct outcome outcome)
{
    struct kafka_exporter *self = attempt->self;
    char trouble[KAFKA_TROUBLE_SIZE];
    enum cause cause = outcome.cause;
    if (cause != CAUSE_UNAVAILABLE)
        return outcome;
    if (!attempt->timed_out || !producer_lacks_replicas(self->producer, trouble, sizeof trouble))
        cause = kafka_peer_trouble(&self->peer, trouble, sizeof trouble);
    if (!*trouble)
        return outcome;
    struct outcome why = outcome_of(VERDICT_RETRY, cause, "%s", trouble);
    why.retry_within_ns = outcome.retry_within_ns;
    return why;
}

struct outcome attempt_outcome(const struct attempt *attempt)
{
    const struct progress *progress = attempt->progress;
    uint32_t items = attempt->batch->items;
    struct outcome outcome = progress->refusal;
    if (attempt->again.verdict != VERDICT_OK)
        return explained(attempt, attempt->again);
    if (progress->lost == 0)
        return OUTCOME_OK;
    outcome.verdict = VERDICT_OK;
    outcome.rejected = progress->lost < items ? progress->lost : items;
    return outcome;
}
