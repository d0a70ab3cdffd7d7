/*
 * POST /ingest: pprof is parsed, every other format is forwarded byte for byte. Formats are
 * detected in the same order as the server does (Pyroscope 2.x, ingest handler), and in formats
 * that are not parsed the same errors are refused.
 */
#include "receivers/pyroscope/pyroscope.h"

#include "lib/base/shown.h"
#include "lib/wire/http/http_query.h"
#include "lib/wire/http/multipart.h"
#include "lib/wire/http/status.h"
#include "lib/wire/jfr/jfr_labels.h"
#include "lib/wire/pprof/ingest_text.h"
#include "lib/wire/pprof/pprof_agents.h"
#include "lib/wire/pprof/speedscope.h"

#include <stdlib.h>
#include <string.h>

enum { NAME_SIZE = 64 << 10, NAME_SHOWN = 64, WORD_SIZE = 128, TYPE_SHOWN = 40 };

static void answer_error(struct http_request *request, unsigned status,
                         const struct outcome *outcome)
{
    struct bytes body;
    bytes_init(&body, 4096, NULL);
    connect_error_encode(status_grpc(outcome), outcome->text, &body);
    http_respond(request, status, "application/json", bytes_view(&body),
                 outcome_retry_seconds(outcome));
    bytes_release(&body);
}

/* 422, as the server answers, for unreadable data and for every other permanent error without its
 * own status: the Java SDK retries a 5xx up to eight times, but never a 422. */
static unsigned status_of(const struct outcome *outcome)
{
    unsigned status = status_http(outcome);
    bool for_good = outcome->verdict == VERDICT_REJECT;
    return outcome->cause == CAUSE_INVALID || (for_good && status >= 500) ? 422 : status;
}

static void ingest_answer(const struct pyroscope_receiver *self, struct http_request *request,
                          const struct outcome *outcome)
{
    (void)self;
    if (outcome->verdict == VERDICT_OK)
        http_respond(request, 200, NULL, (struct view){0}, 0);
    else
        answer_error(request, status_of(outcome), outcome);
}

enum format {
    FORMAT_FOLDED,
    FORMAT_LINES,
    FORMAT_TRIE,
    FORMAT_TREE, /* text formats end here: the application's name ends in the profile's type */
    FORMAT_JFR,
    FORMAT_SPEEDSCOPE,
    FORMAT_PPROF,
    FORMAT_PPROF_FORM
};

/* One /ingest request and what was found in it. */
struct ingest {
    const struct pyroscope_receiver *self;
    struct http_request *request;
    struct series *series;
    enum format format;
    struct view body;
    struct view profile;            /* the pprof; data NULL: another format */
    struct view sample_type_config; /* data NULL: none */
};

static struct outcome unknown_type(struct view type)
{
    return outcome_of(VERDICT_REJECT, CAUSE_INVALID,
                      "name: unknown profile type \"%.*s\": in this format the application's name "
                      "ends in a type, such as .cpu",
                      type.size > TYPE_SHOWN ? TYPE_SHOWN : (int)type.size,
                      (const char *)type.data);
}

static char *ingest_copy_text(struct view view)
{
    return view.data ? strndup((const char *)view.data, view.size) : NULL;
}

static struct profile_origin *origin_of(const struct ingest *ingest)
{
    const char *query = http_request_query(ingest->request);
    uint64_t now = clock_wall(ingest->self->env->clock);
    struct profile_origin *origin = calloc(1, sizeof *origin);
    char spy[WORD_SIZE];
    if (!origin)
        return NULL;
    origin->by_ingest = true;
    origin->from_ns = ingest_query_time(query, "from", now);
    if (origin->from_ns == 0) /* now, as the server */
        origin->from_ns = now;
    origin->until_ns = ingest_query_time(query, "until", now);
    origin->sample_type_config = ingest_copy_text(ingest->sample_type_config);
    if (http_query_get(query, "spyName", spy, sizeof spy) && *spy)
        origin->spy_name = strdup(spy);
    return origin;
}

static uint64_t from_of(const struct ingest *ingest)
{
    return ingest_query_time(http_request_query(ingest->request), "from",
                             clock_wall(ingest->self->env->clock));
}

