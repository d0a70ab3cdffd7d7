/* Keeps a share of traces or log records. */
#include "pipeline/batch_pass.h"
#include "pipeline/component.h"
#include "processors/probabilistic_sampler/linked_traces.h"
#include "processors/probabilistic_sampler/randomness.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { SPAN_TRACE_ID = 1, SPAN_STATE = 3, LOG_TRACE_ID = 9, TRACE_ID = 16 };

enum mode { HASH_SEED, EQUALIZING, PROPORTIONAL, UNSET };
static const char *const modes[] = {"hash_seed", "equalizing", "proportional", "", NULL};
enum source { FROM_TRACE_ID, FROM_RECORD };
static const char *const sources[] = {"traceID", "record", NULL};

/* What decided on an item, the label `policy` of the counters. The Collector has all but LINKED. */
enum policy { MISSING, TRACE_ID_HASH, TRACE_ID_W3C, RANDOMNESS, PRIORITY, ATTRIBUTE, LINKED };
enum { POLICIES = LINKED + 1 };

struct counts {
    uint64_t kept[POLICIES], dropped[POLICIES];
};

struct sampler {
    double percentage;
    int64_t seed;
    int mode;
    bool fail_closed;
    int64_t precision;
    int source;
    char *from_attribute;
    char *priority;
    bool keep_linked;

    const struct env *env;
    struct linked_traces traces;
    uint64_t threshold; /* hash_seed, equalizing; NEVER: nothing is kept */
    double ratio;       /* proportional */
    _Atomic uint64_t kept[SIGNAL_COUNT][POLICIES], dropped[SIGNAL_COUNT][POLICIES];
};

static const struct key sampler_keys[] = {
    KEY_NUMBER(struct sampler, percentage, "sampling_percentage", "0", 0, 1e9,
               "share that is kept; 100 and more: all, 0: none"),
    KEY_INT(struct sampler, seed, "hash_seed", "0", 0, 4294967295.0,
            "of the hash in the mode hash_seed"),
    KEY_EXACT_CHOICE(
        struct sampler, mode, "mode", "hash_seed", modes,
        "by a hash of the trace id; or consistently by OTEP 235: to this share, or this "
        "share of what comes"),
    KEY_BOOL(struct sampler, fail_closed, "fail_closed", "true",
             "drop items that cannot be sampled, such as those with a malformed tracestate"),
    KEY_INT(struct sampler, precision, "sampling_precision", "4", 1, 14,
            "hex digits of the threshold"),
    KEY_EXACT_CHOICE(struct sampler, source, "attribute_source", "traceID", sources,
                     "log records: what is hashed"),
    KEY_STRING(struct sampler, from_attribute, "from_attribute", NULL, 0,
               "log records: the attribute that is hashed where there is no trace id"),
    KEY_STRING(struct sampler, priority, "sampling_priority", NULL, 0,
               "log records: the attribute with a percentage of its own"),
    KEY_BOOL(struct sampler, keep_linked, "keep_linked", "false",
             "keep the spans of a trace of which one is linked with a profile"),
    KEY_END,
};

static void sampler_check(const void *instance, struct key_report *report)
{
    const struct sampler *self = instance;
    if (self->percentage > 0 && self->percentage / 100 < ldexp(1, -56))
        key_report_add(report, "sampling_percentage", "too small, expected 0 or at least %g",
                       ldexp(100, -56));
}

static bool sampler_open(void *instance, const struct env *env, char *error, size_t error_size)
{
    struct sampler *self = instance;
    /* The Collector calculates in floats. */
    float percentage = self->percentage > 100 ? 100 : (float)self->percentage;
    uint32_t buckets = (uint32_t)(percentage * (float)(0x4000 / 100.0));
    (void)error, (void)error_size;
    self->env = env;
    linked_traces_init(&self->traces, env->budget);
    self->ratio = (double)percentage / 100;
    if (self->mode == UNSET)
        self->mode = HASH_SEED;
    self->threshold = SAMPLE_NEVER;
    if (self->mode == HASH_SEED && buckets)
        self->threshold = (uint64_t)(0x4000 - buckets) << 42;
    else if (self->mode != HASH_SEED)
        (void)sample_threshold(self->ratio, (int)self->precision, &self->threshold);
    return true;
}

