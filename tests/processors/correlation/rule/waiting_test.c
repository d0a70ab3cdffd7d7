/* Spans in the hold: which sample links which, what is learnt from samples, and which spans are
 * checked. */
#include "processors/correlation/rule/waiting.h"

#include "tests/processors/correlation/rig.h"

#include <pthread.h>
#include <semaphore.h>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(at, size)   ((void)(at), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(at, size) ((void)(at), (void)(size))
#endif

/* A marked root of "shop" that ended just now. */
static void root(struct rig *rig, uint64_t id, const char *mark)
{
    RIG_SPANS(rig,
              {.id = id, .start = rig_now(rig) - S, .end = rig_now(rig), .attributes = {mark}});
}

/* A child that ended just now, without a mark. */
static void child(struct rig *rig, uint64_t id)
{
    RIG_SPANS(rig, {.id = id, .parent = 9999, .start = rig_now(rig) - S, .end = rig_now(rig)});
}

/* Windows of ten seconds without ids, one after the other. */
static void go_on(struct rig *rig, uint64_t until)
{
    while (rig_now(rig) < until) {
        rig_advance(rig, 10 * S);
        rig_window(rig, 0, 0, 0);
    }
}

START_TEST(a_span_that_names_another_id_is_linked_by_that_one_at_once)
{
    struct rig rig;
    rig_open(&rig, "{}");
    rig_warm(&rig);
    root(&rig, 2, "0000000000000007");
    rig_advance(&rig, 5 * S);
    rig_window(&rig, 7, 0, 0);
    ck_assert(rig_linked_as(&rig, 2, 7));
    rig_close(&rig);
}
END_TEST

START_TEST(a_span_that_names_another_id_and_has_samples_under_its_own_is_linked_when_decided)
{
    struct rig rig;
    rig_open(&rig, "{}");
    rig_warm(&rig);
    root(&rig, 2, "0000000000000007");
    root(&rig, 3, "0000000000000008");
    rig_advance(&rig, 10 * S);
    rig_window(&rig, 2, 0, 0);
    rig_advance(&rig, S);
    ck_assert(rig_linked_as(&rig, 2, 2));
    ck_assert(rig_bare(&rig, 3));
    /* The same holds at the end. */
    root(&rig, 4, "0000000000000009");
    rig_window(&rig, 4, 0, 0);
    ck_assert(rig_waits(&rig, 4));
    fake_clock_advance(&rig.clock, 30 * S);
    rig_stop(&rig);
    ck_assert(rig_linked_as(&rig, 4, 4));
    rig_close(&rig);
}
END_TEST

START_TEST(one_sample_links_all_spans_of_its_id_in_its_service_and_none_of_another)
{
    struct rig rig;
    rig_open(&rig, "{}");
    rig_warm(&rig);
    RIG_SPANS(&rig, {.id = 7, .start = RIG_WARM - S, .end = RIG_WARM},
              {.service = "other", .id = 7, .start = RIG_WARM - S, .end = RIG_WARM},
              {.id = 7, .start = RIG_WARM - S, .end = RIG_WARM});
    RIG_SPANS(&rig, {.id = 0x0700000000000000, .start = RIG_WARM - S, .end = RIG_WARM});
    rig_advance(&rig, 5 * S);
    rig_window(&rig, 7, 7, 0);
    rig_collect(&rig);
    ck_assert_uint_eq(rig.count, 3); /* those of the reversed byte order, too */
    for (size_t i = 0; i < 3; i++)
        ck_assert(rig.out[i].attributes == 1 && rig.out[i].link == 7);
    rig_advance(&rig, 60 * S);
    rig_collect(&rig);
    ck_assert_uint_eq(rig.count, 4);
    ck_assert_uint_eq(rig.out[3].attributes, 0);
    rig_close(&rig);
}
END_TEST

