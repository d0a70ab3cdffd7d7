/*
 * In every random world each span leaves exactly once, and if no upload is later than the rules
 * allow, exactly the spans with samples are linked.
 */
#include "tests/processors/correlation/world.h"

static void run_seed(unsigned seed, struct score *score)
{
    struct world world = {0};
    draw_world(&world, seed);
    rig_open(&world.rig, world_settings(&world));
    play(&world);
    check(&world, seed, score);
    rig_close(&world.rig);
    world_free(&world);
}

START_TEST(precision_and_recall_are_one_in_every_world)
{
    struct score score = {0};
    for (unsigned seed = 0; seed < WORLD_SEEDS; seed++)
        run_seed(seed, &score);
    /* The worlds must be realistic: many spans with samples and without, and some late uploads. */
    ck_assert_uint_gt(score.sampled, score.spans / 10);
    ck_assert_uint_lt(score.sampled, score.spans / 2);
    ck_assert_uint_gt(score.undecidable, 10);
    ck_assert_uint_eq(score.linked, score.sampled);
}
END_TEST

SUITE_MAIN("correlation simulation", precision_and_recall_are_one_in_every_world)
