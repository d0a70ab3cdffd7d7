/* What the detectors of resourcedetection find. */
#ifndef PROCESSORS_RESOURCEDETECTION_DETECT_H
#define PROCESSORS_RESOURCEDETECTION_DETECT_H

#include "lib/settings/key.h"
#include "lib/wire/value/attributes.h"

/* Attributes of OTEL_RESOURCE_ATTRIBUTES (OTEL_RESOURCE where that is not set). False: malformed,
 * error says how. Bytes live in the list's arena. */
bool detect_env(struct attributes *found, char *error, size_t error_size);

/* Attributes of variables that the downward API of Kubernetes sets: K8S_POD_NAME, POD_NAME, ... */
void detect_k8s(struct attributes *found);

/* What the detector system is to find. */
struct detect_system {
    const struct key_list *sources; /* of the host's name: dns, cname, lookup and os, in order */
    bool host_name, os_type, host_arch, host_id, host_ip, host_mac, host_interface;
    bool os_description, os_name, os_version, os_build_id;
    bool cpu_vendor, cpu_family, cpu_model, cpu_name, cpu_stepping, cpu_cache;
};
bool detect_system(const struct detect_system *wanted, struct attributes *found, char *error,
                   size_t error_size);
/* Of these, what is not about the host's name, id and architecture. */
void detect_host(const struct detect_system *wanted, struct attributes *found);

/* Adds a copy of a text, unless the key is there. */
void detect_set(struct attributes *found, const char *key, const char *text);
/* False: the file cannot be read, or its first line is empty. */
bool detect_first_line(const char *path, char *out, size_t size);

#endif
