/* Asks the health_check extension of a process on this host; for exec probes. */
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/target.h"
#include "lib/base/clock.h"
#include "lib/net/http/http_client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Less than the 3 s that a container image's HEALTHCHECK waits (packaging/Dockerfile). */
#define TIMEOUT_NS (2 * NS_PER_S)

enum { MAX_REPLY = 4096 };

static const char type[] = "health_check", default_port[] = "13133",
                  default_endpoint[] = "localhost";

static bool complain(const char *what, const char *detail)
{
    fprintf(stderr, "spanlink: %s%s\n", what, detail);
    return false;
}

static bool aim(const char *endpoint, const char *path, bool tls, struct target *target)
{
    char error[256];
    return target_parse(endpoint, default_port, path, tls, target, error, sizeof error) ||
           complain("health: ", error);
}

static bool is_health_check(const char *id)
{
    size_t n = sizeof type - 1;
    return id && strncmp(id, type, n) == 0 && (id[n] == '\0' || id[n] == '/');
}

/* Returns the first one in use; NULL: none. */
static const char *find_id(const struct node *root)
{
    const struct node *list = node_get(node_get(root, "service"), "extensions");
    if (list && list->kind == NODE_SCALAR && is_health_check(list->text))
        return list->text;
    for (size_t i = 0; list && list->kind == NODE_LIST && i < list->count; i++)
        if (is_health_check(list->items[i]->text))
            return list->items[i]->text;
    return NULL;
}

static const char *text_of(const struct node *section, const char *key, const char *fallback)
{
    const struct node *node = node_get(section, key);
    const char *text = node ? node_string(node) : NULL;
    return text && *text ? text : fallback;
}

static bool aim_by_config(const struct node *root, struct target *target)
{
    const char *id = find_id(root);
    if (!id)
        return complain("health: service.extensions has no health_check; add one, or name its "
                        "address with --endpoint",
                        "");
    const struct node *section = node_get(node_get(root, "extensions"), id);
    const struct node *tls = node_get(section, "tls");
    return aim(text_of(section, "endpoint", default_endpoint), text_of(section, "path", "/"),
               tls && tls->kind == NODE_MAP, target);
}

static bool read_config(const struct flags *flags, struct target *target)
{
    struct problems problems = {0};
    struct settings *settings = settings_load(flags->sources, flags->count, &problems);
    bool good = settings && aim_by_config(settings_root(settings), target);
    problems_print(&problems, stderr);
    problems_release(&problems);
    settings_free(settings);
    return good;
}

/* The certificate is not verified: nothing secret is sent, and only this host is asked. */
static bool health_ask(const struct target *target)
{
    const struct http_client_options options = {
        .timeout_ns = TIMEOUT_NS,
        .unix_path = *target->unix_path ? target->unix_path : NULL,
        .tls = {.insecure_skip_verify = true},
        .max_reply = MAX_REPLY,
    };
    char error[256];
    struct http_reply reply;
    struct http_client *client = http_client_new(&options, error, sizeof error);
    if (!client)
        return complain("health: ", error);
    http_client_get(client, target->url, NULL, 0, &reply);
    bool healthy = reply.status == 200;
    if (reply.status == 0)
        fprintf(stderr, "spanlink: not healthy: %s\n", reply.error);
    else
        fprintf(healthy ? stdout : stderr, "spanlink: %s: HTTP %ld %.*s\n",
                healthy ? "healthy" : "not healthy", reply.status, (int)reply.body.size,
                reply.body.data ? (const char *)reply.body.data : "");
    http_reply_release(&reply);
    http_client_free(client);
    return healthy;
}

int health_command(const struct flags *flags)
{
    struct target target;
    bool aimed = flags->endpoint ? aim(flags->endpoint, "/", false, &target)
                 : flags->count  ? read_config(flags, &target)
                                 : aim(default_endpoint, "/", false, &target);
    return aimed && health_ask(&target) ? EXIT_OK : EXIT_CONFIG;
}