START_TEST(labelled_children_are_waited_for_and_linked_from_the_second_upload_on)
{
    struct rig rig;
    uint64_t id = 100;
    rig_open(&rig, "{}");
    rig_warm(&rig);
    for (int upload = 0; upload < 4; upload++) {
        child(&rig, ++id);
        ck_assert_int_eq(rig_waits(&rig, id), upload > 0);
        child(&rig, ++id); /* without samples */
        rig_advance(&rig, 10 * S);
        rig_window(&rig, id - 1, 0, 0);
        ck_assert_int_eq(rig_linked(&rig, id - 1), upload > 0);
        rig_advance(&rig, S);
        ck_assert(rig_bare(&rig, id));
        rig_advance(&rig, 9 * S);
        rig_window(&rig, 0, 0, 0);
    }
    ck_assert(rig_explains(&rig, "spans that are not local roots have samples"));
    ck_assert(rig_explains(&rig, "1 arrived after their span had left"));
    rig_close(&rig);
}
END_TEST

START_TEST(so_they_are_in_a_service_that_has_run_for_long)
{
    struct rig rig;
    rig_open(&rig, "{}");
    root(&rig, 1, NULL);
    rig_window(&rig, 1, 0, 0); /* it is labelled */
    go_on(&rig, 1000 * S);
    child(&rig, 2);
    ck_assert(rig_bare(&rig, 2));
    rig_advance(&rig, 10 * S);
    rig_window(&rig, 2, 0, 0);
    child(&rig, 3);
    ck_assert(rig_waits(&rig, 3));
    rig_close(&rig);
}
END_TEST

START_TEST(children_are_not_waited_for_any_more_when_none_had_samples_for_remember)
{
    struct rig rig;
    rig_open(&rig, "{remember: 2m}");
    rig_warm(&rig);
    child(&rig, 1);
    rig_window(&rig, 1, 0, 0); /* wide from here on */
    go_on(&rig, RIG_WARM + 60 * S);
    child(&rig, 2);
    ck_assert(rig_waits(&rig, 2));
    rig_window(&rig, 2, 0, 0); /* and longer */
    ck_assert(rig_linked(&rig, 2));
    go_on(&rig, RIG_WARM + 180 * S);
    child(&rig, 3);
    ck_assert(rig_waits(&rig, 3));
    go_on(&rig, RIG_WARM + 190 * S);
    child(&rig, 4);
    ck_assert(rig_bare(&rig, 4));
    rig_close(&rig);
}
END_TEST

START_TEST(samples_of_roots_make_no_children_wait)
{
    struct rig rig;
    rig_open(&rig, "{}");
    rig_warm(&rig);
    root(&rig, 1, NULL);
    rig_window(&rig, 1, 0, 0);
    child(&rig, 2);
    ck_assert(rig_linked(&rig, 1) && rig_bare(&rig, 2));
    rig_close(&rig);
}
END_TEST

START_TEST(with_candidates_local_root_no_child_is_waited_for)
{
    struct rig rig;
    rig_open(&rig, "{candidates: local_root}");
    rig_warm(&rig);
    for (uint64_t id = 1; id < 4; id++) {
        child(&rig, id);
        ck_assert(rig_bare(&rig, id));
        rig_window(&rig, id, 0, 0);
    }
    rig_close(&rig);
}
END_TEST

/* A profile of the moment, with a sample of no span. */
static void heap(struct rig *rig, uint64_t id)
{
    RIG_PROFILE(rig, .name = "memory", .type = "x", .time = rig_now(rig), .ids = {id});
}

START_TEST(roots_of_a_service_with_memory_profiles_alone_pass_at_once_after_the_first_hold)
{
    struct rig rig;
    rig_open(&rig, "{}");
    rig_advance(&rig, 2 * S);
    for (uint64_t id = 1; rig_now(&rig) < 60 * S; id++) {
        root(&rig, id, "0000000000000001");
        heap(&rig, 77);
        ck_assert_int_eq(rig_waits(&rig, id), rig_now(&rig) < 47 * S);
        rig_advance(&rig, 5 * S);
    }
    for (uint64_t id = 1; id <= 12; id++)
        ck_assert(rig_bare(&rig, id));
    ck_assert(rig_explains(&rig, "not linked 12 (no confirming sample has a span id 12)"));
    /* The first CPU profile makes spans wait again. */
    RIG_PROFILE(&rig, .time = rig_now(&rig) - 10 * S, .duration = 10 * S, .ids = {78});
    root(&rig, 20, NULL);
    ck_assert(rig_waits(&rig, 20));
    rig_window(&rig, 20, 0, 0);
    ck_assert(rig_linked(&rig, 20));
    rig_close(&rig);
}
END_TEST

