/* Bodies of /ingest: forwarded unchanged, except parts of JFR uploads that the server would refuse.
 */
#include "lib/wire/codec/compress.h"
#include "tests/support/backend.h"
#include "tests/support/forever.h"
#include "tests/support/proto_build.h"
#include "tests/support/scripted.h"
#include "tests/support/suite.h"

#include <stdlib.h>

extern const struct component exporter_pyroscope;
const struct component *const component_table[] = {&scripted_source, &scripted_pprof,
                                                   &exporter_pyroscope, NULL};

#define QUERY "name=a%7Bb%3Dc+d%7D&units=samples&format=jfr"
#define TYPE  "multipart/form-data; boundary=z1"
#define HEAD_OF(name)                                                                              \
    "--z1\r\nContent-Disposition: form-data; name=\"" name "\"; filename=\"" name "\"\r\n\r\n"
#define JFR    HEAD_OF("jfr")
#define LABELS "\r\n" HEAD_OF("labels")
#define END    "\r\n--z1--\r\nepilogue"

/* The server's limit for a gzip part. */
enum { MOST = 4 << 20 };

static struct given_exporter exporter;
static struct backend backend;

static void begin(void)
{
    backend_start(&backend);
    exporter_start(&exporter, "pyroscope: {endpoint: 'http://%s/'}", "profiles", &backend);
}

static void end(void)
{
    exporter_stop(&exporter);
    backend_stop(&backend);
}

/* Varied bytes of the given size. */
static struct view content(size_t size)
{
    uint8_t *data = calloc(1, size);
    for (size_t i = 0; i < size; i += 997)
        data[i] = (uint8_t)i;
    return forever((struct bytes){.data = data, .size = size, .capacity = size});
}

static struct view zipped(struct view plain)
{
    struct bytes out;
    bytes_init(&out, SIZE_MAX, NULL);
    ck_assert(deflate_append(ENCODING_GZIP, plain, &out));
    return forever(out);
}

static struct view joined(const struct view *views, size_t count)
{
    struct bytes out;
    bytes_init(&out, SIZE_MAX, NULL);
    for (size_t i = 0; i < count; i++)
        bytes_append_view(&out, views[i]);
    return forever(out);
}

#define JOIN(...)                                                                                  \
    joined((const struct view[]){__VA_ARGS__},                                                     \
           sizeof((const struct view[]){__VA_ARGS__}) / sizeof(struct view))

static struct batch *batch_of(const char *query, const char *type, struct view body)
{
    struct batch *batch = otlp_batch_of(SIGNAL_PROFILES, body, 1);
    struct opaque_request *opaque = calloc(1, sizeof *opaque);
    batch->encoding = BATCH_OPAQUE;
    opaque->query = strdup(query);
    opaque->content_type = type ? strdup(type) : NULL;
    batch_set_opaque(batch, opaque);
    return batch;
}

/* Sends a body and returns what the server receives. */
static struct view sent(const char *query, const char *type, struct view body)
{
    size_t nth = backend.count;
    ck_assert_int_eq(exporter_send(&exporter, batch_of(query, type, body)).verdict, VERDICT_OK);
    const struct backend_request *request = &backend.requests[nth];
    ck_assert_str_eq(request->path, "/ingest");
    ck_assert_str_eq(request->query, query);
    ck_assert_str_eq(request->content_encoding, "-");
    ck_assert_str_eq(request->content_type, type ? type : "");
    return request->body;
}

START_TEST(a_gzip_part_that_the_server_would_refuse_is_sent_inflated)
{
    struct view large = content(MOST + 1), small = zipped(content(1000));
    begin();
    struct view body = JOIN(VIEW(JFR), zipped(large), VIEW(LABELS), small, VIEW(END));
    ck_assert(
        view_eq(sent(QUERY, TYPE, body), JOIN(VIEW(JFR), large, VIEW(LABELS), small, VIEW(END))));
    body = JOIN(VIEW(JFR), small, VIEW(LABELS), zipped(large), VIEW(END));
    ck_assert(
        view_eq(sent(QUERY, TYPE, body), JOIN(VIEW(JFR), small, VIEW(LABELS), large, VIEW(END))));
    body = JOIN(VIEW("preamble\r\n" JFR), zipped(large), VIEW(LABELS), zipped(large), VIEW(END));
    ck_assert(view_eq(sent(QUERY, TYPE, body),
                      JOIN(VIEW("preamble\r\n" JFR), large, VIEW(LABELS), large, VIEW(END))));
    end();
}
END_TEST

static void assert_as_it_came(const char *query, const char *type, struct view body)
{
    ck_assert(view_eq(sent(query, type, body), body));
}

START_TEST(everything_else_goes_as_it_came)
{
    static const uint8_t magic[5000] = {0x1f, 0x8b};
    struct view large = zipped(content(MOST + 1)), broken = {large.data, large.size - 9};
    begin();
    assert_as_it_came(QUERY, TYPE, JOIN(VIEW(JFR), zipped(content(MOST)), VIEW(END)));
    assert_as_it_came(QUERY, TYPE, JOIN(VIEW(JFR), content(MOST + 1), VIEW(END)));
    assert_as_it_came(QUERY, TYPE, JOIN(VIEW(JFR), broken, VIEW(END)));
    assert_as_it_came(QUERY, TYPE, JOIN(VIEW(JFR), {magic, sizeof magic}, VIEW(END)));
    assert_as_it_came(QUERY, TYPE, JOIN(VIEW(HEAD_OF("other")), large, VIEW(END)));
    assert_as_it_came(QUERY, TYPE,
                      JOIN(VIEW("--z1\r\nContent-Disposition: form-data; name=\"jfr\"\r\n\r\n"),
                           large, VIEW(END)));
    assert_as_it_came(QUERY, TYPE, JOIN(VIEW(JFR), large));
    assert_as_it_came(QUERY, "application/octet-stream", JOIN(VIEW(JFR), large, VIEW(END)));
    assert_as_it_came(QUERY, NULL, large);
    assert_as_it_came("name=a&format=lines", TYPE, JOIN(VIEW(JFR), large, VIEW(END)));
    assert_as_it_came("name=a", TYPE, JOIN(VIEW(JFR), large, VIEW(END)));
    end();
}
END_TEST

