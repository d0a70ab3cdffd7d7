/* Key tables at work: a section of the tree into the fields of an instance. One thread. */
#ifndef LIB_SETTINGS_FILL_H
#define LIB_SETTINGS_FILL_H

#include "lib/settings/key.h"
#include "lib/settings/load.h"

/* Fills config (zeroed) from section by the table: checked and defaulted; every fault is added to
 * problems with path in front ("exporters.otlp_http"). section NULL or a null node: all defaults;
 * place is the node whose position serves for what is missing. True: no fault was added. The
 * caller releases in both cases. */
bool keys_fill(const struct key *table, const struct node *section, const struct node *place,
               const char *path, void *config, struct problems *problems);

/* Runs a cross check with the positions at hand. True: it did not complain. */
bool keys_check(void (*check)(const void *config, struct key_report *report), const void *config,
                const struct node *section, const struct node *place, const char *path,
                struct problems *problems);

/* Length of the dotted key path that a sentence begins with ("protocols.grpc.endpoint: ..."); 0: it
 * begins with none. */
size_t key_path_length(const char *sentence);

/* Frees what keys_fill made. */
void keys_release(const struct key *table, void *config);

/* One row as it is walked for people: dotted name, words for type and default. */
typedef void keys_visit_fn(void *ctx, const char *name, const struct key *key,
                           const char *type_words);
void keys_visit(const struct key *table, keys_visit_fn *visit, void *ctx);

/* The row of a dotted path below a component's section; inside a map, the map's row. NULL: none. */
const struct key *keys_find(const struct key *table, const char *path);

/* Whether the value at a dotted path below a component's section must not be shown. */
bool keys_secret(const struct key *table, const char *path);

/* Warns of the keys of a section that are given and have no effect (KEY_TOLD). */
void keys_warn_idle(const struct key *table, const struct node *section, const char *path,
                    struct problems *warnings);

#endif
