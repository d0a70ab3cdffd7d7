/* The receiver's keys. Names and defaults of profiles are those of Grafana Alloy's
 * pyroscope.scrape, `remote` and `server` are those of the Collector's pprof receiver. */
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
               "host:port, or a base URL to which the profiles' paths are added"),
    KEY_STRING(struct target_settings, service_name, "service_name", NULL, KEY_REQUIRED,
               "the service.name of its traces"),
    KEY_MAP(struct target_settings, labels, "labels", NULL, 0, "additional labels of its profiles"),
    KEY_END,
};

static const struct key dns_keys[] = {
    KEY_STRING(struct dns_settings, name, "name", NULL, KEY_REQUIRED, "name to look up"),
    KEY_CHOICE(struct dns_settings, type, "type", "A", dns_types, "record type"),
    KEY_INT(struct dns_settings, port, "port", "0", 0, 65535,
            "port for all addresses; SRV records have their own"),
    KEY_CHOICE(struct dns_settings, scheme, "scheme", "http", schemes, "http or https"),
    KEY_DURATION(struct dns_settings, refresh, "refresh", "30s", 0, "time between lookups"),
    KEY_STRING(struct dns_settings, service_name, "service_name", NULL, KEY_REQUIRED,
               "the service.name of their traces"),
    KEY_MAP(struct dns_settings, labels, "labels", NULL, 0, "additional labels of their profiles"),
    KEY_END,
};

static const struct key file_sd_keys[] = {
    KEY_LIST(struct file_sd_settings, files, "files", NULL,
             "JSON or YAML files of targets, in Prometheus' format; names may contain * and ?"),
    KEY_STRING(struct file_sd_settings, service_name, "service_name", "unspecified", 0,
               "service.name of targets without a service_name label"),
    KEY_IGNORED("refresh_interval", "accepted; changed files are read within seconds"),
    KEY_END,
};

#define PROFILE_KEYS(name, on, where)                                                              \
    static const struct key name##_keys[] = {                                                      \
        KEY_BOOL(struct profile_settings, enabled, "enabled", on, "pull this profile"),            \
        KEY_STRING(struct profile_settings, path, "path", where, KEY_REQUIRED,                     \
                   "path below the target's endpoint"),                                            \
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
               "path below the target's endpoint"),
    KEY_BOOL(struct custom_profile_settings, timed, "timed", "false",
             "the profile is recorded during the request, for seconds="),
    KEY_BOOL(struct custom_profile_settings, cumulative, "cumulative", "false",
             "values other than inuse_* count from the start of the process"),
    KEY_END,
};

#define STANDARD(index, key, rows, line)                                                           \
    KEY_GROUP(struct profiles_settings, standard[index], struct profile_settings, key, rows, line)

static const struct key profiles_keys[] = {
    STANDARD(PROFILE_PROCESS_CPU, "process_cpu", process_cpu_keys, "CPU time"),
    STANDARD(PROFILE_MEMORY, "memory", memory_keys,
             "memory: allocated since the last pull, and in use"),
    STANDARD(PROFILE_GOROUTINE, "goroutine", goroutine_keys, "stacks of all goroutines"),
    STANDARD(PROFILE_MUTEX, "mutex", mutex_keys, "mutex contention since the last pull"),
    STANDARD(PROFILE_BLOCK, "block", block_keys, "blocking since the last pull"),
    STANDARD(PROFILE_DELTA_MEMORY, "godeltaprof_memory", delta_memory_keys,
             "memory from godeltaprof, in place of memory"),
    STANDARD(PROFILE_DELTA_MUTEX, "godeltaprof_mutex", delta_mutex_keys,
             "mutex from godeltaprof, in place of mutex"),
    STANDARD(PROFILE_DELTA_BLOCK, "godeltaprof_block", delta_block_keys,
             "block from godeltaprof, in place of block"),
    STANDARD(PROFILE_FGPROF, "fgprof", fgprof_keys, "on-CPU and off-CPU time from fgprof"),
    KEY_GROUPS(struct profiles_settings, custom, struct custom_profile_settings, "custom",
               custom_keys, "profiles at other paths"),
    KEY_END,
};

/* CLIENT_KEYS without compression: a GET has no body. */
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
               KEY_REQUIRED, "the service.name of its traces"),
    KEY_DURATION(struct remote_settings, interval, "collection_interval", "1m", 0,
                 "time between pulls"),
    KEY_DURATION(struct remote_settings, initial_delay, "initial_delay", "1s", 0,
                 "time before the first pull"),
    PULL_KEYS(struct remote_settings, "0s", "time limit of one pull; 0: none"),
    KEY_END,
};