static struct outcome answered(const char *query, unsigned status, const char *text)
{
    backend.answers[backend.count] =
        (struct backend_answer){.status = status, .body = view_of(text)};
    return exporter_send(&exporter, batch_of(query, NULL, VIEW("FLR")));
}

/* Each retry duplicates the series that the server has already stored. */
START_TEST(what_the_server_files_series_by_series_is_repeated_a_few_times_at_most)
{
    static const char *const several[] = {"name=a&format=jfr", "format=speedscope&name=a"};
    begin();
    for (size_t i = 0; i < 2; i++) {
        struct outcome outcome = answered(several[i], 429, "push rate limit exceeded");
        ck_assert_int_eq(outcome.verdict, VERDICT_RETRY);
        ck_assert_uint_eq(outcome.max_tries, 3);
        ck_assert_ptr_nonnull(strstr(outcome.text, "may have stored a part of it"));
        ck_assert_ptr_nonnull(strstr(outcome.text, "push rate limit"));
        ck_assert_uint_eq(answered(several[i], 422, "unavailable").max_tries, 3);
        ck_assert_uint_eq(answered(several[i], 503, "").max_tries, 0);
        ck_assert_int_eq(answered(several[i], 422, "bad").verdict, VERDICT_REJECT);
    }
    ck_assert_uint_eq(answered("name=a&format=lines", 429, "").max_tries, 0);
    end();
}
END_TEST

START_TEST(a_part_with_the_boundary_inside_stays_packed)
{
    struct view inside = JOIN(content(MOST), VIEW("\r\n--z1--\r\n"));
    begin();
    assert_as_it_came(QUERY, TYPE, JOIN(VIEW(JFR), zipped(inside), VIEW(END)));
    end();
}
END_TEST

START_TEST(what_would_become_larger_than_64_MiB_stays_packed)
{
    const size_t mib = 1 << 20;
    struct view half = content(33 * mib);
    begin();
    assert_as_it_came(QUERY, TYPE, JOIN(VIEW(JFR), zipped(content(65 * mib)), VIEW(END)));
    struct view second = zipped(half);
    struct view body = JOIN(VIEW(JFR), zipped(half), VIEW(LABELS), second, VIEW(END));
    ck_assert(
        view_eq(sent(QUERY, TYPE, body), JOIN(VIEW(JFR), half, VIEW(LABELS), second, VIEW(END))));
    end();
}
END_TEST

/* The memory was reserved when the request was accepted. */
START_TEST(a_full_memory_budget_holds_nothing_up)
{
    struct view large = content(MOST + 1);
    begin();
    struct view body = JOIN(VIEW(JFR), zipped(large), VIEW(END));
    struct batch *batch = batch_of(QUERY, TYPE, body);
    size_t work = batch_work(batch);
    ck_assert_uint_ge(work, body.size + large.size);
    batch_unref(batch);
    struct budget *budget = exporter.instance->env.budget;
    size_t limit = budget->limit;
    budget->limit = budget_used(budget) + (1 << 20);
    struct outcome outcome = exporter_send(&exporter, batch_of(QUERY, TYPE, body));
    ck_assert_int_eq(outcome.verdict, VERDICT_RETRY);
    ck_assert_int_eq(outcome.cause, CAUSE_MEMORY);
    ck_assert_uint_eq(backend.count, 0);
    ck_assert(budget_begin_accepted_work(budget, work, true));
    size_t used = budget_used(budget);
    ck_assert(view_eq(sent(QUERY, TYPE, body), JOIN(VIEW(JFR), large, VIEW(END))));
    ck_assert_uint_le(budget_used(budget), used);
    budget_end_accepted_work(budget, work);
    budget->limit = limit;
    end();
}
END_TEST

START_TEST(a_query_that_cannot_be_sent_is_refused_for_good)
{
    begin();
    struct outcome outcome =
        exporter_send(&exporter, batch_of("name=a\x01&format=jfr", TYPE, VIEW("x")));
    ck_assert_int_eq(outcome.verdict, VERDICT_REJECT);
    ck_assert_int_eq(outcome.cause, CAUSE_INVALID);
    outcome = exporter_send(&exporter, batch_of("name=a&format=jfr", "text/plain\x01", VIEW("x")));
    ck_assert_int_eq(outcome.verdict, VERDICT_REJECT);
    ck_assert_uint_eq(backend.count, 0);
    end();
}
END_TEST

SUITE_MAIN("pyroscope opaque", a_gzip_part_that_the_server_would_refuse_is_sent_inflated,
           everything_else_goes_as_it_came,
           what_the_server_files_series_by_series_is_repeated_a_few_times_at_most,
           a_part_with_the_boundary_inside_stays_packed,
           what_would_become_larger_than_64_MiB_stays_packed, a_full_memory_budget_holds_nothing_up,
           a_query_that_cannot_be_sent_is_refused_for_good)
