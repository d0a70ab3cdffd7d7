/* The receiver's keys: names and defaults of profiles are those of Grafana Alloy's
 * pyroscope.scrape, `remote` and `server` those of the Collector's pprof receiver. */
#include "receivers/pprof/pprof.h"

#include "lib/net/dns.h"
#include "lib/net/http/http_header.h"
#include "lib/net/server/listen.h"
#include "receivers/pprof/scraper.h"

#include <stdio.h>

#define MIN_TIMED_INTERVAL (2 * NS_PER_S)

static const char *const schemes[] = {"http", "https", NULL};

static const struct key target_keys[] = {
    KEY_STRING(struct target_settings, endpoint, "endpoint", NULL, KEY_REQUIRED,
               "host:port, or a URL below which the profiles' paths are"),
    KEY_STRING(struct target_settings, service_name, "service_name", NULL, KEY_REQUIRED,
               "as the service.name of its traces"),
    KEY_MAP(struct target_settings, labels, "labels", NULL, 0, "more labels of its profiles"),
    KEY_END,
};

static const struct key dns_keys[] = {
    KEY_STRING(struct dns_settings, name, "name", NULL, KEY_REQUIRED, "to be looked up"),
    KEY_CHOICE(struct dns_settings, type, "type", "A", dns_types, "of record"),
    KEY_INT(struct dns_settings, port, "port", "0", 0, 65535,
            "of every address; an SRV record has its own"),
    KEY_CHOICE(struct dns_settings, scheme, "scheme", "http", schemes, "http or https"),
    KEY_DURATION(struct dns_settings, refresh, "refresh", "30s", 0, "time between look-ups"),
    KEY_STRING(struct dns_settings, service_name, "service_name", NULL, KEY_REQUIRED,
               "as the service.name of their traces"),
    KEY_MAP(struct dns_settings, labels, "labels", NULL, 0, "more labels of their profiles"),
    KEY_END,
};

static const struct key file_sd_keys[] = {
    KEY_LIST(struct file_sd_settings, files, "files", NULL,
             "JSON or YAML files of targets, in Prometheus' form; a name may have * and ?"),
    KEY_STRING(struct file_sd_settings, service_name, "service_name", "unspecified", 0,
               "of targets without a label service_name"),
    KEY_IGNORED("refresh_interval", "accepted; a changed file counts within seconds"),
    KEY_END,
};

#define PROFILE_KEYS(name, on, where)                                                              \
    static const struct key name##_keys[] = {                                                      \
        KEY_BOOL(struct profile_settings, enabled, "enabled", on, "whether it is pulled"),         \
        KEY_STRING(struct profile_settings, path, "path", where, KEY_REQUIRED,                     \
                   "behind a target's endpoint"),                                                  \
        KEY_END,                                                                                   \
    }

PROFILE_KEYS(process_cpu, "true", "/debug/pprof/profile");
PROFILE_KEYS(memory, "true", "/debug/pprof/allocs");
PROFILE_KEYS(goroutine, "true", "/debug/pprof/goroutine");
PROFILE_KEYS(mutex, "true", "/debug/pprof/mutex");
PROFILE_KEYS(block, "true", "/debug/pprof/block");
PROFILE_KEYS(delta_memory, "false", "/debug/pprof/delta_heap");
PROFILE_KEYS(delta_mutex, "false", "/debug/pprof/delta_mutex");
PROFILE_KEYS(delta_block, "false", "/debug/pprof/delta_block");
PROFILE_KEYS(fgprof, "false", "/debug/fgprof");

static const struct key custom_keys[] = {
    KEY_STRING(struct custom_profile_settings, name, "name", NULL, KEY_REQUIRED,
               "label __name__ of its series"),
    KEY_STRING(struct custom_profile_settings, path, "path", NULL, KEY_REQUIRED,
               "behind a target's endpoint"),
    KEY_BOOL(struct custom_profile_settings, timed, "timed", "false",
             "taken while the request waits: asked for with seconds="),
    KEY_BOOL(struct custom_profile_settings, cumulative, "cumulative", "false",
             "counted from the start of the process, but for types inuse_*"),
    KEY_END,
};

