/* A component's configuration with a key of every type, for tests of key tables. */
#ifndef TESTS_LIB_SETTINGS_BOX_H
#define TESTS_LIB_SETTINGS_BOX_H

#include "lib/settings/key.h"

struct box_tls {
    bool insecure;
    char *ca_file;
};

struct box_server {
    char *endpoint;
    int64_t limit;
};

struct box_peer {
    char *host;
    char *token;
    struct key_map labels;
};

struct box {
    bool flag;
    int64_t count;
    double ratio;
    uint64_t wait;
    uint64_t hold;
    char *endpoint;
    char *target;
    char *password;
    int mode;
    struct key_map remap;
    struct key_map labels;
    struct key_map headers;
    struct key_list kinds;
    struct box_tls tls;
    struct box_server grpc;
    bool grpc_on;
    struct key_groups peers;
};

static const char *const box_modes[] = {"gzip", "zstd", "none", NULL};

static const struct key box_tls_rows[] = {
    KEY_BOOL(struct box_tls, insecure, "insecure", "false", "no TLS"),
    KEY_STRING(struct box_tls, ca_file, "ca_file", NULL, 0, "a file"),
    KEY_END,
};

static const struct key box_server_rows[] = {
    KEY_STRING(struct box_server, endpoint, "endpoint", "localhost:4317", KEY_REQUIRED, "where"),
    KEY_INT(struct box_server, limit, "limit", "64", 1, 128, "how much"),
    KEY_END,
};

static const struct key box_peer_rows[] = {
    KEY_STRING(struct box_peer, host, "host", NULL, KEY_REQUIRED, "which"),
    KEY_SECRET(struct box_peer, token, "token", "not shown"),
    KEY_MAP(struct box_peer, labels, "labels", "{x: y}", 0, "a map"),
    KEY_END,
};

static const struct key box_rows[] = {
    KEY_BOOL(struct box, flag, "flag", "true", "a bool"),
    KEY_INT(struct box, count, "count", "10", 1, 100, "an int"),
    KEY_NUMBER(struct box, ratio, "ratio", "0.5", 0, 1, "a number"),
    KEY_DURATION(struct box, wait, "wait", "5s", 0, "a duration"),
    KEY_DURATION(struct box, hold, "hold", "auto", KEY_AUTO, "a duration or auto"),
    KEY_STRING(struct box, endpoint, "endpoint", NULL, KEY_REQUIRED, "must be given"),
    KEY_STRING(struct box, target, "target", "here", 0, "a string"),
    KEY_SECRET(struct box, password, "password", "not shown"),
    KEY_CHOICE(struct box, mode, "mode", "zstd", box_modes, "a choice"),
    KEY_MAP(struct box, remap, "remap", "{service.name: service_name}", 0, "a map"),
    KEY_MAP(struct box, labels, "labels", "{a: b}", KEY_REPLACES_MAP, "a map"),
    KEY_SECRETS(struct box, headers, "headers", "not shown"),
    KEY_LIST(struct box, kinds, "kinds", "auto", "a list"),
    KEY_GROUP(struct box, tls, struct box_tls, "tls", box_tls_rows, "a section"),
    KEY_SWITCHED(struct box, grpc, struct box_server, grpc_on, "grpc", box_server_rows,
                 "a section with a switch"),
    KEY_GROUPS(struct box, peers, struct box_peer, "peers", box_peer_rows, "sections"),
    KEY_IGNORED("keepalive", "accepted"),
    KEY_END,
};

#endif
