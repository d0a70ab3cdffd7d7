#include "tests/support/given_auth.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { YAML_SIZE = 1024 };

static void configure(const char *type, const char *keys, char yaml[YAML_SIZE])
{
    snprintf(yaml, YAML_SIZE,
             "extensions:\n  %s: %s\n"
             "receivers: {source: }\nexporters: {sink: }\n"
             "service:\n  extensions: [%s]\n"
             "  pipelines: {traces: {receivers: [source], exporters: [sink]}}\n",
             type, keys, type);
}

void given_auth_start(struct given_auth *auth, const char *type, const char *keys)
{
    char yaml[YAML_SIZE];
    configure(type, keys, yaml);
    given_start(&auth->given, yaml);
    const struct instance *instance = auth->given.runtime->graph.extensions.items[0];
    auth->by = instance->component->authenticator(instance->self);
}

void given_auth_write(struct given_auth *auth, const char *text)
{
    if (!*auth->folder) {
        strcpy(auth->folder, "/tmp/spanlink-test-XXXXXX");
        ck_assert_ptr_nonnull(mkdtemp(auth->folder));
        snprintf(auth->path, sizeof auth->path, "%s/secret", auth->folder);
    }
    FILE *file = fopen(auth->path, "w");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    fclose(file);
}

void given_auth_stop(struct given_auth *auth)
{
    given_stop(&auth->given);
    unlink(auth->path);
    rmdir(auth->folder);
}

void given_auth_faults(const char *type, const char *keys, const char *words)
{
    char yaml[YAML_SIZE];
    configure(type, keys, yaml);
    char *faults = given_faults(yaml);
    ck_assert_msg(strstr(faults, words) != NULL, "no \"%s\" in:\n%s", words, faults);
    const char *told = strstr(faults, ": extensions."); /* in front of it stands the yaml itself */
    ck_assert_ptr_nonnull(told);
    ck_assert_msg(strstr(told, "sesame") == NULL, "%s", faults);
    free(faults);
}
