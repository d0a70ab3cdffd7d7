/* Rewrites the query of an /ingest request for forwarding. */
#include "receivers/pyroscope/pyroscope.h"

#include "lib/wire/http/http_query.h"
#include "lib/wire/pprof/ingest_time.h"

#include <inttypes.h>
#include <stdio.h>

/* How far in the future the server accepts profiles. */
#define AHEAD_NS (600 * NS_PER_S)

enum { WORD_SIZE = 128, LONGER = 3 };

struct rewriting {
    const char *query;
    uint64_t now;
    char text[24]; /* of now */
};

static uint64_t raw_time(const char *query, const char *name)
{
    char text[WORD_SIZE];
    return http_query_get(query, name, text, sizeof text) ? ingest_time_parse(text) : 0;
}

uint64_t ingest_query_time(const char *query, const char *name, uint64_t now)
{
    uint64_t time = raw_time(query, name);
    return time > now + AHEAD_NS ? now : time;
}

static const char *query_value_of(void *ctx, const char *name)
{
    struct rewriting *rewriting = ctx;
    bool is_time = strcmp(name, "from") == 0 || strcmp(name, "until") == 0;
    if (!is_time || raw_time(rewriting->query, name) <= rewriting->now + AHEAD_NS)
        return NULL;
    snprintf(rewriting->text, sizeof rewriting->text, "%" PRIu64, rewriting->now / NS_PER_S);
    return rewriting->text;
}

char *ingest_query_rewrite(const char *query, uint64_t now)
{
    struct rewriting rewriting = {.query = query, .now = now};
    struct bytes out;
    bytes_init(&out, LONGER * strlen(query) + sizeof rewriting.text * 2 + 1, NULL);
    if (http_query_rewrite(query, query_value_of, &rewriting, &out) &&
        bytes_append(&out, "", 1) == BYTES_OK)
        return (char *)out.data; /* malloc'ed */
    bytes_release(&out);
    return NULL;
}
