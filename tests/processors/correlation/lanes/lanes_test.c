/*
 * Lanes: the decisions about a backlog are those that were due when it was recorded, whatever the
 * pace at which its signals are read; lanes end without a trace; what is read again is not sent
 * twice.
 */
#include "processors/correlation/lanes/lanes.h"

#include "tests/processors/correlation/lanes/log.h"

#include <pthread.h>

#define HALF_AN_HOUR (1800 * S)

enum { PAIRS = 4 };

/* A world, as it was decided live and as it is read from a log. */
struct replay {
    struct world world;
    struct reader reader;
    uint64_t *live; /* the link of each span */
};

static size_t number_of(const struct rig_out *out)
{
    return (size_t)(out->id & 0xffffffff) - 1;
}

static void forget_outs(struct rig *rig)
{
    collecting_sink_clear(&rig->traces);
    collecting_sink_clear(&rig->profiles);
    free(rig->out);
    rig->out = NULL;
    rig->count = rig->batches = 0;
}

/* Plays a world by the wall clock, then writes it to a log. */
static void prepare(struct replay *replay, unsigned seed, uint64_t length, const char *settings)
{
    struct world *world = &replay->world;
    struct score score = {0};
    *world = (struct world){.at_least = length};
    draw_world(world, seed);
    rig_open(&world->rig, settings);
    play(world);
    check(world, seed, &score);
    ck_assert_uint_eq(score.linked, score.sampled);
    replay->live = calloc(world->span_count, sizeof *replay->live);
    for (size_t i = 0; i < world->rig.count; i++)
        replay->live[number_of(&world->rig.out[i])] = world->rig.out[i].link;
    forget_outs(&world->rig);
    log_write(&replay->reader, world);
}

static void finish(struct replay *replay)
{
    forget_outs(&replay->world.rig); /* settles receipts */
    log_free(&replay->reader);
    rig_close(&replay->world.rig);
    world_free(&replay->world);
    free(replay->live);
}

static uint64_t end_of(const struct replay *replay)
{
    return RIG_START + replay->world.length + 300 * S;
}

/* Everything left, and as it did live. */
static void compare(struct replay *replay, unsigned seed, unsigned pace)
{
    struct world *world = &replay->world;
    struct score score = {0};
    check(world, seed, &score);
    ck_assert_uint_eq(score.linked, score.sampled);
    ck_assert_uint_gt(score.sampled, 0);
    for (size_t i = 0; i < world->rig.count; i++) {
        size_t n = number_of(&world->rig.out[i]);
        ck_assert_msg(world->rig.out[i].link == replay->live[n],
                      "seed %u, pace %u: span %zu was decided otherwise live", seed, pace, n);
    }
    for (size_t i = 0; i < replay->reader.traces.count; i++)
        ck_assert(replay->reader.traces.records[i].delivered);
    ck_assert_uint_eq(world->rig.profiles.count, replay->reader.profiles.count);
}

/* Settings under which both of a pair are decidable. */
static const char *settings_of(unsigned seed)
{
    const char *settings = "{}";
    for (unsigned i = 0; i < 2; i++) {
        struct world world = {0};
        draw_world(&world, 2 * seed + i);
        if (strcmp(world_settings(&world), "{}") != 0)
            settings = world_settings(&world);
        world_free(&world);
    }
    return settings;
}

/* Two partitions, read by turns by one process. */
static void read_pair(unsigned seed, enum pace pace)
{
    struct replay pair[2];
    struct rig joint;
    rig_open(&joint, settings_of(seed));
    for (unsigned i = 0; i < 2; i++) {
        prepare(&pair[i], 2 * seed + i, HALF_AN_HOUR, settings_of(seed));
        reader_assign(&pair[i].reader, joint.self, i, RIG_START);
    }
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
        compare(&pair[i], 2 * seed + i, pace);
        finish(&pair[i]);
    }
    rig_close(&joint);
}

static void read_pairs(enum pace pace)
{
    for (unsigned seed = 0; seed < PAIRS; seed++)
        read_pair(seed, pace);
}

START_TEST(a_backlog_read_traces_first_is_decided_as_it_was_live)
{
    read_pairs(TRACES_FIRST);
}
END_TEST

START_TEST(a_backlog_read_profiles_first_is_decided_as_it_was_live)
{
    read_pairs(PROFILES_FIRST);
}
END_TEST

START_TEST(a_backlog_read_at_random_is_decided_as_it_was_live)
{
    read_pairs(AT_RANDOM);
}
END_TEST

SUITE_MAIN("correlation lanes", a_backlog_read_traces_first_is_decided_as_it_was_live,
           a_backlog_read_profiles_first_is_decided_as_it_was_live,
           a_backlog_read_at_random_is_decided_as_it_was_live)
