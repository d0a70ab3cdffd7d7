/* Reports addresses that several instances of one configuration use. */
#include "pipeline/life/plan.h"

#include "lib/base/place.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { PATH_SIZE = 512, HOST_MAX = 256 };

struct found {
    struct place place;
    const struct instance *instance;
};

struct places {
    struct found *items;
    size_t count;
    const struct instance *instance; /* whose places are being collected */
    bool failed;
};

static void plan_places_add(void *ctx, const struct place *place)
{
    struct places *places = ctx;
    struct found *items = reallocarray(places->items, places->count + 1, sizeof *places->items);
    if (!items) {
        places->failed = true;
        return;
    }
    places->items = items;
    items[places->count++] = (struct found){*place, places->instance};
}

static void plan_places_gather(const struct graph *graph, struct places *places)
{
    for (size_t i = 0; i < graph->instances.count; i++) {
        const struct instance *instance = graph->instances.items[i];
        places->instance = instance;
        if (instance->used && instance->component->places)
            instance->component->places(instance->self, plan_places_add, places);
    }
}

static bool is_any(const char *host)
{
    return !*host || strcmp(host, "0.0.0.0") == 0 || strcmp(host, "::") == 0;
}

static bool is_loopback(const char *host)
{
    return strcasecmp(host, "localhost") == 0 || strncmp(host, "127.", 4) == 0 ||
           strcmp(host, "::1") == 0;
}

static bool is_own_name(const char *host)
{
    char own[HOST_MAX] = "";
    return gethostname(own, sizeof own - 1) == 0 && *own && strcasecmp(host, own) == 0;
}

/* A listener on all addresses has those of its family; one on IPv6 has IPv4 too. */
static bool any_has(const char *any, const char *host)
{
    return is_any(any) && (strcmp(any, "0.0.0.0") != 0 || !strchr(host, ':'));
}

/* localhost means IPv4 where a name has both. */
static const char *listened(const char *host)
{
    return strcasecmp(host, "localhost") == 0 ? "127.0.0.1" : host;
}

static bool same_port(const struct place *a, const struct place *b)
{
    return *a->port && strcmp(a->port, b->port) == 0 && strcmp(a->port, "0") != 0;
}

static bool both_listen_there(const struct place *a, const struct place *b)
{
    if (*a->unix_path || *b->unix_path)
        return strcmp(a->unix_path, b->unix_path) == 0;
    return same_port(a, b) && (any_has(a->host, b->host) || any_has(b->host, a->host) ||
                               strcasecmp(listened(a->host), listened(b->host)) == 0);
}

static bool reaches(const struct place *from, const struct place *to)
{
    if (*from->unix_path || *to->unix_path)
        return strcmp(from->unix_path, to->unix_path) == 0;
    bool here = is_loopback(from->host) || is_any(from->host) || is_own_name(from->host);
    return same_port(from, to) &&
           (strcasecmp(from->host, to->host) == 0 ||
            (here && (is_any(to->host) || (is_loopback(from->host) && is_loopback(to->host)))));
}

static const struct node *path_of(const struct found *found, char path[PATH_SIZE])
{
    const struct node *section = found->instance->section;
    const struct node *node = node_nearest(section, found->place.key);
    snprintf(path, PATH_SIZE, "%.300s.%.200s", found->instance->path, found->place.key);
    return node ? node : section;
}

static void name(const struct place *place, char *out, size_t size)
{
    bool v6 = strchr(place->host, ':');
    if (*place->unix_path)
        snprintf(out, size, "unix:%s", place->unix_path);
    else
        snprintf(out, size, "%s%s%s:%s", v6 ? "[" : "", place->host, v6 ? "]" : "", place->port);
}

void plan_places(const struct graph *graph, struct problems *problems)
{
    struct places places = {0};
    char path[PATH_SIZE], other[PATH_SIZE], address[512];
    plan_places_gather(graph, &places);
    if (places.failed)
        problems_add(problems, NULL, NULL, "out of memory");
    for (size_t i = 0; i < places.count; i++)
        for (size_t j = 0; j < i; j++) {
            const struct found *a = &places.items[i], *b = &places.items[j];
            if (!a->place.listens || !b->place.listens || !both_listen_there(&a->place, &b->place))
                continue;
            const struct node *node = path_of(a, path);
            path_of(b, other);
            name(&a->place, address, sizeof address);
            problems_add(problems, node, path, "listens on %s, as %s does", address, other);
        }
    free(places.items);
}

void plan_places_warn(const struct graph *graph, struct problems *warnings)
{
    struct places places = {0};
    char path[PATH_SIZE], other[PATH_SIZE], address[512];
    plan_places_gather(graph, &places);
    for (size_t i = 0; i < places.count; i++)
        for (size_t j = 0; j < places.count; j++) {
            const struct found *from = &places.items[i], *to = &places.items[j];
            if (from->place.listens || !to->place.listens ||
                to->instance->component->kind != COMPONENT_RECEIVER ||
                !reaches(&from->place, &to->place))
                continue;
            const struct node *node = path_of(from, path);
            path_of(to, other);
            name(&from->place, address, sizeof address);
            problems_add(warnings, node, path,
                         "sends to %s, which is %s of this process: it refuses looped data",
                         address, other);
        }
    free(places.items);
}

/* ---- addresses taken at the start ---- */

static bool has_line(const struct problems *problems, const char *line)
{
    for (size_t i = 0; line && problems->lines && i < problems->count; i++)
        if (problems->lines[i] && strcmp(problems->lines[i], line) == 0)
            return true;
    return false;
}

static void add_once(const struct found *found, const char *error, struct problems *problems)
{
    char path[PATH_SIZE];
    struct problems one = {0};
    const struct node *node = path_of(found, path);
    problems_add(&one, node, path, "%s", error);
    if (!has_line(problems, one.lines ? one.lines[0] : NULL))
        problems_add(problems, node, path, "%s", error);
    problems_release(&one);
}

/* Picks another port on the same host, far from its own; false: there is none. */
static bool other_port(struct place *place)
{
    enum { STEP = 10000, LOWEST = 1024, HIGHEST = 65535, TRIES = 6 };
    char error[256];
    long own = strtol(place->port, NULL, 10);
    for (int i = 0; i < 2 * TRIES; i++) {
        long port = own + STEP * (i < TRIES ? i + 1 : TRIES - i - 1);
        if (port < LOWEST || port > HIGHEST)
            continue;
        snprintf(place->port, sizeof place->port, "%ld", port);
        if (place->is_free(place, error, sizeof error))
            return true;
    }
    return false;
}

/* " --set a.b=host:port" */
static void add_way_round(const struct found *found, FILE *out)
{
    char path[PATH_SIZE], address[512];
    struct place place = found->place;
    if (*place.unix_path || !other_port(&place))
        return;
    path_of(found, path);
    name(&place, address, sizeof address);
    const char *quote = strchr(address, '[') ? "'" : "";
    fprintf(out, " --set %s%s=%s%s", quote, path, address, quote);
}

void plan_places_taken(const struct graph *graph, struct problems *problems)
{
    struct places places = {0};
    char error[256], *way = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&way, &size);
    plan_places_gather(graph, &places);
    for (size_t i = 0; out && i < places.count; i++) {
        const struct found *found = &places.items[i];
        if (!found->place.listens || !found->place.is_free ||
            found->place.is_free(&found->place, error, sizeof error))
            continue;
        add_once(found, error, problems);
        add_way_round(found, out);
    }
    if (out && fclose(out) == 0 && size)
        problems_add(problems, NULL, NULL, "to use other ports:%s", way);
    free(way);
    free(places.items);
}
