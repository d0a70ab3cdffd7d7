/*
 * Lanes: the decisions about a backlog are those that were due when it was recorded, whatever the
 * pace at which its signals are read; lanes end without a trace; what is read again is not sent
 * twice.
 */
#include "processors/correlation/lanes/lanes.h"

#include "tests/processors/correlation/lanes/replay.h"

#define HALF_AN_HOUR (1800 * S)

enum { PAIRS = 4 };

/* Two partitions, read by turns by one process. */
static void read_pair(struct replay *pair, unsigned first_seed, enum pace pace)
{
    struct rig joint;
    rig_open(&joint, settings_of(first_seed / 2));
    for (unsigned i = 0; i < 2; i++)
        reader_assign(&pair[i].reader, joint.self, i, RIG_START);
    while (reader_more(&pair[0].reader, TIME_NEVER) || reader_more(&pair[1].reader, TIME_NEVER))
        for (unsigned i = 0; i < 2; i++)
            if (reader_more(&pair[i].reader, TIME_NEVER))
                reader_step(&pair[i].reader, reader_choice(&pair[i].reader, pace), TIME_NEVER);
    for (unsigned i = 0; i < 2; i++)
        reader_at_end(&pair[i].reader, end_of(&pair[i]));
    processor_correlation.tick(joint.self, joint.clock.mono);
    for (unsigned i = 0; i < 2; i++) {
        reader_revoke(&pair[i].reader);
        rig_collect(&pair[i].world.rig);
        compare(&pair[i], first_seed + i, pace);
        forget_outs(&pair[i].world.rig);
        pair[i].reader.traces.next = pair[i].reader.profiles.next = 0;
    }
    rig_close(&joint);
}

START_TEST(a_backlog_is_decided_as_it_was_live_at_any_pace)
{
    for (unsigned seed = 0; seed < 2 * PAIRS; seed += 2) {
        struct replay pair[2];
        for (unsigned i = 0; i < 2; i++)
            prepare(&pair[i], seed + i, HALF_AN_HOUR, settings_of(seed / 2));
        for (enum pace pace = 0; pace < PACES; pace++)
            read_pair(pair, seed, pace);
        for (unsigned i = 0; i < 2; i++)
            finish(&pair[i]);
    }
}
END_TEST

/* How often each span left, and whether each time with the right link. */
static void count_outs(struct replay *replay, unsigned *left)
{
    struct world *world = &replay->world;
    rig_collect(&world->rig);
    for (size_t i = 0; i < world->rig.count; i++) {
        const struct rig_out *out = &world->rig.out[i];
        const struct sim_span *span = &world->spans[number_of(out)];
        left[number_of(out)]++;
        if (span->uploaded || !span->late)
            CHECK_OFTEN((out->link == span->span.id) == span->uploaded, "span %zu", number_of(out));
    }
}

static size_t committed(const struct partition *partition)
{
    size_t at = 0;
    while (at < partition->count && partition->records[at].delivered)
        at++;
    return at;
}

static size_t first_since(const struct partition *partition, uint64_t at)
{
    size_t first = 0;
    while (first < partition->count && partition->records[first].at < at)
        first++;
    return first;
}

/* The lane moves at half time to a process that knows nothing. Returns how many spans left
 * twice. */
static size_t move_lane(unsigned seed, const char *settings)
{
    struct replay replay;
    struct reader *reader = &replay.reader;
    struct rig before, after;
    prepare(&replay, seed, HALF_AN_HOUR, settings);
    unsigned *left = calloc(replay.world.span_count, sizeof *left);
    rig_open(&before, settings);
    reader_assign(reader, before.self, 0, RIG_START);
    reader_read(reader, AT_RANDOM, RIG_START + HALF_AN_HOUR / 2);
    count_outs(&replay, left);
    size_t profiles = replay.world.rig.profiles.count;
    forget_outs(&replay.world.rig);
    reader_revoke(reader);
    ck_assert_uint_eq(replay.world.rig.traces.count, 0);
    rig_close(&before);

    reader->traces.next = committed(&reader->traces);
    size_t unread = committed(&reader->profiles);
    ck_assert_uint_eq(unread, profiles);
    uint64_t since = reader->traces.records[reader->traces.next].at - 300 * S;
    reader->profiles.next = first_since(&reader->profiles, since);
    reader->ids_only_until = reader->profiles.records[unread].at;
    ck_assert_uint_lt(reader->profiles.next, unread);
    rig_open(&after, settings);
    reader_assign(reader, after.self, 0, since);
    reader_read(reader, AT_RANDOM, TIME_NEVER);
    reader_at_end(reader, end_of(&replay));
    processor_correlation.tick(after.self, after.clock.mono);
    count_outs(&replay, left);
    ck_assert_uint_eq(profiles + replay.world.rig.profiles.count, reader->profiles.count);
    reader_revoke(reader);
    rig_close(&after);
    size_t twice = 0;
    for (size_t i = 0; i < replay.world.span_count; i++) {
        CHECK_OFTEN(left[i] == 1 || left[i] == 2, "span %zu left %u times", i, left[i]);
        twice += left[i] - 1;
    }
    free(left);
    finish(&replay);
    return twice;
}

START_TEST(a_new_owner_links_by_profiles_that_it_does_not_send_again)
{
    size_t twice = 0;
    for (unsigned seed = 0; seed < 2 * PAIRS; seed++)
        twice += move_lane(seed, settings_of(seed / 2));
    ck_assert_uint_gt(twice, 0); /* of requests that were not delivered whole */
}
END_TEST

SUITE_MAIN("correlation lanes", a_backlog_is_decided_as_it_was_live_at_any_pace,
           a_new_owner_links_by_profiles_that_it_does_not_send_again)
