/*
 * Realistic arrangements, played on a fake clock by a simulator that knows the truth: processes
 * with their windows, clocks and late uploads. For each, the test checks how many links are true
 * (precision), how many spans with samples are linked (recall), and how long spans wait.
 *
 * FIELD_VERBOSE=1 prints the figures of every arrangement.
 */
#include "tests/processors/correlation/rig.h"

#include <stdlib.h>

enum {
    LENGTH_S = 150,
    STEADY_S = 60,
    ROOTS_A_SECOND = 8,
    SAMPLED_PERCENT = 40,
    MOST_ACTORS = 6,
    UPLOAD_MS = 200 /* how late an ordinary upload may be */
};

enum trait {
    IDENTIFIED = 1,        /* each process has its own resource */
    CHILDREN_LABELLED = 2, /* samples have the ids of children, and nothing is marked */
    NAMELESS = 4,          /* samples have no ids */
    STARTLESS = 8,         /* no duration_nanos; time_nanos is the start of the window */
    ENDLESS = 16,          /* no duration_nanos; time_nanos is the end of the window */
    OF_GO = 32,            /* pyroscope-go, which sends its heap first */
    OF_NODE = 64,          /* time_nanos is the end; wall; whole seconds in the query */
    MEMORY_ONLY = 128,
    IN_BURSTS = 256 /* load in 5 s of every 40 */
};

/* A kind of process, with those that replace it. */
struct actor {
    uint64_t window; /* ns */
    uint64_t phase;  /* how long after the start it begins */
    uint64_t first;  /* length of its first window; 0: any */
    uint64_t life;   /* after how long it is replaced; 0: never ... */
    int64_t pause;   /* ... and how much later, or earlier, the next one begins */
    uint64_t late_from, late_to;
    unsigned late_every;      /* one of this many uploads is late; 0: all */
    int64_t tracer, profiler; /* how far its clocks are ahead */
    unsigned traits;
};

struct arrangement {
    const char *name;
    const char *yaml;
    uint64_t export_every; /* 0: spans are sent when they end */
    struct actor actors[MOST_ACTORS];
    /* What must hold; 0: not checked. Times in ms. */
    double recall, whole_recall;
    unsigned p50, p99;
};

struct sim_span {
    struct rig_span span;
    char mark[17];
    uint64_t sample; /* when; 0: not sampled */
    uint64_t ended;  /* true time */
    uint64_t exported;
    unsigned process;
    bool judged; /* may have a link */
    bool has_samples;
};

struct sim_event {
    uint64_t at;
    bool is_upload;
    const struct actor *actor;
    unsigned process;
    uint64_t from, until;
};

struct world {
    struct rig rig;
    const struct arrangement *arrangement;
    uint64_t random;
    struct sim_span *spans;
    size_t span_count;
    struct rig_span *batch; /* room for all of them */
    struct sim_event *events;
    size_t event_count;
    char instances[64][8];
    unsigned processes;
};

static uint64_t draw(struct world *world, uint64_t below)
{
    world->random ^= world->random << 13;
    world->random ^= world->random >> 7;
    world->random ^= world->random << 17;
    return below ? world->random % below : 0;
}

/* Makes room for one more, in steps that double. */
static void *room_for_one(void *items, size_t count, size_t size)
{
    bool full = (count & (count - 1)) == 0;
    return full ? realloc(items, (count ? 2 * count : 1) * size) : items;
}

static void add_event(struct world *world, struct sim_event event)
{
    world->events = room_for_one(world->events, world->event_count, sizeof *world->events);
    world->events[world->event_count++] = event;
}

static struct sim_span *add_span(struct world *world, unsigned process, uint64_t parent,
                                 uint64_t start, uint64_t end)
{
    world->spans = room_for_one(world->spans, world->span_count, sizeof *world->spans);
    struct sim_span *span = &world->spans[world->span_count++];
    *span = (struct sim_span){
        .span = {.id = UINT64_C(0x1000000000000000) + world->span_count, .parent = parent},
        .ended = end,
        .process = process,
    };
    span->span.start = start;
    span->span.end = end;
    return span;
}

