#include "receivers/pprof/pprof.h"

#include "lib/net/server/listen.h"
#include "receivers/pprof/scraper.h"

enum { DRAIN_GRACE_MS = 2000 };

static bool open_server(struct pprof_receiver *self, char *error, size_t error_size)
{
    struct http_server_options options = {
        .budget = self->env->budget,
        .handler = push_handle,
        .refuses_own = true,
        .refused = push_refused,
        .ctx = self,
    };
    struct listen_on on = pprof_place(self);
    server_http_apply(&self->server.http, &options);
    on.id = self->env->id;
    on.kind = self->env->kind;
    on.yields = &self->env->yields;
    self->http_server = listen_http(&on, &options, error, error_size);
    return self->http_server != NULL;
}

static bool pprof_receiver_open(void *instance, const struct env *env, char *error,
                                size_t error_size)
{
    struct pprof_receiver *self = instance;
    self->env = env;
    if (self->has_server && !open_server(self, error, error_size))
        return false;
    if (!self->targets.count && !self->dns.count && !self->file_sd.count && !self->has_remote)
        return true;
    self->scraper = scraper_open(self, error, error_size);
    return self->scraper != NULL;
}

static void pprof_receiver_explain(void *instance, struct bytes *out)
{
    const struct pprof_receiver *self = instance;
    if (self->scraper)
        scraper_explain(self->scraper, out);
}

static void pprof_receiver_retire(void *instance)
{
    struct pprof_receiver *self = instance;
    scraper_close(self->scraper);
    self->scraper = NULL;
    if (self->http_server)
        http_server_retire(self->http_server);
}

static void pprof_receiver_close(void *instance)
{
    struct pprof_receiver *self = instance;
    if (self->http_server)
        http_server_drain(self->http_server);
    scraper_close(self->scraper);
    self->scraper = NULL;
    if (self->http_server)
        http_server_close(self->http_server,
                          clock_mono(&clock_system) + DRAIN_GRACE_MS * NS_PER_MS);
    self->http_server = NULL;
}

static enum metadata_of pprof_metadata(const void *instance)
{
    const struct pprof_receiver *self = instance;
    if (!self->has_server || !self->server.http.include_metadata)
        return METADATA_OF_NONE;
    return self->targets.count ? METADATA_OF_SOME : METADATA_OF_ALL;
}

const struct component receiver_pprof = {
    .type = "pprof",
    .alias = "pprof_scrape",
    .text = "pulls pprof from Go and other targets; accepts pushed pprof",
    .stability = "beta",
    .kind = COMPONENT_RECEIVER,
    .signals = SIGNAL_BIT(SIGNAL_PROFILES),
    .encodings = BATCH_BIT(BATCH_PPROF),
    .size = sizeof(struct pprof_receiver),
    .keys = pprof_keys,
    .check = pprof_check,
    .metadata = pprof_metadata,
    .places = pprof_places,
    .rehearse = pprof_rehearse,
    .open = pprof_receiver_open,
    .explain = pprof_receiver_explain,
    .retire = pprof_receiver_retire,
    .close = pprof_receiver_close,
};
