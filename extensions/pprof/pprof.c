/* The Collector's extension that serves profiles of its Go runtime; accepted without effect. */
#include "lib/base/log.h"
#include "pipeline/component.h"

struct pprof {
    char *endpoint;
    char *save_to_file;
    int64_t block_profile_fraction;
    int64_t mutex_profile_fraction;
};

static const struct key keys[] = {
    KEY_STRING(struct pprof, endpoint, "endpoint", "localhost:1777", 0, "accepted; not served"),
    KEY_STRING(struct pprof, save_to_file, "save_to_file", NULL, 0, "accepted; not written"),
    KEY_INT(struct pprof, block_profile_fraction, "block_profile_fraction", "0", -1, 1e9,
            "accepted, without effect"),
    KEY_INT(struct pprof, mutex_profile_fraction, "mutex_profile_fraction", "0", -1, 1e9,
            "accepted, without effect"),
    KEY_END,
};

static bool pprof_open(void *instance, const struct env *env, char *error, size_t error_size)
{
    (void)instance;
    (void)error;
    (void)error_size;
    env_info(env, "accepted; there is no Go runtime to profile");
    return true;
}

const struct component extension_pprof = {
    .type = "pprof",
    .text = "the Collector's own profiles; accepted, without effect",
    .stability = "beta",
    .kind = COMPONENT_EXTENSION,
    .size = sizeof(struct pprof),
    .keys = keys,
    .open = pprof_open,
};