/* ---- one item ---- */

/* A span or log record while it is sampled. */
struct item {
    const struct sampler *self;
    struct record *record;
    bool span;
    struct sample_state state;
    enum policy policy;
    uint64_t random; /* RANDOM_MOST while the policy is MISSING */
    bool fault;      /* nothing can be decided: malformed, or no randomness */
    bool carries;    /* what is decided is written into it */
};

static bool is_zero(struct view id)
{
    for (size_t i = 0; i < id.size; i++)
        if (id.data[i])
            return false;
    return true;
}

static struct view trace_id_of(const struct item *item)
{
    struct proto_field field;
    bool there = record_get(item->record, item->span ? SPAN_TRACE_ID : LOG_TRACE_ID, &field);
    bool good = there && field.bytes.size == TRACE_ID && !is_zero(field.bytes);
    return good ? field.bytes : (struct view){0};
}

static struct view text_attribute(const struct item *item, struct view key)
{
    struct value value;
    bool text =
        attributes_get(record_attributes(item->record), key, &value) && value.kind == VALUE_STRING;
    return text ? value.bytes : VIEW("");
}

/* What the item says of its sampling. False: malformed. */
static bool read_item(struct item *item)
{
    struct proto_field field;
    if (item->span)
        return sample_read_state(
            record_get(item->record, SPAN_STATE, &field) ? field.bytes : VIEW(""), &item->state);
    struct view threshold = text_attribute(item, VIEW("sampling.threshold"));
    struct view random = text_attribute(item, VIEW("sampling.randomness"));
    bool good = true;
    item->state.has_threshold = item->state.has_randomness = false;
    if (threshold.size)
        good = item->state.has_threshold = sample_read_threshold(threshold, &item->state.threshold);
    if (random.size)
        item->state.has_randomness = sample_read_randomness(random, &item->state.randomness);
    return good && (!random.size || item->state.has_randomness);
}

static void set_random(struct item *item, uint64_t random)
{
    char digits[SAMPLE_DIGITS + 1];
    item->state.has_randomness = true;
    item->state.randomness = random;
    if (item->span)
        return;
    size_t size = sample_put_randomness(random, digits);
    char *text = arena_text(item->record->arena, (struct view){(uint8_t *)digits, size});
    struct value value = value_string(view_of(text));
    item->record->failed = item->record->failed || !text;
    if (text)
        attributes_set(record_attributes(item->record), VIEW("sampling.randomness"), &value);
}

/* hash_seed: by the trace id, or a log record's attribute. */
static void randomness_by_hash(struct item *item, bool well_formed)
{
    const struct sampler *self = item->self;
    uint32_t seed = (uint32_t)self->seed;
    struct view id = trace_id_of(item);
    struct value value;
    if (id.data && (item->span || self->source == FROM_TRACE_ID)) {
        item->policy = TRACE_ID_HASH;
        item->random = sample_hash(id, seed);
    } else if (!item->span && *self->from_attribute &&
               attributes_get(record_attributes(item->record), view_of(self->from_attribute),
                              &value)) {
        struct view bytes =
            value.kind == VALUE_BYTES ? value.bytes : value_text(&value, item->record->arena);
        if (bytes.size) {
            item->policy = ATTRIBUTE;
            item->random = sample_hash(bytes, seed);
        }
    }
    item->carries = well_formed && !item->state.has_randomness && !item->state.has_threshold;
    item->fault = !item->carries;
    if (item->carries && (item->span || item->policy != MISSING))
        set_random(item, item->random);
}

static void randomness_by_otep(struct item *item, bool well_formed)
{
    struct view id = trace_id_of(item);
    item->carries = well_formed;
    item->fault = !well_formed;
    if (well_formed && item->state.has_randomness) {
        item->policy = RANDOMNESS;
        item->random = item->state.randomness;
    } else if (id.data && well_formed) {
        item->policy = TRACE_ID_W3C;
        item->random = 0;
        for (size_t i = 9; i < TRACE_ID; i++)
            item->random = item->random << 8 | id.data[i];
    }
}

