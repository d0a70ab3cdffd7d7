/* The component's table: its keys, its checks, and its explain lines. */
#include "tests/processors/correlation/rig.h"

/* Returns the problems of a section. Freed by the caller. */
static char *faults_of(const char *yaml)
{
    struct problems problems = {0};
    char text[256];
    snprintf(text, sizeof text, "yaml:{correlation: %s}", yaml);
    struct settings_source source = {SETTINGS_FILE, text};
    struct settings *settings = settings_load(&source, 1, &problems);
    const struct node *section = node_get(settings_root(settings), "correlation");
    void *self = calloc(1, processor_correlation.size);
    if (keys_fill(processor_correlation.keys, section, section, "correlation", self, &problems))
        keys_check(processor_correlation.check, self, section, section, "correlation", &problems);
    char *said = NULL;
    size_t size;
    FILE *out = open_memstream(&said, &size);
    problems_print(&problems, out);
    fclose(out);
    problems_release(&problems);
    keys_release(processor_correlation.keys, self);
    settings_free(settings);
    free(self);
    return said;
}

static bool refuses(const char *yaml, const char *sentence)
{
    char *said = faults_of(yaml);
    bool found = strstr(said, sentence);
    if (!found)
        fprintf(stderr, "%s: %s", yaml, said);
    free(said);
    return found;
}

static bool accepts(const char *yaml)
{
    char *said = faults_of(yaml);
    bool none = !*said;
    if (!none)
        fprintf(stderr, "%s: %s", yaml, said);
    free(said);
    return none;
}

START_TEST(defaults_are_those_of_the_manual)
{
    struct rig rig;
    rig_open(&rig, "{}");
    const struct correlation_config *config = &rig_self(&rig)->config;
    ck_assert_int_eq(config->link, LINK_CONFIRMED);
    ck_assert_int_eq(config->candidates, CANDIDATES_AUTO);
    ck_assert_uint_eq(config->hold, DURATION_AUTO);
    ck_assert_uint_eq(config->confirm_by.count, 1);
    ck_assert_str_eq(config->confirm_by.items[0], "auto");
    ck_assert_uint_eq(config->remember, 3600 * S);
    ck_assert_int_eq(config->index_max_mib, 16);
    ck_assert_int_eq(config->hold_max_mib, 32);
    ck_assert_int_eq(config->hold_max_spans, 0);
    ck_assert_int_eq(config->unconfirmed, UNCONFIRMED_REMOVE);
    ck_assert_int_eq(config->children, CHILDREN_NONE);
    ck_assert(!config->annotate);
    ck_assert_str_eq(key_map_get(&config->remap, "service.name"), "service_name");
    ck_assert_int_eq(config->trace_id, TRACE_ID_KEEP);
    ck_assert_int_eq(config->profile_time, PROFILE_TIME_AUTO);
    rig_close(&rig);
}
END_TEST

START_TEST(confirm_by_is_auto_or_kinds)
{
    ck_assert(accepts("{confirm_by: auto}"));
    ck_assert(accepts("{confirm_by: [auto]}"));
    ck_assert(accepts("{confirm_by: [process_cpu, wall, memory, alloc, goroutine]}"));
    ck_assert(refuses("{confirm_by: [cpuu]}", "confirm_by: \"cpuu\" is not a kind of profile"));
    ck_assert(refuses("{confirm_by: [auto, wall]}", "expected auto alone"));
    ck_assert(refuses("{confirm_by: []}", "confirm_by: is empty"));
}
END_TEST

START_TEST(settings_that_cannot_work_are_refused)
{
    ck_assert(refuses("{remember: 10ms}", "remember: must be 1s or more"));
    ck_assert(refuses("{children: inherit, link: all}", "inherit needs link: confirmed"));
    ck_assert(refuses("{remap: {service.name: ''}}", "remap: names must not be empty"));
    ck_assert(refuses("{index_max_mib: 0}", "index_max_mib"));
    ck_assert(refuses("{hold: soon}", "hold"));
    ck_assert(accepts("{remap: {}, hold: 0s, hold_max_spans: 5, children: inherit}"));
}
END_TEST

enum fit { FITS, DOUBTFUL, REFUSED };

static enum fit fit_of(const char *yaml, unsigned signals)
{
    struct rig rig;
    bool severe = false;
    rig_open(&rig, yaml);
    const char *wrong = processor_correlation.misplaced(rig.self, signals, &severe);
    rig_close(&rig);
    return !wrong ? FITS : severe ? REFUSED : DOUBTFUL;
}

START_TEST(confirmed_links_need_both_signals)
{
    const unsigned traces = SIGNAL_BIT(SIGNAL_TRACES), profiles = SIGNAL_BIT(SIGNAL_PROFILES);
    ck_assert_int_eq(fit_of("{}", traces | profiles), FITS);
    ck_assert_int_eq(fit_of("{}", traces), REFUSED);
    ck_assert_int_eq(fit_of("{}", traces | SIGNAL_BIT(SIGNAL_LOGS)), REFUSED);
    ck_assert_int_eq(fit_of("{}", profiles), DOUBTFUL);
    ck_assert_int_eq(fit_of("{}", SIGNAL_BIT(SIGNAL_METRICS)), FITS);
    ck_assert_int_eq(fit_of("{link: local_root}", traces), FITS);
    ck_assert_int_eq(fit_of("{link: all}", traces), FITS);
}
END_TEST

START_TEST(an_empty_remap_turns_it_off)
{
    struct rig rig;
    rig_open(&rig, "{remap: {}}");
    ck_assert_uint_eq(rig_self(&rig)->remap.count, 0);
    rig_close(&rig);
}
END_TEST