static bool is_dotnet(const struct ingest *ingest)
{
    char spy[WORD_SIZE] = "";
    http_query_get(http_request_query(ingest->request), "spyName", spy, sizeof spy);
    return pprof_is_dotnet(view_of(spy), ingest->sample_type_config);
}

static struct outcome ingest_read_profile(const struct ingest *ingest, struct batch **batch)
{
    const struct pprof_source way = {
        .by_ingest = true,
        .is_dotnet = is_dotnet(ingest),
        .no_time_ns = from_of(ingest),
    };
    struct outcome outcome =
        pprof_batch(ingest->self, ingest->profile, &way, series_ref(ingest->series), batch);
    if (!*batch)
        return outcome;
    struct profile_origin *origin = origin_of(ingest);
    if (origin) {
        batch_set_profile(*batch, origin);
        return outcome;
    }
    batch_unref(*batch);
    *batch = NULL;
    return outcome_of(VERDICT_RETRY, CAUSE_MEMORY, "out of memory");
}

static struct outcome wrap_opaque(const struct ingest *ingest, struct bytes *body,
                                  struct batch **batch)
{
    struct outcome no_memory = outcome_of(VERDICT_RETRY, CAUSE_MEMORY, "out of memory");
    struct opaque_request *opaque = calloc(1, sizeof *opaque);
    struct buffer *buffer = opaque ? buffer_from_bytes(body) : NULL;
    *batch = buffer ? batch_new(SIGNAL_PROFILES, BATCH_OPAQUE, buffer, 1, NULL) : NULL;
    if (!*batch) {
        free(opaque);
        return no_memory;
    }
    const char *type = http_request_header(ingest->request, "Content-Type");
    opaque->query = ingest_query_rewrite(http_request_query(ingest->request),
                                         clock_wall(ingest->self->env->clock));
    opaque->content_type = type ? strdup(type) : NULL;
    batch_set_opaque(*batch, opaque);
    if (opaque->query && budget_never_fits(ingest->self->env->budget, batch_work(*batch)))
        return outcome_of(VERDICT_REJECT, CAUSE_TOO_LARGE,
                          "the decompressed recording is too large for the memory limit");
    return opaque->query ? OUTCOME_OK : no_memory;
}

static enum format format_of(const struct http_request *request)
{
    static const struct {
        const char *parameter;
        enum format format;
    } named[] = {{"trie", FORMAT_TRIE},
                 {"tree", FORMAT_TREE},
                 {"lines", FORMAT_LINES},
                 {"jfr", FORMAT_JFR},
                 {"speedscope", FORMAT_SPEEDSCOPE}};
    char word[WORD_SIZE] = "";
    const char *type = http_request_header(request, "Content-Type");
    http_query_get(http_request_query(request), "format", word, sizeof word);
    if (media_type_is(type, "binary/octet-stream+trie"))
        return FORMAT_TRIE;
    if (media_type_is(type, "binary/octet-stream+tree"))
        return FORMAT_TREE;
    for (size_t i = 0; i < sizeof named / sizeof *named; i++)
        if (strcmp(word, named[i].parameter) == 0)
            return named[i].format;
    if (media_type_is(type, "multipart/form-data"))
        return FORMAT_PPROF_FORM;
    return strcmp(word, "pprof") == 0 ? FORMAT_PPROF : FORMAT_FOLDED;
}

static void take_first(struct view *field, const struct multipart_part *part)
{
    if (!field->data)
        *field = part->content;
}

/* The server reads only file parts, and of parts with the same name only the first. */
static bool is_file(const struct multipart_part *part, struct view name)
{
    return part->filename.data && view_eq(part->name, name);
}

static bool begin_form(const struct ingest *ingest, struct multipart *multipart)
{
    const char *type = http_request_header(ingest->request, "Content-Type");
    return multipart_begin(multipart, view_of(type), ingest->body);
}

/* Parsed, it takes many times its size. SDKs send less than 1 KiB. */
enum { CONFIG_MOST = 16 << 10 };

static const char no_boundary[] = "the multipart body's boundary is missing or malformed";
static const char bad_form[] = "malformed multipart body";