static uint64_t root_length(struct world *world)
{
    return draw(world, 50) == 0 ? S + draw(world, 14 * S) : 20 * NS_PER_MS + draw(world, S / 2);
}

static void add_root(struct world *world, const struct actor *actor, unsigned process, uint64_t at,
                     uint64_t until)
{
    uint64_t end = at + root_length(world);
    if (end >= until)
        return;
    bool sampled = draw(world, 100) < SAMPLED_PERCENT && !(actor->traits & MEMORY_ONLY);
    uint64_t sample = sampled ? at + 1 + draw(world, end - at) : 0;
    bool by_child = actor->traits & CHILDREN_LABELLED;
    struct sim_span *root = add_span(world, process, 0, at, end);
    uint64_t id = root->span.id;
    root->judged = true;
    if (!by_child) {
        root->sample = sample;
        span_id_format(id, root->mark);
    }
    struct sim_span *child = add_span(world, process, id, at, end);
    if (by_child) {
        child->sample = sample;
        child->judged = true;
    }
}

static bool is_busy(const struct actor *actor, uint64_t at)
{
    return !(actor->traits & IN_BURSTS) || at % (40 * S) < 5 * S;
}

static void draw_load(struct world *world, const struct actor *actor, unsigned process,
                      uint64_t from, uint64_t until)
{
    for (uint64_t at = from + 1; at < until; at += S / ROOTS_A_SECOND)
        if (is_busy(actor, at))
            add_root(world, actor, process, at + draw(world, S / ROOTS_A_SECOND), until);
}

static uint64_t lateness(struct world *world, const struct actor *actor, unsigned n)
{
    uint64_t late = draw(world, UPLOAD_MS * NS_PER_MS);
    if (actor->late_to && (actor->late_every == 0 || n % actor->late_every == 0))
        late = actor->late_from + draw(world, actor->late_to - actor->late_from + 1);
    return late;
}

static void draw_windows(struct world *world, const struct actor *actor, unsigned process,
                         uint64_t from, uint64_t until)
{
    /* Profilers that upload at whole multiples of their window begin with a partial one. */
    uint64_t length = draw(world, 2)
                          ? actor->window
                          : actor->window / 8 + draw(world, actor->window - actor->window / 8);
    if (actor->first)
        length = actor->first;
    for (unsigned n = 0; from < until; n++, length = actor->window) {
        uint64_t end = from + length < until ? from + length : until;
        add_event(world, (struct sim_event){end + lateness(world, actor, n), true, actor, process,
                                            from, end});
        from = end;
    }
}

static void draw_exports(struct world *world, const struct actor *actor, unsigned process,
                         uint64_t from, uint64_t until)
{
    uint64_t every = world->arrangement->export_every;
    for (size_t i = 0; !every && i < world->span_count; i++)
        if (world->spans[i].process == process)
            add_event(world, (struct sim_event){world->spans[i].ended, false, actor, process,
                                                world->spans[i].ended - 1, world->spans[i].ended});
    for (uint64_t at = from; every && at < until; at += every) {
        uint64_t end = at + every < until ? at + every : until;
        add_event(world, (struct sim_event){end, false, actor, process, at, end});
    }
}

static void draw_actor(struct world *world, const struct actor *actor)
{
    uint64_t end = LENGTH_S * S;
    for (uint64_t from = actor->phase; from < end;) {
        uint64_t until = actor->life && from + actor->life < end ? from + actor->life : end;
        unsigned process = world->processes++;
        ck_assert_uint_lt(process, 64);
        snprintf(world->instances[process], sizeof world->instances[0], "p-%u", process);
        draw_load(world, actor, process, from, until);
        draw_windows(world, actor, process, from, until);
        draw_exports(world, actor, process, from, until);
        from = until < end ? until + (uint64_t)actor->pause : end;
    }
}

