/* Fills a configuration struct from a section of the tree, by a key table. One thread. */
#ifndef LIB_SETTINGS_FILL_H
#define LIB_SETTINGS_FILL_H

#include "lib/settings/key.h"
#include "lib/settings/load.h"

/* Fills config (zeroed) from section, with checks and defaults; every error is added to problems,
 * prefixed with path ("exporters.otlp_http"). section NULL or a null node: all defaults; place is
 * the node whose position is reported for missing keys. True: no problem was added. The caller
 * releases config in both cases (keys_release). */
bool keys_fill(const struct key *table, const struct node *section, const struct node *place,
               const char *path, void *config, struct problems *problems);

/* Runs a component's cross check; its reports get the positions of section. True: it reported no
 * problem. */
bool keys_check(void (*check)(const void *config, struct key_report *report), const void *config,
                const struct node *section, const struct node *place, const char *path,
                struct problems *problems);

/* Length of the dotted key path at the start of a sentence ("protocols.grpc.endpoint: ..."); 0:
 * there is none. */
size_t key_path_length(const char *sentence);

/* Frees what keys_fill allocated. */
void keys_release(const struct key *table, void *config);

/* Called for each row, for documentation: dotted name, and the type in words. */
typedef void keys_visit_fn(void *ctx, const char *name, const struct key *key,
                           const char *type_words);
void keys_visit(const struct key *table, keys_visit_fn *visit, void *ctx);

/* Finds the row for a dotted path below a component's section; for a path inside a map, the map's
 * row. NULL: none. */
const struct key *keys_find(const struct key *table, const char *path);

/* Whether the value at a dotted path below a component's section is secret. */
bool keys_secret(const struct key *table, const char *path);

/* Adds a warning for each key of a section that is given but has no effect (KEY_WARNED). */
void keys_warn_idle(const struct key *table, const struct node *section, const char *path,
                    struct problems *warnings);

#endif
