/* The pprof receiver's instance: the settings of its pulls, and its push server. */
#ifndef RECEIVERS_PPROF_H
#define RECEIVERS_PPROF_H

#include "lib/net/http/client_keys.h"
#include "lib/net/server/listen.h"
#include "lib/net/server/server_keys.h"
#include "lib/net/tls/tls_server.h"
#include "pipeline/component.h"

enum standard_profile {
    PROFILE_PROCESS_CPU,
    PROFILE_MEMORY,
    PROFILE_GOROUTINE,
    PROFILE_MUTEX,
    PROFILE_BLOCK,
    PROFILE_DELTA_MEMORY,
    PROFILE_DELTA_MUTEX,
    PROFILE_DELTA_BLOCK,
    PROFILE_FGPROF,
    PROFILE_COUNT
};

struct profile_settings {
    bool enabled;
    char *path;
};

struct custom_profile_settings {
    char *name;
    char *path;
    bool timed;
    bool cumulative;
};

struct profiles_settings {
    struct profile_settings standard[PROFILE_COUNT];
    struct key_groups custom; /* struct custom_profile_settings */
};

struct target_settings {
    char *endpoint;
    char *service_name;
    struct key_map labels;
};

struct dns_settings {
    char *name;
    int type; /* enum dns_type */
    int scheme;
    int64_t port;
    uint64_t refresh;
    char *service_name;
    struct key_map labels;
};

struct file_sd_settings {
    struct key_list files; /* paths; the file name may contain * and ? */
    char *service_name;    /* for targets without one */
};

struct remote_settings {
    char *endpoint;
    char *service_name;
    uint64_t interval;
    uint64_t initial_delay;
    struct client_settings client;
};

struct server_settings {
    struct server_http_settings http;
    char *service_name;
};

struct pprof_receiver {
    uint64_t interval;
    uint64_t duration;
    int64_t max_concurrent;
    int64_t max_profile_size;
    struct client_settings client;
    struct key_groups targets; /* struct target_settings */
    struct key_groups dns;     /* struct dns_settings */
    struct key_groups file_sd; /* struct file_sd_settings */
    char *job_name;            /* "": the receiver's id */
    struct key_map params;     /* of every pull except remote's; names may repeat */
    char *proxy_url;
    bool follow_redirects;
    struct profiles_settings profiles;
    struct remote_settings remote;
    bool has_remote;
    struct server_settings server;
    bool has_server;

    const struct env *env;
    struct http_server *http_server;
    struct scraper *scraper; /* NULL: nothing is pulled */
};

/* keys.c */
extern const struct key pprof_keys[];
void pprof_check(const void *config, struct key_report *report);
void pprof_places(const void *config, place_visit_fn *visit, void *ctx);
void pprof_rehearse(const void *config, struct key_report *report);
struct listen_on pprof_place(const struct pprof_receiver *self); /* of its server */

/* The length of a timed profile, in seconds. */
unsigned profile_seconds(const struct pprof_receiver *self);

/* push.c: the server for POST /v1/pprof */
void push_handle(void *ctx, struct http_request *request);
void push_refused(void *ctx, const char *path, const struct peer *peer, const struct outcome *why);

#endif