static int by_time(const void *a, const void *b)
{
    const struct sim_event *x = a, *y = b;
    return x->at < y->at ? -1 : x->at > y->at;
}

/* A time from a clock that is ahead. */
static uint64_t stamp(uint64_t at, int64_t ahead)
{
    return at + (uint64_t)ahead;
}

static const char *kind_of(const struct actor *actor)
{
    if (actor->traits & MEMORY_ONLY)
        return "memory";
    return actor->traits & OF_NODE ? "wall" : "process_cpu";
}

static void set_times(struct pprof_build *build, const struct sim_event *event)
{
    const struct actor *actor = event->actor;
    uint64_t time = RIG_START + stamp(event->from, actor->profiler),
             length = event->until - event->from;
    if (actor->traits & (ENDLESS | OF_NODE))
        time += length;
    if (actor->traits & (ENDLESS | STARTLESS | MEMORY_ONLY))
        length = 0;
    pprof_build_time(build, (int64_t)time, (int64_t)length);
}

static size_t add_samples(struct world *world, struct pprof_build *build,
                          const struct sim_event *event)
{
    const char *const frames[] = {"work", "main", NULL};
    size_t count = 0;
    for (size_t i = 0; i < world->span_count; i++) {
        struct sim_span *span = &world->spans[i];
        if (span->process != event->process || !span->sample || span->sample <= event->from ||
            span->sample > event->until)
            continue;
        char hex[17] = "";
        span_id_format(span->span.id, hex);
        pprof_build_sample(build, (const int64_t[]){10000000}, frames);
        if (!(event->actor->traits & NAMELESS))
            pprof_build_label(build, "span_id", hex);
        span->has_samples = !(event->actor->traits & NAMELESS);
        count++;
    }
    if (event->actor->traits & MEMORY_ONLY)
        pprof_build_sample(build, (const int64_t[]){10000000}, frames);
    return count + !!(event->actor->traits & MEMORY_ONLY);
}

static struct batch *profile_batch(struct world *world, struct pprof_build *build,
                                   const struct actor *actor, const char *kind)
{
    struct bytes raw = pprof_build_raw(build);
    struct batch *batch =
        batch_new(SIGNAL_PROFILES, BATCH_PPROF, rig_buffer(&world->rig, &raw), 1, NULL);
    const struct series_label labels[] = {
        {VIEW("__name__"), view_of(kind)},
        {VIEW("service_name"), VIEW("shop")},
        {VIEW("otel.scope.name"), actor->traits & OF_GO ? VIEW("com.grafana.pyroscope/go")
                                                        : VIEW("com.grafana.pyroscope/python")},
    };
    batch_set_series(batch, series_new(labels, 3));
    batch_set_profile(batch, calloc(1, sizeof(struct profile_origin)));
    return batch;
}

static void send_profile(struct world *world, struct batch *batch)
{
    ck_assert_int_eq(rig_upload(&world->rig, batch), VERDICT_OK);
    collecting_sink_clear(&world->rig.profiles);
}

/* An instant heap profile, which Go sends before its CPU profile. */
static void send_heap(struct world *world, const struct actor *actor)
{
    const char *const frames[] = {"work", "main", NULL};
    struct pprof_build *build = pprof_build_new();
    pprof_build_type(build, "inuse_space", "bytes");
    pprof_build_time(build, (int64_t)(RIG_START + rig_now(&world->rig)), 0);
    pprof_build_sample(build, (const int64_t[]){100}, frames);
    send_profile(world, profile_batch(world, build, actor, "memory"));
    pprof_build_free(build);
}