/* A threshold that the randomness does not reach is a lie. */
static void check_consistent(struct item *item)
{
    if (item->fault)
        return;
    if (item->policy == MISSING) {
        item->fault = true;
    } else if (item->carries && item->state.has_threshold && item->state.threshold > item->random) {
        item->fault = true;
        item->state.has_threshold = false;
        if (!item->span)
            attributes_delete(record_attributes(item->record), VIEW("sampling.threshold"));
    }
}

static uint64_t decide(const struct item *item)
{
    const struct sampler *self = item->self;
    uint64_t incoming = item->state.threshold, threshold;
    bool has = item->carries && item->state.has_threshold;
    if (self->percentage == 0 || self->mode == HASH_SEED)
        return self->threshold;
    if (self->mode == EQUALIZING)
        return has && incoming > self->threshold ? incoming : self->threshold;
    double before = has ? (double)(SAMPLE_NEVER - incoming) / ldexp(1, 56) : 1;
    return sample_threshold(before * self->ratio, (int)self->precision, &threshold) ? threshold
                                                                                    : SAMPLE_NEVER;
}

/* A span's own priority: 0 is never, above is always. */
static void span_priority(struct item *item, uint64_t *threshold)
{
    struct value value;
    char text[64], *end;
    double number = NAN;
    if (!attributes_get(record_attributes(item->record), VIEW("sampling.priority"), &value))
        return;
    if (value.kind == VALUE_INT)
        number = (double)value.integer;
    else if (value.kind == VALUE_DOUBLE)
        number = value.number;
    else if (value.kind == VALUE_STRING && value.bytes.size && value.bytes.size < sizeof text) {
        snprintf(text, sizeof text, "%.*s", VIEW_ARG(value.bytes));
        number = strtod(text, &end);
        number = *end ? NAN : number;
    }
    if (!(number >= 0))
        return;
    item->policy = PRIORITY;
    *threshold = number == 0 ? SAMPLE_NEVER : SAMPLE_ALWAYS;
}

/* A log record's own percentage. */
static void log_priority(struct item *item, uint64_t *threshold)
{
    const struct sampler *self = item->self;
    struct value value;
    uint64_t own;
    if (!*self->priority ||
        !attributes_get(record_attributes(item->record), view_of(self->priority), &value))
        return;
    double share = value.kind == VALUE_DOUBLE ? value.number / 100
                   : value.kind == VALUE_INT  ? (double)value.integer / 100
                                              : 0;
    if (share != 0 && sample_threshold(share, (int)self->precision, &own)) {
        item->policy = PRIORITY;
        *threshold = own;
    }
}

/* Writes what was decided, but never a higher probability than it came with. */
static void write_item(struct item *item, uint64_t threshold)
{
    struct sample_state *state = &item->state;
    char digits[SAMPLE_DIGITS + 1];
    bool falls = !state->has_threshold || threshold >= state->threshold;
    if (falls) {
        state->has_threshold = true;
        state->threshold = threshold;
    }
    if (item->span) {
        struct proto_field field;
        struct view text = sample_write_state(state, item->record->arena);
        bool there = record_get(item->record, SPAN_STATE, &field);
        item->record->failed = item->record->failed || !text.data;
        if (text.data && (there || text.size) && !(there && view_eq(field.bytes, text)))
            record_set_bytes(item->record, SPAN_STATE, text);
        return;
    }
    size_t size = sample_put_threshold(threshold, digits);
    char *text = arena_text(item->record->arena, (struct view){(uint8_t *)digits, size});
    struct value value = value_string(view_of(text));
    item->record->failed = item->record->failed || !text;
    if (falls && text)
        attributes_set(record_attributes(item->record), VIEW("sampling.threshold"), &value);
}