START_TEST(roots_of_a_service_whose_samples_carry_no_ids_pass_at_once_until_one_does)
{
    struct rig rig;
    rig_open(&rig, "{}");
    rig_advance(&rig, 2 * S);
    root(&rig, 1, "0000000000000001");
    go_on(&rig, 60 * S);
    ck_assert(rig_bare(&rig, 1));
    for (uint64_t id = 10; id < 15; id++) {
        root(&rig, id, "000000000000000f");
        ck_assert(rig_bare(&rig, id)); /* with its mark removed */
        go_on(&rig, rig_now(&rig) + 10 * S);
    }
    ck_assert(rig_explains(&rig, "spans pass at once, since no confirming sample has a span id"));
    rig_window(&rig, 99, 0, 0);
    root(&rig, 20, "0000000000000014");
    ck_assert(rig_waits(&rig, 20));
    go_on(&rig, rig_now(&rig) + 10 * S);
    rig_window(&rig, 20, 0, 0);
    ck_assert(rig_linked(&rig, 20));
    rig_close(&rig);
}
END_TEST

START_TEST(a_sample_without_an_id_is_no_reason_before_there_was_a_root_to_name)
{
    struct rig rig;
    rig_open(&rig, "{}");
    go_on(&rig, 100 * S); /* a service that only started up */
    root(&rig, 1, NULL);
    ck_assert(rig_waits(&rig, 1));
    rig_advance(&rig, 5 * S);
    rig_window(&rig, 1, 0, 0);
    ck_assert(rig_linked(&rig, 1));
    rig_close(&rig);
}
END_TEST

START_TEST(after_a_long_idle_time_the_next_profile_judges)
{
    struct rig rig;
    rig_open(&rig, "{remember: 2m}");
    rig_warm(&rig);
    root(&rig, 1, "0000000000000001");
    rig_window(&rig, 1, 0, 0);
    /* Roots keep arriving, and nothing is sampled. */
    uint64_t id = 100, resumed = RIG_WARM + 600 * S;
    for (; rig_now(&rig) < resumed; rig_advance(&rig, 10 * S))
        root(&rig, id++, "0000000000000001");
    rig_advance(&rig, 5 * S);
    root(&rig, 2, "0000000000000002");
    root(&rig, 3, "0000000000000003");
    rig_advance(&rig, 5 * S);
    rig_window(&rig, 2, 0, 0);
    ck_assert(rig_linked(&rig, 2));
    rig_advance(&rig, 8 * S);
    ck_assert(rig_bare(&rig, 3));
    ck_assert(rig_explains(&rig, "forwarded unchanged 0"));
    rig_close(&rig);
}
END_TEST

START_TEST(a_late_sample_of_a_span_given_up_makes_the_rules_careful_for_a_minute)
{
    struct rig rig;
    rig_open(&rig, "{}");
    rig_warm(&rig);
    root(&rig, 1, NULL);
    go_on(&rig, RIG_WARM + 10 * S);
    rig_advance(&rig, S);
    ck_assert(rig_bare(&rig, 1)); /* at the end of its window */
    ck_assert(rig_explains(&rig, "decided once their process has uploaded up to their end"));
    RIG_PROFILE(&rig, .time = RIG_WARM - 5 * S, .duration = 10 * S, .ids = {1});
    ck_assert(rig_explains(&rig, "1 arrived after their span had left"));
    ck_assert(rig_explains(&rig, "s after their end"));
    rig_close(&rig);
}
END_TEST

START_TEST(a_clock_that_is_behind_is_learnt_from_the_first_span_given_up_too_early)
{
    struct rig rig;
    rig_open(&rig, "{}");
    rig_warm(&rig);
    /* Spans' times are 5 s behind: one that ends at 9 s seems to end at 4 s. */
    RIG_SPANS(&rig, {.id = 1, .start = RIG_WARM - 6 * S, .end = RIG_WARM - 4 * S});
    rig_advance(&rig, S);
    ck_assert(rig_bare(&rig, 1));
    rig_advance(&rig, 9 * S);
    rig_window(&rig, 1, 0, 0);
    ck_assert(rig_explains(&rig, "windows may be 3.9 s ahead of its spans, or of this clock"));
    rig_close(&rig);
}
END_TEST