#define STANDARD(index, key, rows, line)                                                           \
    KEY_GROUP(struct profiles_settings, standard[index], struct profile_settings, key, rows, line)

static const struct key profiles_keys[] = {
    STANDARD(PROFILE_PROCESS_CPU, "process_cpu", process_cpu_keys, "CPU time"),
    STANDARD(PROFILE_MEMORY, "memory", memory_keys, "allocated, the growth; and in use"),
    STANDARD(PROFILE_GOROUTINE, "goroutine", goroutine_keys, "stacks of all goroutines"),
    STANDARD(PROFILE_MUTEX, "mutex", mutex_keys, "contention of mutexes, the growth"),
    STANDARD(PROFILE_BLOCK, "block", block_keys, "blocking, the growth"),
    STANDARD(PROFILE_DELTA_MEMORY, "godeltaprof_memory", delta_memory_keys,
             "memory by godeltaprof, instead of memory"),
    STANDARD(PROFILE_DELTA_MUTEX, "godeltaprof_mutex", delta_mutex_keys,
             "mutex by godeltaprof, instead of mutex"),
    STANDARD(PROFILE_DELTA_BLOCK, "godeltaprof_block", delta_block_keys,
             "block by godeltaprof, instead of block"),
    STANDARD(PROFILE_FGPROF, "fgprof", fgprof_keys, "on and off CPU by fgprof"),
    KEY_GROUPS(struct profiles_settings, custom, struct custom_profile_settings, "custom",
               custom_keys, "profiles of other paths"),
    KEY_END,
};

/* compression of CLIENT_KEYS would mean nothing: a GET has no body. */
#define PULL_KEYS(T, default_timeout, line)                                                        \
    KEY_SECRETS(T, client.headers, "headers", "headers sent with every request"),                  \
        AUTH_CLIENT_KEY(T, client.auth),                                                           \
        KEY_DURATION(T, client.timeout, "timeout", default_timeout, 0, line),                      \
        KEY_GROUP(T, client.tls, struct tls_client_settings, "tls", tls_client_keys,               \
                  "TLS of the connections to https:// targets")

static const struct key remote_keys[] = {
    KEY_STRING(struct remote_settings, endpoint, "endpoint", NULL, KEY_REQUIRED,
               "URL of one profile"),
    KEY_STRING(struct remote_settings, service_name, "service_name", "unknown_service",
               KEY_REQUIRED, "as the service.name of its traces"),
    KEY_DURATION(struct remote_settings, interval, "collection_interval", "1m", 0,
                 "time between pulls"),
    KEY_DURATION(struct remote_settings, initial_delay, "initial_delay", "1s", 0,
                 "time to the first one"),
    PULL_KEYS(struct remote_settings, "0s", "of one pull; 0: none"),
    KEY_END,
};

static const struct key server_keys[] = {
    SERVER_HTTP_KEYS(struct server_settings, http, "localhost:4041"),
    KEY_STRING(struct server_settings, service_name, "service_name", "unknown_service",
               KEY_REQUIRED, "of profiles that come without ?name="),
    KEY_IGNORED("read_timeout", "accepted; a body has 10s for its next byte, and a least rate"),
    KEY_IGNORED("write_timeout", "accepted; idle_timeout limits a slow reader"),
    KEY_END,
};

