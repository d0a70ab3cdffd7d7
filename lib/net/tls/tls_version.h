/* Keys for the TLS versions of a server or client. */
#ifndef LIB_NET_TLS_TLS_VERSION_H
#define LIB_NET_TLS_TLS_VERSION_H

#include "lib/settings/key.h"

/* The choices of min_version: "1.2", "1.3"; of max_version: "" (no limit), "1.2", "1.3". */
extern const char *const tls_min_versions[];
extern const char *const tls_max_versions[];

/* Rows for the ints min_version and max_version of a struct T: indices into the choices. */
#define TLS_VERSION_KEYS(T)                                                                        \
    KEY_CHOICE(T, min_version, "min_version", "1.2", tls_min_versions, "oldest version of TLS"),   \
        KEY_CHOICE(T, max_version, "max_version", "", tls_max_versions,                            \
                   "newest version of TLS; empty: the newest supported")

/* Reports a min_version above max_version. key is the group's path. */
void tls_version_check(int min, int max, const char *key, struct key_report *report);

bool tls_version_has_12(int min);
bool tls_version_has_13(int max);

#endif
