/* Attributes of OTLP as JSON. Pure. */
#ifndef EXTENSIONS_STATUS_VALUE_H
#define EXTENSIONS_STATUS_VALUE_H

#include "extensions/status/json.h"

/* The KeyValues of field `list` of a message, as one object; of a key that comes twice, both. */
void value_attributes(struct json *json, const char *key, struct view message, uint32_t list);

#endif