/* Whether it is kept. */
static bool is_sampled(const struct sampler *self, struct record *record, bool span, bool linked,
                       struct counts *counts)
{
    struct item item = {.self = self, .record = record, .span = span, .random = RANDOM_MOST};
    bool well_formed = read_item(&item);
    bool never =
        self->percentage == 0 || (self->mode == HASH_SEED && self->threshold == SAMPLE_NEVER);
    if (never) { /* only its own priority counts */
        item.policy = PRIORITY;
        item.carries = true;
        item.fault = !well_formed;
    } else if (self->mode == HASH_SEED) {
        randomness_by_hash(&item, well_formed);
    } else {
        randomness_by_otep(&item, well_formed);
    }
    check_consistent(&item);
    uint64_t threshold = self->fail_closed ? SAMPLE_NEVER : SAMPLE_ALWAYS;
    if (!item.fault)
        threshold = decide(&item);
    if (span)
        span_priority(&item, &threshold);
    else
        log_priority(&item, &threshold);
    if (linked) {
        item.policy = LINKED;
        threshold = SAMPLE_ALWAYS;
    }
    bool kept = threshold <= item.random;
    (kept ? counts->kept : counts->dropped)[item.policy]++;
    if (kept && item.carries)
        write_item(&item, threshold);
    return kept;
}

/* ---- traces that are linked ---- */

struct linked {
    uint8_t (*ids)[TRACE_ID];
    size_t count, room;
};

static int by_id(const void *a, const void *b)
{
    return memcmp(a, b, TRACE_ID);
}

static bool add_linked(struct linked *linked, struct view id)
{
    if (linked->count == linked->room) {
        size_t room = linked->room ? 2 * linked->room : 16;
        uint8_t(*ids)[TRACE_ID] = realloc(linked->ids, room * TRACE_ID);
        if (!ids)
            return false;
        linked->ids = ids;
        linked->room = room;
    }
    memcpy(linked->ids[linked->count++], id.data, TRACE_ID);
    return true;
}

/* The trace ids of spans with a profile's id, sorted. */
static bool find_linked(struct view request, struct linked *linked)
{
    struct otlp_walk walk;
    struct proto_field id, attribute;
    bool good = true;
    otlp_walk_begin(&walk, SIGNAL_TRACES, request);
    for (enum otlp_step step; good && (step = otlp_walk_next(&walk)) != OTLP_END;)
        if (step == OTLP_ITEM &&
            otlp_attribute_find(walk.item.bytes, 9, VIEW("pyroscope.profile.id"), &attribute) &&
            proto_find(walk.item.bytes, SPAN_TRACE_ID, WIRE_LEN, &id) && id.bytes.size == TRACE_ID)
            good = add_linked(linked, id.bytes);
    if (linked->count)
        qsort(linked->ids, linked->count, TRACE_ID, by_id);
    return good;
}

struct pass {
    struct sampler *self;
    struct counts counts;
    struct linked linked;
    uint64_t now;
};

/* Whether a span of the same trace is linked, in this request or one before. */
static bool is_of_linked(const struct pass *pass, const struct record *record)
{
    struct proto_field id;
    if (!record_get(record, SPAN_TRACE_ID, &id) || id.bytes.size != TRACE_ID)
        return false;
    return (pass->linked.count &&
            bsearch(id.bytes.data, pass->linked.ids, pass->linked.count, TRACE_ID, by_id)) ||
           linked_traces_has(&pass->self->traces, id.bytes.data, pass->now);
}

static enum edit_verdict sampler_run(const struct pass_step *step, struct request_edit *at,
                                     enum edit_level level)
{
    struct pass *pass = step->self;
    struct record *record = &at->records[level];
    bool span = at->signal == SIGNAL_TRACES;
    bool linked = span && pass->self->keep_linked && is_of_linked(pass, record);
    return is_sampled(pass->self, record, span, linked, &pass->counts) ? EDIT_KEEP : EDIT_DROP;
}

static void sampler_dropped(void *ctx, enum signal signal, uint32_t items)
{
    const struct pass *pass = ctx;
    struct sampler *self = pass->self;
    (void)items;
    for (int policy = 0; policy < POLICIES; policy++) {
        atomic_fetch_add(&self->kept[signal][policy], pass->counts.kept[policy]);
        atomic_fetch_add(&self->dropped[signal][policy], pass->counts.dropped[policy]);
    }
}

