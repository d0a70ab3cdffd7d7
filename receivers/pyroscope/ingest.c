/*
 * POST /ingest: pprof is read, every other format goes on byte for byte. The order in which the
 * format is recognised is the server's (Pyroscope 2.x, ingest handler).
 */
#include "receivers/pyroscope/pyroscope.h"

#include "wire/ingest_time.h"
#include "wire/multipart.h"
#include "wire/pprof.h"
#include "wire/status.h"

#include <stdlib.h>
#include <string.h>

enum { NAME_SIZE = 64 << 10, WORD_SIZE = 128 };

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

static void answer(const struct pyroscope_receiver *self, struct http_request *request,
                   const struct outcome *outcome)
{
    (void)self;
    if (outcome->verdict == VERDICT_OK)
        http_respond(request, 200, NULL, (struct view){0}, 0);
    else /* 422 for data that cannot be read, as the server: the Java SDK never retries it. */
        answer_error(request, outcome->cause == CAUSE_INVALID ? 422 : status_http(outcome),
                     outcome);
}

/* What one /ingest request says beside its body. */
struct ingest {
    const struct pyroscope_receiver *self;
    struct http_request *request;
    struct series *series;
    struct view body;
    struct view profile;            /* the pprof; data NULL: another format */
    struct view sample_type_config; /* data NULL: none */
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
    if (origin->from_ns == 0) /* as the server: now */
        origin->from_ns = clock_wall(ingest->self->env->clock);
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

static void take_first(struct view *field, const struct multipart_part *part)
{
    if (!field->data)
        *field = part->content;
}

/* File parts only, the first one of a name: so the server reads them. */
static const char *find_parts(struct ingest *ingest, struct multipart *multipart)
{
    struct multipart_part part;
    while (multipart_next(multipart, &part)) {
        if (!part.filename.data || !part.name.data)
            continue;
        if (view_eq(part.name, VIEW("profile")))
            take_first(&ingest->profile, &part);
        else if (view_eq(part.name, VIEW("sample_type_config")))
            take_first(&ingest->sample_type_config, &part);
        else if (view_eq(part.name, VIEW("prev_profile")))
            return "the part \"prev_profile\" of old clients is not read, update the SDK";
    }
    if (multipart->bad)
        return "malformed multipart body";
    if (!ingest->profile.data)
        return "the multipart body has no file part \"profile\"";
    if (ingest->sample_type_config.size && !pprof_config_valid(ingest->sample_type_config))
        return "the part \"sample_type_config\" is not valid";
    return NULL;
}

/* Finds the pprof in the body. Else what is wrong with a multipart body; NULL: nothing. */
static const char *find_profile(struct ingest *ingest)
{
    char format[WORD_SIZE] = "";
    const char *type = http_request_header(ingest->request, "Content-Type");
    struct multipart multipart;
    http_query_get(http_request_query(ingest->request), "format", format, sizeof format);
    if (is_text_format(format, type))
        return NULL;
    if (multipart_begin(&multipart, view_of(type), ingest->body))
        return find_parts(ingest, &multipart);
    if (media_type_is(type, "multipart/form-data"))
        return "the multipart body's boundary is missing or malformed";
    if (strcmp(format, "pprof") == 0)
        ingest->profile = ingest->body;
    return NULL;
}

static struct outcome read_body(struct ingest *ingest, struct batch **batch)
{
    struct bytes body;
    *batch = NULL;
    bytes_init(&body, (size_t)ingest->self->max_request_body_size, ingest->self->env->budget);
    struct outcome outcome = request_take_body(ingest->request, &body);
    ingest->body = bytes_view(&body);
    if (outcome.verdict == VERDICT_OK && body.size > 0) {
        const char *fault = find_profile(ingest);
        if (fault)
            outcome = outcome_of(VERDICT_REJECT, CAUSE_INVALID, "%s", fault);
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
        struct outcome outcome = outcome_of(VERDICT_REJECT, CAUSE_INVALID, "name: %s", reason);
        answer_error(request, 400, &outcome);
        return;
    }
    struct outcome outcome = read_body(&ingest, &batch);
    series_unref(ingest.series);
    submission_run(self, request, answer, &outcome, batch);
}