static const char *find_profile(struct ingest *ingest)
{
    struct multipart multipart;
    struct multipart_part part;
    if (!begin_form(ingest, &multipart))
        return no_boundary;
    while (multipart_next(&multipart, &part)) {
        if (is_file(&part, VIEW("profile")))
            take_first(&ingest->profile, &part);
        else if (is_file(&part, VIEW("sample_type_config")))
            take_first(&ingest->sample_type_config, &part);
        else if (is_file(&part, VIEW("prev_profile")))
            return "the part \"prev_profile\" of old clients is not supported, update the SDK";
    }
    if (multipart.bad)
        return bad_form;
    if (!ingest->profile.data)
        return "the multipart body has no file part \"profile\"";
    if (ingest->sample_type_config.size > CONFIG_MOST)
        return "the part \"sample_type_config\" is larger than 16 KiB";
    if (ingest->sample_type_config.size && !pprof_config_valid(ingest->sample_type_config))
        return "the part \"sample_type_config\" is not valid";
    return NULL;
}

/* Checks the labels of a recording, gzip or not. Returns an error, or NULL. */
static const char *check_jfr_labels(const struct ingest *ingest, struct view labels)
{
    struct bytes plain;
    struct proto_fault fault;
    const char *wrong = NULL;
    if (labels.size == 0)
        return NULL;
    if (labels.size == 1)
        return "the part \"labels\" is truncated";
    bytes_init(&plain, (size_t)ingest->self->http.max_request_body_size, ingest->self->env->budget);
    if (looks_gzip(labels)) {
        enum inflate_result result = inflate_append(ENCODING_GZIP, labels, &plain);
        wrong = result == INFLATE_BAD ? "the part \"labels\" is not valid gzip" : NULL;
        labels = result == INFLATE_OK ? bytes_view(&plain) : VIEW("");
    }
    if (!wrong && !proto_check(&shape_jfr_labels, labels, &fault))
        wrong = "the part \"labels\" is not a LabelsSnapshot";
    bytes_release(&plain);
    return wrong;
}

/* Checks a JFR body. The recording inside a form may be gzip, and its events are not read here.
 * Returns an error, or NULL. */
static const char *check_jfr(const struct ingest *ingest)
{
    struct view jfr = {0}, labels = {0};
    struct multipart multipart;
    struct multipart_part part;
    if (!media_type_is(http_request_header(ingest->request, "Content-Type"),
                       "multipart/form-data")) {
        jfr = ingest->body;
    } else if (!begin_form(ingest, &multipart)) {
        return no_boundary;
    } else {
        while (multipart_next(&multipart, &part)) {
            if (is_file(&part, VIEW("jfr")))
                take_first(&jfr, &part);
            else if (is_file(&part, VIEW("labels")))
                take_first(&labels, &part);
        }
        if (multipart.bad)
            return bad_form;
        if (jfr.size == 0)
            return "the multipart body has no file part \"jfr\"";
        const char *fault = check_jfr_labels(ingest, labels);
        if (fault || looks_gzip(jfr))
            return fault;
    }
    return view_starts(jfr, VIEW("FLR\0")) ? NULL : "the body is not a JFR recording";
}

static struct outcome check_speedscope(const struct ingest *ingest)
{
    struct speedscope file;
    struct bytes stack;
    struct view type = ingest_text_unknown_type(series_get(ingest->series, VIEW("__name__")));
    bytes_init(&stack, (size_t)ingest->self->http.max_request_body_size, ingest->self->env->budget);
    bool read = speedscope_read(&file, ingest->body, &stack);
    bytes_release(&stack);
    if (!read)
        return outcome_no_memory();
    if (file.fault && file.profile)
        return outcome_of(VERDICT_REJECT, CAUSE_INVALID, "the speedscope file: profile %zu has %s",
                          file.profile, file.fault);
    if (file.fault)
        return outcome_of(VERDICT_REJECT, CAUSE_INVALID, "the speedscope file: %s", file.fault);
    /* With several profiles, each has its own type. */
    return file.profiles == 1 && type.data ? unknown_type(type) : OUTCOME_OK;
}

