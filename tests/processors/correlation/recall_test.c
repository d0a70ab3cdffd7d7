/* A process that was killed, and its successor with what the journal kept. */
#include "lib/journal/journal.h"
#include "processors/correlation/known/notes.h"
#include "tests/processors/correlation/rig.h"

enum { MOST_NOTES = 64 };

/* What any process so far has noted, and until when it is kept. */
static struct kept {
    struct bytes content;
    uint64_t until; /* wall */
} kept[MOST_NOTES];
static size_t kept_count;
static const struct clock *kept_clock;

void __wrap_journal_note(struct journal *journal, struct view owner, struct view content,
                         uint64_t keep_ns);

void __wrap_journal_note(struct journal *journal, struct view owner, struct view content,
                         uint64_t keep_ns)
{
    (void)journal;
    ck_assert(view_eq(owner, VIEW("correlation")));
    ck_assert_uint_lt(kept_count, MOST_NOTES);
    struct kept *note = &kept[kept_count++];
    bytes_init(&note->content, SIZE_MAX, NULL);
    bytes_append_view(&note->content, content);
    note->until = clock_wall(kept_clock) + keep_ns;
}

/* A process that starts this long after RIG_START, with what was kept until then. */
static void start(struct rig *rig, const char *yaml, uint64_t at)
{
    /* Opened once to fill the configuration, and again at its time. */
    rig_open(rig, yaml);
    processor_correlation.close(rig->self);
    rig->env.journal = (struct journal *)(void *)kept; /* only compared with NULL */
    fake_clock_advance(&rig->clock, at);
    kept_clock = &rig->clock.clock;
    char error[256];
    size_t noted = kept_count;
    ck_assert(processor_correlation.open(rig->self, &rig->env, error, sizeof error));
    for (size_t i = 0; i < noted; i++)
        if (kept[i].until >= clock_wall(kept_clock))
            processor_correlation.recall(rig->self, bytes_view(&kept[i].content));
}

/* kill -9: nothing more is noted or handed on. */
static void kill_it(struct rig *rig)
{
    collecting_sink_clear(&rig->traces);
    rig->env.journal = NULL;
    rig_close(rig);
}

static void forget_all(void)
{
    for (size_t i = 0; i < kept_count; i++)
        bytes_release(&kept[i].content);
    kept_count = 0;
}

static void span(struct rig *rig, uint64_t id, uint64_t from, uint64_t until)
{
    char mark[17] = "";
    struct rig_span row = {.id = id, .start = from, .end = until, .attributes = {mark}};
    span_id_format(id, mark);
    rig_spans(rig, &row, 1);
}

static void go_on(struct rig *rig, uint64_t until)
{
    while (rig_now(rig) < until) {
        rig_advance(rig, 10 * S);
        rig_window(rig, 0, 0, 0);
    }
}

START_TEST(spans_of_a_process_killed_after_more_than_remember_are_judged_as_without_the_kill)
{
    struct rig rig;
    uint64_t killed = 800 * S;
    start(&rig, "{remember: 5m}", 0);
    while (rig_now(&rig) < killed) {
        rig_advance(&rig, 20 * S);
        rig_window(&rig, rig_now(&rig) == killed ? 1 : 0, 0, 0);
    }
    kill_it(&rig);
    start(&rig, "{remember: 5m}", killed + 5 * S);
    /* Replayed: one span with samples, one without, and one that cannot be decided. */
    span(&rig, 1, killed - 20 * S, killed - S);
    span(&rig, 2, killed - 20 * S, killed - S);
    span(&rig, 3, killed - 310 * S, killed - S);
    ck_assert(rig_linked(&rig, 1));
    go_on(&rig, killed + 80 * S);
    ck_assert(rig_bare(&rig, 2));
    ck_assert_uint_eq(rig_left(&rig, 3)->attributes, 1);
    ck_assert(rig_explains(&rig, "forwarded unchanged 1 (started before spanlink or a reload 1)"));
    rig_close(&rig);
    forget_all();
}
END_TEST

START_TEST(what_began_before_the_process_that_was_killed_keeps_its_mark)
{
    struct rig rig;
    start(&rig, "{}", 100 * S);
    go_on(&rig, 150 * S);
    kill_it(&rig);
    start(&rig, "{}", 152 * S);
    span(&rig, 1, 99 * S, 140 * S);
    span(&rig, 2, 101 * S, 140 * S);
    go_on(&rig, 240 * S);
    ck_assert_uint_eq(rig_left(&rig, 1)->attributes, 1);
    ck_assert(rig_bare(&rig, 2));
    rig_close(&rig);
    forget_all();
}
END_TEST