static void upload(struct world *world, const struct sim_event *event)
{
    const struct actor *actor = event->actor;
    struct pprof_build *build = pprof_build_new();
    pprof_build_type(build,
                     actor->traits & MEMORY_ONLY ? "inuse_space"
                     : actor->traits & OF_NODE   ? "wall"
                                                 : "cpu",
                     "nanoseconds");
    set_times(build, event);
    size_t count = add_samples(world, build, event);
    struct batch *batch = profile_batch(world, build, actor, kind_of(actor));
    if (actor->traits & OF_NODE) {
        batch->profile->from_ns = (RIG_START + event->from) / S * S;
        batch->profile->until_ns = (RIG_START + event->until) / S * S;
    }
    if (actor->traits & OF_GO)
        send_heap(world, actor);
    /* An idle process sends nothing. */
    if (count > 0)
        send_profile(world, batch);
    else
        batch_unref(batch);
    pprof_build_free(build);
}

static void export_spans(struct world *world, const struct sim_event *event)
{
    struct rig_span *batch = world->batch;
    const struct actor *actor = event->actor;
    size_t count = 0;
    for (size_t i = 0; i < world->span_count; i++) {
        struct sim_span *span = &world->spans[i];
        if (span->process != event->process || span->exported || span->ended <= event->from ||
            span->ended > event->until)
            continue;
        span->exported = event->at;
        batch[count] = span->span;
        batch[count].start = stamp(span->span.start, actor->tracer);
        batch[count].end = stamp(span->span.end, actor->tracer);
        batch[count].language = actor->traits & OF_NODE ? "nodejs" : "python";
        if (*span->mark)
            batch[count].attributes[0] = span->mark;
        if (actor->traits & IDENTIFIED)
            batch[count].instance = world->instances[event->process];
        count++;
    }
    if (count > 0)
        ck_assert_int_eq(rig_spans(&world->rig, batch, count), VERDICT_OK);
}

/* After every tick, collects the spans that left. */
static void advance(struct world *world, uint64_t at)
{
    struct rig *rig = &world->rig;
    while (rig_now(rig) < at) {
        uint64_t step = at - rig_now(rig);
        rig_advance(rig, step < 100 * NS_PER_MS ? step : 100 * NS_PER_MS);
        rig_collect(rig);
    }
}

static void play(struct world *world)
{
    for (size_t i = 0; i < world->event_count; i++) {
        advance(world, world->events[i].at);
        if (world->events[i].is_upload)
            upload(world, &world->events[i]);
        else
            export_spans(world, &world->events[i]);
        rig_collect(&world->rig);
    }
    advance(world, (LENGTH_S + 130) * S);
}

struct score {
    size_t linked, true_links, sampled, found;
    uint64_t *delays;
    size_t delay_count;
};

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static double delay(const struct score *score, double part)
{
    if (score->delay_count == 0)
        return 0;
    return (double)score->delays[(size_t)((double)(score->delay_count - 1) * part)] / (double)S;
}

static double ratio(size_t part, size_t of)
{
    return of ? (double)part / (double)of : 1;
}

static void add_to(struct score *score, const struct sim_span *span, const struct rig_out *out)
{
    bool linked = out->attributes == 1 && out->link == span->span.id;
    score->linked += out->attributes > 0;
    score->true_links += linked && span->has_samples;
    score->sampled += span->has_samples;
    score->found += linked && span->has_samples;
    if (span->judged)
        score->delays[score->delay_count++] = out->left - span->exported;
}

static void report(const struct arrangement *arrangement, const char *what, struct score *score)
{
    qsort(score->delays, score->delay_count, sizeof *score->delays, by_value);
    if (getenv("FIELD_VERBOSE"))
        printf("%-44s %-7s precision %.3f recall %.4f delay p50 %5.1f p99 %5.1f max %5.1f s\n",
               arrangement->name, what, ratio(score->true_links, score->linked),
               ratio(score->found, score->sampled), delay(score, 0.5), delay(score, 0.99),
               delay(score, 1));
}

