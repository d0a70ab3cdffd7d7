/*
 * POST /ingest: pprof is read, every other format goes on byte for byte. The order in which the
 * format is recognised is the server's (Pyroscope 2.x, ingest handler).
 */
#include "receivers/pyroscope/pyroscope.h"

#include "receivers/pyroscope/times.h"
#include "wire/multipart.h"
#include "wire/status.h"

#include <stdlib.h>
#include <strings.h>

enum { NAME_SIZE = 64 << 10, WORD_SIZE = 128 };

static void answer(const struct pyroscope_receiver *self, struct http_request *request,
                   const struct outcome *outcome)
{
    struct bytes body;
    (void)self;
    if (outcome->verdict == VERDICT_OK) {
        http_respond(request, 200, NULL, (struct view){0}, 0);
        return;
    }
    /* 422 for data that cannot be read, as the server: the Java SDK never retries it. */
    unsigned status = outcome->cause == CAUSE_INVALID ? 422 : status_http(outcome);
    bytes_init(&body, 4096, NULL);
    connect_error_encode(status_grpc(outcome), outcome->text, &body);
    http_respond(request, status, "application/json", bytes_view(&body),
                 outcome_retry_seconds(outcome));
    bytes_release(&body);
}

static void answer_bad_request(struct http_request *request, const char *what, const char *why)
{
    struct bytes body;
    struct outcome outcome = outcome_of(VERDICT_REJECT, CAUSE_INVALID, "%s: %s", what, why);
    bytes_init(&body, 4096, NULL);
    connect_error_encode(GRPC_INVALID_ARGUMENT, outcome.text, &body);
    http_respond(request, 400, "application/json", bytes_view(&body), 0);
    bytes_release(&body);
}

/* What one /ingest request says beside its body. */
struct ingest {
    const struct pyroscope_receiver *self;
    struct http_request *request;
    struct series *series;
    struct view body;
    struct view profile; /* the pprof; data NULL: another format */
    struct view sample_type_config;
};

static char *copy_text(struct view view)
{
    return view.data ? strndup((const char *)view.data, view.size) : NULL;
}

static uint64_t query_time(const char *query, const char *name)
{
    char text[WORD_SIZE];
    return http_query_get(query, name, text, sizeof text) ? ingest_time_parse(text) : 0;
}

static struct profile_origin *origin_of(const struct ingest *ingest)
{
    const char *query = http_request_query(ingest->request);
    struct profile_origin *origin = calloc(1, sizeof *origin);
    char spy[WORD_SIZE];
    if (!origin)
        return NULL;
    origin->by_ingest = true;
    origin->from_ns = query_time(query, "from");
    origin->until_ns = query_time(query, "until");
    origin->sample_type_config = copy_text(ingest->sample_type_config);
    if (http_query_get(query, "spyName", spy, sizeof spy) && *spy)
        origin->spy_name = strdup(spy);
    return origin;
}

static struct outcome read_profile(const struct ingest *ingest, struct batch **batch)
{
    struct outcome outcome =
        pprof_batch(ingest->self, ingest->profile, series_ref(ingest->series), batch);
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
    opaque->query = strdup(http_request_query(ingest->request));
    opaque->content_type = type ? strdup(type) : NULL;
    batch_set_opaque(*batch, opaque);
    return opaque->query ? OUTCOME_OK : no_memory;
}

static bool is_text_format(const char *format, const char *type)
{
    static const char *const formats[] = {"trie", "tree", "lines", "jfr", "speedscope"};
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (strcmp(format, formats[i]) == 0)
            return true;
    return type && (strcasestr(type, "octet-stream+trie") || strcasestr(type, "octet-stream+tree"));
}

/* Finds the pprof in the body. False: a multipart body that is malformed or has no profile. */
static bool find_profile(struct ingest *ingest)
{
    char format[WORD_SIZE] = "";
    const char *type = http_request_header(ingest->request, "Content-Type");
    struct multipart multipart;
    struct multipart_part part;
    http_query_get(http_request_query(ingest->request), "format", format, sizeof format);
    if (is_text_format(format, type))
        return true;
    if (!multipart_begin(&multipart, view_of(type), ingest->body)) {
        if (strcmp(format, "pprof") == 0)
            ingest->profile = ingest->body;
        return true;
    }
    while (multipart_next(&multipart, &part)) {
        if (part.filename.data && part.name.data && view_eq(part.name, VIEW("profile")))
            ingest->profile = part.content;
        if (part.filename.data && part.name.data && view_eq(part.name, VIEW("sample_type_config")))
            ingest->sample_type_config = part.content;
    }
    return !multipart.bad && ingest->profile.data;
}

static struct outcome read_body(struct ingest *ingest, struct batch **batch)
{
    struct bytes body;
    *batch = NULL;
    bytes_init(&body, (size_t)ingest->self->max_request_body_size, ingest->self->env->budget);
    struct outcome outcome = request_take_body(ingest->request, &body);
    ingest->body = bytes_view(&body);
    if (outcome.verdict == VERDICT_OK && body.size > 0) {
        if (!find_profile(ingest))
            outcome = outcome_of(VERDICT_REJECT, CAUSE_INVALID,
                                 "malformed multipart body, expected a file part \"profile\"");
        else if (ingest->profile.data)
            outcome = read_profile(ingest, batch);
        else
            outcome = wrap_opaque(ingest, &body, batch);
    }
    bytes_release(&body);
    return outcome;
}

static struct series *read_name(struct http_request *request, const char **reason)
{
    char *name = malloc(NAME_SIZE);
    struct series *series = NULL;
    *reason = "out of memory";
    if (name) {
        *reason = "the parameter is missing or too long";
        if (http_query_get(http_request_query(request), "name", name, NAME_SIZE))
            series = series_parse(view_of(name), reason);
    }
    free(name);
    return series;
}

void handle_ingest(const struct pyroscope_receiver *self, struct http_request *request)
{
    const char *reason;
    struct batch *batch;
    struct ingest ingest = {.self = self, .request = request};
    ingest.series = read_name(request, &reason);
    if (!ingest.series) {
        answer_bad_request(request, "name", reason);
        return;
    }
    struct outcome outcome = read_body(&ingest, &batch);
    series_unref(ingest.series);
    struct submission *submission =
        outcome.verdict == VERDICT_OK && batch ? submission_new(self, request, answer) : NULL;
    if (!submission) {
        if (outcome.verdict == VERDICT_OK && batch)
            outcome = outcome_of(VERDICT_RETRY, CAUSE_MEMORY, "out of memory");
        batch_unref(batch);
        answer(self, request, &outcome);
        return;
    }
    if (submission_add(submission, batch)) {
        submission_offer(submission);
    } else {
        outcome = outcome_of(VERDICT_RETRY, CAUSE_MEMORY, "out of memory");
        submission_refuse(submission, &outcome);
    }
}