static void forget_oldest(size_t count)
{
    for (size_t i = 0; i < count; i++)
        bytes_release(&kept[i].content);
    kept_count -= count;
    memmove(kept, kept + count, kept_count * sizeof *kept);
}

/* The journal drops the oldest notes for want of room. */
START_TEST(what_began_before_the_oldest_note_that_is_left_keeps_its_mark)
{
    struct rig rig;
    start(&rig, "{}", 100 * S);
    go_on(&rig, 150 * S);
    kill_it(&rig);
    forget_oldest(4); /* up to that of the window that ended at 130 s */
    start(&rig, "{}", 152 * S);
    span(&rig, 1, 105 * S, 141 * S);
    span(&rig, 2, 141 * S, 149 * S);
    go_on(&rig, 240 * S);
    ck_assert_uint_eq(rig_left(&rig, 1)->attributes, 1);
    ck_assert(rig_bare(&rig, 2));
    rig_close(&rig);
    forget_all();
}
END_TEST

START_TEST(without_notes_what_began_before_the_start_keeps_its_mark)
{
    struct rig rig;
    start(&rig, "{}", 152 * S);
    span(&rig, 2, 140 * S, 150 * S);
    go_on(&rig, 240 * S);
    ck_assert_uint_eq(rig_left(&rig, 2)->attributes, 1);
    rig_close(&rig);
    forget_all();
}
END_TEST

/* Spans wait longer than samples are remembered if that is set to a minute. */
START_TEST(with_a_short_memory_spans_that_had_waited_are_judged_too)
{
    struct rig rig;
    start(&rig, "{remember: 1m}", 0);
    go_on(&rig, 280 * S);
    rig_advance(&rig, 10 * S);
    rig_window(&rig, 1, 0, 0);
    go_on(&rig, 300 * S);
    kill_it(&rig);
    start(&rig, "{remember: 1m}", 300 * S);
    span(&rig, 1, 190 * S, 285 * S);
    span(&rig, 2, 190 * S, 285 * S);
    go_on(&rig, 400 * S);
    ck_assert(rig_linked(&rig, 1) && rig_bare(&rig, 2));
    rig_close(&rig);
    forget_all();
}
END_TEST

START_TEST(a_second_kill_changes_nothing)
{
    struct rig rig;
    start(&rig, "{}", 0);
    go_on(&rig, 100 * S);
    kill_it(&rig);
    start(&rig, "{}", 101 * S);
    kill_it(&rig);
    start(&rig, "{}", 102 * S);
    span(&rig, 2, 10 * S, 99 * S);
    go_on(&rig, 200 * S);
    ck_assert(rig_bare(&rig, 2));
    rig_close(&rig);
    forget_all();
}
END_TEST

START_TEST(an_upload_that_is_sent_again_after_the_kill_counts_once)
{
    struct rig rig;
    const struct rig_profile profile = {.time = 20 * S, .duration = 10 * S, .ids = {7, 7, 7}};
    start(&rig, "{annotate: true}", 0);
    rig_advance(&rig, 30 * S);
    rig_push(&rig, &profile);
    kill_it(&rig);
    start(&rig, "{annotate: true}", 33 * S);
    rig_push(&rig, &profile);
    span(&rig, 7, 21 * S, 29 * S);
    ck_assert(rig_linked(&rig, 7));
    ck_assert_int_eq(rig_left(&rig, 7)->samples, 3);
    ck_assert_int_eq(rig_left(&rig, 7)->cpu_ns, 30000000);
    rig_close(&rig);
    forget_all();
}
END_TEST

START_TEST(what_tenants_sent_stays_theirs)
{
    struct rig rig;
    unsigned both = SIGNAL_BIT(SIGNAL_TRACES) | SIGNAL_BIT(SIGNAL_PROFILES);
    start(&rig, "{}", 0);
    rig.env.metadata_signals = both;
    rig_advance(&rig, 30 * S);
    rig_tenant(&rig, "a");
    rig_window(&rig, 7, 0, 0);
    kill_it(&rig);
    start(&rig, "{}", 31 * S);
    rig.env.metadata_signals = both;
    rig_tenant(&rig, "b");
    span(&rig, 7, 21 * S, 29 * S);
    ck_assert(rig_waits(&rig, 7));
    rig_tenant(&rig, "a");
    span(&rig, 7, 21 * S, 29 * S);
    ck_assert(rig_linked(&rig, 7));
    rig_close(&rig);
    forget_all();
}
END_TEST