static void must(const struct arrangement *arrangement, const struct score *whole,
                 const struct score *steady)
{
    const char *name = arrangement->name;
    double recall = ratio(steady->found, steady->sampled);
    ck_assert_msg(whole->linked == whole->true_links, "%s: %zu links of %zu are false", name,
                  whole->linked - whole->true_links, whole->linked);
    ck_assert_msg(recall >= arrangement->recall, "%s: recall %.4f", name, recall);
    ck_assert_msg(ratio(whole->found, whole->sampled) >= arrangement->whole_recall,
                  "%s: recall of the whole run %.4f", name, ratio(whole->found, whole->sampled));
    if (arrangement->p50)
        ck_assert_msg(delay(steady, 0.5) * 1000 <= arrangement->p50, "%s: p50 %.1f s", name,
                      delay(steady, 0.5));
    if (arrangement->p99)
        ck_assert_msg(delay(steady, 0.99) * 1000 <= arrangement->p99, "%s: p99 %.1f s", name,
                      delay(steady, 0.99));
}

static void check(struct world *world)
{
    struct score whole = {.delays = calloc(world->span_count, sizeof(uint64_t))};
    struct score steady = {.delays = calloc(world->span_count, sizeof(uint64_t))};
    bool *seen = calloc(world->span_count, sizeof *seen);
    ck_assert_uint_eq(world->rig.count, world->span_count);
    for (size_t i = 0; i < world->rig.count; i++) {
        const struct rig_out *out = &world->rig.out[i];
        size_t n = (size_t)(out->id & 0xffffffff) - 1;
        ck_assert_msg(!seen[n], "%s: span %zu left twice", world->arrangement->name, n);
        seen[n] = true;
        add_to(&whole, &world->spans[n], out);
        if (getenv("FIELD_MISSED") && world->spans[n].has_samples && !out->attributes)
            printf("%s: span %zu of process %u, %.2f to %.2f s, sampled at %.2f, exported at %.2f, "
                   "left at %.2f\n",
                   world->arrangement->name, n, world->spans[n].process,
                   (double)world->spans[n].span.start / 1e9, (double)world->spans[n].span.end / 1e9,
                   (double)world->spans[n].sample / 1e9, (double)world->spans[n].exported / 1e9,
                   (double)out->left / 1e9);
        if (world->spans[n].ended >= STEADY_S * S)
            add_to(&steady, &world->spans[n], out);
    }
    report(world->arrangement, "whole", &whole);
    report(world->arrangement, "steady", &steady);
    if (!getenv("FIELD_REPORT"))
        must(world->arrangement, &whole, &steady);
    free(whole.delays);
    free(steady.delays);
    free(seen);
}

#define MS NS_PER_MS