static const struct key server_keys[] = {
    SERVER_HTTP_KEYS(struct server_settings, http, "localhost:4041"),
    KEY_STRING(struct server_settings, service_name, "service_name", "unknown_service",
               KEY_REQUIRED, "service.name of profiles sent without ?name="),
    KEY_IGNORED("read_timeout", "accepted; a body has 10s for its next byte, and a minimum rate"),
    KEY_IGNORED("write_timeout", "accepted; idle_timeout limits a slow reader"),
    KEY_END,
};

const struct key pprof_keys[] = {
    KEY_DURATION(struct pprof_receiver, interval, "interval", "15s", 0, "time between pulls"),
    KEY_DURATION(struct pprof_receiver, duration, "duration", "auto", KEY_AUTO,
                 "length of a timed profile such as process_cpu; auto: interval less 1s"),
    PULL_KEYS(struct pprof_receiver, "10s", "time limit of one pull, plus its duration; 0: none"),
    KEY_INT(struct pprof_receiver, max_concurrent, "max_concurrent", "64", 1, 1024,
            "concurrent pulls, each on a thread; a timed pull lasts its whole duration"),
    KEY_INT(struct pprof_receiver, max_profile_size, "max_profile_size", "67108864", 1, 2147483647,
            "largest profile in bytes, before and after decompression"),
    KEY_GROUPS(struct pprof_receiver, targets, struct target_settings, "targets", target_keys,
               "targets to pull from"),
    KEY_GROUPS(struct pprof_receiver, dns, struct dns_settings, "dns", dns_keys,
               "DNS names that resolve to targets"),
    KEY_GROUPS(struct pprof_receiver, file_sd, struct file_sd_settings, "file_sd_configs",
               file_sd_keys, "files that list targets"),
    KEY_STRING(struct pprof_receiver, job_name, "job_name", "", 0,
               "label job of every series; empty: the receiver's id"),
    KEY_MAP(struct pprof_receiver, params, "params", NULL, KEY_MULTIPLE,
            "URL parameters of every pull of a target; each is a string or a list"),
    KEY_SECRET(struct pprof_receiver, proxy_url, "proxy_url",
               "HTTP proxy for all pulls, http://[user:password@]host:port; none by default"),
    KEY_BOOL(struct pprof_receiver, follow_redirects, "follow_redirects", "true",
             "follow a target's redirects to its own host, at most ten"),
    KEY_GROUP(struct pprof_receiver, profiles, struct profiles_settings, "profiles", profiles_keys,
              "profiles to pull from each target"),
    KEY_SWITCHED(struct pprof_receiver, remote, struct remote_settings, has_remote, "remote",
                 remote_keys, "one URL to pull, as in the Collector"),
    KEY_SWITCHED(struct pprof_receiver, server, struct server_settings, has_server, "server",
                 server_keys, "server for POST /v1/pprof; enabled if this key is present"),
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
                       "must be at least 2s if a timed profile (process_cpu, fgprof) is enabled");
    else if (self->duration != DURATION_AUTO &&
             (self->duration < NS_PER_S || self->duration > self->interval))
        key_report_add(report, "duration", "must be between 1s and the interval");
}

static void check_labels(const struct key_map *labels, const char *list, size_t index,
                         struct key_report *report)
{
    char path[64];
    snprintf(path, sizeof path, "%s[%zu].labels", list, index);
    for (size_t i = 0; i < labels->count; i++) {
        const char *name = labels->pairs[i].name;
        if (!*name || strncmp(name, "__", 2) == 0 || strcmp(name, "service_name") == 0)
            key_report_add(report, path, "\"%s\" is not a valid label name", name);
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
            key_report_add(report, path, "required for records without a port");
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
                               "\"%s\" does not end in .json, .yml or .yaml, or has a * or ? "
                               "before its last part",
                               sd[i].files.items[j]);
    }
}

/* The same profile from two endpoints would count double. */
static void check_duplicates(const struct pprof_receiver *self, struct key_report *report)
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
                           "is also provided by godeltaprof: set enabled: false");
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
    struct tls_client *client = tls_client_new(tls, "", key, TLS_LOOK_NS, error, sizeof error);
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
        check_duplicates(self, report);
    } else if (!self->has_remote && !self->has_server) {
        key_report_add(
            report, "",
            "nothing to pull or serve, expected targets, dns, file_sd_configs, remote or server");
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
