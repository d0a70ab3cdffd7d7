#include "lib/net/auth.h"
#include "tests/support/given_runtime.h"
#include "tests/support/scripted.h"
#include "tests/support/suite.h"

#include <stdlib.h>
#include <string.h>

/* An authenticator for both sides, one for clients only, and a receiver with servers. */

static enum auth_result look(void *self, const char *value)
{
    (void)self;
    return value ? AUTH_GRANTED : AUTH_DENIED;
}

static bool give(void *self, struct bytes *value)
{
    (void)self;
    return bytes_append_view(value, VIEW("me")) == BYTES_OK;
}

static const struct authenticator both = {.header = "X", .look = look, .give = give};
static const struct authenticator giver = {.header = "X", .give = give};

static const struct authenticator *both_of(void *self)
{
    (void)self;
    return &both;
}

static const struct authenticator *giver_of(void *self)
{
    (void)self;
    return &giver;
}

static const struct key no_keys[] = {KEY_END};
static const struct component both_extension = {.type = "both",
                                                .text = "checks and gives",
                                                .kind = COMPONENT_EXTENSION,
                                                .size = 1,
                                                .keys = no_keys,
                                                .authenticator = both_of};
static const struct component giver_extension = {.type = "giver",
                                                 .text = "gives",
                                                 .kind = COMPONENT_EXTENSION,
                                                 .size = 1,
                                                 .keys = no_keys,
                                                 .authenticator = giver_of};
static const struct component other_extension = {.type = "other",
                                                 .text = "does not authenticate",
                                                 .kind = COMPONENT_EXTENSION,
                                                 .size = 1,
                                                 .keys = no_keys};

struct server {
    struct auth_settings auth;
};

struct servers {
    bool has_open;
    struct server open;
    struct key_groups more;
    struct auth_settings as;
};

static const struct key push_keys[] = {AUTH_SERVER_KEY(struct server, auth), KEY_END};
static const struct key keys[] = {
    KEY_SWITCHED(struct servers, open, struct server, has_open, "open", push_keys, "a server"),
    KEY_GROUPS(struct servers, more, struct server, "more", push_keys, "more servers"),
    AUTH_CLIENT_KEY(struct servers, as),
    KEY_END,
};

static const struct servers *last;

static bool doors_open(void *self, const struct env *env, char *error, size_t error_size)
{
    (void)env;
    (void)error;
    (void)error_size;
    last = self;
    return true;
}

static const struct component doors_receiver = {.type = "servers",
                                                .text = "has servers",
                                                .kind = COMPONENT_RECEIVER,
                                                .signals = SIGNALS_ALL,
                                                .encodings = BATCH_BIT(BATCH_OTLP),
                                                .size = sizeof(struct servers),
                                                .keys = keys,
                                                .open = doors_open};

const struct component *const component_table[] = {&scripted_source,
                                                   &scripted_sink,
                                                   &doors_receiver,
                                                   &both_extension,
                                                   &giver_extension,
                                                   &other_extension,
                                                   NULL};

#define YAML(servers, extensions)                                                                  \
    "receivers:\n  servers: " servers "\nexporters: {sink: }\n"                                    \
    "extensions: {both: , giver: , other: }\n"                                                     \
    "service:\n  extensions: [" extensions "]\n"                                                   \
    "  pipelines: {traces: {receivers: [servers], exporters: [sink]}}\n"

static void expect(const char *yaml, const char *words)
{
    char *faults = given_faults(yaml);
    ck_assert_msg(strstr(faults, words) != NULL, "no \"%s\" in:\n%s", words, faults);
    free(faults);
}

START_TEST(each_section_gets_its_authenticator)
{
    struct given_runtime given;
    given_start(&given, YAML("{open: {auth: {authenticator: both}}, auth: {authenticator: giver}, "
                             "more: [{}, {auth: {authenticator: both}}]}",
                             "both, giver"));
    const struct server *more = last->more.items;
    ck_assert_ptr_eq(last->open.auth.by, &both);
    ck_assert_ptr_eq(last->as.by, &giver);
    ck_assert_ptr_null(more[0].auth.by);
    ck_assert_ptr_eq(more[1].auth.by, &both);
    given_stop(&given);
}
END_TEST

START_TEST(without_a_section_there_is_none)
{
    struct given_runtime given;
    given_start(&given, YAML("{open: {}, auth: {enabled: false, authenticator: none}}", "both"));
    ck_assert_ptr_null(last->open.auth.by);
    ck_assert_ptr_null(last->as.by);
    given_stop(&given);
}
END_TEST

START_TEST(an_id_that_does_not_serve_is_named_with_its_key)
{
    expect(
        YAML("{open: {auth: {authenticator: none}}}", "both"),
        ":2: receivers.servers.open.auth.authenticator: references extension \"none\" which is not "
        "configured");
    expect(YAML("{open: {auth: {authenticator: both}}}", "other"), "not in service.extensions");
    expect(YAML("{open: {auth: {authenticator: other}}}", "other"), "is not an authenticator");
    expect(YAML("{open: {auth: {authenticator: giver}}}", "giver"), "does not check them");
    expect(YAML("{more: [{}, {auth: {authenticator: giver}}]}", "giver"),
           "receivers.servers.more[1].auth.authenticator");
}
END_TEST

START_TEST(a_section_without_an_id_lets_nobody_in)
{
    expect(YAML("{open: {auth: {}}}", "both"), "open.auth.authenticator: required but not given");
    expect(YAML("{open: {auth: }}", "both"), "open.auth.authenticator: required but not given");
    expect(YAML("{open: {auth: {authenticator: ''}}}", "both"), "open.auth.authenticator");
}
END_TEST

SUITE_MAIN("plan_auth", each_section_gets_its_authenticator, without_a_section_there_is_none,
           an_id_that_does_not_serve_is_named_with_its_key, a_section_without_an_id_lets_nobody_in)