/* Roots of "shop" in requests of a hundred, which began now and end one after another. */
static uint64_t hold_many(struct rig *rig, uint64_t first, size_t count)
{
    struct rig_span spans[100];
    uint64_t begun = rig_now(rig);
    rig_advance(rig, S);
    for (uint64_t end = first + count; first < end; first += 100) {
        for (uint64_t i = 0; i < 100; i++)
            spans[i] = (struct rig_span){.id = first + i, .start = begun, .end = begun + first + i};
        rig_spans(rig, spans, 100);
    }
    return first;
}

START_TEST(more_than_leave_at_once_are_all_judged_in_one_tick_in_order)
{
    struct rig rig;
    rig_open(&rig, "{}");
    rig_warm(&rig);
    uint64_t end = hold_many(&rig, 1, 2 * WAITING_AT_ONCE + 1000);
    rig_advance(&rig, 10 * S);
    ck_assert_uint_eq(rig.traces.count, 0);
    rig_window(&rig, 0, 0, 0);
    rig_advance(&rig, S);
    rig_collect(&rig);
    ck_assert_uint_eq(rig.count, end - 1);
    for (size_t i = 0; i < rig.count; i++)
        ck_assert_uint_eq(rig.out[i].id, i + 1);
    ck_assert_ptr_null(rig_self(&rig)->due.first);
    rig_close(&rig);
}
END_TEST

START_TEST(an_upload_with_many_ids_links_them_all)
{
    struct rig rig;
    rig_open(&rig, "{}");
    rig_warm(&rig);
    uint64_t end = hold_many(&rig, 1, 3000);
    RIG_PROFILE(&rig, .time = RIG_WARM, .duration = S, .first = 1, .first_count = 2999);
    rig_collect(&rig);
    ck_assert_uint_eq(rig.count, 2999);
    ck_assert(rig_waits(&rig, end - 1));
    rig_close(&rig);
}
END_TEST

/* What happens while a large upload is read, each time that the lock is released. */
static void (*meanwhile)(struct rig *rig, unsigned turn);
static struct rig *meanwhile_rig;
static unsigned turns;
static _Thread_local bool reads_the_upload;

void __real_release_send(struct correlation *self, struct release *release);
void __wrap_release_send(struct correlation *self, struct release *release);

void __wrap_release_send(struct correlation *self, struct release *release)
{
    if (meanwhile && reads_the_upload) {
        reads_the_upload = false; /* except for what happens meanwhile */
        meanwhile(meanwhile_rig, ++turns);
        reads_the_upload = true;
    }
    __real_release_send(self, release);
}

/* An upload with this many ids, from 1 on. */
static void read_upload(struct rig *rig, unsigned ids, void (*hook)(struct rig *rig, unsigned turn))
{
    meanwhile_rig = rig;
    meanwhile = hook;
    reads_the_upload = true;
    RIG_PROFILE(rig, .time = RIG_WARM - S, .duration = S, .first = 1, .first_count = ids);
    reads_the_upload = false;
    meanwhile = NULL;
    ck_assert_uint_gt(turns, 0);
}

static void hold_some(struct rig *rig, unsigned turn)
{
    if (turn > 1)
        return;
    fake_clock_advance(&rig->clock, S);
    root(rig, 1000, NULL);
}

START_TEST(a_span_that_comes_while_its_samples_are_read_is_linked_and_waited_no_time)
{
    struct rig rig;
    rig_open(&rig, "{}");
    rig_warm(&rig);
    root(&rig, 1, NULL);
    read_upload(&rig, 1000, hold_some);
    ck_assert(rig_linked(&rig, 1) && rig_linked(&rig, 1000));
    ck_assert(rig_explains(&rig, "delay added 0.0 s on average over 2 spans, 0.0 s at most"));
    rig_close(&rig);
}
END_TEST

/* A request's other spans are handed on while samples of the waiting ones arrive. */
static struct on_the_way {
    struct rig *rig;
    const struct component *sink;
    sem_t arrived, may_go;
    bool in_thread, taken;
    pthread_t thread;
} on_the_way;