START_TEST(that_a_services_profiles_cannot_be_read_is_known_again)
{
    struct rig rig;
    start(&rig, "{}", 0);
    rig_advance(&rig, 30 * S);
    struct buffer *payload = buffer_new(3, NULL, true);
    memcpy(payload->data, "xyz", 3);
    struct batch *batch = batch_new(SIGNAL_PROFILES, BATCH_OPAQUE, payload, 1, NULL);
    struct opaque_request *request = calloc(1, sizeof *request);
    request->query = strdup("name=shop&format=folded");
    batch_set_opaque(batch, request);
    rig_upload(&rig, batch);
    kill_it(&rig);
    start(&rig, "{}", 31 * S);
    span(&rig, 7, 21 * S, 29 * S);
    ck_assert_uint_eq(rig_left(&rig, 7)->attributes, 1);
    ck_assert(rig_explains(&rig, "span ids of profiles cannot be read 1"));
    rig_close(&rig);
    forget_all();
}
END_TEST

START_TEST(that_children_have_samples_is_known_again)
{
    struct rig rig;
    start(&rig, "{}", 0);
    rig_advance(&rig, 30 * S);
    RIG_SPANS(&rig, {.id = 2, .parent = 1, .start = 21 * S, .end = 29 * S});
    rig_window(&rig, 2, 0, 0);
    rig_advance(&rig, 10 * S);
    rig_window(&rig, 0, 0, 0);
    kill_it(&rig);
    start(&rig, "{}", 41 * S);
    RIG_SPANS(&rig, {.id = 4, .parent = 3, .start = 41 * S, .end = 45 * S});
    ck_assert(rig_waits(&rig, 4));
    rig_advance(&rig, 9 * S);
    rig_window(&rig, 4, 0, 0);
    ck_assert(rig_linked(&rig, 4));
    rig_close(&rig);
    forget_all();
}
END_TEST

START_TEST(foreign_notes_and_notes_of_tomorrow_do_no_harm)
{
    struct rig rig;
    struct bytes note;
    start(&rig, "{}", 100 * S);
    processor_correlation.recall(rig.self, VIEW("\x12\xff not a note"));
    /* The wall clock was set back since. */
    struct span_figures ids[] = {{7, 1, false, 1}};
    struct upload upload = {
        .service = VIEW("shop"),
        .has_samples = true,
        .window = {.kind = KIND_PROCESS_CPU, .end = RIG_START + 900 * S, .length = 10 * S},
        .ids = ids,
        .count = 1};
    const struct notes tomorrow = {&upload, RIG_START + 500 * S, RIG_START + 900 * S};
    bytes_init(&note, SIZE_MAX, NULL);
    ck_assert(notes_write(&tomorrow, &note));
    processor_correlation.recall(rig.self, bytes_view(&note));
    bytes_release(&note);
    span(&rig, 7, 101 * S, 102 * S);
    span(&rig, 8, 99 * S, 102 * S);
    ck_assert(rig_linked(&rig, 7));
    go_on(&rig, 200 * S);
    ck_assert_uint_eq(rig_left(&rig, 8)->attributes, 1);
    rig_close(&rig);
    forget_all();
}
END_TEST

SUITE_MAIN("correlation recall",
           spans_of_a_process_killed_after_more_than_remember_are_judged_as_without_the_kill,
           what_began_before_the_process_that_was_killed_keeps_its_mark,
           what_began_before_the_oldest_note_that_is_left_keeps_its_mark,
           without_notes_what_began_before_the_start_keeps_its_mark,
           with_a_short_memory_spans_that_had_waited_are_judged_too, a_second_kill_changes_nothing,
           an_upload_that_is_sent_again_after_the_kill_counts_once, what_tenants_sent_stays_theirs,
           that_a_services_profiles_cannot_be_read_is_known_again,
           that_children_have_samples_is_known_again,
           foreign_notes_and_notes_of_tomorrow_do_no_harm)