static enum verdict sampler_consume(void *instance, struct batch *batch, struct outlet *next)
{
    struct sampler *self = instance;
    struct pass pass = {.self = self, .now = clock_mono(self->env->clock)};
    struct pass_step step = {.levels = EDIT_BIT(EDIT_ITEM),
                             .run = sampler_run,
                             .self = &pass,
                             .drops = true,
                             .dropped = sampler_dropped};
    enum verdict verdict = VERDICT_RETRY;
    bool looks = self->keep_linked && batch->signal == SIGNAL_TRACES;
    if (!looks || find_linked(buffer_view(batch->payload), &pass.linked))
        verdict = batch_pass(batch, &step, next);
    for (size_t i = 0; verdict == VERDICT_OK && i < pass.linked.count; i++)
        linked_traces_add(&self->traces, pass.linked.ids[i], pass.now);
    free(pass.linked.ids);
    return verdict;
}

static const struct metric counts[SIGNAL_COUNT] = {
    [SIGNAL_TRACES] =
        METRIC_ROW("otelcol_processor_probabilistic_sampler_count_traces_sampled", METRIC_COUNTER,
                   METRIC_BASIC, "{spans}", "Spans by whether they were kept."),
    [SIGNAL_LOGS] =
        METRIC_ROW("otelcol_processor_probabilistic_sampler_count_logs_sampled", METRIC_COUNTER,
                   METRIC_BASIC, "{records}", "Log records by whether they were kept."),
};

static struct view policy_name(const struct sampler *self, int policy)
{
    static const char *const names[POLICIES] = {"missing_randomness",
                                                "trace_id_hash",
                                                "trace_id_w3c",
                                                "sampling_randomness",
                                                "sampling_priority",
                                                NULL,
                                                "linked"};
    return view_of(policy == ATTRIBUTE ? self->from_attribute : names[policy]);
}

static void add_count(struct metrics *metrics, const struct metric *row, uint64_t count,
                      struct view policy, struct view sampled)
{
    if (count)
        metrics_add(metrics, row, (double)count,
                    METRIC_LABELS({"policy", policy}, {"sampled", sampled}));
}

static void sampler_measure(void *instance, struct metrics *metrics)
{
    struct sampler *self = instance;
    for (int signal = 0; signal < SIGNAL_COUNT; signal++)
        for (int policy = 0; counts[signal].name && policy < POLICIES; policy++) {
            struct view name = policy_name(self, policy);
            add_count(metrics, &counts[signal], atomic_load(&self->kept[signal][policy]), name,
                      VIEW("true"));
            add_count(metrics, &counts[signal], atomic_load(&self->dropped[signal][policy]), name,
                      VIEW("false"));
        }
}

static void sampler_inherit(void *instance, const void *old)
{
    const struct sampler *from = old;
    struct sampler *self = instance;
    for (int signal = 0; signal < SIGNAL_COUNT; signal++)
        for (int policy = 0; policy < POLICIES; policy++) {
            atomic_fetch_add(&self->kept[signal][policy], atomic_load(&from->kept[signal][policy]));
            atomic_fetch_add(&self->dropped[signal][policy],
                             atomic_load(&from->dropped[signal][policy]));
        }
}

static bool sampler_wants_traces(const void *instance)
{
    return ((const struct sampler *)instance)->keep_linked;
}

static void sampler_close(void *instance)
{
    struct sampler *self = instance;
    if (self->env)
        linked_traces_release(&self->traces);
    self->env = NULL;
}

const struct component processor_probabilistic_sampler = {
    .type = "probabilistic_sampler",
    .text = "keeps a share of traces or log records",
    .stability = "beta",
    .kind = COMPONENT_PROCESSOR,
    .signals = SIGNAL_BIT(SIGNAL_TRACES) | SIGNAL_BIT(SIGNAL_LOGS),
    .size = sizeof(struct sampler),
    .keys = sampler_keys,
    .check = sampler_check,
    .open = sampler_open,
    .consume = sampler_consume,
    .wants_traces = sampler_wants_traces,
    .measure = sampler_measure,
    .inherit = sampler_inherit,
    .close = sampler_close,
};