static const struct arrangement arrangements[] = {
    {"one process", "{}", S, {{.window = 10 * S}}, 1, 1, 6500, 11000},
    {"one process, spans every 5 s", "{}", 5 * S, {{.window = 10 * S}}, 1, 1, 6500, 11000},
    {"one process that its resource names",
     "{}",
     S,
     {{.window = 10 * S, .traits = IDENTIFIED}},
     1,
     1,
     6500,
     11000},
    {"prefork, three workers",
     "{}",
     S,
     {{.window = 10 * S}, {.window = 10 * S, .phase = 40 * MS}, {.window = 10 * S, .phase = 3 * S}},
     1,
     0.995,
     0,
     0},
    {"prefork, workers replaced every 20 s",
     "{}",
     S,
     {{.window = 10 * S, .life = 20 * S},
      {.window = 10 * S, .phase = 40 * MS, .life = 20 * S},
      {.window = 10 * S, .phase = 7 * S, .life = 20 * S}},
     1,
     0.995,
     0,
     0},
    {"prefork, each worker starts when another has ended",
     "{}",
     S,
     {{.window = 10 * S, .life = 20 * S, .pause = 900 * (int64_t)MS},
      {.window = 10 * S, .phase = 7 * S, .life = 21 * S, .pause = 2 * (int64_t)S},
      {.window = 10 * S, .phase = 13 * S, .life = 19 * S, .pause = 300 * (int64_t)MS}},
     0.995,
     0.995,
     0,
     0},
    {"prefork, each worker starts before another ends",
     "{}",
     S,
     {{.window = 10 * S, .life = 20 * S, .pause = -900 * (int64_t)MS},
      {.window = 10 * S, .phase = 7 * S, .life = 21 * S, .pause = -2 * (int64_t)S},
      {.window = 10 * S, .phase = 13 * S, .life = 19 * S, .pause = -300 * (int64_t)MS}},
     0.995,
     0.995,
     0,
     0},
    {"one worker, replaced every 33 s",
     "{}",
     S,
     {{.window = 10 * S, .life = 33 * S, .pause = 700 * (int64_t)MS}},
     1,
     0.995,
     0,
     0},
    {"one worker, replaced every 33 s before it ends",
     "{}",
     S,
     {{.window = 10 * S, .life = 33 * S, .pause = -3 * (int64_t)S}},
     1,
     0.995,
     0,
     0},
    {"windows of 10 and 60 s", "{}", S, {{.window = 10 * S}, {.window = 60 * S}}, 1, 1, 0, 0},
    {"windows of 10 and 60 s, resources differ",
     "{}",
     S,
     {{.window = 10 * S, .traits = IDENTIFIED}, {.window = 60 * S, .traits = IDENTIFIED}},
     1,
     1,
     0,
     0},
    {"two processes that their resources name, with short first windows",
     "{}",
     S,
     {{.window = 10 * S, .first = 2200 * MS, .traits = IDENTIFIED},
      {.window = 10 * S, .first = 6500 * MS, .traits = IDENTIFIED}},
     1,
     1,
     0,
     0},
    {"deployed anew, one process after the other, that their resources name",
     "{}",
     S,
     {{.window = 10 * S, .life = 100 * S, .pause = -2 * (int64_t)S, .traits = IDENTIFIED},
      {.window = 10 * S, .life = 110 * S, .pause = -2 * (int64_t)S, .traits = IDENTIFIED},
      {.window = 10 * S, .life = 120 * S, .pause = -2 * (int64_t)S, .traits = IDENTIFIED}},
     1,
     1,
     0,
     0},
    {"from one process to six that their resources name",
     "{}",
     S,
     {{.window = 10 * S, .traits = IDENTIFIED},
      {.window = 10 * S, .phase = 90 * S, .traits = IDENTIFIED},
      {.window = 10 * S, .phase = 90 * S, .traits = IDENTIFIED},
      {.window = 60 * S, .phase = 91 * S, .traits = IDENTIFIED},
      {.window = 10 * S, .phase = 91 * S, .traits = IDENTIFIED},
      {.window = 15 * S, .phase = 95 * S, .traits = IDENTIFIED}},
     1,
     1,
     0,
     0},
    {"one of 60 s joins one of 10 s, and ends a window with it",
     "{}",
     S,
     {{.window = 10 * S, .first = 7 * S}, {.window = 60 * S, .phase = 50 * S, .first = 47300 * MS}},
     0.75,
     0,
     0,
     0},
    {"three processes, uploads 1 to 5 s late",
     "{}",
     S,
     {{.window = 10 * S, .late_from = S, .late_to = 5 * S},
      {.window = 10 * S, .phase = 2 * S, .late_from = S, .late_to = 5 * S},
      {.window = 10 * S, .phase = 5 * S, .late_from = S, .late_to = 5 * S}},
     0.999,
     0,
     0,
     0},
    {"two processes of 5 s, 2 to 3 s late",
     "{}",
     S,
     {{.window = 5 * S, .late_from = 2 * S, .late_to = 3 * S},
      {.window = 5 * S, .phase = 2 * S, .late_from = 2 * S, .late_to = 3 * S}},
     0.999,
     0,
     0,
     0},
    {"uploads 1 to 30 s late",
     "{}",
     S,
     {{.window = 10 * S, .late_from = S, .late_to = 30 * S}},
     0.999,
     0,
     0,
     45000},
    {"every second upload 12 s late",
     "{}",
     S,
     {{.window = 10 * S, .late_from = 12 * S, .late_to = 12 * S, .late_every = 2}},
     0.999,
     0,
     0,
     27000},
    {"tracer 5 s behind", "{}", S, {{.window = 10 * S, .tracer = -5 * (int64_t)S}}, 0.999, 0, 0, 0},
    {"tracer 5 s ahead", "{}", S, {{.window = 10 * S, .tracer = 5 * (int64_t)S}}, 0.999, 0, 0, 0},
    {"profiler 5 s behind",
     "{}",
     S,
     {{.window = 10 * S, .profiler = -5 * (int64_t)S}},
     0.999,
     0,
     0,
     0},
    {"profiler 5 s ahead",
     "{}",
     S,
     {{.window = 10 * S, .profiler = 5 * (int64_t)S}},
     0.999,
     0,
     0,
     0},
    {"children labelled, exported as they end",
     "{}",
     0,
     {{.window = 10 * S, .traits = CHILDREN_LABELLED}},
     1,
     0,
     0,
     0},
    {"children labelled, exported every 5 s",
     "{}",
     5 * S,
     {{.window = 10 * S, .traits = CHILDREN_LABELLED}},
     1,
     0,
     0,
     0},
    {"memory profiles alone", "{}", S, {{.window = 15 * S, .traits = MEMORY_ONLY}}, 0, 0, 0, 1500},
    {"samples never carry ids", "{}", S, {{.window = 10 * S, .traits = NAMELESS}}, 0, 0, 0, 1500},
    {"no duration, the time is the start",
     "{}",
     S,
     {{.window = 30 * S, .traits = STARTLESS}},
     1,
     0,
     0,
     0},
    {"no duration, the time is the end",
     "{}",
     S,
     {{.window = 30 * S, .traits = ENDLESS}},
     1,
     0,
     0,
     0},
    {"Go, 30 s, heap first", "{}", S, {{.window = 30 * S, .traits = OF_GO}}, 1, 1, 0, 32000},
    {"Node.js, 60 s", "{}", S, {{.window = 60 * S, .traits = OF_NODE}}, 1, 1, 0, 63000},
    {"in bursts", "{}", S, {{.window = 10 * S, .traits = IN_BURSTS}}, 1, 1, 0, 0},
    {"restarted once", "{}", S, {{.window = 10 * S, .life = 76 * S + 300 * MS}}, 1, 1, 0, 0},
};

