/* What the detectors of resourcedetection find. */
#ifndef PROCESSORS_RESOURCEDETECTION_DETECT_H
#define PROCESSORS_RESOURCEDETECTION_DETECT_H

#include "lib/wire/value/value.h"

/* Attributes of OTEL_RESOURCE_ATTRIBUTES (OTEL_RESOURCE where that is not set). False: malformed,
 * error says how. Bytes live in the list's arena. */
bool detect_env(struct attributes *found, char *error, size_t error_size);

/* Attributes of variables that the downward API of Kubernetes sets: K8S_POD_NAME, POD_NAME, ... */
void detect_k8s(struct attributes *found);

struct detect_system {
    bool dns, os; /* sources of the host's name */
    bool host_name, os_type, host_arch, host_id;
};
bool detect_system(const struct detect_system *wanted, struct attributes *found, char *error,
                   size_t error_size);

#endif
