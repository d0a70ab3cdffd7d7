/* Two lanes on threads of their own, beside the ticker and readers; for the thread sanitizer. */
#include "processors/correlation/tell.h"
#include "tests/processors/correlation/lanes/replay.h"

#include <pthread.h>

struct work {
    struct replay *replay;
    struct rig *joint;
    _Atomic bool *done;
};

static void *read_all(void *ctx)
{
    struct work *work = ctx;
    reader_read(&work->replay->reader, AT_RANDOM, TIME_NEVER);
    reader_at_end(&work->replay->reader, end_of(work->replay));
    return NULL;
}

/* The ticker, and readers of metrics and lines. */
static void *watch_all(void *ctx)
{
    struct work *work = ctx;
    while (!*work->done) {
        struct watch_waiting waiting;
        struct bytes out;
        bytes_init(&out, 1 << 20, NULL);
        processor_correlation.tick(work->joint->self, work->joint->clock.mono);
        processor_correlation.explain(work->joint->self, &out);
        correlation_waits(work->joint->self, 1, &waiting);
        lanes_oldest_age(work->joint->self);
        bytes_release(&out);
    }
    return NULL;
}

START_TEST(lanes_run_on_threads_of_their_own)
{
    struct replay pair[2];
    struct rig joint;
    pthread_t threads[2], watcher;
    _Atomic bool done = false;
    struct work work[2];
    rig_open(&joint, settings_of(1));
    for (unsigned i = 0; i < 2; i++) {
        prepare(&pair[i], 2 + i, 0, settings_of(1));
        reader_assign(&pair[i].reader, joint.self, i, RIG_START);
        work[i] = (struct work){&pair[i], &joint, &done};
    }
    pthread_create(&watcher, NULL, watch_all, &work[0]);
    for (unsigned i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, read_all, &work[i]);
    for (unsigned i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    done = true;
    pthread_join(watcher, NULL);
    processor_correlation.tick(joint.self, joint.clock.mono);
    for (unsigned i = 0; i < 2; i++) {
        reader_revoke(&pair[i].reader);
        rig_collect(&pair[i].world.rig);
        compare(&pair[i], 2 + i, AT_RANDOM);
        finish(&pair[i]);
    }
    rig_close(&joint);
}
END_TEST

SUITE_MAIN("lanes on threads", lanes_run_on_threads_of_their_own)