static enum verdict take_slowly(void *self, struct batch *batch, struct outlet *next)
{
    struct rig *rig = on_the_way.rig;
    bool first = !on_the_way.taken;
    on_the_way.taken = true;
    if (first && on_the_way.in_thread) {
        sem_post(&on_the_way.arrived);
        sem_wait(&on_the_way.may_go);
    } else if (first) {
        rig_window(rig, 800, 0, 0);
    }
    return on_the_way.sink->consume(self, batch, next);
}

static void hook_sink(struct rig *rig, bool in_thread)
{
    static struct component slow;
    on_the_way = (struct on_the_way){
        .rig = rig, .sink = rig->traces.instance.component, .in_thread = in_thread};
    sem_init(&on_the_way.arrived, 0, 0);
    sem_init(&on_the_way.may_go, 0, 0);
    slow = *on_the_way.sink;
    slow.consume = take_slowly;
    rig->traces.instance.component = &slow;
}

/* A root that has to wait, and a child that does not. */
static void *send_both(void *ctx)
{
    struct rig *rig = ctx;
    uint64_t now = rig_now(rig);
    RIG_SPANS(rig, {.id = 800, .start = now - S, .end = now},
              {.id = 801, .parent = 800, .start = now - S, .end = now});
    return NULL;
}

START_TEST(a_root_whose_samples_come_while_the_rest_of_its_request_goes_on_is_linked)
{
    struct rig rig;
    rig_open(&rig, "{}");
    rig_warm(&rig);
    hook_sink(&rig, false);
    send_both(&rig);
    rig.traces.instance.component = on_the_way.sink;
    ck_assert(rig_linked(&rig, 800) && rig_bare(&rig, 801));
    rig_close(&rig);
}
END_TEST

/* Of 2,000 ids the index has 511, 1023 and 1535 at turns 1 to 3; then held spans are looked up, up
 * to these ids at turns 4 to 6. The root is decided at turn 1 and held at turn 5. */
static void decide_and_hold(struct rig *rig, unsigned turn)
{
    if (turn == 1) {
        pthread_create(&on_the_way.thread, NULL, send_both, rig);
        sem_wait(&on_the_way.arrived);
    } else if (turn == 5) {
        sem_post(&on_the_way.may_go);
        pthread_join(on_the_way.thread, NULL);
    }
}

START_TEST(so_it_is_where_the_upload_is_being_read_all_the_while)
{
    struct rig rig;
    rig_open(&rig, "{}");
    rig_warm(&rig);
    hook_sink(&rig, true);
    read_upload(&rig, 2000, decide_and_hold);
    ck_assert_uint_ge(turns, 6);
    rig.traces.instance.component = on_the_way.sink;
    ck_assert(rig_linked(&rig, 800) && rig_bare(&rig, 801));
    rig_close(&rig);
}
END_TEST

/* Held spans must not be accessed meanwhile; the sanitizer reports it if they are. */
static void forbid(struct rig *rig, bool forbidden)
{
    const struct segment *each = rig_self(rig)->hold.oldest;
    for (; each; each = each->newer)
        if (forbidden)
            ASAN_POISON_MEMORY_REGION(each->spans, each->count * sizeof *each->spans);
        else
            ASAN_UNPOISON_MEMORY_REGION(each->spans, each->count * sizeof *each->spans);
}

START_TEST(an_upload_without_ids_looks_at_no_span_in_the_hold)
{
    struct rig rig;
    rig_open(&rig, "{}");
    rig_warm(&rig);
    hold_many(&rig, 1, 60000);
    rig_advance(&rig, S);
    ck_assert_uint_eq(rig_self(&rig)->hold.spans, 60000);
    forbid(&rig, true);
    for (int i = 0; i < 20; i++) {
        heap(&rig, 0);
        RIG_PROFILE(&rig, .name = "goroutines", .type = "x", .time = rig_now(&rig));
        RIG_PROFILE(&rig, .service = "other", .time = rig_now(&rig) - S, .duration = S);
        RIG_PROFILE(&rig, .time = rig_now(&rig) - 20 * S, .duration = 10 * S);
        rig_advance(&rig, S / 10);
    }
    forbid(&rig, false);
    ck_assert_uint_eq(rig_self(&rig)->hold.spans, 60000);
    rig_close(&rig);
}
END_TEST

