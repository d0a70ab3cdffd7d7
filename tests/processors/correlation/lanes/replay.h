/* A world, as it was decided live and as it is read from a log. */
#ifndef TESTS_PROCESSORS_CORRELATION_LANES_REPLAY_H
#define TESTS_PROCESSORS_CORRELATION_LANES_REPLAY_H

#include "tests/processors/correlation/lanes/log.h"

struct replay {
    struct world world;
    struct reader reader;
    uint64_t *live; /* the link of each span */
};

static inline size_t number_of(const struct rig_out *out)
{
    return (size_t)(out->id & 0xffffffff) - 1;
}

/* Lets go what the sinks have, which settles its receipts. */
static inline void forget_outs(struct rig *rig)
{
    collecting_sink_clear(&rig->traces);
    collecting_sink_clear(&rig->profiles);
    free(rig->out);
    rig->out = NULL;
    rig->count = rig->batches = 0;
}

/* Plays a world by the wall clock, then writes it to a log. length: at least. */
static inline void prepare(struct replay *replay, unsigned seed, uint64_t length,
                           const char *settings)
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

static inline void finish(struct replay *replay)
{
    forget_outs(&replay->world.rig);
    log_free(&replay->reader);
    rig_close(&replay->world.rig);
    world_free(&replay->world);
    free(replay->live);
}

static inline uint64_t end_of(const struct replay *replay)
{
    return RIG_START + replay->world.length + 300 * S;
}

/* Settings under which both worlds of a pair (seeds 2n and 2n + 1) are decidable. */
static inline const char *settings_of(unsigned pair)
{
    const char *settings = "{}";
    for (unsigned i = 0; i < 2; i++) {
        struct world world = {0};
        draw_world(&world, 2 * pair + i);
        if (strcmp(world_settings(&world), "{}") != 0)
            settings = world_settings(&world);
        world_free(&world);
    }
    return settings;
}

/* Everything left once, and as it did live. */
static inline void compare(struct replay *replay, unsigned seed, unsigned pace)
{
    struct world *world = &replay->world;
    struct score score = {0};
    check(world, seed, &score);
    ck_assert_uint_eq(score.linked, score.sampled);
    ck_assert_uint_gt(score.sampled, 0);
    for (size_t i = 0; i < world->rig.count; i++) {
        size_t n = number_of(&world->rig.out[i]);
        CHECK_OFTEN(world->rig.out[i].link == replay->live[n],
                    "seed %u, pace %u: span %zu was decided otherwise live", seed, pace, n);
    }
    for (size_t i = 0; i < replay->reader.traces.count; i++)
        CHECK_OFTEN(replay->reader.traces.records[i].delivered, "record %zu is not delivered", i);
    ck_assert_uint_eq(world->rig.profiles.count, replay->reader.profiles.count);
}

#endif