const struct key pprof_keys[] = {
    KEY_DURATION(struct pprof_receiver, interval, "interval", "15s", 0, "time between pulls"),
    KEY_DURATION(struct pprof_receiver, duration, "duration", "auto", KEY_AUTO,
                 "of a timed profile such as process_cpu; auto: the interval less one second"),
    PULL_KEYS(struct pprof_receiver, "10s", "of one pull beside its duration; 0: none"),
    KEY_INT(struct pprof_receiver, max_concurrent, "max_concurrent", "64", 1, 1024,
            "pulls at once, each on a thread; a timed one takes its whole duration"),
    KEY_INT(struct pprof_receiver, max_profile_size, "max_profile_size", "67108864", 1, 2147483647,
            "largest profile in bytes, before and after decompression"),
    KEY_GROUPS(struct pprof_receiver, targets, struct target_settings, "targets", target_keys,
               "what is pulled"),
    KEY_GROUPS(struct pprof_receiver, dns, struct dns_settings, "dns", dns_keys,
               "names that stand for targets"),
    KEY_GROUPS(struct pprof_receiver, file_sd, struct file_sd_settings, "file_sd_configs",
               file_sd_keys, "files that name targets"),
    KEY_STRING(struct pprof_receiver, job_name, "job_name", "", 0,
               "label job of every series; empty: the receiver's id"),
    KEY_MAP(struct pprof_receiver, params, "params", NULL, KEY_MULTIPLE,
            "URL parameters of every pull of a target, a text or a list each"),
    KEY_SECRET(struct pprof_receiver, proxy_url, "proxy_url",
               "HTTP proxy for all pulls, http://[user:password@]host:port; none by default"),
    KEY_BOOL(struct pprof_receiver, follow_redirects, "follow_redirects", "true",
             "follow a target's redirects to its own host, ten at most"),
    KEY_GROUP(struct pprof_receiver, profiles, struct profiles_settings, "profiles", profiles_keys,
              "what is pulled of each target"),
    KEY_SWITCHED(struct pprof_receiver, remote, struct remote_settings, has_remote, "remote",
                 remote_keys, "one URL to pull, as the Collector has it"),
    KEY_SWITCHED(struct pprof_receiver, server, struct server_settings, has_server, "server",
                 server_keys, "server for POST /v1/pprof; runs when its key is there"),
    KEY_END,
};

unsigned profile_seconds(const struct pprof_receiver *self)
{
    uint64_t rest = self->interval > NS_PER_S ? self->interval - NS_PER_S : 0;
    uint64_t duration = self->duration == DURATION_AUTO ? rest : self->duration;
    return (unsigned)(duration / NS_PER_S);
}

static bool any_timed(const struct pprof_receiver *self)
{
    const struct profiles_settings *profiles = &self->profiles;
    const struct custom_profile_settings *custom = profiles->custom.items;
    bool any = profiles->standard[PROFILE_PROCESS_CPU].enabled ||
               profiles->standard[PROFILE_FGPROF].enabled;
    for (size_t i = 0; i < profiles->custom.count; i++)
        any = any || custom[i].timed;
    return any;
}

static void check_times(const struct pprof_receiver *self, struct key_report *report)
{
    if (!any_timed(self))
        return;
    if (self->interval < MIN_TIMED_INTERVAL)
        key_report_add(report, "interval",
                       "must be at least 2s where a timed profile (process_cpu, fgprof) is pulled");
    else if (self->duration != DURATION_AUTO &&
             (self->duration < NS_PER_S || self->duration > self->interval))
        key_report_add(report, "duration", "must be from 1s to the interval");
}

static void check_labels(const struct key_map *labels, const char *list, size_t index,
                         struct key_report *report)
{
    char path[64];
    snprintf(path, sizeof path, "%s[%zu].labels", list, index);
    for (size_t i = 0; i < labels->count; i++) {
        const char *name = labels->pairs[i].name;
        if (!*name || strncmp(name, "__", 2) == 0 || strcmp(name, "service_name") == 0)
            key_report_add(report, path, "\"%s\" is not a name that a label may have", name);
    }
}

static void check_targets(const struct pprof_receiver *self, struct key_report *report)
{
    const struct target_settings *targets = self->targets.items;
    const struct dns_settings *dns = self->dns.items;
    const char *why;
    char path[64], url[512];
    for (size_t i = 0; i < self->targets.count; i++) {
        const char *endpoint = targets[i].endpoint;
        check_labels(&targets[i].labels, "targets", i, report);
        snprintf(path, sizeof path, "targets[%zu].endpoint", i);
        if (!endpoint || !*endpoint)
            continue;
        if (!target_url(endpoint, "http", url, sizeof url) || !url_check(url, &why))
            key_report_add(report, path, "expected host:port or a URL such as http://host:port");
    }
    for (size_t i = 0; i < self->dns.count; i++) {
        check_labels(&dns[i].labels, "dns", i, report);
        snprintf(path, sizeof path, "dns[%zu].port", i);
        if (dns[i].type != DNS_SRV && dns[i].port == 0)
            key_report_add(report, path, "required where the record has no port of its own");
        snprintf(path, sizeof path, "dns[%zu].refresh", i);
        if (dns[i].refresh < NS_PER_S)
            key_report_add(report, path, "must be at least 1s");
    }
}