START_TEST(children_that_wait_for_a_root_leave_with_what_became_of_it)
{
    struct rig rig;
    rig_open(&rig, "{children: inherit}");
    rig_warm(&rig);
    /* The child's own window is over while its root still runs. */
    RIG_SPANS(&rig, {.id = 2, .parent = 1, .start = RIG_WARM - S, .end = RIG_WARM});
    RIG_SPANS(&rig, {.id = 12, .parent = 11, .start = RIG_WARM - S, .end = RIG_WARM});
    go_on(&rig, RIG_WARM + 10 * S);
    rig_advance(&rig, 5 * S);
    ck_assert(rig_waits(&rig, 2) && rig_waits(&rig, 12));
    root(&rig, 1, NULL);
    root(&rig, 11, NULL);
    rig_advance(&rig, 5 * S);
    rig_window(&rig, 1, 0, 0);
    rig_advance(&rig, 2 * S);
    ck_assert(rig_linked(&rig, 1) && rig_linked_as(&rig, 2, 1));
    ck_assert(rig_bare(&rig, 11) && rig_bare(&rig, 12));
    rig_close(&rig);
}
END_TEST

/* The first that comes after its root was decided leaves at once, and its samples are learnt from.
 */
static void children_get_their_own(bool root_has_samples)
{
    struct rig rig;
    rig_open(&rig, "{children: inherit}");
    rig_warm(&rig);
    for (uint64_t id = 100; id < 400; id += 100) {
        root(&rig, id, NULL);
        rig_advance(&rig, 10 * S);
        rig_window(&rig, root_has_samples ? id : 0, 0, 0);
        rig_advance(&rig, 10 * S);
        rig_window(&rig, 0, 0, 0);
        ck_assert_int_eq(rig_linked(&rig, id), root_has_samples);
        RIG_SPANS(&rig,
                  {.id = id + 1, .parent = id, .start = rig_now(&rig) - S, .end = rig_now(&rig)});
        ck_assert_int_eq(rig_waits(&rig, id + 1), id > 100);
        rig_advance(&rig, 10 * S);
        rig_window(&rig, id + 1, 0, 0);
        ck_assert_int_eq(rig_linked_as(&rig, id + 1, id + 1), id > 100);
    }
    rig_close(&rig);
}

START_TEST(children_with_samples_get_their_own_id_whatever_became_of_their_root)
{
    children_get_their_own(false);
    children_get_their_own(true);
}
END_TEST

SUITE_MAIN("correlation waiting", a_span_that_names_another_id_is_linked_by_that_one_at_once,
           a_span_that_names_another_id_and_has_samples_under_its_own_is_linked_when_decided,
           one_sample_links_all_spans_of_its_id_in_its_service_and_none_of_another,
           labelled_children_are_waited_for_and_linked_from_the_second_upload_on,
           so_they_are_in_a_service_that_has_run_for_long,
           children_are_not_waited_for_any_more_when_none_had_samples_for_remember,
           samples_of_roots_make_no_children_wait,
           with_candidates_local_root_no_child_is_waited_for,
           roots_of_a_service_with_memory_profiles_alone_pass_at_once_after_the_first_hold,
           roots_of_a_service_whose_samples_carry_no_ids_pass_at_once_until_one_does,
           a_sample_without_an_id_is_no_reason_before_there_was_a_root_to_name,
           after_a_long_idle_time_the_next_profile_judges,
           a_late_sample_of_a_span_given_up_makes_the_rules_careful_for_a_minute,
           a_clock_that_is_behind_is_learnt_from_the_first_span_given_up_too_early,
           more_than_leave_at_once_are_all_judged_in_one_tick_in_order,
           an_upload_with_many_ids_links_them_all,
           a_span_that_comes_while_its_samples_are_read_is_linked_and_waited_no_time,
           a_root_whose_samples_come_while_the_rest_of_its_request_goes_on_is_linked,
           so_it_is_where_the_upload_is_being_read_all_the_while,
           an_upload_without_ids_looks_at_no_span_in_the_hold,
           children_that_wait_for_a_root_leave_with_what_became_of_it,
           children_with_samples_get_their_own_id_whatever_became_of_their_root)