/* Detects the format, finds the pprof in the body and checks the other formats. */
static struct outcome ingest_inspect(struct ingest *ingest)
{
    const char *fault = NULL;
    size_t line;
    switch (ingest->format) {
    case FORMAT_FOLDED:
        line = folded_bad_line(ingest->body);
        if (line)
            return outcome_of(VERDICT_REJECT, CAUSE_INVALID,
                              "line %zu of the folded stacks does not end in a whole number", line);
        break;
    case FORMAT_PPROF:
        ingest->profile = ingest->body;
        break;
    case FORMAT_PPROF_FORM:
        fault = find_profile(ingest);
        break;
    case FORMAT_JFR:
        fault = check_jfr(ingest);
        break;
    case FORMAT_SPEEDSCOPE:
        return check_speedscope(ingest);
    case FORMAT_LINES:
    case FORMAT_TRIE:
    case FORMAT_TREE:
        break;
    }
    return fault ? outcome_of(VERDICT_REJECT, CAUSE_INVALID, "%s", fault) : OUTCOME_OK;
}

/* Formats other than pprof have the query's time. */
static struct outcome check_query(const struct ingest *ingest)
{
    struct outcome outcome = check_labels(ingest->self, ingest->series);
    if (outcome.verdict == VERDICT_OK)
        outcome = check_time(ingest->self, ingest->series, from_of(ingest));
    return outcome;
}

static struct outcome ingest_read_body(struct ingest *ingest, struct batch **batch)
{
    struct bytes body;
    *batch = NULL;
    bytes_init(&body, (size_t)ingest->self->http.max_request_body_size, ingest->self->env->budget);
    struct outcome outcome = request_take_body(ingest->request, &body);
    ingest->body = bytes_view(&body);
    bool empty = body.size == 0;
    if (outcome.verdict == VERDICT_OK && !empty)
        outcome = ingest_inspect(ingest);
    if (outcome.verdict == VERDICT_OK && !empty && !ingest->profile.data)
        outcome = check_query(ingest);
    if (outcome.verdict == VERDICT_OK && !empty)
        outcome = ingest->profile.data ? ingest_read_profile(ingest, batch)
                                       : wrap_opaque(ingest, &body, batch);
    bytes_release(&body);
    return outcome;
}

/* NULL: *outcome. The log sums messages that begin alike, so the name comes last. */
static struct series *read_name(struct http_request *request, struct outcome *outcome)
{
    char *name = malloc(NAME_SIZE), shown[NAME_SHOWN];
    const char *reason;
    struct series *series = NULL;
    *outcome = outcome_of(VERDICT_REJECT, CAUSE_INVALID, "name: %s",
                          name ? "the parameter is missing or too long" : "out of memory");
    if (name && http_query_get(http_request_query(request), "name", name, NAME_SIZE)) {
        series = series_parse(view_of(name), &reason);
        shown_copy(view_of(name), shown, sizeof shown);
        if (!series)
            *outcome = outcome_of(VERDICT_REJECT, CAUSE_INVALID, "name: %s: \"%s\"", reason, shown);
    }
    free(name);
    return series;
}

/* A text profile's type is the end of its application's name; the server knows only some types. */
static struct outcome check_text(const struct ingest *ingest)
{
    struct view type = ingest_text_unknown_type(series_get(ingest->series, VIEW("__name__")));
    return type.data ? unknown_type(type) : check_query(ingest);
}

void handle_ingest(const struct pyroscope_receiver *self, struct http_request *request)
{
    struct batch *batch = NULL;
    struct outcome outcome;
    struct ingest ingest = {.self = self, .request = request, .format = format_of(request)};
    ingest.series = read_name(request, &outcome);
    if (ingest.series)
        outcome = ingest.format <= FORMAT_TREE ? check_text(&ingest) : OUTCOME_OK;
    if (outcome.verdict != VERDICT_OK) {
        series_unref(ingest.series);
        pyroscope_count_refused(self, request, &outcome, 0);
        answer_error(request, 400, &outcome);
        return;
    }
    outcome = ingest_read_body(&ingest, &batch);
    series_unref(ingest.series);
    submission_run(self, request, ingest_answer, &outcome, batch);
}
