/* What those who watch are told of decisions. */
#include "tests/processors/correlation/rig.h"

struct seen {
    struct watch watch;
    struct watcher watcher;
    struct watch_decision last;
    const struct watch_reason *roots_only; /* of the last window */
};

static void seen_passed(void *ctx, const struct batch *batch, bool linked)
{
    (void)ctx;
    (void)batch;
    (void)linked;
}

static void seen_decided(void *ctx, const struct watch_decision *decision)
{
    struct seen *seen = ctx;
    seen->last = *decision;
}

static void seen_sampled(void *ctx, const struct watch_window *window,
                         const struct watch_sample *samples, size_t count)
{
    struct seen *seen = ctx;
    seen->roots_only = window->roots_only;
    (void)samples;
    (void)count;
}

static void seen_attach(struct seen *seen, struct rig *rig)
{
    *seen = (struct seen){
        .watcher = {
            .ctx = seen, .passed = seen_passed, .decided = seen_decided, .sampled = seen_sampled}};
    watch_init(&seen->watch);
    watch_attach(&seen->watch, &seen->watcher);
    rig->env.watch = &seen->watch;
}

static void seen_close(struct seen *seen, struct rig *rig)
{
    rig_close(rig);
    watch_detach(&seen->watch, &seen->watcher);
    watch_release(&seen->watch);
}

/* When the span ended, as told once it has waited in vain, after RIG_START; 0: not known. */
static uint64_t told_end(uint64_t ahead)
{
    struct rig rig;
    struct seen seen;
    rig_open(&rig, "{hold: 5s}");
    seen_attach(&seen, &rig);
    rig_warm(&rig);
    rig_root(&rig, 1, RIG_WARM - S, RIG_WARM + ahead);
    rig_advance(&rig, 30 * S);
    ck_assert_uint_eq(seen.last.span_id, 1);
    ck_assert_uint_eq(seen.last.arrived, RIG_START + RIG_WARM);
    uint64_t ended = seen.last.ended;
    seen_close(&seen, &rig);
    return ended ? ended - RIG_START : 0;
}

START_TEST(the_end_of_a_span_is_told_unless_its_clock_is_wrong)
{
    ck_assert_uint_eq(told_end(0), RIG_WARM);
    ck_assert_uint_eq(told_end(S / 10), RIG_WARM);
    ck_assert_uint_eq(told_end(60 * S), 0);
}
END_TEST

/* Another instance in place of the one before, as after a reload. */
static void replace(struct rig *rig)
{
    char error[256];
    struct correlation_config config = rig_self(rig)->config;
    void *old = rig->self;
    rig->self = calloc(1, processor_correlation.size);
    rig_self(rig)->config = config;
    ck_assert(processor_correlation.open(rig->self, &rig->env, error, sizeof error));
    processor_correlation.close(old);
    free(old);
}

/* The text of a span that starts then and arrives after the reload. */
static const char *told_of_start(struct seen *seen, struct rig *rig, uint64_t id, uint64_t start)
{
    rig_root(rig, id, start, rig_now(rig));
    rig_advance(rig, 30 * S);
    ck_assert_uint_eq(seen->last.span_id, id);
    return seen->last.reason->word ? seen->last.reason->text : NULL;
}

START_TEST(a_reload_is_named_where_it_is_why_nothing_was_known)
{
    struct rig rig;
    struct seen seen;
    rig_open(&rig, "{hold: 5s}");
    seen_attach(&seen, &rig);
    rig_advance(&rig, 50 * S);
    replace(&rig);
    rig_advance(&rig, 30 * S);
    replace(&rig);
    rig_warm(&rig);
    const char *reload = "By its own time it started before a reload opened this correlation "
                         "processor, so profiles of its time may have been missed.";
    ck_assert_str_eq(told_of_start(&seen, &rig, 1, 10 * S), reload);
    ck_assert_str_eq(seen.last.reason->word, "before_start");
    ck_assert_str_eq(told_of_start(&seen, &rig, 2, 70 * S), reload);
    ck_assert_str_eq(told_of_start(&seen, &rig, 3, UINT64_C(0) - 10 * S),
                     "By its own time it started before spanlink did, so profiles of its time may "
                     "have been missed.");
    ck_assert_ptr_null(strstr(told_of_start(&seen, &rig, 4, 90 * S), "reload"));
    seen_close(&seen, &rig);
}
END_TEST

START_TEST(so_is_one_that_added_the_processor)
{
    for (int replaced = 0; replaced < 2; replaced++) {
        struct rig rig;
        struct seen seen;
        struct meter added; /* of another id */
        rig_open(&rig, "{hold: 5s}");
        meter_init(&added, "correlation/added");
        rig.env.by_reload = true;
        rig.env.meter = &added;
        seen_attach(&seen, &rig);
        rig_advance(&rig, 50 * S);
        replace(&rig);
        if (replaced)
            replace(&rig);
        rig_warm(&rig);
        const char *text = told_of_start(&seen, &rig, 1, UINT64_C(0) - 10 * S);
        ck_assert_ptr_nonnull(strstr(text, "before a reload opened"));
        seen_close(&seen, &rig);
        meter_release(&added);
    }
}
END_TEST

/* Samples of the root may come later. */
START_TEST(of_a_child_whose_root_has_no_link_only_what_stays_true_is_told)
{
    struct rig rig;
    struct seen seen;
    rig_open(&rig, "{hold: 5s, children: inherit}");
    seen_attach(&seen, &rig);
    rig_warm(&rig);
    RIG_SPANS(&rig, {.id = 2, .parent = 1, .kind = 1, .start = RIG_WARM - S, .end = RIG_WARM},
              {.id = 1, .start = RIG_WARM - S, .end = RIG_WARM});
    rig_advance(&rig, 8 * S);
    ck_assert_uint_eq(seen.last.span_id, 2);
    ck_assert_str_eq(seen.last.reason->word, "no_parent");
    ck_assert_str_eq(seen.last.reason->text,
                     "No sample names it, and its local root had no link when it was decided.");
    seen_close(&seen, &rig);
}
END_TEST

START_TEST(why_only_local_roots_have_links_is_told_with_a_profile)
{
    static const struct {
        const char *section, *key;
    } all[] = {{"{}", NULL},
               {"{candidates: all}", NULL},
               {"{link: all}", NULL},
               {"{candidates: local_root}", "`candidates` of the correlation processor"},
               {"{link: local_root}", "`link` of the correlation processor"}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct rig rig;
        struct seen seen;
        rig_open(&rig, all[i].section);
        seen_attach(&seen, &rig);
        rig_advance(&rig, 10 * S);
        rig_window(&rig, 1, 0, 0);
        ck_assert(!seen.roots_only == !all[i].key);
        ck_assert(!all[i].key || strstr(seen.roots_only->text, all[i].key));
        seen_close(&seen, &rig);
    }
}
END_TEST

SUITE_MAIN("correlation: tell", why_only_local_roots_have_links_is_told_with_a_profile,
           the_end_of_a_span_is_told_unless_its_clock_is_wrong,
           a_reload_is_named_where_it_is_why_nothing_was_known, so_is_one_that_added_the_processor,
           of_a_child_whose_root_has_no_link_only_what_stays_true_is_told)
