/* The pyroscope exporter's requests to the server's OTLP endpoint. */
#include "exporters/pyroscope/pyroscope.h"

#include "lib/wire/otlp/otlp.h"
#include "pipeline/otlp_form.h"
#include "tests/support/backend.h"
#include "tests/support/forever.h"
#include "tests/support/pprof_build.h"
#include "tests/support/proto_build.h"
#include "tests/support/scripted.h"
#include "tests/support/suite.h"

#include <stdio.h>

extern const struct component exporter_pyroscope;
const struct component *const component_table[] = {&scripted_source, &scripted_pprof,
                                                   &exporter_pyroscope, NULL};

#define EXPORTER(keys) "pyroscope: {endpoint: 'http://%s/', protocol: otlp" keys "}"

/* The fake clock's time. */
#define NOW INT64_C(1767225600000000000)

static struct given_exporter exporter;
static struct backend backend;

static void begin(const char *section)
{
    backend_start(&backend);
    exporter_start(&exporter, section, "profiles", &backend);
}

static void end(void)
{
    exporter_stop(&exporter);
    backend_stop(&backend);
}

static struct batch *cpu_batch(unsigned samples)
{
    struct pprof_build *build = pprof_build_new();
    pprof_build_type(build, "cpu", "nanoseconds");
    pprof_build_time(build, NOW, 10);
    for (unsigned i = 0; i < samples; i++) {
        char name[32];
        snprintf(name, sizeof name, "function_%u", i);
        pprof_build_sample(build, (int64_t[]){1000}, (const char *const[]){name, NULL});
    }
    struct bytes raw = pprof_build_raw(build);
    pprof_build_free(build);
    return pprof_batch_of(forever(raw), "process_cpu{service_name=shop}", NULL);
}

static const struct backend_request *request(size_t nth)
{
    ck_assert_uint_lt(nth, backend.count);
    ck_assert_str_eq(backend.requests[nth].path, "/v1development/profiles");
    ck_assert_str_eq(backend.requests[nth].content_type, "application/x-protobuf");
    return &backend.requests[nth];
}

static void assert_otlp(struct view body)
{
    struct proto_fault fault;
    uint32_t items;
    ck_assert(otlp_check(SIGNAL_PROFILES, body, &items, &fault));
    ck_assert_uint_eq(items, 1);
}

START_TEST(otlp_goes_as_it_is)
{
    struct view body = PB_MESSAGE(1, PB_MESSAGE(2, PB_MESSAGE(2, pb_fixed64(3, NOW))));
    begin(EXPORTER());
    ck_assert_int_eq(exporter_send(&exporter, otlp_batch_of(SIGNAL_PROFILES, body, 1)).verdict,
                     VERDICT_OK);
    ck_assert_str_eq(request(0)->content_encoding, "gzip");
    ck_assert(view_eq(request(0)->body, body));
    end();
}
END_TEST

START_TEST(a_pprof_goes_as_the_otlp_made_of_it)
{
    begin(EXPORTER());
    ck_assert_int_eq(exporter_send(&exporter, cpu_batch(3)).verdict, VERDICT_OK);
    assert_otlp(request(0)->body);
    end();
}
END_TEST

START_TEST(one_without_samples_goes_nowhere)
{
    begin(EXPORTER());
    ck_assert_int_eq(exporter_send(&exporter, cpu_batch(0)).verdict, VERDICT_OK);
    ck_assert_uint_eq(backend.count, 0);
    end();
}
END_TEST

START_TEST(one_above_the_servers_limit_goes_in_parts)
{
    begin(EXPORTER(", max_profile_samples: 4"));
    ck_assert_int_eq(exporter_send(&exporter, cpu_batch(10)).verdict, VERDICT_OK);
    ck_assert_uint_eq(backend.count, 3);
    for (size_t i = 0; i < 3; i++)
        assert_otlp(request(i)->body);
    end();
}
END_TEST

START_TEST(a_part_to_be_tried_again_holds_the_rest_back)
{
    begin(EXPORTER(", max_profile_samples: 4"));
    backend.answers[1].status = 503;
    ck_assert_int_eq(exporter_send(&exporter, cpu_batch(10)).verdict, VERDICT_RETRY);
    ck_assert_uint_eq(backend.count, 2);
    end();
}
END_TEST

SUITE_MAIN("pyroscope_otlp", otlp_goes_as_it_is, a_pprof_goes_as_the_otlp_made_of_it,
           one_without_samples_goes_nowhere, one_above_the_servers_limit_goes_in_parts,
           a_part_to_be_tried_again_holds_the_rest_back)