static void check_files(const struct pprof_receiver *self, struct key_report *report)
{
    const struct file_sd_settings *sd = self->file_sd.items;
    char path[64];
    for (size_t i = 0; i < self->file_sd.count; i++) {
        snprintf(path, sizeof path, "file_sd_configs[%zu].files", i);
        if (sd[i].files.count == 0)
            key_report_add(report, path, "required: paths of JSON or YAML files");
        for (size_t j = 0; j < sd[i].files.count; j++)
            if (!sd_file_name(sd[i].files.items[j]))
                key_report_add(report, path,
                               "\"%s\" does not end in .json, .yml or .yaml, or has a * or ? in "
                               "front of its last part",
                               sd[i].files.items[j]);
    }
}

/* The same profile twice would count double. */
static void check_twins(const struct pprof_receiver *self, struct key_report *report)
{
    static const struct {
        enum standard_profile one, other;
        const char *path;
    } twins[] = {
        {PROFILE_MEMORY, PROFILE_DELTA_MEMORY, "profiles.memory"},
        {PROFILE_MUTEX, PROFILE_DELTA_MUTEX, "profiles.mutex"},
        {PROFILE_BLOCK, PROFILE_DELTA_BLOCK, "profiles.block"},
    };
    for (size_t i = 0; i < sizeof twins / sizeof *twins; i++)
        if (self->profiles.standard[twins[i].one].enabled &&
            self->profiles.standard[twins[i].other].enabled)
            key_report_add(report, twins[i].path,
                           "would be sent twice: set enabled: false where godeltaprof has it");
}

struct listen_on pprof_place(const struct pprof_receiver *self)
{
    return LISTEN_ON(&self->server.http, "server.", "pushed pprof");
}

void pprof_places(const void *config, place_visit_fn *visit, void *ctx)
{
    const struct pprof_receiver *self = config;
    struct listen_on on = pprof_place(self);
    if (self->has_server)
        listen_place(&on, visit, ctx);
}

static void rehearse_client(const struct tls_client_settings *tls, const char *key,
                            struct key_report *report)
{
    char error[512];
    struct tls_client *client = tls_client_new(tls, key, TLS_LOOK_NS, error, sizeof error);
    if (!client)
        key_report_sentence(report, error);
    tls_client_free(client);
}

void pprof_rehearse(const void *config, struct key_report *report)
{
    const struct pprof_receiver *self = config;
    struct listen_on on = pprof_place(self);
    rehearse_client(&self->client.tls, "tls", report);
    if (self->has_remote)
        rehearse_client(&self->remote.client.tls, "remote.tls", report);
    if (self->has_server)
        listen_rehearse(&on, report);
}

void pprof_check(const void *config, struct key_report *report)
{
    const struct pprof_receiver *self = config;
    const char *why;
    if (self->interval == 0)
        key_report_add(report, "interval", "must be longer than 0s");
    if (self->proxy_url && *self->proxy_url && !url_check(self->proxy_url, &why))
        key_report_add(report, "proxy_url", "%s", why);
    if (self->targets.count || self->dns.count || self->file_sd.count) {
        check_files(self, report);
        check_times(self, report);
        check_targets(self, report);
        check_twins(self, report);
    } else if (!self->has_remote && !self->has_server) {
        key_report_add(
            report, "",
            "has nothing to do, expected targets, dns, file_sd_configs, remote or server");
    }
    if (self->has_remote && *self->remote.endpoint && !url_check(self->remote.endpoint, &why))
        key_report_add(report, "remote.endpoint", "%s", why);
    if (self->has_remote && self->remote.interval < NS_PER_S)
        key_report_add(report, "remote.collection_interval", "must be at least 1s");
    http_headers_check(&self->client.headers, "headers", report);
    tls_client_check(&self->client.tls, "tls", report);
    if (self->has_remote)
        tls_client_check(&self->remote.client.tls, "remote.tls", report);
    if (self->has_server) {
        const struct listen_on on = pprof_place(self);
        listen_check(&on, report);
        server_http_check(&self->server.http, "server.", report);
    }
}