enum { ARRANGEMENTS = sizeof arrangements / sizeof *arrangements };

static void run(const struct arrangement *arrangement, unsigned seed)
{
    struct world world = {.arrangement = arrangement,
                          .random = (seed + 1) * UINT64_C(0x9e3779b97f4a7c15)};
    rig_open(&world.rig, arrangement->yaml);
    for (size_t i = 0; i < MOST_ACTORS && arrangement->actors[i].window; i++)
        draw_actor(&world, &arrangement->actors[i]);
    qsort(world.events, world.event_count, sizeof *world.events, by_time);
    world.batch = calloc(world.span_count, sizeof *world.batch);
    play(&world);
    check(&world);
    free(world.batch);
    rig_close(&world.rig);
    free(world.spans);
    free(world.events);
}

START_TEST(links_are_true_and_none_is_missing)
{
    unsigned seeds = getenv("FIELD_SEEDS") ? (unsigned)atoi(getenv("FIELD_SEEDS")) : 1;
    for (size_t i = 0; i < ARRANGEMENTS * seeds; i++)
        if (!getenv("FIELD_ONLY") ||
            strstr(arrangements[i % ARRANGEMENTS].name, getenv("FIELD_ONLY")))
            run(&arrangements[i % ARRANGEMENTS], (unsigned)i);
}
END_TEST

SUITE_MAIN("correlation field", links_are_true_and_none_is_missing)