START_TEST(it_tells_why_spans_have_no_flame_graph)
{
    struct rig rig;
    rig_open(&rig, "{}");
    rig_warm(&rig);
    RIG_PROFILE(&rig, .time = RIG_WARM - 9 * S, .duration = 9 * S, .ids = {1, 7, 8});
    RIG_SPANS(&rig, {.id = 1, .start = RIG_WARM - 10 * S, .end = RIG_WARM - S},
              {.id = 2, .start = RIG_WARM - S, .end = RIG_WARM},
              {.id = 3, .start = RIG_WARM - S, .end = RIG_WARM});
    ck_assert(rig_explains(&rig, "correlation: 3 span ids known, 0 evicted early; "
                                 "2 spans in the hold"));
    ck_assert(rig_explains(&rig, "service shop: spans linked 1, not linked 0"));
    ck_assert(rig_explains(&rig, "waiting 2"));
    ck_assert(rig_explains(&rig, "3 span ids in samples, 2 of them not linked to a span"));
    ck_assert(rig_explains(&rig, "process_cpu windows of up to 10.0 s, the last one ended 0.0 s "
                                 "ago, uploads up to 0.0 s late, from 2 processes"));
    ck_assert(rig_explains(&rig, "decided 12.5 s after their end"));
    rig_advance(&rig, 30 * S);
    rig_collect(&rig);
    ck_assert(rig_explains(&rig, "not linked 2 (hold ran out 2)"));
    ck_assert(rig_explains(&rig, "delay added 20.0 s on average over 2 spans, 20.0 s at most"));
    rig_close(&rig);
}
END_TEST

/* The samples show it while a span is held; later ones need not come first. */
START_TEST(spans_whose_samples_have_another_name_are_told_apart)
{
    struct rig rig;
    rig_open(&rig, "{}");
    RIG_SPANS(&rig, {.service = "shop", .id = 1, .end = S}, {.service = "bare", .id = 2, .end = S});
    rig_advance(&rig, 10 * S);
    RIG_PROFILE(&rig, .service = "shop-service", .duration = 10 * S, .ids = {1});
    rig_advance(&rig, 60 * S);
    RIG_SPANS(&rig, {.service = "shop", .id = 3, .start = 69 * S, .end = 70 * S});
    ck_assert(rig_explains(&rig, "service shop: spans linked 0, not linked 0, "
                                 "forwarded unchanged 2 (names differ 2)"));
    ck_assert(rig_explains(&rig, "service bare: spans linked 0, not linked 0, "
                                 "forwarded unchanged 1 (not profiled 1)"));
    rig_close(&rig);
}
END_TEST

START_TEST(a_name_that_cannot_be_seen_is_explained_escaped)
{
    struct rig rig;
    rig_open(&rig, "{}");
    RIG_SPANS(&rig, {.service = "sh\x1bop", .id = 1, .end = S});
    ck_assert(rig_explains(&rig, "service sh\\x1bop: spans linked 0"));
    rig_close(&rig);
}
END_TEST

START_TEST(samples_that_came_before_spans_of_another_name_tell_it_too)
{
    struct rig rig;
    rig_open(&rig, "{}");
    rig_advance(&rig, 10 * S);
    RIG_PROFILE(&rig, .service = "shop-service", .duration = 10 * S, .ids = {1, 2});
    RIG_SPANS(&rig, {.service = "shop", .id = 1, .end = S}, {.service = "shop", .id = 3, .end = S},
              {.service = "shop-service", .id = 2, .end = S},
              {.service = "caller", .id = 2, .end = S});
    rig_advance(&rig, 60 * S);
    rig_collect(&rig);
    ck_assert(rig_explains(&rig, "service shop: spans linked 0, not linked 0, "
                                 "forwarded unchanged 2 (names differ 2)"));
    ck_assert(rig_explains(&rig, "service caller: spans linked 0, not linked 0, "
                                 "forwarded unchanged 1 (not profiled 1)"));
    rig_close(&rig);
}
END_TEST

START_TEST(an_idle_instance_asks_for_no_tick)
{
    struct rig rig;
    rig_open(&rig, "{}");
    ck_assert_uint_eq(processor_correlation.tick(rig.self, rig.clock.mono), TIME_NEVER);
    rig_root(&rig, 1, 0, S);
    ck_assert_uint_lt(processor_correlation.tick(rig.self, rig.clock.mono), TIME_NEVER);
    rig_advance(&rig, 60 * S);
    ck_assert(rig_bare(&rig, 1));
    ck_assert_uint_eq(processor_correlation.tick(rig.self, rig.clock.mono), TIME_NEVER);
    rig_close(&rig);
}
END_TEST

START_TEST(close_is_legal_without_open)
{
    void *self = calloc(1, processor_correlation.size);
    processor_correlation.close(self);
    processor_correlation.close(self);
    free(self);
}
END_TEST

SUITE_MAIN("correlation", defaults_are_those_of_the_manual, confirm_by_is_auto_or_kinds,
           settings_that_cannot_work_are_refused, confirmed_links_need_both_signals,
           an_empty_remap_turns_it_off, it_tells_why_spans_have_no_flame_graph,
           spans_whose_samples_have_another_name_are_told_apart,
           a_name_that_cannot_be_seen_is_explained_escaped,
           samples_that_came_before_spans_of_another_name_tell_it_too,
           an_idle_instance_asks_for_no_tick, close_is_legal_without_open)
