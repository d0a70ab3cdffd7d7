/* A configuration as YAML, all references resolved, secrets redacted. */
#ifndef PIPELINE_LIFE_CONFIG_TEXT_H
#define PIPELINE_LIFE_CONFIG_TEXT_H

#include "lib/base/bytes.h"
#include "lib/settings/node.h"

/* Appends the tree below root, as far as out has room. */
void config_text(const struct node *root, struct bytes *out);

#endif
